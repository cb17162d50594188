#pragma once
// What there is of CUDA devices: none, in this version. Programs that ask first, as those for libtorch do, then stay on the CPU.
//
//   Device device = cuda::is_available() ? kCUDA : kCPU;

#include <cstdint>

namespace tailor::cuda {

/// Whether tensors can live on a CUDA device: a driver, a device, and a build that uses them.
bool is_available();
/// 0 where it is not available.
int64_t device_count();

}  // namespace tailor::cuda
