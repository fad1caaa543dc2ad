// An advice as a page for a browser: one file without scripts, that needs
// nothing from the network; light or dark as the reader's system is.

#ifndef PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_HTML_H_
#define PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_HTML_H_

#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/advise/advice.h"

namespace packhouse {

// A document of HTML that is well-formed XML too. `name` is what the list is
// called; it may hold any bytes.
std::string AdviceHtml(const Advice& advice, absl::string_view name);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_HTML_H_
