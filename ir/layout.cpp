#include "ir/layout.h"

#include <algorithm>
#include <numeric>

namespace tailor::ir {

std::optional<DimOrder> dense_order(IntArrayRef sizes, IntArrayRef strides) {
  DimOrder order;
  order.rank = static_cast<uint8_t>(sizes.size());
  const auto begin = order.dims.begin(), end = begin + order.rank;
  std::iota(begin, end, uint8_t{0});
  // Of equal strides those of dimensions of one element lie inside: they do not move the next dimension on.
  std::sort(begin, end, [&](uint8_t a, uint8_t b) {
    if (strides[a] != strides[b]) return strides[a] < strides[b];
    const bool moves_a = sizes[a] > 1, moves_b = sizes[b] > 1;
    return moves_a != moves_b ? moves_b : a > b;
  });
  const Dims dense = dense_strides(sizes, order);
  if (!std::equal(dense.begin(), dense.end(), strides.begin(), strides.end())) return std::nullopt;
  return order;
}

Dims dense_strides(IntArrayRef sizes, const DimOrder& order) {
  Dims strides(order.rank, 1);
  int64_t next = 1;
  for (size_t i = 0; i < order.rank; ++i) {
    const size_t dim = order.dims[i];
    strides[dim] = next;
    next *= std::max<int64_t>(sizes[dim], 1);
  }
  return strides;
}

}  // namespace tailor::ir
