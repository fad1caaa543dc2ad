#include "packing/state.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/packer.h"
#include "packhouse/plan_check.h"
#include "tests/packing/packer_state.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(State, ComesBackAsItWas) {
  std::vector<uint64_t> numbers = {0, 1, 127, 128, 16383, 16384};
  for (int bit = 0; bit < 64; ++bit) numbers.push_back(uint64_t{1} << bit);
  numbers.push_back(std::numeric_limits<uint64_t>::max());
  StateWriter writer;
  for (const uint64_t number : numbers) writer.Number(number);
  writer.Numbers({3, 4294967295, 1});
  writer.Numbers({});
  const std::string bytes = std::move(writer).Take();

  StateReader reader(bytes);
  for (const uint64_t number : numbers) EXPECT_EQ(reader.Number(), number);
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
  writer.Numbers({1000, 2, 3});
  const std::string bytes = std::move(writer).Take();
  for (size_t size = 0; size <= bytes.size(); ++size) {
    StateReader reader(absl::string_view(bytes).substr(0, size));
    reader.Number();
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
  // 1 in two bytes.
  StateReader longer(absl::string_view("\x81\0", 2));
  longer.Number();
  EXPECT_FALSE(longer.ok());
}

TEST(State, ANumberHasNoMoreBytesThanAreSaid) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value :
         {(uint64_t{1} << bit) - 1, uint64_t{1} << bit}) {
      StateWriter writer;
      writer.Number(value);
      EXPECT_EQ(std::move(writer).Take().size(), MaxNumberBytes(value));
    }
  }
}

// --- Packers -----------------------------------------------------------------

// Every rule for streams with every effort, by all policies, aligned or not,
// limited or not; windows of some units.
std::vector<PackSpec> SpecsOf(const std::string& algorithm) {
  std::vector<PackSpec> specs;
  for (const Effort effort :
       {Effort::kFast, Effort::kBalanced, Effort::kThorough}) {
    if (algorithm != "sliding" && effort != Effort::kBalanced) continue;
    for (int overlong = 0; overlong < 5; ++overlong) {
      for (int empty = 0; empty < 2; ++empty) {
        for (const int64_t alignment : {1, 3}) {
          for (const int64_t limit : {0, 4}) {
            PackSpec spec = MakeSpec(/*capacity_tokens=*/50, 7);
            spec.algorithm = algorithm;
            spec.effort = effort;
            spec.overlong = static_cast<Overlong>(overlong);
            spec.empty = static_cast<Empty>(empty);
            spec.sequence_alignment = alignment;
            spec.max_sequences_per_pack = limit;
            if (algorithm != "sliding" && limit > 0) spec.seed = 5;
            specs.push_back(spec);
          }
        }
      }
    }
  }
  return specs;
}

// Some that fit, some that do not, some that are empty, as the spec allows.
Lengths MixedLengths(const PackSpec& spec, size_t count, std::mt19937* random) {
  const uint32_t longest = LongestPiece(spec);
  Lengths lengths(count);
  for (uint32_t& length : lengths) {
    const uint32_t kind = (*random)() % 8;
    length = 1 + (*random)() % (kind < 4 ? longest : longest / 3);
    if (kind == 0 && spec.empty == Empty::kDrop) length = 0;
    if (kind == 1 && spec.overlong != Overlong::kError) {
      length = longest + 1 + (*random)() % (3 * longest);
    }
  }
  return lengths;
}

class PackerStateOf : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Rules, PackerStateOf,
                         testing::Values("spfhp", "lpfhp", "depth_aware",
                                         "sliding"),
                         [](const auto& rule) { return rule.param; });

// Gives `lengths` from number `from` on, one by one, with a flush before number
// `flush`.
void Give(const Lengths& lengths, size_t from, size_t flush, Packer* packer,
          Packs* packs) {
  for (size_t i = from; i < lengths.size(); ++i) {
    if (i == flush) {
      ASSERT_THAT(packer->Flush(packs), IsOk());
    }
    ASSERT_THAT(packer->Add({lengths[i]}, packs), IsOk());
  }
}

TEST_P(PackerStateOf, IsWhereTheUnbrokenPackerWas) {
  std::mt19937 random(1);
  for (const PackSpec& spec : SpecsOf(GetParam())) {
    const Lengths lengths = MixedLengths(spec, 60, &random);
    const size_t flush = random() % 90;  // may be behind the end
    Packer whole = *Packer::Create(spec);
    Packs expected;
    Give(lengths, 0, flush, &whole, &expected);
    const std::string last = whole.Save();
    ASSERT_THAT(whole.Finish(&expected), IsOk());
    ASSERT_THAT(Verify(lengths, spec, expected), IsOk());

    Packer first = *Packer::Create(spec);
    Packs before;
    for (size_t cut = 0; cut <= lengths.size(); ++cut) {
      const std::string state = first.Save();
      ASSERT_LE(state.size(), MaxStateBytes(spec));
      ASSERT_EQ(Encode(spec, Decode(spec, state)), state);
      absl::StatusOr<Packer> second = Packer::Restore(spec, state);
      ASSERT_THAT(second, IsOk());
      ASSERT_EQ(second->Save(), state);
      ASSERT_EQ(second->sequences(), cut);
      ASSERT_EQ(second->pending_units(), first.pending_units());
      ASSERT_EQ(second->oldest_pending_ordinal(),
                first.oldest_pending_ordinal());
      Packs packs = before;
      Give(lengths, cut, flush, &*second, &packs);
      ASSERT_EQ(second->Save(), last);
      ASSERT_THAT(second->Finish(&packs), IsOk());
      ASSERT_EQ(packs, expected) << "cut " << cut;
      if (cut == lengths.size()) break;
      Give({lengths.begin(), lengths.begin() + cut + 1}, cut, flush, &first,
           &before);
    }
  }
}

// Whatever the bytes: refused, or a packer that keeps all promises.
TEST_P(PackerStateOf, KeepsItsPromisesWhateverTheBytes) {
  std::mt19937 random(2);
  uint64_t taken = 0;
  uint64_t refused = 0;
  for (const PackSpec& spec : SpecsOf(GetParam())) {
    const Lengths lengths = MixedLengths(spec, 12, &random);
    const auto use = [&](absl::string_view state) {
      const auto packs = UseState(spec, state, lengths, /*flush=*/8);
      (packs.ok() ? taken : refused) += 1;
      EXPECT_TRUE(packs.ok() || absl::IsInvalidArgument(packs.status()))
          << packs.status() << " " << absl::CHexEscape(state);
    };
    Packer packer = *Packer::Create(spec);
    Packs packs;
    ASSERT_THAT(packer.Add(MixedLengths(spec, 25, &random), &packs), IsOk());
    const std::string state = packer.Save();
    use(state);
    ASSERT_EQ(refused, 0u);
    const size_t body = state.size() - 8;
    for (size_t i = 0; i < body; ++i) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string changed = state;
        changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
        use(WithChecksum(changed));
      }
      const char drawn = static_cast<char>(random());
      for (const char byte : {'\0', '\1', '\x7f', '\x80', '\xff', drawn}) {
        std::string changed = state;
        changed[i] = byte;
        use(WithChecksum(changed));
        changed = state;
        changed.insert(i, 1, byte);
        use(WithChecksum(changed));
      }
      std::string cut = state;
      use(WithChecksum(cut.erase(i, 1)));
      use(WithChecksum(state.substr(0, i + 8)));
    }
    use(WithChecksum(state + '\0'));
    use(WithChecksum(state + state));
    if (HasFailure()) return;
    EXPECT_GT(refused, 0u);
    refused = 0;
  }
  EXPECT_GT(taken, 1000u);
}

// A state that Save may have given for `lengths`.
PackerState StateAfter(const PackSpec& spec, const Lengths& lengths) {
  Packer packer = *Packer::Create(spec);
  Packs packs;
  EXPECT_THAT(packer.Add(lengths, &packs), IsOk());
  return Decode(spec, packer.Save());
}

class ImpossibleState : public testing::Test {
 protected:
  // True where the state is refused after this change, and not without it.
  bool Refuses(const std::function<void(PackerState*)>& change) {
    EXPECT_THAT(Packer::Restore(spec_, Encode(spec_, state_)), IsOk());
    PackerState changed = state_;
    change(&changed);
    return !Packer::Restore(spec_, Encode(spec_, changed)).ok();
  }

  PackSpec spec_ = MakeSpec(/*capacity_tokens=*/10, 6);
  PackerState state_;
};

TEST_F(ImpossibleState, OfAnyRule) {
  state_ = StateAfter(spec_, {1, 2, 3, 4, 5, 6, 7, 8});  // a window and two
  EXPECT_TRUE(Refuses([](PackerState* s) { s->finished = 1; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->finished = 2; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->version = 2; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->units = s->sequences = 1; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { ++s->units; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { ++s->sequences; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->pending[0].footprint = 11; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->pending[1].footprint = 0; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->pending.resize(6, {0, 1}); }));
  EXPECT_FALSE(Refuses([](PackerState* s) {
    s->units = s->sequences = uint64_t{1} << 60;
    s->windows = uint64_t{1} << 59;
  }));
  EXPECT_TRUE(Refuses([](PackerState* s) {
    s->units = s->sequences = (uint64_t{1} << 60) + 1;
    s->windows = uint64_t{1} << 59;
  }));
}

TEST_F(ImpossibleState, OfAWindowedRule) {
  state_ = StateAfter(spec_, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(Refuses([](PackerState* s) { s->windows = 0; }));
  EXPECT_FALSE(Refuses([](PackerState* s) { s->windows = 6; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->windows = 7; }));
}

TEST_F(ImpossibleState, OfSliding) {
  spec_.algorithm = "sliding";
  spec_.max_displacement = 5;
  spec_.max_sequences_per_pack = 3;
  state_ = StateAfter(spec_, {4, 4, 4, 4, 4, 4, 4, 4});
  ASSERT_GT(state_.pending.size(), 2u);
  const auto shift = [](PackerState* s, uint64_t by) {  // makes all older
    s->units = s->sequences += by;
  };
  EXPECT_FALSE(Refuses(
      [&](PackerState* s) { shift(s, s->pending[0].number + 6 - s->units); }));
  EXPECT_TRUE(Refuses(
      [&](PackerState* s) { shift(s, s->pending[0].number + 7 - s->units); }));
  EXPECT_TRUE(Refuses([](PackerState* s) {
    s->units = s->sequences = s->pending.back().number;
  }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->pending[0].footprint = 10; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->lambda = 0; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->lambda = 5; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->lambda = 11; }));
  EXPECT_TRUE(
      Refuses([](PackerState* s) { s->slot_share = (uint64_t{1} << 52) + 1; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->arrived = s->units + 1; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->arrived = 1; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->arrived_total = 81; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->arrived_total = 7; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->history.pop_back(); }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->history[4] += 1; }));
}

TEST_F(ImpossibleState, OfSplitSequences) {
  spec_.overlong = Overlong::kSplit;
  state_ = StateAfter(spec_, {1, 25, 2});  // units 0; 1, 2, 3; 4
  ASSERT_EQ(state_.pending.size(), 5u);
  const auto refuses_place = [&](size_t i, uint64_t ordinal, uint64_t piece) {
    return Refuses([&](PackerState* s) {
      s->pending[i].ordinal = ordinal;
      s->pending[i].cut = piece;
    });
  };
  EXPECT_FALSE(Refuses([](PackerState* s) {
    s->sequences = 2;
    s->pending[4] = {4, 10, 1, 3};
  }));
  EXPECT_TRUE(refuses_place(4, 1, 3));  // the last sequence became nothing
  EXPECT_TRUE(refuses_place(4, 1, 2));  // the same piece again
  EXPECT_TRUE(refuses_place(4, 1, 4));  // one between is missing
  EXPECT_TRUE(refuses_place(4, 2, 1));  // its first piece is missing
  EXPECT_TRUE(refuses_place(4, 3, 0));  // was not taken yet
  EXPECT_TRUE(refuses_place(0, 1, 0));  // ordinal 0 became nothing
  EXPECT_TRUE(refuses_place(1, 0, 0));
  EXPECT_TRUE(refuses_place(3, 0, 1));  // before the one before
  EXPECT_TRUE(refuses_place(1, 1, 65536));
}

TEST_F(ImpossibleState, OfAPieceBehindNothing) {
  spec_.overlong = Overlong::kSplit;
  spec_.empty = Empty::kDrop;
  state_ = StateAfter(spec_, {1, 25, 2});
  const uint64_t far = uint64_t{1} << 59;  // a stretch of empty sequences
  const auto refuses_piece = [&](uint64_t piece) {
    return Refuses([&](PackerState* s) {
      s->pending[4].ordinal = far;
      s->pending[4].cut = piece;
      s->sequences = far + 1;
    });
  };
  EXPECT_FALSE(refuses_piece(0));
  EXPECT_TRUE(refuses_piece(1));
}

TEST_F(ImpossibleState, OfPiecesThatAreTooMany) {
  // 2^32 - 1 tokens are three pieces at most.
  spec_ = MakeSpec(kMaxCapacityTokens, 4);
  spec_.overlong = Overlong::kSplit;
  state_ = StateAfter(spec_, {4294967295, 7, 7, 7});
  ASSERT_EQ(state_.units, 6u);
  ASSERT_EQ(state_.pending.size(), 2u);
  EXPECT_TRUE(Refuses([](PackerState* s) { s->pending[0].cut = 3; }));
  // What came before the pending units: two sequences.
  ASSERT_EQ(state_.pending[0].ordinal, 2u);
  const auto refuses_before = [&](uint64_t units) {
    return Refuses([&](PackerState* s) {
      s->units = units + 2;
      s->windows = units;
    });
  };
  EXPECT_TRUE(refuses_before(1));
  EXPECT_FALSE(refuses_before(2));
  EXPECT_FALSE(refuses_before(6));
  EXPECT_TRUE(refuses_before(7));
}

TEST_F(ImpossibleState, OfCutHeads) {
  spec_.overlong = Overlong::kTruncateHead;
  state_ = StateAfter(spec_, {1, 25, 2});
  ASSERT_EQ(state_.pending[1].cut, 15u);
  const auto refuses_cut = [&](uint64_t cut) {
    return Refuses([&](PackerState* s) { s->pending[1].cut = cut; });
  };
  EXPECT_FALSE(refuses_cut(4294967285));
  EXPECT_TRUE(refuses_cut(4294967286));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->pending[1].ordinal = 0; }));
}

TEST_F(ImpossibleState, OfDroppedSequences) {
  spec_.overlong = Overlong::kDrop;
  state_ = StateAfter(spec_, {1, 25, 2});
  ASSERT_EQ(state_.pending[1].ordinal, 2u);
  EXPECT_FALSE(Refuses([](PackerState* s) { s->sequences = 1 << 30; }));
  EXPECT_FALSE(Refuses([](PackerState* s) { s->pending[1].ordinal = 1; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->pending[1].ordinal = 0; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->pending[1].ordinal = 3; }));
  EXPECT_TRUE(Refuses([](PackerState* s) { s->sequences = 1; }));
}

// --- Size --------------------------------------------------------------------

// The largest that can be made of it: the longest lengths that are pending, far
// along the stream, each behind a stretch of dropped ones.
TEST_P(PackerStateOf, IsNeverLargerThanItsBound) {
  for (const int64_t capacity : {1, 2, 100, 4096, 2147483647}) {
    for (PackSpec spec : SpecsOf(GetParam())) {
      spec.capacity_tokens = capacity;
      spec.sequence_alignment = std::min(spec.sequence_alignment, capacity);
      spec.window_sequences = 64;
      if (GetParam() == "sliding") spec.max_displacement = 1 << 20;
      const uint32_t longest = LongestPiece(spec);
      const bool splits = spec.overlong == Overlong::kSplit;
      const bool drops =
          spec.overlong == Overlong::kDrop || spec.empty == Empty::kDrop;
      PackerState start = StateAfter(spec, {});
      start.units = start.sequences = start.windows = uint64_t{1} << 40;
      Packs packs;
      uint64_t largest = 0;
      absl::StatusOr<Packer> packer =
          Packer::Restore(spec, Encode(spec, start));
      ASSERT_THAT(packer, IsOk());
      for (int i = 0; i < 300; ++i) {
        Lengths lengths = {longest - (longest > 1)};
        if (spec.overlong == Overlong::kTruncateHead) lengths = {4294967295};
        if (splits) lengths.push_back(LongestAccepted(spec) / 1000);
        if (splits && lengths.back() == 0) lengths.pop_back();
        ASSERT_THAT(packer->Add(lengths, &packs), IsOk());
        const std::string state = packer->Save();
        largest = std::max<uint64_t>(largest, state.size());
        if (!drops) continue;
        // Two hundred thousand million sequences that are dropped.
        PackerState later = Decode(spec, state);
        later.sequences += uint64_t{200} << 30;
        packer = Packer::Restore(spec, Encode(spec, later));
        ASSERT_THAT(packer, IsOk());
      }
      ASSERT_LE(largest, MaxStateBytes(spec));
      ASSERT_LE(MaxStateBytes(spec), 64 * 22 + 1100u);
    }
  }
}

TEST_P(PackerStateOf, IsAFewBytesForEachPendingUnit) {
  std::mt19937 random(3);
  for (PackSpec spec : SpecsOf(GetParam())) {
    spec.capacity_tokens = 8192;
    spec.window_sequences = 1024;
    Packer packer = *Packer::Create(spec);
    Packs packs;
    ASSERT_THAT(packer.Add(MixedLengths(spec, 20000, &random), &packs), IsOk());
    uint64_t pending = 0;
    for (int i = 0; i < 100 && pending < 500; ++i) {
      ASSERT_THAT(packer.Add(MixedLengths(spec, 50, &random), &packs), IsOk());
      pending = packer.pending_units();
    }
    ASSERT_GE(pending, 500u);
    EXPECT_LE(packer.Save().size(), 6 * pending + 700);
  }
}

TEST(PackerState, ThatIsTooLargeIsRefusedUnread) {
  const PackSpec spec = MakeSpec(100, 16);
  EXPECT_THAT(Packer::Restore(spec, std::string(1 << 20, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(absl::StrCat("has 1048576 bytes, one of this "
                                              "spec has at most ",
                                              MaxStateBytes(spec)))));
}

}  // namespace
}  // namespace packhouse
