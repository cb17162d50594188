#pragma once
// Ops that move values without arithmetic. Operands and attributes, in order:
//
//   clone              self;                 contiguous            false: keep the order of dimensions (preserve_format)
//   copy_              self, src                                   Effect: writes self (broadcasting, converting)
//   fill_              self, value                                 Effect; value is a scalar or a tensor without dimensions
//   zero_              self                                        Effect
//   cat                tensors...;           dim
//   stack              tensors...;           dim                   composite
//   repeat             self;                 repeats
//   tile               self;                 dims                  composite
//   repeat_interleave  self;                 repeats, dim
//   repeat_interleave_tensor  self, repeats; dim, output_size      output_size is kernels::repeat_interleave_size(repeats)
//   flip               self;                 dims
//   roll               self;                 shifts, dims          dims empty: over the flattened tensor
//   pad                self, value;          pad, mode             pad as torch: last dimension first; mode a PadMode; value none: 0
//   pixel_shuffle      self;                 upscale_factor        composite
//   pixel_unshuffle    self;                 downscale_factor      composite
//   diag               self;                 diagonal              composite; a vector to a matrix, a matrix to its diagonal
//   tril, triu         self;                 diagonal
//
// Results are contiguous, but for clone (see above) and cat of channels-last tensors.

#include "ir/op.h"

namespace tailor::ir {

enum class PadMode : int64_t { Constant, Reflect, Replicate, Circular };

/// Which element of a dimension of `size` elements padded by `before` and `after` (which may be negative: cut off) an element `at`
/// of the result is. Circular repeats what is left after cutting, as torch does. Not for PadMode::Constant.
int64_t padded_source(PadMode mode, int64_t at, int64_t before, int64_t after, int64_t size);

/// The memory format that `clone` gives: the same order of dimensions where `x` is dense, else its order without gaps.
Dims preserved_strides(const TensorSpec& x);

}  // namespace tailor::ir
