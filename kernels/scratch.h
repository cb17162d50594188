#pragma once
// Temporary memory of a kernel, from the caching allocator, aligned to 64 bytes. Nothing for zero elements.

#include <cstdint>
#include <utility>

#include "runtime/allocator.h"
#include "runtime/error.h"

namespace tailor::kernels {

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n)
      : bytes_(static_cast<size_t>(n) * sizeof(T)), data_(n == 0 ? nullptr : static_cast<T*>(allocate_memory(bytes_))) {}
  Scratch(Scratch&& o) noexcept : bytes_(o.bytes_), data_(std::exchange(o.data_, nullptr)) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (data_ != nullptr) release_memory(data_, bytes_);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }

 private:
  size_t bytes_;
  T* data_;
};

}  // namespace tailor::kernels
