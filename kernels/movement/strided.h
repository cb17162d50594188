#pragma once
// Walking several strided operands together, row by row.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "kernels/kernels.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels {

/// Elements below which a walk is not worth a second thread.
inline constexpr int64_t kParallelGrain = 32768;

/// An iteration space over N operands. Strides are in bytes; 0 repeats an operand along a dimension.
template <size_t N>
struct Walk {
  Dims sizes;
  std::array<Dims, N> strides;

  /// Adds a dimension behind those there are.
  void push(int64_t size, const std::array<int64_t, N>& stride) {
    sizes.push_back(size);
    for (size_t k = 0; k < N; ++k) strides[k].push_back(stride[k]);
  }
  int64_t numel() const { return product(sizes); }
  int64_t inner_stride(size_t k) const { return strides[k].empty() ? 0 : strides[k].back(); }

  /// The same elements in the same order with as few dimensions as possible.
  Walk merged() const {
    Walk result;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      bool joins = !result.sizes.empty();
      for (size_t k = 0; k < N && joins; ++k) joins = result.strides[k].back() == strides[k][d] * sizes[d];
      if (joins) {
        const size_t last = result.sizes.size() - 1;
        result.sizes[last] *= sizes[d];
        for (size_t k = 0; k < N; ++k) result.strides[k][last] = strides[k][d];
      } else {
        std::array<int64_t, N> stride;
        for (size_t k = 0; k < N; ++k) stride[k] = strides[k][d];
        result.push(sizes[d], stride);
      }
    }
    return result;
  }

  /// The part with `length` places of dimension `d`; `offsets` are moved to its start.
  Walk part(size_t d, int64_t start, int64_t length, std::array<int64_t, N>& offsets) const {
    Walk result = *this;
    result.sizes[d] = length;
    for (size_t k = 0; k < N; ++k) offsets[k] += start * strides[k][d];
    return result;
  }
};

/// Calls row(offsets in bytes, n) for elements [begin, end) of the walk, in order; a row lies along the last dimension.
template <size_t N, class Row>
void walk_range(const Walk<N>& walk, int64_t begin, int64_t end, const std::array<int64_t, N>& start, Row&& row) {
  const size_t outer_rank = walk.sizes.empty() ? 0 : walk.sizes.size() - 1;
  const int64_t inner = walk.sizes.empty() ? 1 : walk.sizes.back();
  if (begin >= end) return;
  int64_t outer = begin / inner, i = begin % inner;
  std::array<int64_t, N> base = start;
  Dims at(outer_rank, 0);
  for (size_t d = outer_rank; d-- > 0;) {
    at[d] = outer % walk.sizes[d];
    outer /= walk.sizes[d];
    for (size_t k = 0; k < N; ++k) base[k] += at[d] * walk.strides[k][d];
  }
  for (;;) {
    const int64_t n = std::min(inner - i, end - begin);
    std::array<int64_t, N> offsets = base;
    for (size_t k = 0; k < N; ++k) offsets[k] += i * walk.inner_stride(k);
    row(offsets, n);
    begin += n;
    if (begin >= end) return;
    i = 0;
    for (size_t d = outer_rank; d-- > 0;) {
      for (size_t k = 0; k < N; ++k) base[k] += walk.strides[k][d];
      if (++at[d] < walk.sizes[d]) break;
      for (size_t k = 0; k < N; ++k) base[k] -= walk.sizes[d] * walk.strides[k][d];
      at[d] = 0;
    }
  }
}

/// The whole walk, by several threads when it is large: for rows that do not depend on each other.
template <size_t N, class Row>
void walk_rows(const Walk<N>& unmerged, Row&& row) {
  const Walk<N> walk = unmerged.merged();
  const int64_t n = walk.numel();
  if (n <= kParallelGrain) return walk_range(walk, 0, n, {}, row);
  parallel_for(0, n, kParallelGrain, [&](int64_t begin, int64_t end) { walk_range(walk, begin, end, {}, row); });
}

/// The whole walk, for writers that may hit a place several times: elements that differ only along the `serial` dimensions are
/// visited in order by one thread. The result does not depend on the number of threads. Calls row(walk, offsets, n), where the
/// walk (for its strides) is the part that this thread visits.
template <size_t N, class Row>
void walk_rows_in_order(const Walk<N>& walk, const std::array<bool, Dims::kMaxDims>& serial, Row&& row) {
  const int64_t n = walk.numel();
  if (n == 0) return;
  size_t widest = 0;
  int64_t width = 1;
  for (size_t d = 0; d < walk.sizes.size(); ++d)
    if (!serial[d] && walk.sizes[d] > width) width = walk.sizes[d], widest = d;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (n / width));
  const auto run = [&](int64_t begin, int64_t end) {
    std::array<int64_t, N> offsets{};
    const Walk<N> part = (width == 1 ? walk : walk.part(widest, begin, end - begin, offsets)).merged();
    walk_range(part, 0, part.numel(), offsets, [&](const std::array<int64_t, N>& at, int64_t m) { row(part, at, m); });
  };
  if (n <= kParallelGrain || width == 1)
    run(0, width);
  else
    parallel_for(0, width, grain, run);
}

/// Calls f.template operator()<U>() with an unsigned type of `size` bytes: for code that moves elements without looking at them.
template <class F>
decltype(auto) visit_size(int64_t size, F&& f) {
  switch (size) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    default: return f.template operator()<uint64_t>();
  }
}

/// Moves n elements between strided rows (strides in bytes).
template <class U>
void move_row(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride, int64_t n) {
  constexpr int64_t size = sizeof(U);
  if (to_stride == size && from_stride == size) {
    std::memcpy(to, from, static_cast<size_t>(n * size));
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(U));
}

inline std::byte* bytes_of(const TensorArg& t) { return static_cast<std::byte*>(t.data); }

}  // namespace tailor::kernels
