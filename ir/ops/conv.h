#pragma once
// Convolutions over 1, 2 or 3 spatial dims; batched [N, C, ...] or unbatched [C, ...].
//
//   conv1d conv2d conv3d   input, weight [out, in / groups, ...], bias [out]?;   stride, padding, dilation, groups
//   conv_transpose2d       input, weight [in, out / groups, ...], bias [out]?;   stride, padding, output_padding, groups, dilation
//   conv2d_batch_last          as conv2d, but input [C, H, W, N] and result [out, H, W, N]: what compiled code makes of conv2d where
//                              the images of a batch serve as lanes (jit/batch_last.h)
//
// stride, padding and dilation are one integer or one per spatial dim (none: 1, 0, 1). The padding of conv1d to conv3d may also give
// two integers per dim, before and after: that is what "same" means when the total is odd, see conv_padding. Sums are accumulated in
// float32 (f32, half types) or float64, the bias is added before the one rounding of half types.

#include <string_view>

#include "ir/op.h"

namespace tailor::ir {

/// The padding attribute for padding="valid" or "same". Throws Error for other words, and for "same" with a stride.
///
///   conv_padding("same", {1, 1}, {2, 3}, {1, 1}) == {0, 1, 1, 1}
Dims conv_padding(std::string_view mode, IntArrayRef stride, IntArrayRef kernel, IntArrayRef dilation);

/// The attributes of a convolution brought to three spatial dims (leading ones of size 1), the form that kernels and the reference use.
struct ConvShape {
  bool batched = true;
  int64_t spatial = 0;  // dims that the op really has
  int64_t n = 1, groups = 1;
  int64_t in_channels = 0, out_channels = 0;
  int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, before[3] = {0, 0, 0}, after[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  Dims out_sizes;
  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

/// Checks a call and resolves it; throws Error with torch's texts.
ConvShape conv_shape(const OpDef& op, const TensorSpec& input, const TensorSpec& weight, const TensorSpec* bias,
                     std::span<const AttrRef> attrs);
bool is_transposed_conv(const OpDef& op);
/// [C, H, W, N] seen as [N, C, H, W]; and the sizes of a result the other way round.
TensorSpec batch_first(const TensorSpec& spec);
Dims batch_last_sizes(IntArrayRef sizes);

}  // namespace tailor::ir
