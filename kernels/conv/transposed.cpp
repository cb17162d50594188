// Transposed convolution: one matrix product gives what every input pixel adds through every tap, which is then summed into place.
#include <algorithm>

#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "kernels/scratch.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::conv {
namespace {

template <class T, class D>
void image(const ConvCall& call, const T* weights, int64_t n) {
  const ir::ConvShape& s = call.shape;
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups, pixels = s.in_pixels(), taps = s.taps(),
                lines = out_group * taps;
  Scratch<T> input(s.in_channels * pixels), columns(lines * pixels), sums(out_group * s.out_pixels());
  const D* from = reinterpret_cast<const D*>(call.input) + n * call.input_image;
  int64_t at = 0;
  for (int64_t c = 0; c < s.in_channels; ++c)
    for (int64_t y = 0; y < s.in[1]; ++y)
      for (int64_t x = 0; x < s.in[2]; ++x)
        input[at++] = static_cast<T>(from[c * call.input_channel + y * call.input_stride[1] + x * call.input_stride[2]]);
  for (int64_t g = 0; g < s.groups; ++g) {
    gemm::Problem p;
    p.dtype = scalar_type_of<T>;
    p.m = lines;
    p.n = pixels;
    p.k = in_group;
    p.a = gemm::Matrix(weights + g * in_group * lines, 1, lines);
    p.b = gemm::Matrix(input.data() + g * in_group * pixels, pixels, 1);
    p.c = gemm::Matrix(columns.data(), pixels, 1);
    gemm::run(p);
    for (int64_t c = 0; c < out_group; ++c) {
      const D* bias = reinterpret_cast<const D*>(call.bias);
      T* plane = sums.data() + c * s.out_pixels();
      std::fill_n(plane, s.out_pixels(), bias == nullptr ? T(0) : static_cast<T>(bias[(g * out_group + c) * call.bias_stride]));
      for (int64_t ky = 0; ky < s.kernel[1]; ++ky)
        for (int64_t kx = 0; kx < s.kernel[2]; ++kx) {
          const T* line = columns.data() + (c * taps + ky * s.kernel[2] + kx) * pixels;
          for (int64_t y = 0; y < s.in[1]; ++y) {
            const int64_t oy = y * s.stride[1] - s.before[1] + ky * s.dilation[1];
            if (oy < 0 || oy >= s.out[1]) continue;
            for (int64_t x = 0; x < s.in[2]; ++x) {
              const int64_t ox = x * s.stride[2] - s.before[2] + kx * s.dilation[2];
              if (ox >= 0 && ox < s.out[2]) plane[oy * s.out[2] + ox] += line[y * s.in[2] + x];
            }
          }
        }
      D* to = reinterpret_cast<D*>(call.out) + n * call.out_image + (g * out_group + c) * call.out_channel;
      for (int64_t y = 0; y < s.out[1]; ++y)
        for (int64_t x = 0; x < s.out[2]; ++x) to[y * call.out_stride[1] + x * call.out_stride[2]] = D(plane[y * s.out[2] + x]);
    }
  }
}

template <class T, class D>
void all(const ConvCall& call) {
  Scratch<T> weights(call.weight_spec.numel());
  gather_weights(weights.data(), call);
  const bool by_image = call.shape.n >= get_num_threads();
  parallel_for(0, call.shape.n, by_image ? 1 : call.shape.n, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) image<T, D>(call, weights.data(), n);
  });
}

}  // namespace

void run_transposed(const ConvCall& call) {
  switch (call.dtype) {
    case kFloat32: return all<float, float>(call);
    case kFloat16: return all<float, Half>(call);
    case kBFloat16: return all<float, BFloat16>(call);
    default: return all<double, double>(call);
  }
}

}  // namespace tailor::kernels::conv
