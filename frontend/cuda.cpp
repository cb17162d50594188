#include "tailor/cuda.h"

#include "runtime/storage.h"

namespace tailor::cuda {

// Memory is the one thing everything else on a device stands on: a device that gives none is not available.
bool is_available() {
  static const bool available = [] {
    try {
      return static_cast<bool>(Storage::allocate(1, Device(kCUDA)));
    } catch (const Error&) { return false; }
  }();
  return available;
}
int64_t device_count() { return is_available() ? 1 : 0; }

}  // namespace tailor::cuda
