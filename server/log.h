// The log of a server: one line an event, as text (time, level, message, then
// key=value) or as one JSON object.
//
//   log.Info("stopped", {{"streams", 12}, {"reason", "SIGTERM"}});
//   2024-05-01T09:30:00.123Z info stopped streams=12 reason=SIGTERM
//
// Strings are quoted and escaped where they need it, so that a line is always
// one line whatever a client sent.
//
// What may come again and again, as often as strangers like, is written once a
// second; the next line says how many were left out: left_out=12.
//
// Nobody ever waits for whoever reads the log, or a pipe that nobody drains
// would stop the server. A line that the file does not take at once is dropped;
// the next one that gets out says how many were: dropped_lines=3.

#ifndef PACKHOUSE_SERVER_LOG_H_
#define PACKHOUSE_SERVER_LOG_H_

#include <limits.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace packhouse {

// What a line may have, its newline included: so much fits into a pipe that has
// room at all, whole.
inline constexpr size_t kMaxLogLineBytes = PIPE_BUF;

// Thread-safe: lines never mix.
class Log {
 public:
  enum class Format { kText, kJson };

  // A JSON object, in the order written.
  using Fields = nlohmann::ordered_json;

  // The file must stay open as long as the log lives.
  Log(Format format, int fd) : format_(format), fd_(fd) {}

  void Info(absl::string_view message,
            const Fields& fields = Fields::object()) {
    Write("info", message, fields);
  }
  void Warning(absl::string_view message,
               const Fields& fields = Fields::object()) {
    Write("warning", message, fields);
  }

  // As Warning, at most once a second for each `kind`, of which there must be
  // few.
  void RepeatedWarning(absl::string_view kind, absl::string_view message,
                       Fields fields) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Repeated {
    absl::Time written_at = absl::InfinitePast();
    uint64_t left_out = 0;  // since then
  };

  void Write(absl::string_view level, absl::string_view message,
             const Fields& fields) ABSL_LOCKS_EXCLUDED(mutex_);

  const Format format_;
  const int fd_;
  absl::Mutex mutex_;  // held while a line is written, which never waits
  uint64_t dropped_lines_ ABSL_GUARDED_BY(mutex_) = 0;  // since one got out
  absl::flat_hash_map<std::string, Repeated> repeated_ ABSL_GUARDED_BY(mutex_);
};

// One line with its newline, as Log writes it: the longest values are cut until
// it has at most kMaxLogLineBytes. For tests.
std::string FormatLogLine(Log::Format format, absl::Time time,
                          absl::string_view level, absl::string_view message,
                          Log::Fields fields);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_LOG_H_
