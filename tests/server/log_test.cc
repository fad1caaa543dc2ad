#include "server/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace packhouse {
namespace {

constexpr Log::Format kText = Log::Format::kText;
constexpr Log::Format kJson = Log::Format::kJson;

const absl::Time kTime = absl::FromUnixMillis(1714555800123);

TEST(FormatLogLine, Text) {
  EXPECT_EQ(
      FormatLogLine(kText, kTime, "info", "serving", Log::Fields::object()),
      "2024-05-01T09:30:00.123Z info serving\n");
  EXPECT_EQ(
      FormatLogLine(kText, kTime, "warning", "stream ended",
                    {{"n", 18446744073709551615u},
                     {"ok", true},
                     {"seconds", 0.5},
                     {"bare", "unix:/run/a.sock"},
                     {"spaced", "a b"},
                     {"empty", ""},
                     {"quoted", "say \"x\"=1\n\tnext"},
                     {"list", {"a", "b"}}}),
      "2024-05-01T09:30:00.123Z warning stream ended n=18446744073709551615 "
      "ok=true seconds=0.5 bare=unix:/run/a.sock spaced=\"a b\" empty=\"\" "
      "quoted=\"say \\\"x\\\"=1\\n\\tnext\" list=[\"a\",\"b\"]\n");
}

TEST(LogTest, WhatRepeatsIsWrittenOnceASecond) {
  int files[2];
  ASSERT_EQ(pipe2(files, O_NONBLOCK), 0);
  Log log(kText, files[1]);
  const auto read_all = [&files] {
    char buffer[1 << 16];
    const ssize_t size = read(files[0], buffer, sizeof(buffer));
    return std::string(buffer, size > 0 ? static_cast<size_t>(size) : 0);
  };
  const auto repeat = [&log](const char* kind) {
    log.RepeatedWarning(kind, "refused", {{"kind", kind}});
  };
  const absl::Time start = absl::Now();
  for (int i = 0; i < 5; ++i) repeat("a");
  repeat("b");
  std::string text = read_all();
  ASSERT_LT(absl::Now() - start, absl::Seconds(1)) << "too slow to be tested";
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_TRUE(absl::StrContains(text, "warning refused kind=a\n")) << text;
  EXPECT_TRUE(absl::StrContains(text, "warning refused kind=b\n")) << text;

  uint64_t left_out = 4;
  for (text.clear(); text.empty(); text = read_all()) {
    ASSERT_LT(absl::Now() - start, absl::Seconds(60));
    repeat("a");
    ++left_out;
  }
  EXPECT_GE(absl::Now() - start, absl::Seconds(1));
  EXPECT_TRUE(absl::StrContains(
      text, absl::StrCat("kind=a left_out=", left_out - 1, "\n")))
      << text;
  close(files[0]);
  close(files[1]);
}

TEST(FormatLogLine, Json) {
  EXPECT_EQ(FormatLogLine(kJson, kTime, "info", "serving",
                          {{"listen", {"a", "b"}}, {"n", 3}}),
            "{\"time\":\"2024-05-01T09:30:00.123Z\",\"level\":\"info\","
            "\"message\":\"serving\",\"listen\":[\"a\",\"b\"],\"n\":3}\n");
}

// Nothing that a client sends breaks a line or reaches a terminal.
TEST(FormatLogLine, AnyBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  bytes += "\xc2\x9b";  // U+009B begins a terminal's escape sequence
  for (Log::Format format : {kText, kJson}) {
    const std::string line =
        FormatLogLine(format, kTime, "info", "m", {{"bytes", bytes}});
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    for (const char c : line.substr(0, line.size() - 1)) {
      EXPECT_TRUE(c >= ' ' && c <= 127) << static_cast<int>(c);
    }
  }
}

// Whatever a line has to say, it fits into a pipe that has room and stays
// valid.
TEST(FormatLogLine, LongValuesAreCut) {
  for (const std::string unit : {"x", "\"", "\n", "\xc3\xa4", "\xff"}) {
    std::string text;
    while (text.size() < 100000) text += unit;
    const Log::Fields fields = {
        {"text", text},
        {"kept", 7},
        {"list", std::vector<std::string>(1000, "unix:/run/a")},
        {"other", text}};
    for (Log::Format format : {kText, kJson}) {
      const std::string line =
          FormatLogLine(format, kTime, "info", "m", fields);
      EXPECT_LE(line.size(), kMaxLogLineBytes);
      EXPECT_GT(line.size(), kMaxLogLineBytes / 8);
      EXPECT_EQ(line.find('\n'), line.size() - 1);
    }
    const auto json =
        Log::Fields::parse(FormatLogLine(kJson, kTime, "info", "m", fields));
    EXPECT_EQ(json["kept"], 7);
    EXPECT_THAT(json["other"].get<std::string>(), testing::EndsWith("..."));
  }
}

// A pipe that takes nothing more; blocking, as that of a program's standard
// error is.
class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
    const std::string page(4096, '.');
    while (write(ends_[1], page.data(), page.size()) > 0) {
    }
    EXPECT_EQ(fcntl(ends_[1], F_SETFL, 0), 0);
  }
  ~FullPipe() {
    close(ends_[0]);
    close(ends_[1]);
  }

  int input() const { return ends_[1]; }

  // All that is in it.
  std::string Drain() {
    std::string content;
    char buffer[4096];
    ssize_t n;
    while ((n = read(ends_[0], buffer, sizeof(buffer))) > 0) {
      content.append(buffer, static_cast<size_t>(n));
    }
    return content;
  }

 private:
  int ends_[2];
};

TEST(Log, AFullPipeBlocksNobody) {
  FullPipe pipe;
  Log log(kText, pipe.input());
  for (int i = 0; i < 3; ++i) log.Info("lost");
  EXPECT_THAT(pipe.Drain(), testing::Not(testing::HasSubstr("lost")));
  log.Info("first", {{"n", 1}});
  log.Info("second");
  EXPECT_THAT(pipe.Drain(),
              testing::MatchesRegex(
                  "[^ ]* info first n=1 dropped_lines=3\n[^ ]* info second\n"));
}

TEST(Log, LinesOfThreadsDoNotMix) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Log log(kText, fileno(file));
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&log, t] {
        for (int i = 0; i < 100; ++i) {
          log.Info("x",
                   {{"text", std::string(200, static_cast<char>('a' + t))}});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::rewind(file);
  std::string content(1 << 20, '\0');
  content.resize(std::fread(content.data(), 1, content.size(), file));
  std::fclose(file);

  const std::vector<std::string> lines =
      absl::StrSplit(content, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 400);
  for (const std::string& line : lines) {
    EXPECT_THAT(line, testing::MatchesRegex(".* info x text=(a+|b+|c+|d+)"));
  }
}

}  // namespace
}  // namespace packhouse
