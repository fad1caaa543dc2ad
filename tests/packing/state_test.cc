#include "packing/state.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace packhouse {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(State, ComesBackAsItWas) {
  std::vector<uint64_t> numbers = {0, 1, 127, 128, 16383, 16384};
  for (int bit = 0; bit < 64; ++bit) numbers.push_back(uint64_t{1} << bit);
  numbers.push_back(std::numeric_limits<uint64_t>::max());
  StateWriter writer;
  for (const uint64_t number : numbers) writer.Number(number);
  writer.Double(-0.1);
  writer.Numbers({3, 4294967295, 1});
  writer.Numbers({});
  const std::string bytes = std::move(writer).Take();

  StateReader reader(bytes);
  for (const uint64_t number : numbers) EXPECT_EQ(reader.Number(), number);
  EXPECT_EQ(reader.Double(), -0.1);
  EXPECT_THAT(reader.Numbers(3, 1, 4294967295), ElementsAre(3, 4294967295, 1));
  EXPECT_FALSE(reader.AtEnd());
  EXPECT_THAT(reader.Numbers(3, 1, 1), IsEmpty());
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(reader.Number(), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(State, EveryCutIsNoticed) {
  StateWriter writer;
  writer.Number(300);
  writer.Double(2.5);
  writer.Numbers({1000, 2, 3});
  const std::string bytes = std::move(writer).Take();
  for (size_t size = 0; size <= bytes.size(); ++size) {
    StateReader reader(absl::string_view(bytes).substr(0, size));
    reader.Number();
    reader.Double();
    reader.Numbers(10, 1, 1000);
    EXPECT_EQ(reader.AtEnd(), size == bytes.size()) << size;
  }
}

TEST(State, RefusesWhatIsOutOfRange) {
  const auto numbers = [](absl::Span<const uint32_t> list, uint64_t max_size) {
    StateWriter writer;
    writer.Numbers(list);
    const std::string bytes = std::move(writer).Take();
    StateReader reader(bytes);
    const std::vector<uint32_t> read = reader.Numbers(max_size, 2, 9);
    EXPECT_EQ(read.empty(), !reader.ok());
    return reader.ok();
  };
  EXPECT_TRUE(numbers({2, 9}, 2));
  EXPECT_FALSE(numbers({2, 9}, 1));
  EXPECT_FALSE(numbers({1, 9}, 2));
  EXPECT_FALSE(numbers({2, 10}, 2));
  // A list said to be longer than the bytes that follow takes no memory.
  StateReader reader("\xff\xff\xff\xff\x0f");
  EXPECT_THAT(reader.Numbers(~uint64_t{0}, 0, 9), IsEmpty());
  EXPECT_FALSE(reader.ok());
  // Eleven bytes, and a tenth with more bits than are left.
  StateReader eleven("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
  eleven.Number();
  EXPECT_FALSE(eleven.ok());
  StateReader over("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  over.Number();
  EXPECT_FALSE(over.ok());
}

}  // namespace
}  // namespace packhouse
