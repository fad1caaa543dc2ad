// The log of a server: one line an event, as text (time, level, message, then
// key=value) or as one JSON object.
//
//   log.Info("stopped", {{"streams", 12}, {"reason", "SIGTERM"}});
//   2024-05-01T09:30:00.123Z info stopped streams=12 reason=SIGTERM
//
// Strings are quoted and escaped where they need it, so that a line is always
// one line whatever a client sent.

#ifndef PACKHOUSE_SERVER_LOG_H_
#define PACKHOUSE_SERVER_LOG_H_

#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace packhouse {

// Thread-safe: lines never mix.
class Log {
 public:
  enum class Format { kText, kJson };

  // A JSON object, in the order written.
  using Fields = nlohmann::ordered_json;

  // `file` must outlive the log.
  Log(Format format, std::FILE* file) : format_(format), file_(file) {}

  void Info(absl::string_view message,
            const Fields& fields = Fields::object()) {
    Write("info", message, fields);
  }
  void Warning(absl::string_view message,
               const Fields& fields = Fields::object()) {
    Write("warning", message, fields);
  }

 private:
  void Write(absl::string_view level, absl::string_view message,
             const Fields& fields);

  const Format format_;
  std::FILE* const file_;
};

// One line with its newline, as Log writes it. For tests.
std::string FormatLogLine(Log::Format format, absl::Time time,
                          absl::string_view level, absl::string_view message,
                          const Log::Fields& fields);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_LOG_H_
