// Resampling kernels: the input positions and weights of every output position are found once for each dim.
#include <algorithm>
#include <type_traits>

#include "ir/ops/interpolate.h"
#include "kernels/kernels.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels {
namespace {

using ir::InterpolateMode;
using ir::InterpolateShape;
using ir::InterpolateTaps;

struct Strides {
  int64_t image, channel, dim[3] = {0, 0, 0};
  explicit Strides(const ir::TensorSpec& s) : image(s.strides[0]), channel(s.strides[1]) {
    for (size_t i = 2; i < s.sizes.size(); ++i) dim[3 - (s.sizes.size() - 2) + i - 2] = s.strides[i];
  }
};

template <class S, class T>
void resample(const Call& call, const InterpolateShape& s) {
  const ir::TensorSpec &in = *call.tensor(0).spec, &out = *call.outputs[0].spec;
  const Strides from(in), to(out);
  std::vector<InterpolateTaps> taps[3];
  for (size_t d = 0; d < 3; ++d) taps[d] = ir::interpolate_taps(s, d, in.dtype == kFloat64);
  const int64_t channels = in.sizes[1], pixels = s.out[0] * s.out[1] * s.out[2];
  const bool nearest = s.mode == InterpolateMode::Nearest || s.mode == InterpolateMode::NearestExact;
  parallel_for(0, s.planes, std::max<int64_t>(1, 8192 / pixels), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const S* x = call.tensor(0).as<S>() + plane / channels * from.image + plane % channels * from.channel;
      S* y = call.outputs[0].as<S>() + plane / channels * to.image + plane % channels * to.channel;
      for (int64_t oz = 0; oz < s.out[0]; ++oz)
        for (int64_t oy = 0; oy < s.out[1]; ++oy) {
          const InterpolateTaps &tz = taps[0][static_cast<size_t>(oz)], &ty = taps[1][static_cast<size_t>(oy)];
          S* row = y + oz * to.dim[0] + oy * to.dim[1];
          for (int64_t ox = 0; ox < s.out[2]; ++ox) {
            const InterpolateTaps& tx = taps[2][static_cast<size_t>(ox)];
            if (nearest) {
              row[ox * to.dim[2]] = x[tz.index[0] * from.dim[0] + ty.index[0] * from.dim[1] + tx.index[0] * from.dim[2]];
              continue;
            }
            T sum = 0;
            for (int a = 0; a < tz.count; ++a) {
              T plane_sum = 0;
              for (int b = 0; b < ty.count; ++b) {
                const S* line = x + tz.index[a] * from.dim[0] + ty.index[b] * from.dim[1];
                T line_sum = 0;
                for (int c = 0; c < tx.count; ++c) {
                  const T v = static_cast<T>(line[tx.index[c] * from.dim[2]]);
                  line_sum = tx.count == 1 ? v : line_sum + static_cast<T>(tx.weight[c]) * v;
                }
                plane_sum = ty.count == 1 ? line_sum : plane_sum + static_cast<T>(ty.weight[b]) * line_sum;
              }
              sum = tz.count == 1 ? plane_sum : sum + static_cast<T>(tz.weight[a]) * plane_sum;
            }
            row[ox * to.dim[2]] = static_cast<S>(sum);
          }
        }
    }
  });
}

void interpolate_kernel(const Call& call) {
  if (call.outputs[0].spec->numel() == 0) return;
  const InterpolateShape s = ir::interpolate_shape(call.op, *call.tensor(0).spec, call.attrs);
  switch (call.tensor(0).spec->dtype) {
    case kFloat32: return resample<float, float>(call, s);
    case kFloat64: return resample<double, double>(call, s);
    case kFloat16: return resample<Half, float>(call, s);
    case kBFloat16: return resample<BFloat16, float>(call, s);
    default: break;
  }
  if (s.mode == InterpolateMode::Nearest || s.mode == InterpolateMode::NearestExact) return resample<uint8_t, float>(call, s);
  run_reference(call);
}

[[maybe_unused]] const bool registered = [] {
  for (const std::string_view name : {"interpolate_nearest", "interpolate_nearest_exact", "interpolate_linear", "interpolate_cubic"})
    register_kernel(name, interpolate_kernel);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
