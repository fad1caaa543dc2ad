// In place of launch.cu where there is no CUDA compiler.

#include "kernels/cuda/launch.h"

namespace packhouse {
namespace {

CudaResult NotBuilt() { return {CudaResult::kNotBuilt, "", ""}; }

}  // namespace

template <typename Job>
CudaResult Launch(int, const Job&, const TableSource&, void*) {
  return NotBuilt();
}

template CudaResult Launch(int, const TargetsJob&, const TableSource&, void*);
template CudaResult Launch(int, const ArraysJob&, const TableSource&, void*);
template CudaResult Launch(int, const BlocksJob&, const TableSource&, void*);
template CudaResult Launch(int, const DenseJob&, const TableSource&, void*);

CudaResult LaunchEquality(int, const EqualityJob&, void*) { return NotBuilt(); }

}  // namespace packhouse
