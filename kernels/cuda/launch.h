// What the host code asks of nvcc's part: plain C++ on both sides.

#ifndef PACKHOUSE_KERNELS_CUDA_LAUNCH_H_
#define PACKHOUSE_KERNELS_CUDA_LAUNCH_H_

#include <cstdint>

#include "kernels/jobs.h"

namespace packhouse {

// A table in the memory of a device: this, and the segments behind it.
struct alignas(16) CudaTableHeader {
  int32_t count;
  int32_t rows;
  int32_t row_tokens;
  int32_t positions_run_on;
};

// Where the kernels read the segments.
struct TableSource {
  // Of the device; null where `host` is copied into the parameters.
  const CudaTableHeader* device;
  SegmentTable host;
};

struct CudaResult {
  int code = 0;              // 0 is success, kNotBuilt there is no CUDA
  const char* name = "";     // of the error, such as "cudaErrorNoDevice"
  const char* message = "";  // what CUDA says of it

  static constexpr int kNotBuilt = -1;
  bool ok() const { return code == 0; }
};

// Launches a TargetsJob, ArraysJob, BlocksJob or DenseJob on `device`. The
// job's own table is not read.
template <typename Job>
CudaResult Launch(int device, const Job& job, const TableSource& table,
                  void* stream);
CudaResult LaunchEquality(int device, const EqualityJob& job, void* stream);

}  // namespace packhouse

#endif  // PACKHOUSE_KERNELS_CUDA_LAUNCH_H_
