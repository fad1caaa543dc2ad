// The command `advise`: reads the lengths, asks for advice and writes it in the
// forms that were asked for.

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/advise/advice.h"
#include "client/cli/advise/advice_html.h"
#include "client/cli/advise/advice_json.h"
#include "client/cli/advise/advice_text.h"
#include "client/cli/commands.h"
#include "client/cli/error_text.h"
#include "client/cli/length_file.h"
#include "client/cli/line_reader.h"
#include "client/cli/output_file.h"

namespace packhouse {
namespace {

absl::Status CheckHtmlPath(const CommandOptions& options) {
  const std::string& path = options.html_path;
  if (path.empty()) return absl::OkStatus();
  if (options.json && IsStandardOutput(path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--html ", path, " and --json cannot share standard output"));
  }
  if (IsSameFile(options.lengths_path, path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--html: ", path, " is the file of LENGTHS itself"));
  }
  return CheckOutputPath(path);
}

absl::Status WriteHtml(const std::string& path, const std::string& page) {
  absl::StatusOr<OutputFile> file = OutputFile::Open(path);
  if (!file.ok()) return file.status();
  if (absl::Status status = file->Write(page); !status.ok()) return status;
  return file->Commit();
}

}  // namespace

absl::Status RunAdvise(const CommandOptions& options, std::ostream& out) {
  absl::Status status = CheckHtmlPath(options);
  if (!status.ok()) return status;
  const absl::StatusOr<LengthInput> input =
      ReadLengths(options.lengths_path, options.field);
  if (!input.ok()) return input.status();
  const std::string name = InputName(options.lengths_path);
  const absl::StatusOr<Advice> advice = Advise(*input, options.advice);
  if (!advice.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", InOptionNames(advice.status().message())));
  }
  if (!options.html_path.empty()) {
    status = WriteHtml(options.html_path, AdviceHtml(*advice, name));
    if (!status.ok()) return status;
    if (IsStandardOutput(options.html_path)) return absl::OkStatus();
  }
  out << (options.json ? AdviceJson(*advice) : AdviceText(*advice, name));
  return absl::OkStatus();
}

}  // namespace packhouse
