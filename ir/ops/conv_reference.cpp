// Convolutions in the obvious way: a sum per output element, in float64 or wrapping int64.
#include "ir/ops/conv.h"
#include "ir/reference.h"

namespace tailor::ir {
namespace {

// Position along one spatial dim of the input that tap `k` of output `o` reads; -1 when there is none.
int64_t source(const ConvShape& s, bool transposed, int d, int64_t o, int64_t k) {
  if (!transposed) {
    const int64_t at = o * s.stride[d] - s.before[d] + k * s.dilation[d];
    return at >= 0 && at < s.in[d] ? at : -1;
  }
  const int64_t at = o + s.before[d] - k * s.dilation[d];
  return at >= 0 && at % s.stride[d] == 0 && at / s.stride[d] < s.in[d] ? at / s.stride[d] : -1;
}

template <class Add>
void for_each_term(const ConvShape& s, bool transposed, int64_t n, int64_t c, const int64_t (&o)[3], Add&& add) {
  const int64_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups, group = c / out_group;
  for (int64_t i = 0; i < in_group; ++i)
    for (int64_t a = 0; a < s.kernel[0]; ++a)
      for (int64_t b = 0; b < s.kernel[1]; ++b)
        for (int64_t k = 0; k < s.kernel[2]; ++k) {
          const int64_t z = source(s, transposed, 0, o[0], a), y = source(s, transposed, 1, o[1], b), x = source(s, transposed, 2, o[2], k);
          if (z < 0 || y < 0 || x < 0) continue;
          const int64_t channel = group * in_group + i;
          const int64_t weight_row = transposed ? channel * out_group + c % out_group : c * in_group + i;
          add((((n * s.in_channels + channel) * s.in[0] + z) * s.in[1] + y) * s.in[2] + x,
              ((weight_row * s.kernel[0] + a) * s.kernel[1] + b) * s.kernel[2] + k);
        }
}

std::vector<HostTensor> reference_conv(const ReferenceCall& call) {
  const HostTensor &input = call.tensor(0), &weight = call.tensor(1);
  const HostTensor* bias = call.has_tensor(2) ? &call.tensor(2) : nullptr;
  const bool transposed = is_transposed_conv(call.op), floating = is_floating_point(input.spec.dtype);
  const ConvShape s = conv_shape(call.op, input.spec, weight.spec, bias ? &bias->spec : nullptr, call.attrs);
  HostTensor out(call.output_specs[0]);
  int64_t at = 0;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t c = 0; c < s.out_channels; ++c) {
      int64_t o[3];
      for (o[0] = 0; o[0] < s.out[0]; ++o[0])
        for (o[1] = 0; o[1] < s.out[1]; ++o[1])
          for (o[2] = 0; o[2] < s.out[2]; ++o[2], ++at) {
            if (floating) {
              double sum = bias ? bias->get(c) : 0;
              for_each_term(s, transposed, n, c, o, [&](int64_t x, int64_t w) { sum += input.get(x) * weight.get(w); });
              out.set(at, sum);
            } else {
              uint64_t sum = bias ? static_cast<uint64_t>(bias->get_int(c)) : 0;
              for_each_term(s, transposed, n, c, o, [&](int64_t x, int64_t w) {
                sum += static_cast<uint64_t>(input.get_int(x)) * static_cast<uint64_t>(weight.get_int(w));
              });
              out.set_int(at, static_cast<int64_t>(sum));
            }
          }
    }
  return {std::move(out)};
}

// Image by image through the other one.
std::vector<HostTensor> reference_batch_last(const ReferenceCall& call) {
  const TensorSpec first = batch_first(call.tensor(0).spec);
  const TensorSpec out = batch_first(call.output_specs[0]);
  HostTensor input = gather(call.tensor(0).bytes.data(), first);
  std::vector<HostOperand> operands(call.operands.begin(), call.operands.end());
  operands[0] = HostOperand(&input);
  const TensorSpec dense(out.dtype, out.sizes, out.device);
  const HostTensor result = reference_conv({*find_op("conv2d"), operands, call.attrs, {&dense, 1}}).at(0);
  HostTensor last(call.output_specs[0]);
  scatter(result, last.bytes.data(), batch_first(last.spec));
  return {std::move(last)};
}

[[maybe_unused]] const bool registered = [] {
  for (const std::string_view name : {"conv1d", "conv2d", "conv3d", "conv_transpose2d"}) register_reference(name, reference_conv);
  register_reference("conv2d_batch_last", reference_batch_last);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
