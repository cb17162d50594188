#pragma once
// Small tools over HostTensor and strided memory.

#include <array>

#include "ir/reference.h"

namespace tailor::ir {

/// The tensor converted to another dtype by PyTorch's rules (floats to integers truncate, to bool compare with zero).
HostTensor cast(const HostTensor& from, ScalarType dtype);

/// Calls f(offset) for each element in row-major order.
template <class F>
void for_each_offset(IntArrayRef sizes, IntArrayRef strides, F&& f) {
  const size_t rank = sizes.size();
  int64_t count = product(sizes), offset = 0;
  std::array<int64_t, Dims::kMaxDims> index{};
  while (count-- > 0) {
    f(offset);
    for (size_t d = rank; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < sizes[d]) break;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

/// Elements between the first and one past the last that a strided tensor touches.
inline int64_t extent_of(const TensorSpec& spec) {
  if (spec.numel() == 0) return 0;
  int64_t last = 0;
  for (size_t i = 0; i < spec.sizes.size(); ++i) last += (spec.sizes[i] - 1) * spec.strides[i];
  return last + 1;
}

}  // namespace tailor::ir
