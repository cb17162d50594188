#pragma once
// Vectors that one thread writes on every call, in cache lines of their own: what others read all the time may not lie beside them.

#include <cstddef>
#include <new>
#include <span>
#include <vector>

namespace tailor {

template <class T>
struct OwnLines {
  using value_type = T;
  static constexpr size_t kLine = 64;
  OwnLines() = default;
  template <class U>
  OwnLines(const OwnLines<U>&) noexcept {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new((n * sizeof(T) + kLine - 1) / kLine * kLine, std::align_val_t(kLine))); }
  void deallocate(T* p, size_t) noexcept { ::operator delete(static_cast<void*>(p), std::align_val_t(kLine)); }
  template <class U>
  friend bool operator==(const OwnLines&, const OwnLines<U>&) noexcept {
    return true;
  }
};

template <class T>
using OwnVector = std::vector<T, OwnLines<T>>;

/// The first `n` elements, of a vector that only grows: scratch space.
template <class T>
inline std::span<T> first_of(OwnVector<T>& scratch, size_t n) {
  if (scratch.size() < n) [[unlikely]]
    scratch.resize(n);
  return {scratch.data(), n};
}

}  // namespace tailor
