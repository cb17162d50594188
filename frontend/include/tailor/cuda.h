#pragma once
// What there is of CUDA devices.

#include <cstdint>

namespace tailor::cuda {

/// Whether tensors can live on a CUDA device: a driver, a device, and a build that uses them.
bool is_available();
int64_t device_count();

}  // namespace tailor::cuda
