#pragma once
// Views: ops whose result is another description of their operand's memory. Each has a `view` rule (sizes, strides, distance of
// the first element) and no kernel. Attributes, in order:
//
//   view            size                          one of them may be -1; fails where a copy would be needed
//   permute         dims
//   transpose       dim0, dim1
//   t
//   movedim         source, destination           lists
//   expand          size                          -1 keeps a size
//   squeeze         dims                          a list, or none for every dimension of size 1
//   unsqueeze       dim
//   narrow          dim, start, length
//   slice           dim, start, end, step         none: 0, the end, 1
//   select          dim, index
//   diagonal        offset, dim1, dim2
//   unfold          dim, size, step
//   as_strided      size, stride, offset          offset counts from the first element of the operand (not of its storage);
//                                                 the caller, who knows the storage, checks its bounds
//   view_as_dtype   dtype                         Tensor::view(dtype)
//   detach, alias
//
// reshape, flatten, unflatten, split, chunk, unbind, expand_as are compositions; the helpers below serve them.

#include <optional>

#include "ir/builder.h"
#include "ir/op.h"

namespace tailor::ir {

/// The strides with which memory described by (sizes, strides) can be read as `new_sizes` (which has the same number of elements),
/// or nothing where no strides can do that and a copy is needed. torch's computeStride.
///
///   compute_view_strides({2, 3}, {1, 2}, {6}) == std::nullopt
std::optional<Dims> compute_view_strides(IntArrayRef sizes, IntArrayRef strides, IntArrayRef new_sizes);

/// Replaces a -1 among `sizes` so that the product is `numel`. Throws Error with torch's text ("shape '[4, 2]' is invalid ...").
Dims infer_view_sizes(IntArrayRef sizes, int64_t numel);

/// The sizes of flatten(start_dim, end_dim). Throws as torch.
Dims flatten_sizes(IntArrayRef sizes, int64_t start_dim, int64_t end_dim);
/// The sizes of unflatten(dim, new_sizes). Throws as torch.
Dims unflatten_sizes(IntArrayRef sizes, int64_t dim, IntArrayRef new_sizes);

/// reshape over any builder: `view` where that is possible, else `view` of a contiguous clone.
int reshape(Builder& builder, int value, IntArrayRef sizes);

}  // namespace tailor::ir
