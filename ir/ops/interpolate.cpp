#include "ir/ops/interpolate.h"

#include <algorithm>
#include <cmath>

namespace tailor::ir {

int64_t interpolate_size(int64_t in, double scale) { return static_cast<int64_t>(std::floor(static_cast<double>(in) * scale)); }

InterpolateShape interpolate_shape(const OpDef& op, const TensorSpec& self, std::span<const AttrRef> attrs) {
  InterpolateShape s;
  s.mode = op.name == "interpolate_nearest"         ? InterpolateMode::Nearest
           : op.name == "interpolate_nearest_exact" ? InterpolateMode::NearestExact
           : op.name == "interpolate_linear"        ? InterpolateMode::Linear
                                                    : InterpolateMode::Cubic;
  const IntArrayRef size = attrs[0].as_ints();
  const size_t dims = size.size(), rank = self.sizes.size();
  check(dims >= 1 && dims <= 3 && rank == dims + 2, op.name,
        ": Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of ",
        rank < 2 ? 0 : rank - 2, " and output size of ", size);
  check(s.mode != InterpolateMode::Cubic || dims == 2, op.name, ": Got ", rank, "D input, but bicubic mode needs 4D input");
  const bool resamples = s.mode == InterpolateMode::Linear || s.mode == InterpolateMode::Cubic;
  check<NotImplementedError>(is_floating_point(self.dtype) || self.dtype == kUInt8, op.name, ": not implemented for '", self.dtype, "'");
  const size_t first_scale = resamples ? 2 : 1;
  s.align_corners = resamples && !attrs[1].is_none() && attrs[1].as_bool();
  static constexpr const char* kNames[] = {"D", "H", "W"};
  for (size_t i = 0; i < dims; ++i) {
    const size_t to = 3 - dims + i;
    s.in[to] = self.sizes[2 + i];
    s.out[to] = size[i];
    if (attrs.size() > first_scale + i && !attrs[first_scale + i].is_none()) s.scale[to] = attrs[first_scale + i].as_double();
  }
  for (size_t i = 3 - dims; i < 3; ++i)
    check(s.in[i] > 0 && s.out[i] > 0, op.name, ": Input and output sizes should be greater than 0, but got input (", kNames[i], ": ",
          s.in[i], ") output (", kNames[i], ": ", s.out[i], ")");
  check(self.sizes[1] > 0, op.name, ": Non-empty input expected, but got ", self.sizes);
  s.planes = self.sizes[0] * self.sizes[1];
  s.out_sizes = {self.sizes[0], self.sizes[1]};
  for (const int64_t n : size) s.out_sizes.push_back(n);
  return s;
}

namespace {

// In torch's order of operations, so that ties fall to the same side.
template <class F>
F scale_of(const InterpolateShape& s, size_t d) {
  if (s.align_corners) return s.out[d] > 1 ? static_cast<F>(s.in[d] - 1) / static_cast<F>(s.out[d] - 1) : F(0);
  return s.scale[d] > 0 ? static_cast<F>(1.0 / s.scale[d]) : static_cast<F>(s.in[d]) / static_cast<F>(s.out[d]);
}

template <class F>
F cubic_near(F x) {
  const F a = F(-0.75);
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class F>
F cubic_far(F x) {
  const F a = F(-0.75);
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class F>
InterpolateTaps taps_at(const InterpolateShape& s, size_t d, int64_t o, F scale) {
  InterpolateTaps t;
  const int64_t last = s.in[d] - 1;
  const bool half_pixel = !s.align_corners;
  F at = half_pixel ? scale * (static_cast<F>(o) + F(0.5)) - F(0.5) : scale * static_cast<F>(o);
  if (s.mode == InterpolateMode::Linear) {
    if (at < 0) at = 0;
    t.count = 2;
    t.index[0] = std::min(static_cast<int64_t>(at), last);
    t.index[1] = t.index[0] + (t.index[0] < last ? 1 : 0);
    const F right = std::clamp(at - static_cast<F>(t.index[0]), F(0), F(1));
    t.weight[0] = F(1) - right;
    t.weight[1] = right;
    if (s.in[d] == s.out[d]) t = {1, {o}, {1}};
    return t;
  }
  const auto floor = static_cast<int64_t>(std::floor(at));
  const F x = std::clamp(at - static_cast<F>(floor), F(0), F(1));
  t.count = 4;
  for (int i = 0; i < 4; ++i) t.index[i] = std::clamp<int64_t>(floor - 1 + i, 0, last);
  t.weight[0] = cubic_far<F>(x + 1);
  t.weight[1] = cubic_near<F>(x);
  t.weight[2] = cubic_near<F>(1 - x);
  t.weight[3] = cubic_far<F>(2 - x);
  return t;
}

template <class F>
std::vector<InterpolateTaps> all_taps(const InterpolateShape& s, size_t d) {
  const F scale = scale_of<F>(s, d);
  std::vector<InterpolateTaps> taps;
  for (int64_t o = 0; o < s.out[d]; ++o) taps.push_back(taps_at<F>(s, d, o, scale));
  return taps;
}

}  // namespace

std::vector<InterpolateTaps> interpolate_taps(const InterpolateShape& s, size_t d, bool wide) {
  const bool absent = s.in[d] == 1 && s.out[d] == 1;
  if (absent) return {InterpolateTaps{}};
  if (s.mode == InterpolateMode::Linear || s.mode == InterpolateMode::Cubic) return wide ? all_taps<double>(s, d) : all_taps<float>(s, d);
  std::vector<InterpolateTaps> taps;
  const float scale = scale_of<float>(s, d);
  for (int64_t o = 0; o < s.out[d]; ++o) {
    const float at = s.mode == InterpolateMode::Nearest ? static_cast<float>(o) * scale : (static_cast<float>(o) + 0.5f) * scale;
    int64_t index = std::min(static_cast<int64_t>(std::floor(at)), s.in[d] - 1);
    if (s.out[d] == s.in[d]) index = o;
    if (s.mode == InterpolateMode::Nearest && s.out[d] == 2 * s.in[d]) index = o / 2;
    taps.push_back({1, {index}, {1}});
  }
  return taps;
}

namespace {

std::vector<TensorSpec> infer_interpolate(const OpDef& op, const SpecCall& call) {
  return {TensorSpec(call.tensor(0).dtype, interpolate_shape(op, call.tensor(0), call.attrs).out_sizes, call.tensor(0).device)};
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](std::string_view name, std::vector<std::string_view> attrs) {
    OpDef def;
    def.name = name;
    def.kind = OpKind::Movement;
    def.operand_names = {"self"};
    def.attr_names = std::move(attrs);
    def.infer = infer_interpolate;
    register_op(std::move(def));
  };
  for (const std::string_view name : {"interpolate_nearest", "interpolate_nearest_exact"})
    add(name, {"size", "scale0", "scale1", "scale2"});
  for (const std::string_view name : {"interpolate_linear", "interpolate_cubic"})
    add(name, {"size", "align_corners", "scale0", "scale1", "scale2"});
  return true;
}();

}  // namespace
}  // namespace tailor::ir
