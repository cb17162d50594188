#pragma once
// Pooling over the last one or two dims of [N, C, ...] or [C, ...].
//
//   max_pool1d max_pool2d                    self;  kernel_size, stride, padding, dilation, ceil_mode
//   max_pool1d_with_indices max_pool2d_...   the same; second output: int64 position in the input's plane
//   avg_pool1d                               self;  kernel_size, stride, padding, ceil_mode, count_include_pad
//   avg_pool2d                               self;  kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
//   adaptive_avg_pool2d                      self;  output_size (-1: as the input)
//   adaptive_max_pool2d, ..._with_indices    self;  output_size
//
// kernel_size, stride (none or empty: kernel_size), padding and dilation are one integer or a list. A maximum takes the first of equal
// values and the last NaN. Averages accumulate in float32 (half types), float64 or int64, in the order of memory.

#include "ir/op.h"

namespace tailor::ir {

/// A call resolved to planes of two spatial dims (height 1 for 1d).
struct PoolShape {
  bool max = true, adaptive = false, indices = false;
  int64_t planes = 1;  // product of the leading dims
  int64_t in[2] = {1, 1}, out[2] = {1, 1};
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1};
  bool count_include_pad = true;
  int64_t divisor = 0;  // 0: the number of elements
  Dims out_sizes;

  /// The window of output `o` along dim `d`: positions begin, begin + dilation ... below end, all within the input.
  struct Window {
    int64_t begin, end;
    int64_t padded;  // its length with the padding that counts for averages
  };
  Window window(int d, int64_t o) const;
};

/// Checks a call and resolves it; throws Error with torch's texts.
PoolShape pool_shape(const OpDef& op, const TensorSpec& self, std::span<const AttrRef> attrs);

}  // namespace tailor::ir
