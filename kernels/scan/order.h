#pragma once
// Orders of elements as unsigned keys, so that every sort is a sort of integers. -0 equals 0, NaN is above all numbers; an element's
// index below its key makes any sort of the pairs stable.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "runtime/dtype.h"

namespace tailor::kernels::scan {

/// Key of an element: a < b exactly when key(a) < key(b). 32 bits where the type has no more.
template <class T>
auto key_of(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return key_of(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    if (v != v) return static_cast<U>(~U{0});
    const U bits = std::bit_cast<U>(v == 0 ? T(0) : v), sign = U{1} << (sizeof(U) * 8 - 1);
    return bits & sign ? static_cast<U>(~bits) : static_cast<U>(bits | sign);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<uint64_t>(v) ^ (uint64_t{1} << 63);
  } else {
    return static_cast<uint32_t>(static_cast<int32_t>(v)) ^ (uint32_t{1} << 31);
  }
}

/// A 32-bit key above a 32-bit index: one word, compared at once.
struct Narrow {
  uint64_t word;
  int64_t index() const { return static_cast<int64_t>(word & 0xffffffffu); }
  friend bool operator<(Narrow a, Narrow b) { return a.word < b.word; }
  static Narrow make(uint32_t key, int64_t index) { return {uint64_t{key} << 32 | static_cast<uint64_t>(index)}; }
};
struct Broad {
  uint64_t key;
  int64_t at;
  int64_t index() const { return at; }
  friend bool operator<(const Broad& a, const Broad& b) { return a.key != b.key ? a.key < b.key : a.at < b.at; }
  static Broad make(uint64_t key, int64_t index) { return {key, index}; }
};

/// What elements of type T are ordered as, in runs of up to 2^32.
template <class T>
using Entry = std::conditional_t<sizeof(key_of(T{})) == 4, Narrow, Broad>;

/// The entries of a run, in its own order; `descending` turns the keys around.
template <class T>
void read_entries(const T* x, int64_t stride, int64_t length, bool descending, std::vector<Entry<T>>& entries) {
  entries.resize(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) {
    const auto key = key_of(x[i * stride]);
    entries[static_cast<size_t>(i)] = Entry<T>::make(descending ? ~key : key, i);
  }
}

/// Sorts; long runs of narrow entries by radix, which keeps the order of the indices.
inline void sort_entries(std::vector<Broad>& entries, std::vector<Broad>&) { std::sort(entries.begin(), entries.end()); }
void sort_entries(std::vector<Narrow>& entries, std::vector<Narrow>& scratch);

}  // namespace tailor::kernels::scan
