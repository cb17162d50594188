// Pooling and resampling in the obvious way.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/interpolate.h"
#include "ir/ops/pooling.h"
#include "ir/reference.h"

namespace tailor::ir {
namespace {

std::vector<HostTensor> reference_pool(const ReferenceCall& call) {
  const HostTensor& x = call.tensor(0);
  const PoolShape s = pool_shape(call.op, x.spec, call.attrs);
  const bool floating = is_floating_point(x.spec.dtype);
  std::vector<HostTensor> outs;
  for (const TensorSpec& spec : call.output_specs) outs.emplace_back(spec);
  int64_t at = 0;
  for (int64_t plane = 0; plane < s.planes; ++plane)
    for (int64_t oy = 0; oy < s.out[0]; ++oy)
      for (int64_t ox = 0; ox < s.out[1]; ++ox, ++at) {
        const PoolShape::Window wy = s.window(0, oy), wx = s.window(1, ox);
        int64_t best = -1, count = 0, int_sum = 0;
        double sum = 0;
        for (int64_t iy = wy.begin; iy < wy.end; iy += s.dilation[0])
          for (int64_t ix = wx.begin; ix < wx.end; ix += s.dilation[1], ++count) {
            const int64_t from = iy * s.in[1] + ix, element = plane * s.in[0] * s.in[1] + from;
            if (floating) {
              const double v = x.get(element);
              sum += v;
              if (best < 0 || std::isnan(v) || v > x.get(plane * s.in[0] * s.in[1] + best)) best = from;
            } else {
              const int64_t v = x.get_int(element);
              int_sum += v;
              if (best < 0 || v > x.get_int(plane * s.in[0] * s.in[1] + best)) best = from;
            }
          }
        if (s.max) {
          const int64_t element = plane * s.in[0] * s.in[1] + best;
          if (floating)
            outs[0].set(at, best < 0 ? -std::numeric_limits<double>::infinity() : x.get(element));
          else
            outs[0].set_int(at, best < 0 ? 0 : x.get_int(element));
          if (s.indices) outs[1].set_int(at, std::max<int64_t>(best, 0));
          continue;
        }
        const int64_t divisor = s.divisor != 0 ? s.divisor : s.count_include_pad ? wy.padded * wx.padded : count;
        if (floating)
          outs[0].set(at, s.adaptive || count > 0 ? sum / static_cast<double>(divisor) : 0);
        else
          outs[0].set_int(at, count > 0 ? int_sum / divisor : 0);
      }
  return outs;
}

// Weights of the input positions that one output position is made of, along every dim. Bytes are resampled one dim after the other,
// the last one first, and rounded after each.
std::vector<HostTensor> reference_interpolate(const ReferenceCall& call) {
  const HostTensor& x = call.tensor(0);
  const InterpolateShape s = interpolate_shape(call.op, x.spec, call.attrs);
  HostTensor out(call.output_specs[0]);
  const bool floating = is_floating_point(x.spec.dtype);
  const int64_t planes = s.planes;
  int64_t sizes[3] = {s.in[0], s.in[1], s.in[2]};
  std::vector<double> values(static_cast<size_t>(x.spec.numel()));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    values[i] = floating ? x.get(at) : static_cast<double>(x.get_int(at));
  }
  for (size_t d = 3; d-- > 0;) {
    const std::vector<InterpolateTaps> taps = interpolate_taps(s, d, x.spec.dtype == kFloat64);
    int64_t outer = planes, inner = 1;
    for (size_t i = 0; i < d; ++i) outer *= sizes[i];
    for (size_t i = d + 1; i < 3; ++i) inner *= sizes[i];
    std::vector<double> next;
    for (int64_t o = 0; o < outer; ++o)
      for (const InterpolateTaps& tap : taps)
        for (int64_t i = 0; i < inner; ++i) {
          const auto from = [&](int t) { return values[static_cast<size_t>((o * sizes[d] + tap.index[t]) * inner + i)]; };
          double sum = tap.count == 1 ? from(0) : 0;
          for (int t = 0; tap.count > 1 && t < tap.count; ++t) sum += tap.weight[t] * from(t);
          next.push_back(floating ? sum : std::clamp(std::floor(sum + 0.5), 0.0, 255.0));
        }
    sizes[d] = s.out[d];
    values = std::move(next);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (floating)
      out.set(static_cast<int64_t>(i), values[i]);
    else
      out.set_int(static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
  }
  return {std::move(out)};
}

[[maybe_unused]] const bool registered = [] {
  for (const std::string_view name : {"max_pool1d", "max_pool2d", "max_pool1d_with_indices", "max_pool2d_with_indices", "avg_pool1d",
                                      "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices"})
    register_reference(name, reference_pool);
  for (const std::string_view name : {"interpolate_nearest", "interpolate_nearest_exact", "interpolate_linear", "interpolate_cubic"})
    register_reference(name, reference_interpolate);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
