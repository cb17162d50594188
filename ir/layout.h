#pragma once
// In which order the dimensions of a dense tensor lie in memory, and the strides that this order gives at other sizes.

#include <array>
#include <optional>

#include "ir/spec.h"

namespace tailor::ir {

/// A permutation of dimensions, the innermost one first.
struct DimOrder {
  std::array<uint8_t, Dims::kMaxDims> dims{};
  uint8_t rank = 0;
  friend bool operator==(const DimOrder&, const DimOrder&) = default;
};

/// The order in which exactly these strides are dense, strides of dimensions of size 1 included; none when there is no such order
/// (gaps, overlap, expanded dimensions). Of several orders the one nearest to row-major is given.
std::optional<DimOrder> dense_order(IntArrayRef sizes, IntArrayRef strides);

/// The strides of a tensor without gaps whose dimensions lie in this order: dense_strides(sizes, dense_order(sizes, strides)) == strides.
Dims dense_strides(IntArrayRef sizes, const DimOrder& order);

}  // namespace tailor::ir
