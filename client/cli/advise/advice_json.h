// An advice as one JSON object; docs/command-line.md has its keys.

#ifndef PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_JSON_H_
#define PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_JSON_H_

#include <string>

#include "client/cli/advise/advice.h"

namespace packhouse {

// One line, ended.
std::string AdviceJson(const Advice& advice);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_JSON_H_
