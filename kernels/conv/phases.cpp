#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/conv/conv.h"

namespace tailor::kernels::conv {

PhaseLayout phase_layout(const ir::ConvShape& s) {
  PhaseLayout layout;
  layout.channels = s.in_channels;
  for (int d = 0; d < 3; ++d) layout.size[d] = s.out[d] + (s.kernel[d] - 1) * s.dilation[d] / s.stride[d];
  layout.plane = layout.size[0] * layout.size[1] * layout.size[2];
  struct Tap {
    int64_t phase, shift;
  };
  std::vector<Tap> taps;
  for (int64_t a = 0; a < s.kernel[0]; ++a)
    for (int64_t b = 0; b < s.kernel[1]; ++b)
      for (int64_t c = 0; c < s.kernel[2]; ++c) {
        const int64_t at[3] = {a * s.dilation[0], b * s.dilation[1], c * s.dilation[2]};
        const PhaseLayout::Phase phase{{at[0] % s.stride[0], at[1] % s.stride[1], at[2] % s.stride[2]}};
        auto found = std::find_if(layout.phases.begin(), layout.phases.end(),
                                  [&](const PhaseLayout::Phase& p) { return std::equal(p.at, p.at + 3, phase.at); });
        if (found == layout.phases.end()) found = layout.phases.insert(found, phase);
        taps.push_back({found - layout.phases.begin(),
                        (at[0] / s.stride[0] * layout.size[1] + at[1] / s.stride[1]) * layout.size[2] + at[2] / s.stride[2]});
      }
  for (int64_t c = 0; c < s.in_channels / s.groups; ++c)
    for (const Tap& tap : taps) layout.offsets.push_back((tap.phase * s.in_channels + c) * layout.plane + tap.shift);
  return layout;
}

namespace {

template <class T, class S>
void copy_row(T* to, int64_t width, const S* from, int64_t in_width, int64_t in_stride, int64_t first, int64_t step) {
  // Pixel x of the row is input pixel first + x * step.
  const int64_t begin = std::clamp<int64_t>(first >= 0 ? 0 : (-first + step - 1) / step, 0, width);
  const int64_t end = std::clamp<int64_t>(first >= in_width ? 0 : (in_width - first + step - 1) / step, begin, width);
  std::fill(to, to + begin, T(0));
  const int64_t stride = in_stride * step;
  const S* src = from + (first + begin * step) * in_stride;
  if constexpr (std::is_same_v<T, S>) {
    if (stride == 1)
      std::memcpy(to + begin, src, static_cast<size_t>(end - begin) * sizeof(T));
    else
      for (int64_t x = begin; x < end; ++x) to[x] = src[(x - begin) * stride];
  } else {
    for (int64_t x = begin; x < end; ++x) to[x] = static_cast<T>(src[(x - begin) * stride]);
  }
  std::fill(to + end, to + width, T(0));
}

}  // namespace

template <class T, class S>
void fill_phases(T* to, const PhaseLayout& layout, const ir::ConvShape& s, const Image& image, int64_t begin, int64_t end) {
  for (size_t p = 0; p < layout.phases.size(); ++p)
    for (int64_t c = begin; c < end; ++c) {
      const S* channel = static_cast<const S*>(image.data) + c * image.channel;
      T* row = to + (static_cast<int64_t>(p) * layout.channels + c) * layout.plane;
      for (int64_t z = 0; z < layout.size[0]; ++z)
        for (int64_t y = 0; y < layout.size[1]; ++y, row += layout.size[2]) {
          const auto& phase = layout.phases[p];
          const int64_t iz = z * s.stride[0] + phase.at[0] - s.before[0], iy = y * s.stride[1] + phase.at[1] - s.before[1];
          if (iz < 0 || iz >= s.in[0] || iy < 0 || iy >= s.in[1])
            std::fill(row, row + layout.size[2], T(0));
          else
            copy_row(row, layout.size[2], channel + iz * image.stride[0] + iy * image.stride[1], s.in[2], image.stride[2],
                     phase.at[2] - s.before[2], s.stride[2]);
        }
    }
}
template void fill_phases<float, float>(float*, const PhaseLayout&, const ir::ConvShape&, const Image&, int64_t, int64_t);
template void fill_phases<float, Half>(float*, const PhaseLayout&, const ir::ConvShape&, const Image&, int64_t, int64_t);
template void fill_phases<float, BFloat16>(float*, const PhaseLayout&, const ir::ConvShape&, const Image&, int64_t, int64_t);
template void fill_phases<double, double>(double*, const PhaseLayout&, const ir::ConvShape&, const Image&, int64_t, int64_t);

ConvCall conv_call(const Call& call) {
  ConvCall c;
  const ir::TensorSpec &x = *call.tensor(0).spec, &y = *call.outputs[0].spec;
  const bool biased = call.has_tensor(2);
  c.shape = ir::conv_shape(call.op, x, *call.tensor(1).spec, biased ? call.tensor(2).spec : nullptr, call.attrs);
  c.dtype = x.dtype;
  c.input = call.tensor(0).as<std::byte>();
  c.weight = call.tensor(1).as<std::byte>();
  c.bias = biased ? call.tensor(2).as<std::byte>() : nullptr;
  c.bias_stride = biased ? call.tensor(2).spec->strides[0] : 0;
  c.out = call.outputs[0].as<std::byte>();
  c.weight_spec = *call.tensor(1).spec;
  const size_t channel = c.shape.batched ? 1 : 0;
  if (c.shape.batched) {
    c.input_image = x.strides[0];
    c.out_image = y.strides[0];
  }
  c.input_channel = x.strides[channel];
  c.out_channel = y.strides[channel];
  for (int64_t i = 0; i < c.shape.spatial; ++i) {
    const int64_t to = 3 - c.shape.spatial + i;
    c.input_stride[to] = x.strides[channel + 1 + static_cast<size_t>(i)];
    c.out_stride[to] = y.strides[channel + 1 + static_cast<size_t>(i)];
  }
  return c;
}

template <class T>
void gather_weights(T* to, const ConvCall& call) {
  const ir::TensorSpec& w = call.weight_spec;
  const int64_t n = w.numel();
  visit_dtype(w.dtype, [&]<class S>() {
    const S* from = reinterpret_cast<const S*>(call.weight);
    const bool plain = w.is_contiguous();
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = i;
      if (!plain) {
        int64_t rest = i;
        at = 0;
        for (size_t d = w.sizes.size(); d-- > 0; rest /= w.sizes[d]) at += rest % w.sizes[d] * w.strides[d];
      }
      to[i] = static_cast<T>(from[at]);
    }
  });
}
template void gather_weights<float>(float*, const ConvCall&);
template void gather_weights<double>(double*, const ConvCall&);

}  // namespace tailor::kernels::conv
