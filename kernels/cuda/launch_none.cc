// In place of launch.cu where there is no CUDA compiler.

#include "kernels/cuda/launch.h"

namespace packhouse {
namespace {

CudaResult NotBuilt() { return {CudaResult::kNotBuilt, "", ""}; }

}  // namespace

CudaResult LaunchTargets(int, const TargetsJob&, const TableSource&, void*) {
  return NotBuilt();
}

CudaResult LaunchArrays(int, const ArraysJob&, const TableSource&, void*) {
  return NotBuilt();
}

CudaResult LaunchBlocks(int, const BlocksJob&, const TableSource&, void*) {
  return NotBuilt();
}

CudaResult LaunchDense(int, const DenseJob&, const TableSource&, void*) {
  return NotBuilt();
}

CudaResult LaunchEquality(int, const EqualityJob&, void*) { return NotBuilt(); }

}  // namespace packhouse
