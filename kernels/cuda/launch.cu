// The kernels: a line each round the bodies of kernels/jobs.h, and their
// launches.

#include <cuda_runtime.h>

#include <cstring>

#include "kernels/cuda/launch.h"

namespace packhouse {
namespace {

// Segments that are copied into the parameters of a kernel, and the one behind
// them. Two sizes, since every byte of them is copied at each launch.
template <int kSize>
struct InlineTable {
  SegmentTable table;
  Segment segments[kSize];

  __device__ SegmentTable Get() const {
    SegmentTable here = table;
    here.segments = segments;
    return here;
  }
};
constexpr int kSmall = 65;
constexpr int kLarge = 701;  // kMaxInlineSegments + 1

struct DeviceTable {
  const CudaTableHeader* header;

  __device__ SegmentTable Get() const {
    return {reinterpret_cast<const Segment*>(header + 1), header->count,
            header->rows, header->row_tokens, header->positions_run_on != 0};
  }
};

// Two blocks of a multiprocessor leave 128 registers for a thread; with the
// compiler's own choice some kernels had 64, and spilled.
constexpr int kBlocksOfCore = 2;

template <typename Job, typename Table>
__global__ void __launch_bounds__(kThreads, kBlocksOfCore)
    Kernel(const __grid_constant__ Job job,
           const __grid_constant__ Table table) {
  Body(job, table.Get(), blockIdx.x, threadIdx.x);
}

__global__ void __launch_bounds__(kThreads, kBlocksOfCore)
    EqualityKernel(const __grid_constant__ EqualityJob job) {
  Body(job, blockIdx.x, threadIdx.x);
}

CudaResult ResultOf(cudaError_t error) {
  if (error == cudaSuccess) return {};
  return {static_cast<int>(error), cudaGetErrorName(error),
          cudaGetErrorString(error)};
}

// Makes a device the current one, while it lives.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    error_ = cudaGetDevice(&before_);
    if (error_ == cudaSuccess && device != before_) {
      error_ = cudaSetDevice(device);
      moved_ = error_ == cudaSuccess;
    }
  }
  ~OnDevice() {
    if (moved_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  cudaError_t error() const { return error_; }

 private:
  int before_ = 0;
  bool moved_ = false;
  cudaError_t error_;
};

// Launches `kernel` with `arguments`, which it takes by value.
template <typename... Parameters>
cudaError_t LaunchKernel(void (*kernel)(Parameters...), int64_t blocks,
                         void* stream, const Parameters&... arguments) {
  kernel<<<static_cast<unsigned>(blocks), kThreads, 0,
           static_cast<cudaStream_t>(stream)>>>(arguments...);
  return cudaGetLastError();
}

template <int kSize>
InlineTable<kSize> Inline(const SegmentTable& table) {
  InlineTable<kSize> copy;
  copy.table = table;
  std::memcpy(copy.segments, table.segments,
              sizeof(Segment) * (static_cast<size_t>(table.count) + 1));
  return copy;
}

template <typename Job, typename Table>
cudaError_t LaunchWith(const Job& job, const Table& table, void* stream) {
  return LaunchKernel(&Kernel<Job, Table>, job.blocks(), stream, job, table);
}

}  // namespace

template <typename Job>
CudaResult Launch(int device, const Job& job, const TableSource& source,
                  void* stream) {
  if (job.blocks() == 0) return {};
  const OnDevice on_device(device);
  if (on_device.error() != cudaSuccess) return ResultOf(on_device.error());
  if (source.device != nullptr) {
    return ResultOf(LaunchWith(job, DeviceTable{source.device}, stream));
  }
  if (source.host.count < kSmall) {
    return ResultOf(LaunchWith(job, Inline<kSmall>(source.host), stream));
  }
  return ResultOf(LaunchWith(job, Inline<kLarge>(source.host), stream));
}

template CudaResult Launch(int, const TargetsJob&, const TableSource&, void*);
template CudaResult Launch(int, const ArraysJob&, const TableSource&, void*);
template CudaResult Launch(int, const BlocksJob&, const TableSource&, void*);
template CudaResult Launch(int, const DenseJob&, const TableSource&, void*);

CudaResult LaunchEquality(int device, const EqualityJob& job, void* stream) {
  const OnDevice on_device(device);
  if (on_device.error() != cudaSuccess) return ResultOf(on_device.error());
  return ResultOf(LaunchKernel(&EqualityKernel, job.blocks(), stream, job));
}

}  // namespace packhouse
