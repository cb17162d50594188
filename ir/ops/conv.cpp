#include "ir/ops/conv.h"

#include <algorithm>
#include <string>

namespace tailor::ir {

bool is_transposed_conv(const OpDef& op) { return op.name == "conv_transpose2d"; }

TensorSpec batch_first(const TensorSpec& spec) {
  check(spec.rank() == 4, "conv2d_batch_last: Expected 4D input, but got input of size: ", spec.sizes);
  TensorSpec result = spec;
  for (Dims* dims : {&result.sizes, &result.strides}) std::rotate(dims->begin(), dims->end() - 1, dims->end());
  return result;
}

Dims batch_last_sizes(IntArrayRef sizes) {
  Dims result(sizes);
  std::rotate(result.begin(), result.begin() + 1, result.end());
  return result;
}

Dims conv_padding(std::string_view mode, IntArrayRef stride, IntArrayRef kernel, IntArrayRef dilation) {
  check(mode == "valid" || mode == "same", "Invalid padding string: '", mode, "'");
  Dims padding(2 * kernel.size(), 0);
  if (mode == "valid") return padding;
  const auto at = [](IntArrayRef list, size_t i) { return list.empty() ? 1 : list[list.size() == 1 ? 0 : i]; };
  for (size_t i = 0; i < kernel.size(); ++i) {
    check(at(stride, i) == 1, "padding='same' is not supported for strided convolutions");
    const int64_t total = at(dilation, i) * (kernel[i] - 1);
    padding[2 * i] = total / 2;
    padding[2 * i + 1] = total - total / 2;
  }
  return padding;
}

namespace {

// One integer for all dims, or a list of one or `n`.
Dims per_dim(const OpDef& op, const AttrRef& attr, std::string_view name, int64_t n, int64_t otherwise) {
  if (attr.is_none()) return Dims(static_cast<size_t>(n), otherwise);
  if (attr.kind == AttrRef::Kind::Int) return Dims(static_cast<size_t>(n), attr.as_int());
  const IntArrayRef list = attr.as_ints();
  if (list.size() == 1) return Dims(static_cast<size_t>(n), list[0]);
  check(static_cast<int64_t>(list.size()) == n, op.name, ": expected ", name, " to be a single integer value or a list of ", n,
        " values to match the convolution dimensions, but got ", name, "=", list);
  return list;
}

void check_channels(const OpDef& op, const ConvShape& s, const TensorSpec& input, const TensorSpec& weight, bool transposed) {
  const Dims &x = input.sizes, &w = weight.sizes;
  check(w[0] >= s.groups, op.name, ": Given groups=", s.groups, ", expected weight to be at least ", s.groups,
        " at dimension 0, but got weight of size ", w, " instead");
  check(w[0] % s.groups == 0, op.name, ": Given groups=", s.groups, ", expected weight to be divisible by ", s.groups,
        " at dimension 0, but got weight of size ", w, " instead");
  const int64_t expected = transposed ? w[0] : w[1] * s.groups;
  if (transposed)
    check(s.in_channels == expected, op.name, ": Given transposed=1, weight of size ", w, ", expected input", x, " to have ", expected,
          " channels, but got ", s.in_channels, " channels instead");
  else
    check(s.in_channels == expected, op.name, ": Given groups=", s.groups, ", weight of size ", w, ", expected input", x, " to have ",
          expected, " channels, but got ", s.in_channels, " channels instead");
}

void set_outputs(const OpDef& op, ConvShape& s) {
  bool fits = true;
  std::string padded, kernel;
  for (size_t i = static_cast<size_t>(3 - s.spatial); i < 3; ++i) {
    const int64_t size = s.in[i] + s.before[i] + s.after[i], reach = s.dilation[i] * (s.kernel[i] - 1) + 1;
    fits = fits && size >= reach;
    padded += (padded.empty() ? "" : " x ") + std::to_string(size);
    kernel += (kernel.empty() ? "" : " x ") + std::to_string(reach);
    s.out[i] = size >= reach ? (size - reach) / s.stride[i] + 1 : 0;
  }
  check(fits, op.name, ": Calculated padded input size per channel: (", padded, "). Kernel size: (", kernel,
        "). Kernel size can't be greater than actual input size");
}

void set_transposed_outputs(const OpDef& op, ConvShape& s, IntArrayRef extra) {
  static constexpr const char* kNames[] = {"depth", "height", "width"};
  bool small = true;
  std::string text;
  const size_t first = static_cast<size_t>(3 - s.spatial);
  for (size_t i = first; i < 3; ++i) {
    const int64_t e = extra[i - first];
    check(e >= 0, op.name, ": negative output_padding is not supported");
    small = small && (e < s.stride[i] || e < s.dilation[i]);
    text += std::string(" output_padding_") + kNames[i] + ": " + std::to_string(e) + " stride_" + kNames[i] + ": " +
            std::to_string(s.stride[i]) + " dilation_" + kNames[i] + ": " + std::to_string(s.dilation[i]);
    s.out[i] = (s.in[i] - 1) * s.stride[i] - s.before[i] - s.after[i] + s.dilation[i] * (s.kernel[i] - 1) + e + 1;
  }
  check(small, op.name, ": output padding must be smaller than either stride or dilation, but got", text);
  for (size_t i = first; i < 3; ++i)
    check(s.out[i] >= 0, op.name, ": Given input size per channel: (", s.in[1], " x ", s.in[2], "). Calculated output size per channel: (",
          s.out[1], " x ", s.out[2], "). Output size is too small");
}

}  // namespace

ConvShape conv_shape(const OpDef& op, const TensorSpec& input, const TensorSpec& weight, const TensorSpec* bias,
                     std::span<const AttrRef> attrs) {
  const bool transposed = is_transposed_conv(op);
  ConvShape s;
  s.spatial = op.name == "conv1d" ? 1 : op.name == "conv3d" ? 3 : 2;
  const int64_t dims = s.spatial;
  check(input.rank() == dims + 1 || input.rank() == dims + 2, op.name, ": Expected ", dims + 1, "D (unbatched) or ", dims + 2,
        "D (batched) input to ", op.name, ", but got input of size: ", input.sizes);
  check(weight.rank() == dims + 2, op.name, ": Expected ", weight.rank(), "-dimensional input for ", weight.rank(), "-dimensional weight ",
        weight.sizes, ", but got ", input.rank(), "-dimensional input of size ", input.sizes, " instead");
  check(input.dtype == weight.dtype, op.name, ": Input type (", input.dtype, ") and weight type (", weight.dtype, ") should be the same");
  check(bias == nullptr || bias->dtype == input.dtype, op.name, ": Input type (", input.dtype, ") and bias type (",
        bias == nullptr ? input.dtype : bias->dtype, ") should be the same");
  check<NotImplementedError>(input.dtype != kBool, op.name, ": not implemented for 'Bool'");

  const Dims stride = per_dim(op, attrs[0], "stride", dims, 1), dilation = per_dim(op, attrs[transposed ? 4 : 2], "dilation", dims, 1);
  const bool two_sided =
      !transposed && attrs[1].kind == AttrRef::Kind::Ints && dims > 0 && static_cast<int64_t>(attrs[1].as_ints().size()) == 2 * dims;
  const Dims padding = two_sided ? Dims(attrs[1].as_ints()) : per_dim(op, attrs[1], "padding", dims, 0);
  const AttrRef& groups = attrs[3];
  s.groups = groups.is_none() ? 1 : groups.as_int();
  for (const int64_t p : padding) check(p >= 0, op.name, ": negative padding is not supported");
  for (const int64_t v : stride) check(v > 0, op.name, ": non-positive stride is not supported");
  for (const int64_t v : dilation) check(v > 0, op.name, ": dilation should be greater than zero");
  check(s.groups > 0, op.name, ": non-positive groups is not supported");

  s.batched = input.rank() == dims + 2;
  const size_t channel = s.batched ? 1 : 0;
  s.n = s.batched ? input.sizes[0] : 1;
  s.in_channels = input.sizes[channel];
  check_channels(op, s, input, weight, transposed);
  s.out_channels = transposed ? weight.sizes[1] * s.groups : weight.sizes[0];
  if (bias != nullptr)
    check(bias->rank() == 1 && bias->sizes[0] == s.out_channels, op.name, ": Given weight of size ", weight.sizes,
          ", expected bias to be 1-dimensional with ", s.out_channels, " elements, but got bias of size ", bias->sizes, " instead");
  for (int64_t i = 0; i < dims; ++i) {
    const auto from = static_cast<size_t>(i);
    const int64_t to = 3 - dims + i;
    s.in[to] = input.sizes[channel + 1 + from];
    s.kernel[to] = weight.sizes[2 + from];
    s.stride[to] = stride[from];
    s.dilation[to] = dilation[from];
    s.before[to] = two_sided ? padding[2 * from] : padding[from];
    s.after[to] = two_sided ? padding[2 * from + 1] : padding[from];
  }
  if (transposed)
    set_transposed_outputs(op, s, per_dim(op, attrs[2], "output_padding", dims, 0));
  else
    set_outputs(op, s);
  if (s.batched) s.out_sizes.push_back(s.n);
  s.out_sizes.push_back(s.out_channels);
  for (int64_t i = 3 - dims; i < 3; ++i) s.out_sizes.push_back(s.out[i]);
  return s;
}

namespace {

std::vector<TensorSpec> infer_batch_last(const OpDef& op, const SpecCall& call) {
  const TensorSpec input = batch_first(call.tensor(0));
  const ConvShape s = conv_shape(op, input, call.tensor(1), call.has_tensor(2) ? &call.tensor(2) : nullptr, call.attrs);
  return {TensorSpec(input.dtype, batch_last_sizes(s.out_sizes), input.device)};
}

std::vector<TensorSpec> infer_conv(const OpDef& op, const SpecCall& call) {
  const ConvShape s = conv_shape(op, call.tensor(0), call.tensor(1), call.has_tensor(2) ? &call.tensor(2) : nullptr, call.attrs);
  return {TensorSpec(call.tensor(0).dtype, s.out_sizes, call.tensor(0).device)};
}

[[maybe_unused]] const bool registered = [] {
  for (const std::string_view name : {"conv1d", "conv2d", "conv3d", "conv_transpose2d", "conv2d_batch_last"}) {
    OpDef def;
    def.name = name;
    def.kind = OpKind::Contraction;
    def.operand_names = {"input", "weight", "bias"};
    def.attr_names = {"stride", "padding", "dilation", "groups"};
    if (is_transposed_conv(def)) def.attr_names = {"stride", "padding", "output_padding", "groups", "dilation"};
    def.infer = name == "conv2d_batch_last" ? infer_batch_last : infer_conv;
    register_op(std::move(def));
  }
  return true;
}();

}  // namespace
}  // namespace tailor::ir
