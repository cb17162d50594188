#pragma once
// Resampling of the last 1 to 3 dims of [N, C, ...].
//
//   interpolate_nearest, interpolate_nearest_exact   self;  size, scale0, scale1, scale2
//   interpolate_linear (linear, bilinear, trilinear) self;  size, align_corners, scale0, scale1, scale2
//   interpolate_cubic (bicubic)                      self;  size, align_corners, scale0, scale1, scale2
//
// size: of every resampled dim. scale_i: the scale factor that a user gave for dim i and that positions are computed with (none: from
// the sizes). See interpolate_size for the size that goes with a scale factor.

#include <span>
#include <vector>

#include "ir/op.h"

namespace tailor::ir {

enum class InterpolateMode : uint8_t { Nearest, NearestExact, Linear, Cubic };

/// floor(in * scale): the output size for a scale factor.
int64_t interpolate_size(int64_t in, double scale);

/// A call resolved to planes of three dims.
struct InterpolateShape {
  InterpolateMode mode = InterpolateMode::Nearest;
  bool align_corners = false;
  int64_t planes = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  double scale[3] = {0, 0, 0};  // 0: not given
  Dims out_sizes;
};
/// Checks a call and resolves it; throws Error with torch's texts.
InterpolateShape interpolate_shape(const OpDef& op, const TensorSpec& self, std::span<const AttrRef> attrs);

/// The input positions that one output position along one dim is made of, and their weights.
struct InterpolateTaps {
  int count = 1;
  int64_t index[4] = {};
  double weight[4] = {1, 0, 0, 0};
};
/// One entry per output position of dim `d`. Positions are computed in float32, as torch does, unless `wide` (float64 tensors).
std::vector<InterpolateTaps> interpolate_taps(const InterpolateShape& shape, size_t d, bool wide);

}  // namespace tailor::ir
