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

// Weights of the input positions that one output position is made of, along every dim.
std::vector<HostTensor> reference_interpolate(const ReferenceCall& call) {
  const HostTensor& x = call.tensor(0);
  const InterpolateShape s = interpolate_shape(call.op, x.spec, call.attrs);
  HostTensor out(call.output_specs[0]);
  const bool floating = is_floating_point(x.spec.dtype);
  std::vector<std::vector<InterpolateTaps>> taps;
  for (size_t d = 0; d < 3; ++d) taps.push_back(interpolate_taps(s, d, x.spec.dtype == kFloat64));
  int64_t at = 0;
  for (int64_t plane = 0; plane < s.planes; ++plane)
    for (const InterpolateTaps& z : taps[0])
      for (const InterpolateTaps& y : taps[1])
        for (const InterpolateTaps& v : taps[2]) {
          double sum = 0;
          int64_t nearest = 0;
          for (int a = 0; a < z.count; ++a)
            for (int b = 0; b < y.count; ++b)
              for (int c = 0; c < v.count; ++c) {
                const int64_t from = ((plane * s.in[0] + z.index[a]) * s.in[1] + y.index[b]) * s.in[2] + v.index[c];
                nearest = from;
                if (floating || s.mode != InterpolateMode::Nearest) {
                  const double weight = z.weight[a] * y.weight[b] * v.weight[c];
                  sum += weight == 1 ? (floating ? x.get(from) : static_cast<double>(x.get_int(from)))
                                     : weight * (floating ? x.get(from) : static_cast<double>(x.get_int(from)));
                }
              }
          if (floating)
            out.set(at++, sum);
          else
            out.set_int(at++, s.mode == InterpolateMode::Nearest ? x.get_int(nearest) : std::clamp<int64_t>(std::llrint(sum), 0, 255));
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
