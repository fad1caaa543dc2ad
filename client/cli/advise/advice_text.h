// An advice for the terminal: a picture of the lengths, a table for each
// capacity and one recommendation; at most 80 columns of UTF-8, no colours.

#ifndef PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_TEXT_H_
#define PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/advise/advice.h"

namespace packhouse {

// `name` is what the list is called.
std::string AdviceText(const Advice& advice, absl::string_view name);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_TEXT_H_
