#include "server/log.h"

#include <poll.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace packhouse {
namespace {

// Pure ASCII, so that no text of a client controls a terminal; bytes that are
// not UTF-8 are replaced, for a log line must not fail.
std::string ToJson(const Log::Fields& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/true,
                    Log::Fields::error_handler_t::replace);
}

// Strings that a reader cannot mistake stand bare; everything else is JSON.
std::string ToText(const Log::Fields& value) {
  if (!value.is_string()) return ToJson(value);
  const std::string& text = value.get_ref<const std::string&>();
  const bool bare =
      !text.empty() && text.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789.:/_-[]%+@") == std::string::npos;
  return bare ? text : ToJson(value);
}

std::string Format(Log::Format format, absl::string_view stamp,
                   absl::string_view level, absl::string_view message,
                   const Log::Fields& fields) {
  if (format == Log::Format::kJson) {
    Log::Fields line = {{"time", std::string(stamp)},
                        {"level", std::string(level)},
                        {"message", std::string(message)}};
    line.update(fields);
    return absl::StrCat(ToJson(line), "\n");
  }
  std::string line = absl::StrCat(stamp, " ", level, " ", message);
  for (const auto& [key, value] : fields.items()) {
    absl::StrAppend(&line, " ", key, "=", ToText(value));
  }
  absl::StrAppend(&line, "\n");
  return line;
}

// Cuts the longest value to half. False where all are short.
bool CutLongest(Log::Fields* fields) {
  constexpr size_t kShortBytes = 32;
  Log::Fields* longest = nullptr;
  std::string text;
  for (auto& [key, value] : fields->items()) {
    std::string other =
        value.is_string() ? value.get<std::string>() : ToJson(value);
    if (other.size() <= text.size()) continue;
    longest = &value;
    text = std::move(other);
  }
  if (text.size() <= kShortBytes) return false;
  *longest = absl::StrCat(text.substr(0, text.size() / 2), "...");
  return true;
}

// True if the file has taken the line. A pipe that polls writable takes
// PIPE_BUF bytes without waiting, so do files, sockets and terminals; only
// another process that writes into the same pipe could come in between.
// O_NONBLOCK is no way: it would be set for these processes too.
bool WriteAtOnce(int fd, absl::string_view line) {
  pollfd file = {fd, POLLOUT, 0};
  return line.size() <= kMaxLogLineBytes && poll(&file, 1, /*timeout=*/0) > 0 &&
         (file.revents & POLLOUT) != 0 &&
         write(fd, line.data(), line.size()) ==
             static_cast<ssize_t>(line.size());
}

}  // namespace

std::string FormatLogLine(Log::Format format, absl::Time time,
                          absl::string_view level, absl::string_view message,
                          Log::Fields fields) {
  const std::string stamp =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
  std::string line;
  do {
    line = Format(format, stamp, level, message, fields);
  } while (line.size() > kMaxLogLineBytes && CutLongest(&fields));
  return line;
}

void Log::RepeatedWarning(absl::string_view kind, absl::string_view message,
                          Fields fields) {
  constexpr absl::Duration kInterval = absl::Seconds(1);
  {
    absl::MutexLock lock(&mutex_);
    Repeated& repeated = repeated_[kind];
    const absl::Time now = absl::Now();
    // Also where the clock was set back.
    if (absl::AbsDuration(now - repeated.written_at) < kInterval) {
      ++repeated.left_out;
      return;
    }
    if (repeated.left_out > 0) fields["left_out"] = repeated.left_out;
    repeated = {now, 0};
  }
  Write("warning", message, fields);
}

void Log::Write(absl::string_view level, absl::string_view message,
                const Fields& fields) {
  absl::MutexLock lock(&mutex_);
  Fields all = fields;
  if (dropped_lines_ > 0) all["dropped_lines"] = dropped_lines_;
  const std::string line =
      FormatLogLine(format_, absl::Now(), level, message, std::move(all));
  dropped_lines_ = WriteAtOnce(fd_, line) ? 0 : dropped_lines_ + 1;
}

}  // namespace packhouse
