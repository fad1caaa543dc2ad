#include "server/log.h"

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

}  // namespace

std::string FormatLogLine(Log::Format format, absl::Time time,
                          absl::string_view level, absl::string_view message,
                          const Log::Fields& fields) {
  const std::string stamp =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
  if (format == Log::Format::kJson) {
    Log::Fields line = {{"time", stamp},
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

void Log::Write(absl::string_view level, absl::string_view message,
                const Fields& fields) {
  const std::string line =
      FormatLogLine(format_, absl::Now(), level, message, fields);
  std::fwrite(line.data(), 1, line.size(), file_);
  std::fflush(file_);
}

}  // namespace packhouse
