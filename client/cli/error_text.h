// How errors look to the person at the terminal.

#ifndef PACKHOUSE_CLIENT_CLI_ERROR_TEXT_H_
#define PACKHOUSE_CLIENT_CLI_ERROR_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace packhouse {

// `text` of the user's input in quotes, with what cannot be printed escaped and
// cut after 40 bytes, so that it fits into an error line whatever it is.
std::string Quoted(absl::string_view text);

// `text` of the library's about fields of a PackSpec or ClientOptions, with the
// options' names in place of the fields'.
std::string InOptionNames(absl::string_view text);

// What a server said when a stream was to be opened. One that refuses, for
// whatever of its limits, refuses the arguments: nothing has started yet.
absl::Status OpenError(const absl::Status& status);

// `text` without line breaks or other control characters, under 2 kB.
std::string OneLine(absl::string_view text);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_ERROR_TEXT_H_
