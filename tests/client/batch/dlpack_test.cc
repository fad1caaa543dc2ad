// Tensors through DLPack: what they say on both sides, who deletes them and
// when, and each thing that is refused.

#include "packhouse/dlpack.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A tensor of another library: [2, 3] of int32, compact. Tests change it.
template <typename Managed>
struct Foreign {
  alignas(16) int32_t memory[16] = {};
  int64_t shape[4] = {2, 3, 1, 1};
  int64_t strides[4] = {3, 1, 1, 1};
  int deleted = 0;
  Managed managed = {};

  Foreign() {
    managed.owner = this;
    managed.deleter = [](Managed* self) {
      ++static_cast<Foreign*>(self->owner)->deleted;
    };
    managed.view.data = memory;
    managed.view.device = {1, 0};
    managed.view.dimensions = 2;
    managed.view.dtype = {0, 32, 1};
    managed.view.shape = shape;
    managed.view.strides = strides;
  }
  // `managed` knows where it is.
  Foreign(const Foreign&) = delete;

  std::unique_ptr<Managed, DlpackDeleter> Take() {
    return std::unique_ptr<Managed, DlpackDeleter>(&managed);
  }
};

// What does not differ between the generations.
template <typename Managed>
class FromDlpackTest : public testing::Test {
 protected:
  FromDlpackTest() { SetVersion(&foreign_.managed); }

  absl::StatusOr<SharedTensor> From() { return FromDlpack(foreign_.Take()); }

  // Refused with these words; the tensor is deleted, once.
  void ExpectRefused(const std::string& has, const std::string& needs) {
    EXPECT_THAT(From(), StatusIs(StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr(has), HasSubstr(needs))));
    EXPECT_EQ(foreign_.deleted, 1);
  }

  DlpackView& view() { return foreign_.managed.view; }

  Foreign<Managed> foreign_;

 private:
  static void SetVersion(DlpackManaged*) {}
  static void SetVersion(DlpackManagedVersioned* managed) {
    managed->version = {1, 3};
  }
};

struct GenerationName {
  template <typename Managed>
  static std::string GetName(int) {
    return std::is_same_v<Managed, DlpackManaged> ? "Old" : "Versioned";
  }
};
using Generations = testing::Types<DlpackManaged, DlpackManagedVersioned>;
TYPED_TEST_SUITE(FromDlpackTest, Generations, GenerationName);

TYPED_TEST(FromDlpackTest, IsAViewOfTheMemory) {
  const absl::StatusOr<SharedTensor> shared = this->From();
  ASSERT_THAT(shared, IsOk());
  const Tensor& tensor = shared->tensor;
  EXPECT_EQ(tensor.data, this->foreign_.memory);
  EXPECT_EQ(tensor.dtype, DType::kInt32);
  EXPECT_THAT(tensor.shape, ElementsAre(2, 3));
  EXPECT_EQ(tensor.pitch, 0);
  EXPECT_EQ(tensor.device.type, DeviceType::kCpu);
  EXPECT_FALSE(tensor.read_only);
  EXPECT_EQ(this->foreign_.deleted, 0);
}

TYPED_TEST(FromDlpackTest, LastCopyOfTheOwnerDeletesOnAnyThread) {
  absl::StatusOr<SharedTensor> shared = this->From();
  ASSERT_THAT(shared, IsOk());
  std::shared_ptr<void> copy = shared->owner;
  *shared = SharedTensor();
  EXPECT_EQ(this->foreign_.deleted, 0);
  std::thread([last = std::move(copy)]() mutable { last.reset(); }).join();
  EXPECT_EQ(this->foreign_.deleted, 1);
}

TYPED_TEST(FromDlpackTest, MayHaveNothingToDelete) {
  this->foreign_.managed.deleter = nullptr;
  EXPECT_THAT(this->From(), IsOk());
  this->view().data = nullptr;
  EXPECT_THAT(this->From(), StatusIs(StatusCode::kInvalidArgument,
                                     HasSubstr("data is null")));
}

TYPED_TEST(FromDlpackTest, ByteOffsetIsAdded) {
  this->view().byte_offset = 8;
  const absl::StatusOr<SharedTensor> shared = this->From();
  ASSERT_THAT(shared, IsOk());
  EXPECT_EQ(shared->tensor.data, this->foreign_.memory + 2);
}

TYPED_TEST(FromDlpackTest, NullStridesAreCompact) {
  this->view().strides = nullptr;
  const absl::StatusOr<SharedTensor> shared = this->From();
  ASSERT_THAT(shared, IsOk());
  EXPECT_EQ(shared->tensor.pitch, 0);
}

TYPED_TEST(FromDlpackTest, TensorWithoutElementsMayHaveAnyAddressAndStrides) {
  this->foreign_.shape[1] = 0;
  this->foreign_.strides[0] = -7;
  for (void* data : {static_cast<void*>(nullptr), reinterpret_cast<void*>(1)}) {
    this->view().data = data;
    const absl::StatusOr<SharedTensor> shared = this->From();
    ASSERT_THAT(shared, IsOk());
    EXPECT_THAT(shared->tensor.shape, ElementsAre(2, 0));
    EXPECT_EQ(shared->tensor.data, nullptr);
  }
}

TYPED_TEST(FromDlpackTest, ScalarHasOneElement) {
  this->view().dimensions = 0;
  this->view().shape = nullptr;
  this->view().strides = nullptr;
  const absl::StatusOr<SharedTensor> shared = this->From();
  ASSERT_THAT(shared, IsOk());
  EXPECT_EQ(Elements(shared->tensor.shape), 1);
}

TYPED_TEST(FromDlpackTest, Types) {
  struct Case {
    DlpackDataType type;
    DType dtype;
  };
  for (const Case& c :
       {Case{{6, 8, 1}, DType::kBool}, Case{{1, 8, 1}, DType::kUint8},
        Case{{1, 16, 1}, DType::kUint16}, Case{{0, 32, 1}, DType::kInt32},
        Case{{0, 64, 1}, DType::kInt64}, Case{{2, 16, 1}, DType::kFloat16},
        Case{{4, 16, 1}, DType::kBFloat16},
        Case{{2, 32, 1}, DType::kFloat32}}) {
    this->view().dtype = c.type;
    const absl::StatusOr<SharedTensor> shared = this->From();
    ASSERT_THAT(shared, IsOk());
    EXPECT_EQ(shared->tensor.dtype, c.dtype);
  }
  const int deleted = this->foreign_.deleted;
  int refused = 0;
  for (const DlpackDataType type :
       {DlpackDataType{0, 32, 2}, DlpackDataType{0, 32, 0},
        DlpackDataType{0, 16, 1}, DlpackDataType{0, 4, 1},
        DlpackDataType{1, 1, 1}, DlpackDataType{2, 64, 1},
        DlpackDataType{5, 64, 1}, DlpackDataType{6, 1, 1},
        DlpackDataType{17, 4, 1}, DlpackDataType{255, 8, 1}}) {
    this->view().dtype = type;
    EXPECT_THAT(
        this->From(),
        StatusIs(StatusCode::kInvalidArgument,
                 AllOf(HasSubstr(absl::StrCat("code ", int{type.code}, ", ",
                                              int{type.bits}, " bits and ",
                                              type.lanes, " lanes")),
                       HasSubstr("int64"))));
    EXPECT_EQ(this->foreign_.deleted, deleted + ++refused);
  }
}

TYPED_TEST(FromDlpackTest, Devices) {
  for (const int32_t type : {1, 2, 3, 13}) {
    this->view().device = {type, 5};
    const absl::StatusOr<SharedTensor> shared = this->From();
    ASSERT_THAT(shared, IsOk());
    EXPECT_EQ(static_cast<int32_t>(shared->tensor.device.type), type);
    EXPECT_EQ(shared->tensor.device.index, 5);
  }
  for (const int32_t type : {0, -1, 4, 10, 14}) {
    this->view().device = {type, 0};
    EXPECT_THAT(this->From(),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat("type ", type, ","))));
  }
  EXPECT_EQ(this->foreign_.deleted, 9);
}

// Every [2, 2, 2] with strides from -1 to 9: a view is made of those that a
// Tensor says the same places of, and of no other.
TYPED_TEST(FromDlpackTest, StridesAreThoseOfAPitchOrRefused) {
  this->view().dimensions = 3;
  int accepted = 0;
  for (int64_t code = 0; code < 11 * 11 * 11; ++code) {
    int64_t* const strides = this->foreign_.strides;
    strides[0] = code % 11 - 1;
    strides[1] = code / 11 % 11 - 1;
    strides[2] = code / 121 - 1;
    for (int64_t d = 0; d < 3; ++d) this->foreign_.shape[d] = 2;
    const absl::StatusOr<SharedTensor> shared = this->From();
    const bool fits =
        strides[2] == 1 && strides[1] >= 2 && strides[0] == 2 * strides[1];
    EXPECT_EQ(shared.ok(), fits) << code;
    if (!shared.ok()) {
      EXPECT_THAT(shared, StatusIs(StatusCode::kInvalidArgument,
                                   AllOf(HasSubstr("[2, 2, 2]"),
                                         HasSubstr("row-major"))));
      continue;
    }
    ++accepted;
    EXPECT_EQ(shared->tensor.pitch, strides[1] == 2 ? 0 : strides[1]);
  }
  EXPECT_EQ(accepted, 3);  // of pitches 2, 3 and 4
  EXPECT_EQ(this->foreign_.deleted, 11 * 11 * 11);
}

TYPED_TEST(FromDlpackTest, StridesOfDimensionsOfOneAreOfNoAccount) {
  this->view().dimensions = 4;
  struct Case {
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    int64_t pitch;
  };
  for (const Case& c : {Case{{1, 1, 2, 3}, {-5, 0, 3, 1}, 0},
                        Case{{1, 1, 2, 3}, {99, 99, 4, 1}, 4},
                        Case{{2, 1, 1, 3}, {4, 77, 77, 1}, 4},
                        Case{{2, 1, 2, 1}, {2, 0, 1, 9}, 0},
                        Case{{2, 1, 2, 1}, {6, 0, 3, 9}, 3},
                        Case{{1, 1, 1, 3}, {0, 0, 0, 1}, 0},
                        Case{{1, 1, 1, 1}, {0, 0, 0, 0}, 0}}) {
    std::copy(c.shape.begin(), c.shape.end(), this->foreign_.shape);
    std::copy(c.strides.begin(), c.strides.end(), this->foreign_.strides);
    const absl::StatusOr<SharedTensor> shared = this->From();
    ASSERT_THAT(shared, IsOk());
    EXPECT_EQ(shared->tensor.pitch, c.pitch);
  }
}

TYPED_TEST(FromDlpackTest, RefusesAMisalignedAddress) {
  this->view().byte_offset = 2;
  this->ExpectRefused("ends in 2", "multiple of 4");
}

TYPED_TEST(FromDlpackTest, RefusesNullData) {
  this->view().data = nullptr;
  this->ExpectRefused("data is null", "[2, 3]");
}

TYPED_TEST(FromDlpackTest, RefusesANullShape) {
  this->view().shape = nullptr;
  this->ExpectRefused("2 dimensions", "shape is null");
}

TYPED_TEST(FromDlpackTest, RefusesTooManyDimensions) {
  this->view().dimensions = 17;
  this->ExpectRefused("17", "16");
}

TYPED_TEST(FromDlpackTest, RefusesNegativeDimensions) {
  this->view().dimensions = -1;
  this->ExpectRefused("-1", "16");
}

TYPED_TEST(FromDlpackTest, RefusesANegativeSize) {
  this->foreign_.shape[1] = -3;
  this->ExpectRefused("[2, -3]", "at least 0");
}

TYPED_TEST(FromDlpackTest, RefusesSizesWhoseProductOverflows) {
  this->foreign_.shape[0] = int64_t{1} << 40;
  this->foreign_.shape[1] = int64_t{1} << 40;
  this->ExpectRefused("1099511627776", "4611686018427387903");
}

TYPED_TEST(FromDlpackTest, RefusesAPitchThatOverflows) {
  this->foreign_.strides[0] = INT64_MAX;
  this->ExpectRefused("[9223372036854775807, 1]", "row-major");
}

TYPED_TEST(FromDlpackTest, RefusesNull) {
  EXPECT_THAT(FromDlpack(std::unique_ptr<TypeParam, DlpackDeleter>()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("null")));
}

TEST(FromDlpackVersionedTest, RefusesAnotherMajorVersion) {
  for (const uint32_t major : {0u, 2u, 77u}) {
    Foreign<DlpackManagedVersioned> foreign;
    foreign.managed.version = {major, 9};
    // Nothing behind the deleter may be read: it may be something else.
    foreign.managed.view.shape = reinterpret_cast<int64_t*>(8);
    EXPECT_THAT(FromDlpack(foreign.Take()),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(absl::StrCat(major, ".9")),
                               HasSubstr("1.x"))));
    EXPECT_EQ(foreign.deleted, 1);
  }
}

TEST(FromDlpackVersionedTest, ReadOnlyTensorIsNoOutput) {
  Foreign<DlpackManagedVersioned> foreign;
  foreign.managed.version = {1, 0};
  // Copied, and its bytes padded: of no account. Bits that are not known too.
  for (const uint64_t others : {0u, 2u, 4u, 1u << 20}) {
    foreign.managed.flags = others;
    EXPECT_FALSE(FromDlpack(foreign.Take())->tensor.read_only);
    foreign.managed.flags = others | 1;
    EXPECT_TRUE(FromDlpack(foreign.Take())->tensor.read_only);
  }
  LayoutSpec spec;
  spec.row_tokens = 3;
  const auto layout = BatchLayout::Make(spec, {3, 2}, {0, 1, 2});
  const auto shared = FromDlpack(foreign.Take());
  EXPECT_THAT(
      Fill(*layout, FormatOptions(), Sources(),
           {{Format::kPositionIds, shared->tensor}}),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("position_ids"), HasSubstr("read-only"))));
  EXPECT_THAT(foreign.memory, testing::Each(0));
}

// A dense mask in foreign memory with a pitch: what lies between the lines
// stays.
TEST(FromDlpackVersionedTest, FillWritesForeignMemory) {
  std::vector<float> memory(3 * 4, 7);
  int64_t shape[4] = {1, 1, 3, 3};
  int64_t strides[4] = {12, 12, 4, 1};
  DlpackManagedVersioned managed = {};
  managed.version = {1, 1};
  managed.view = {memory.data(), {1, 0}, 4, {2, 32, 1}, shape, strides, 0};
  const auto shared = FromDlpack(DlpackVersionedPtr(&managed));
  ASSERT_THAT(shared, IsOk());
  LayoutSpec spec;
  spec.row_tokens = 3;
  const auto layout = BatchLayout::Make(spec, {2}, {0, 1});
  ASSERT_THAT(Fill(*layout, FormatOptions(), Sources(),
                   {{Format::kDenseMask, shared->tensor}}),
              IsOk());
  const float no = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(memory, ElementsAre(0, no, no, 7, 0, 0, no, 7, no, no, 0, 7));
}

// --------------------------------------------------------------- to, and back

// An owner that says when it goes.
std::shared_ptr<void> CountingOwner(int* gone) {
  return std::shared_ptr<void>(gone, [](int* count) { ++*count; });
}

TEST(ToDlpackTest, SaysWhatTheTensorIs) {
  int32_t memory[6] = {};
  Tensor tensor = HostTensor(memory, {1, 2, 3});
  tensor.device = {DeviceType::kCudaManaged, 4};
  const auto managed = ToDlpack({tensor, nullptr});
  ASSERT_THAT(managed, IsOk());
  const DlpackView& view = (*managed)->view;
  EXPECT_EQ(view.data, memory);
  EXPECT_EQ(view.device.type, 13);
  EXPECT_EQ(view.device.index, 4);
  ASSERT_EQ(view.dimensions, 3);
  EXPECT_EQ(view.dtype.code, 0);
  EXPECT_EQ(view.dtype.bits, 32);
  EXPECT_EQ(view.dtype.lanes, 1);
  EXPECT_THAT(std::vector<int64_t>(view.shape, view.shape + 3),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(std::vector<int64_t>(view.strides, view.strides + 3),
              ElementsAre(6, 3, 1));
  EXPECT_EQ(view.byte_offset, 0);
}

TEST(ToDlpackTest, VersionAndFlags) {
  const int64_t memory[2] = {};
  const DlpackVersionedPtr constant =
      ToDlpackVersioned({HostTensor(memory, {2}), nullptr});
  EXPECT_EQ(constant->version.major, 1);
  EXPECT_EQ(constant->version.minor, 0);
  EXPECT_EQ(constant->flags, 1);
  int64_t written[2] = {};
  EXPECT_EQ(ToDlpackVersioned({HostTensor(written, {2}), nullptr})->flags, 0);
  int gone = 0;
  EXPECT_THAT(ToDlpack({HostTensor(memory, {2}), CountingOwner(&gone)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("read-only")));
  EXPECT_EQ(gone, 1);
}

TEST(ToDlpackTest, WithoutElementsThereIsNoAddress) {
  int32_t memory[1] = {};
  EXPECT_EQ(ToDlpackVersioned({HostTensor(memory, {3, 0}), nullptr})->view.data,
            nullptr);
}

// As a library does that knows the structs only.
template <typename Managed>
void DeleteByItself(Managed* managed) {
  std::thread([managed] { managed->deleter(managed); }).join();
}

TEST(ToDlpackTest, DeleterLetsGoOfTheOwnerOnce) {
  int32_t memory[6] = {};
  int gone = 0;
  SharedTensor shared = {HostTensor(memory, {2, 3}), CountingOwner(&gone)};
  DlpackManaged* const old = ToDlpack(shared)->release();
  DlpackManagedVersioned* const versioned = ToDlpackVersioned(shared).release();
  { const DlpackVersionedPtr unused = ToDlpackVersioned(shared); }
  shared = SharedTensor();
  EXPECT_EQ(gone, 0);
  DeleteByItself(old);
  EXPECT_EQ(gone, 0);
  DeleteByItself(versioned);
  EXPECT_EQ(gone, 1);
}

void ExpectSame(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.pitch, b.pitch);
  EXPECT_EQ(a.device.type, b.device.type);
  EXPECT_EQ(a.device.index, b.device.index);
  EXPECT_EQ(a.read_only, b.read_only);
}

TEST(DlpackRoundTripTest, EveryTypeShapeAndPitch) {
  alignas(16) char memory[16] = {};
  int trips = 0;
  for (int dtype = 0; dtype <= static_cast<int>(DType::kFloat32); ++dtype) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
             {}, {1}, {5}, {1, 5}, {2, 5}, {2, 1, 5, 5}, {2, 1, 3, 1}}) {
      for (const int64_t extra : {0, 3}) {
        for (const bool read_only : {false, true}) {
          Tensor tensor;
          tensor.data = memory;
          tensor.dtype = static_cast<DType>(dtype);
          tensor.shape = shape;
          tensor.device = {DeviceType::kCuda, 1};
          // Lines of one row only have no pitch.
          const bool lines = shape.size() > 1 && Elements(shape) > shape.back();
          if (extra > 0 && lines) tensor.pitch = shape.back() + extra;
          tensor.read_only = read_only;
          int gone = 0;
          {
            const auto back =
                FromDlpack(ToDlpackVersioned({tensor, CountingOwner(&gone)}));
            ASSERT_THAT(back, IsOk());
            ExpectSame(back->tensor, tensor);
            EXPECT_EQ(gone, 0);
          }
          EXPECT_EQ(gone, 1);
          ++trips;
          if (read_only) continue;
          auto old = ToDlpack({tensor, nullptr});
          ASSERT_THAT(old, IsOk());
          const auto back = FromDlpack(*std::move(old));
          ASSERT_THAT(back, IsOk());
          ExpectSame(back->tensor, tensor);
        }
      }
    }
  }
  EXPECT_EQ(trips, 8 * 7 * 2 * 2);
}

}  // namespace
}  // namespace packhouse
