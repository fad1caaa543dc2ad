#include "client/cli/length_file.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/files.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::VariantWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

class LengthFileTest : public testing::Test {
 protected:
  // Reads a file of this name and content.
  absl::StatusOr<LengthInput> Read(const std::string& name,
                                   const std::string& content,
                                   const std::string& field = "") {
    WriteFile(folder_.File(name), content);
    return ReadLengths(folder_.File(name), field);
  }

  LengthList ReadList(const std::string& name, const std::string& content,
                      const std::string& field = "") {
    absl::StatusOr<LengthInput> input = Read(name, content, field);
    EXPECT_THAT(input, IsOk());
    return input.ok() ? std::get<LengthList>(*input) : LengthList{};
  }

  TempDir folder_;
};

// A file in NumPy's format, as NumPy lays it out.
template <typename Item>
std::string Npy(const std::string& type, const std::vector<Item>& items,
                std::string shape = "", int version = 1) {
  if (shape.empty()) shape = absl::StrCat("(", items.size(), ",)");
  std::string header =
      absl::StrCat("{'descr': '", type,
                   "', 'fortran_order': False, 'shape': ", shape, ", }\n");
  std::string file("\x93NUMPY", 6);
  file += {static_cast<char>(version), 0};
  const uint32_t size = static_cast<uint32_t>(header.size());
  file.append(reinterpret_cast<const char*>(&size), version == 1 ? 2 : 4);
  file += header;
  file.append(reinterpret_cast<const char*>(items.data()),
              items.size() * sizeof(Item));
  return file;
}

TEST_F(LengthFileTest, OneNumberALine) {
  EXPECT_THAT(ReadList("a.txt", "5\n3\n4294967295\n0\n"),
              ElementsAre(5, 3, 4294967295, 0));
  EXPECT_THAT(ReadList("no_end_of_line", "5\n31"), ElementsAre(5, 31));
  EXPECT_THAT(ReadList("spaces", "\n 5\t\n\n  \n3 \n\n"), ElementsAre(5, 3));
  EXPECT_THAT(ReadList("crlf", "5\r\n\r\n3\r\n"), ElementsAre(5, 3));
  EXPECT_THAT(ReadList("zeros", "00000000000000000005\n"), ElementsAre(5));
}

TEST_F(LengthFileTest, GzipWhateverTheName) {
  EXPECT_THAT(ReadList("a.txt.gz", Gzip("5\n3\n")), ElementsAre(5, 3));
  EXPECT_THAT(ReadList("a.txt", Gzip("5\n3\n")), ElementsAre(5, 3));
  EXPECT_THAT(ReadList("plain.gz", "5\n3\n"), ElementsAre(5, 3));
  // Two gzip files one after another are one, as for zcat.
  EXPECT_THAT(ReadList("two.gz", Gzip("5\n3") + Gzip("1\n7\n")),
              ElementsAre(5, 31, 7));
}

TEST_F(LengthFileTest, MoreThanAReadBlock) {
  std::string text;
  LengthList expected;
  for (uint32_t i = 0; i < 600000; ++i) {
    expected.push_back(i * 2654435761u);
    absl::StrAppend(&text, expected.back(), "\n");
  }
  EXPECT_EQ(ReadList("a.txt", text), expected);
  EXPECT_EQ(ReadList("a.gz", Gzip(text)), expected);
  EXPECT_EQ(ReadList("a.npy", Npy("<u4", expected)), expected);
}

TEST_F(LengthFileTest, LineLongerThanAReadBlock) {
  EXPECT_THAT(ReadList("spaces", "5\n" + std::string(3000000, ' ') + "3\n1"),
              ElementsAre(5, 3, 1));
}

TEST_F(LengthFileTest, BadLineIsNamed) {
  const struct {
    std::string line;
    std::string text;
  } kCases[] = {
      {"abc", "\"abc\" is not a whole number"},
      {"1.5", "\"1.5\" is not a whole number"},
      {"1e3", "\"1e3\" is not a whole number"},
      {"1 2", "\"1 2\" is not a whole number"},
      {"+5", "\"+5\" is not a whole number"},
      {"-", "\"-\" is not a whole number"},
      {"-1.5", "\"-1.5\" is not a whole number"},
      {"0x10", "\"0x10\" is not a whole number"},
      {std::string("1\0002", 3), "\"1\\0002\" is not a whole number"},
      {"-5", "\"-5\" is negative"},
      {"4294967296", "\"4294967296\" is over the limit of 4294967295"},
      {"4294967297", "\"4294967297\" is over the limit"},
      {"18446744073709551616", "is over the limit"},
      {std::string(100000, '9'), "is over the limit"},
      {std::string(5000000, 'x'), "\"xxxx"},
  };
  for (const auto& bad : kCases) {
    EXPECT_THAT(Read("a.txt", absl::StrCat("5\n\n", bad.line, "\n7\n")),
                StatusIs(kInvalid,
                         AllOf(HasSubstr(folder_.File("a.txt") + ": line 3: "),
                               HasSubstr(bad.text))));
  }
}

TEST_F(LengthFileTest, NothingToPack) {
  for (const std::string content : {"", "\n", " \r\n\n"}) {
    EXPECT_THAT(Read("a.txt", content),
                StatusIs(kInvalid, HasSubstr("a.txt: holds no sequence")));
    EXPECT_THAT(Read("a.gz", Gzip(content)),
                StatusIs(kInvalid, HasSubstr("holds no sequence")));
    EXPECT_THAT(Read("a.jsonl", content, "n"),
                StatusIs(kInvalid, HasSubstr("holds no sequence")));
    EXPECT_THAT(Read("a.hist.csv", content),
                StatusIs(kInvalid, HasSubstr("holds no sequence")));
  }
  EXPECT_THAT(Read("a.npy", Npy<int64_t>("<i8", {})),
              StatusIs(kInvalid, HasSubstr("holds no sequence")));
}

TEST_F(LengthFileTest, FileThatCannotBeRead) {
  EXPECT_THAT(ReadLengths(folder_.File("none"), ""),
              StatusIs(kInvalid, AllOf(HasSubstr(folder_.File("none")),
                                       HasSubstr("No such file"))));
  EXPECT_THAT(ReadLengths(folder_.File(""), ""),
              StatusIs(kInvalid, HasSubstr("is a directory")));
  EXPECT_THAT(ReadLengths("", ""), StatusIs(kInvalid, testing::_));
}

TEST_F(LengthFileTest, DamagedGzip) {
  std::string text;
  for (int i = 0; i < 10000; ++i) absl::StrAppend(&text, i, "\n");
  const std::string packed = Gzip(text);
  for (const size_t size : {packed.size() - 1, packed.size() / 2, size_t{20}}) {
    EXPECT_THAT(Read("cut.gz", packed.substr(0, size)),
                StatusIs(kInvalid, HasSubstr("the gzip data ends too early")))
        << size;
  }
  std::string flipped = packed;
  flipped[flipped.size() - 6] ^= 1;  // of the checksum
  EXPECT_THAT(Read("flipped.gz", flipped),
              StatusIs(kInvalid, HasSubstr("bad gzip data")));
}

TEST_F(LengthFileTest, JsonLines) {
  EXPECT_THAT(
      ReadList("a.jsonl", "{\"n\":5,\"text\":\"x\"}\n\n{ \"n\" : 3 }", "n"),
      ElementsAre(5, 3));
  EXPECT_THAT(
      ReadList("a.jsonl", "{\"x\":{\"n\":1},\"n\":5,\"y\":[{\"n\":1}]}", "n"),
      ElementsAre(5));
  EXPECT_THAT(ReadList("a.jsonl.gz", Gzip("{\"n\":5}\n"), "n"), ElementsAre(5));
  EXPECT_THAT(ReadList("any_name", "{\"n\":5}\n", "n"), ElementsAre(5));
}

TEST_F(LengthFileTest, BadJsonLineIsNamed) {
  const struct {
    std::string line;
    std::string text;
  } kCases[] = {
      {"{\"n\":", "is not a JSON object"},
      {"5", "is not a JSON object"},
      {"{\"n\":5} {\"n\":5}", "is not a JSON object"},
      {"{\"m\":5}", "has no field \"n\""},
      {"{\"o\":{\"n\":5}}", "has no field \"n\""},
      {"{\"n\":\"5\"}", "field \"n\" is string, not a number"},
      {"{\"n\":[5]}", "field \"n\" is array, not a number"},
      {"{\"n\":null}", "field \"n\" is null, not a number"},
      {"{\"n\":true}", "field \"n\" is boolean, not a number"},
      {"{\"n\":5.0}", "field \"n\": \"5.0\" is not a whole number"},
      {"{\"n\":-5}", "field \"n\": \"-5\" is negative"},
      {"{\"n\":4294967296}", "\"4294967296\" is over the limit of 4294967295"},
      {"{\"n\":18446744073709551616}", "is not a whole number"},
      {"{\"n\":\"\xff\"}", "is not a JSON object"},
      {"{\"n\":5,\"n\":5}", "has a second field \"n\""},
      {std::string(100000, '['), "is not a JSON object"},
  };
  for (const auto& bad : kCases) {
    EXPECT_THAT(
        Read("a.jsonl", absl::StrCat("{\"n\":1}\n", bad.line, "\n"), "n"),
        StatusIs(kInvalid,
                 AllOf(HasSubstr("a.jsonl: line 2: "), HasSubstr(bad.text))));
  }
}

TEST_F(LengthFileTest, FieldGoesWithJsonLinesOnly) {
  EXPECT_THAT(Read("a.jsonl", "{\"n\":5}\n"),
              StatusIs(kInvalid, HasSubstr("--field")));
  EXPECT_THAT(Read("a.npy", Npy<int64_t>("<i8", {5}), "n"),
              StatusIs(kInvalid, HasSubstr("JSON Lines only")));
  EXPECT_THAT(Read("a.hist.csv", "length,count\n5,1\n", "n"),
              StatusIs(kInvalid, HasSubstr("JSON Lines only")));
}

template <typename Item>
LengthList WithLargest() {
  return {7, static_cast<uint32_t>(std::min<uint64_t>(
                 std::numeric_limits<Item>::max(), 4294967295))};
}

TEST_F(LengthFileTest, NpyOfEveryIntegerType) {
  const auto check = [this](const std::string& type, auto zero) {
    using Item = decltype(zero);
    const LengthList expected = WithLargest<Item>();
    const std::vector<Item> items = {static_cast<Item>(expected[0]),
                                     static_cast<Item>(expected[1])};
    EXPECT_EQ(ReadList("a.npy", Npy(type, items)), expected) << type;
  };
  check("|i1", int8_t{});
  check("|u1", uint8_t{});
  check("<i2", int16_t{});
  check("<u2", uint16_t{});
  check("<i4", int32_t{});
  check("<u4", uint32_t{});
  check("<i8", int64_t{});
  check("<u8", uint64_t{});
}

TEST_F(LengthFileTest, NpyOfLaterVersionsAndGzip) {
  const std::vector<int64_t> items = {5, 3};
  EXPECT_THAT(ReadList("a.npy", Npy("<i8", items, "", 2)), ElementsAre(5, 3));
  EXPECT_THAT(ReadList("a.npy", Npy("<i8", items, "", 3)), ElementsAre(5, 3));
  EXPECT_THAT(ReadList("a.npy.gz", Gzip(Npy("<i8", items))), ElementsAre(5, 3));
}

TEST_F(LengthFileTest, NpyThatIsNoList) {
  const std::vector<int64_t> items = {5, 3, 1, 2};
  const std::string good = Npy("<i8", items);
  const auto expect = [this](const std::string& content,
                             const std::string& text) {
    EXPECT_THAT(
        Read("a.npy", content),
        StatusIs(kInvalid, AllOf(HasSubstr("a.npy: "), HasSubstr(text))));
  };
  expect("5\n3\n", "is not a .npy file");
  expect(good.substr(0, 7), "is not a .npy file");
  expect(good.substr(0, 9), "ends inside its header");
  expect(good.substr(0, 30), "ends inside its header");
  expect(good.substr(0, good.size() - 8), "holds 3 items; its header says 4");
  expect(good.substr(0, good.size() - 1), "holds 3 items; its header says 4");
  const std::string extra =
      "has extra bytes behind the 4 items that its header";
  expect(good + std::string(8, '\0'), extra);
  expect(good + std::string(8, '\xff'), extra);
  expect(good + "1", extra);
  expect(Npy("<i8", items, "(2, 2)"), "has shape (2, 2)");
  expect(Npy("<i8", items, "()"), "has shape ()");
  expect(Npy("<i8", items, "(18446744073709551616,)"), "has shape");
  expect(Npy("<i8", items, "(18446744073709551615,)"), "holds 4 items");
  expect(Npy(">i8", items), "\">i8\"; little-endian integers");
  expect(Npy("<f8", items), "items of type \"<f8\"");
  expect(Npy("', 'x': '", items), "items of type \"\"");
  std::string record = good;
  record.replace(record.find("'<i8'"), 5, "['a']");
  expect(record, "needs an array of integers");
  std::string huge_header("\x93NUMPY\x02\0\xff\xff\xff\xff", 12);
  expect(huge_header + std::string(100, ' '), "a header of 4294967295 bytes");
}

TEST_F(LengthFileTest, NpyItemOutOfRangeIsNamed) {
  EXPECT_THAT(Read("a.npy", Npy<int64_t>("<i8", {5, -3})),
              StatusIs(kInvalid, HasSubstr("item 1 is -3")));
  EXPECT_THAT(Read("a.npy", Npy<int8_t>("|i1", {5, 3, -1})),
              StatusIs(kInvalid, HasSubstr("item 2 is -1")));
  EXPECT_THAT(Read("a.npy", Npy<int64_t>("<i8", {4294967296})),
              StatusIs(kInvalid, HasSubstr("item 0 is 4294967296")));
  EXPECT_THAT(Read("a.npy", Npy<uint64_t>("<u8", {~uint64_t{0}})),
              StatusIs(kInvalid, HasSubstr("item 0 is 18446744073709551615")));
}

MATCHER_P2(IsRow, length, count, "") {
  return arg.length == length && arg.count == count;
}

TEST_F(LengthFileTest, Histogram) {
  const std::string text =
      "length,count\r\n5,2\r\n\n4,0\n 7 , 1000000000000 \n";
  const auto rows = VariantWith<LengthHistogram>(
      ElementsAre(IsRow(5u, 2u), IsRow(7u, 1000000000000u)));
  absl::StatusOr<LengthInput> plain = Read("a.hist.csv", text);
  ASSERT_THAT(plain, IsOk());
  EXPECT_THAT(*plain, rows);
  absl::StatusOr<LengthInput> packed = Read("a.hist.csv.gz", Gzip(text));
  ASSERT_THAT(packed, IsOk());
  EXPECT_THAT(*packed, rows);
}

TEST_F(LengthFileTest, BadHistogram) {
  const auto expect = [this](const std::string& content,
                             const std::string& text) {
    EXPECT_THAT(Read("a.hist.csv", content),
                StatusIs(kInvalid, HasSubstr(text)));
  };
  expect("5,1\n", "line 1: \"5,1\" is not the header");
  expect("length,count\n5\n", "line 2: \"5\" is not length,count");
  expect("length,count\n5,\n", "line 2: \"\" is not a whole number");
  expect("length,count\n,5\n", "line 2: \"\" is not a whole number");
  expect("length,count\n5,1,2\n", "line 2: \"1,2\" is not a whole number");
  expect("length,count\n5,1\n-5,1\n", "line 3: \"-5\" is negative");
  expect("length,count\n4294967296,1\n", "line 2: \"4294967296\" is over");
  expect("length,count\n5,9223372036854775808\n", "is over the limit");
  expect("length,count\n", "holds no sequence");
  expect("length,count\n5,0\n", "holds no sequence");
}

TEST(ParseWholeNumberTest, TellsTheLimitFromOneMore) {
  for (const uint64_t max :
       {uint64_t{9}, uint64_t{4294967295}, uint64_t{9223372036854775807}}) {
    EXPECT_THAT(ParseWholeNumber(absl::StrCat(max), max), IsOk());
    EXPECT_EQ(*ParseWholeNumber(absl::StrCat(max), max), max);
    EXPECT_THAT(ParseWholeNumber(absl::StrCat(max + 1), max), Not(IsOk()));
    EXPECT_THAT(ParseWholeNumber(absl::StrCat(max, "0"), max), Not(IsOk()));
  }
}

}  // namespace
}  // namespace packhouse
