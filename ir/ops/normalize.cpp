#include "ir/ops/normalize.h"

#include <limits>

#include "ir/ops/compose.h"
#include "ir/ops/reduction.h"

namespace tailor::ir {

ScalarType softmax_dtype(std::string_view op, const TensorSpec& self, const AttrRef& dtype) {
  const ScalarType type = dtype.is_none() ? self.dtype : dtype.as_dtype();
  check<NotImplementedError>(is_floating_point(type) || self.numel() == 0, '"', op, "_kernel_impl\" not implemented for '", type, "'");
  return type;
}

namespace {

using Specs = std::vector<TensorSpec>;
using Values = std::vector<int>;
using Operands = std::span<const Value>;
using Attrs = std::span<const AttrRef>;

// ---- softmax, log_softmax -----------------------------------------------------------------------------------------

Specs infer_softmax(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  wrap_dim(call.attrs[0].as_int(), self.rank());
  return {TensorSpec(softmax_dtype(op.name, self, call.attrs[1]), self.sizes, self.device)};
}

/// The input in the compute type, less its maximum. A row that is all -inf, or holds +inf or NaN, gives NaN from here on, as it should.
int shifted(Compose& c, int x, int64_t dim) { return c.sub(x, c.amax(x, dim, true)); }

Values decompose_softmax(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = softmax_dtype("softmax", c.spec(in[0].tensor), attrs[1]);
  const int x = c.wide(c.cast(in[0].tensor, type));
  const int64_t dim = attrs[0].as_int();
  if (c.spec(x).numel() == 0) return {c.cast(c.exp(x), type)};
  const int e = c.exp(shifted(c, x, dim));
  return {c.cast(c.div(e, c.sum(e, dim, true)), type)};
}

Values decompose_log_softmax(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = softmax_dtype("log_softmax", c.spec(in[0].tensor), attrs[1]);
  const int x = c.wide(c.cast(in[0].tensor, type));
  const int64_t dim = attrs[0].as_int();
  if (c.spec(x).numel() == 0) return {c.cast(c.exp(x), type)};
  const int s = shifted(c, x, dim);
  return {c.cast(c.sub(s, c.log(c.sum(c.exp(s), dim, true))), type)};
}

// ---- shared by the norms ------------------------------------------------------------------------------------------

int affine(Compose& c, int x, const Value& weight, const Value& bias, IntArrayRef shape) {
  const ScalarType type = c.spec(x).dtype;
  if (weight.is_tensor()) x = c.mul(x, c.reshape(c.cast(weight.tensor, type), shape));
  if (bias.is_tensor()) x = c.add(x, c.reshape(c.cast(bias.tensor, type), shape));
  return x;
}

struct Moments {
  int deviation, mean, sum_of_squares;  // x - mean; the mean and the sum of squared deviations with kept dimensions
};
Moments moments(Compose& c, int x, IntArrayRef dims) {
  const int mean = c.mean(x, dims, true);
  const int deviation = c.sub(x, mean);
  return {deviation, mean, c.sum(c.mul(deviation, deviation), dims, true)};
}

int standardized(Compose& c, const Moments& m, double count, double eps) {
  const int variance = c.div(m.sum_of_squares, Compose::lit(count));
  return c.mul(m.deviation, c.rsqrt(c.add(variance, Compose::lit(eps))));
}

/// [1, C, 1, ...]
Dims channel_shape(const TensorSpec& input) {
  Dims shape(input.sizes.size(), 1);
  shape[1] = input.sizes[1];
  return shape;
}

void check_channels(std::string_view op, std::string_view name, const SpecCall& call, size_t i, int64_t channels) {
  if (!call.has_tensor(i)) return;
  const TensorSpec& spec = call.tensor(i);
  check(spec.rank() == 1 && spec.numel() == channels, op, ": expected ", name,
        " to be a vector of size equal to the number of channels in input, but got ", name, " of shape ", IntArrayRef(spec.sizes), " and ",
        channels, " channels");
}

// ---- layer_norm, rms_norm -----------------------------------------------------------------------------------------

void check_normalized_shape(std::string_view op, const SpecCall& call, IntArrayRef shape) {
  const TensorSpec& input = call.tensor(0);
  check(is_floating_point(input.dtype), op, ": expected a floating point input, got ", input.dtype);
  check(!shape.empty(), op,
        ": Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []");
  const size_t n = shape.size(), rank = input.sizes.size();
  bool same = rank >= n;
  for (size_t i = 0; same && i < n; ++i) same = input.sizes[rank - n + i] == shape[i];
  if (!same) {
    std::ostringstream text;
    for (int64_t s : shape) text << ", " << s;
    detail::raise<Error>(op, ": Given normalized_shape=", shape, ", expected input with shape [*", text.str(), "], but got input of size ",
                         IntArrayRef(input.sizes));
  }
  for (size_t i = 1; i < call.operands.size(); ++i)
    if (call.has_tensor(i))
      check(IntArrayRef(call.tensor(i).sizes) == shape, op, ": Expected ", i == 1 ? "weight" : "bias",
            " to be of same shape as normalized_shape, but got ", i == 1 ? "weight" : "bias", " of shape ",
            IntArrayRef(call.tensor(i).sizes), " and normalized_shape = ", shape);
}

Specs infer_layer_norm(const OpDef& op, const SpecCall& call) {
  check_normalized_shape(op.name, call, call.attrs[0].as_ints());
  const TensorSpec& input = call.tensor(0);
  return {TensorSpec(input.dtype, input.sizes, input.device)};
}

Dims last_dims(int64_t count) {
  Dims dims;
  for (int64_t i = -count; i < 0; ++i) dims.push_back(i);
  return dims;
}

Values decompose_layer_norm(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = c.spec(in[0].tensor).dtype;
  const IntArrayRef shape = attrs[0].as_ints();
  const Moments m = moments(c, c.wide(in[0].tensor), last_dims(static_cast<int64_t>(shape.size())));
  const int y = standardized(c, m, static_cast<double>(product(shape)), attrs[1].as_double());
  return {c.cast(affine(c, y, in[1], in[2], shape), type)};
}

Values decompose_rms_norm(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = c.spec(in[0].tensor).dtype;
  const IntArrayRef shape = attrs[0].as_ints();
  const int x = c.wide(in[0].tensor);
  const double epsilon =
      c.spec(x).dtype == kFloat64 ? std::numeric_limits<double>::epsilon() : double(std::numeric_limits<float>::epsilon());
  const double eps = attrs[1].is_none() ? epsilon : attrs[1].as_double();
  const int mean = c.mean(c.mul(x, x), last_dims(static_cast<int64_t>(shape.size())), true);
  return {c.cast(affine(c, c.mul(x, c.rsqrt(c.add(mean, Compose::lit(eps)))), in[1], std::nullopt, shape), type)};
}

// ---- group_norm ---------------------------------------------------------------------------------------------------

Specs infer_group_norm(const OpDef& op, const SpecCall& call) {
  const TensorSpec& input = call.tensor(0);
  const int64_t groups = call.attrs[0].as_int();
  check(is_floating_point(input.dtype), op.name, ": expected a floating point input, got ", input.dtype);
  check(input.rank() >= 2, "group_norm: Expected at least 2 dimensions for input tensor but received ", input.rank());
  const int64_t channels = input.sizes[1];
  check(groups > 0, "group_norm: Expected num groups to be greater than 0, got ", groups);
  check(channels > 0, "group_norm: Expected number of channels to be greater than 0, got ", channels);
  check(channels % groups == 0, "group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape ",
        IntArrayRef(input.sizes), " and num_groups = ", groups);
  const int64_t area = product({input.sizes.begin() + 2, input.sizes.size() - 2});
  check(area > 0, "group_norm: Expected HxW to be greater than 0, got ", area);
  check_channels(op.name, "weight", call, 1, channels);
  check_channels(op.name, "bias", call, 2, channels);
  return {TensorSpec(input.dtype, input.sizes, input.device)};
}

Values decompose_group_norm(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const TensorSpec input = c.spec(in[0].tensor);
  const int64_t groups = attrs[0].as_int(), size = input.numel() / std::max<int64_t>(input.sizes[0] * groups, 1);
  const int x = c.reshape(c.wide(in[0].tensor), {input.sizes[0], groups, size});
  const int y = standardized(c, moments(c, x, {-1}), static_cast<double>(size), attrs[1].as_double());
  return {c.cast(affine(c, c.reshape(y, input.sizes), in[1], in[2], channel_shape(input)), input.dtype)};
}

// ---- batch_norm, instance_norm ------------------------------------------------------------------------------------

Specs infer_batch_norm(const OpDef& op, const SpecCall& call) {
  const TensorSpec& input = call.tensor(0);
  check(is_floating_point(input.dtype), op.name, ": expected a floating point input, got ", input.dtype);
  if (op.name == "batch_norm" && input.rank() == 1 && input.numel() == 0) return {TensorSpec(input.dtype, input.sizes, input.device)};
  check(input.rank() >= 2, op.name, ": expected at least 2 dimensions, got ", input.rank());
  const int64_t channels = input.sizes[1];
  constexpr std::string_view names[] = {"input", "weight", "bias", "running_mean", "running_var"};
  for (size_t i = 1; i < call.operands.size(); ++i) check_channels(op.name, names[i], call, i, channels);
  const TensorSpec result(input.dtype, input.sizes, input.device);
  if (op.name == "batch_norm") {
    check(call.has_tensor(3), "batch_norm: running_mean must be defined in evaluation mode");
    check(call.has_tensor(4), "batch_norm: running_var must be defined in evaluation mode");
    return {result};
  }
  const int64_t count = input.numel() / std::max<int64_t>(channels * (op.name == "instance_norm" ? input.sizes[0] : 1), 1);
  if (op.name == "instance_norm")
    check(input.numel() == 0 || count > 1, "instance_norm: Expected more than 1 spatial element when training, got input size ",
          IntArrayRef(input.sizes));
  else
    check(input.numel() == 0 || count > 1, "batch_norm: Expected more than 1 value per channel when training, got input size ",
          IntArrayRef(input.sizes));
  const TensorSpec statistic(compute_type(input.dtype), {channels}, input.device);
  return {result, statistic, statistic};
}

Values decompose_batch_norm(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const TensorSpec input = c.spec(in[0].tensor);
  if (input.rank() == 1) return {c.neg(in[0].tensor)};  // no elements
  const int x = c.wide(in[0].tensor);
  const ScalarType type = c.spec(x).dtype;
  const Dims shape = channel_shape(input);
  const int mean = c.reshape(c.cast(in[3].tensor, type), shape), variance = c.reshape(c.cast(in[4].tensor, type), shape);
  const int y = c.mul(c.sub(x, mean), c.rsqrt(c.add(variance, Compose::lit(attrs[0].as_double()))));
  return {c.cast(affine(c, y, in[1], in[2], shape), input.dtype)};
}

/// Dimensions that fold into one statistic, by name: all but the channels; for instance_norm not the batch either.
Dims folded_dims(const TensorSpec& input, bool per_instance) {
  Dims dims;
  for (int64_t d = 0; d < input.rank(); ++d)
    if (d != 1 && !(per_instance && d == 0)) dims.push_back(d);
  return dims;
}

Values normalize_by_statistics(Builder& b, Operands in, Attrs attrs, bool per_instance) {
  Compose c(b);
  const TensorSpec input = c.spec(in[0].tensor);
  const int64_t channels = c.spec(in[0].tensor).sizes[1];
  const double count = static_cast<double>(input.numel() / std::max<int64_t>(channels * (per_instance ? input.sizes[0] : 1), 1));
  const Moments m = moments(c, c.wide(in[0].tensor), folded_dims(input, per_instance));
  const int y = affine(c, standardized(c, m, count, attrs[0].as_double()), in[1], in[2], channel_shape(input));
  int mean = m.mean, variance = c.div(m.sum_of_squares, Compose::lit(count - 1));
  if (per_instance) mean = c.mean(mean, int64_t{0}, true), variance = c.mean(variance, int64_t{0}, true);
  return {c.cast(y, input.dtype), c.reshape(mean, {channels}), c.reshape(variance, {channels})};
}

Values decompose_batch_norm_train(Builder& b, Operands in, Attrs attrs) { return normalize_by_statistics(b, in, attrs, false); }
Values decompose_instance_norm(Builder& b, Operands in, Attrs attrs) { return normalize_by_statistics(b, in, attrs, true); }

// ---- normalize ----------------------------------------------------------------------------------------------------

Specs infer_normalize(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  check<NotImplementedError>(is_floating_point(self.dtype), op.name, ": expected a floating point input, got ", self.dtype);
  wrap_dim(call.attrs[1].as_int(), self.rank());
  return {TensorSpec(self.dtype, self.sizes, self.device)};
}

Values decompose_normalize(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = c.spec(in[0].tensor).dtype;
  const int x = c.wide(in[0].tensor);
  const int norm = c.call("norm", {x}, {attrs[0], attrs[1], true, std::nullopt});
  return {c.cast(c.div(x, c.clamp_min(norm, attrs[2].as_double())), type)};
}

void composite(std::string_view name, std::vector<std::string_view> operands, std::vector<std::string_view> attrs,
               decltype(OpDef::infer) infer, decltype(OpDef::decompose) decompose) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::Composite;
  def.operand_names = std::move(operands);
  def.attr_names = std::move(attrs);
  def.infer = infer;
  def.decompose = decompose;
  register_op(std::move(def));
}

[[maybe_unused]] const bool registered = [] {
  composite("softmax", {"self"}, {"dim", "dtype"}, infer_softmax, decompose_softmax);
  composite("log_softmax", {"self"}, {"dim", "dtype"}, infer_softmax, decompose_log_softmax);
  composite("layer_norm", {"input", "weight", "bias"}, {"normalized_shape", "eps"}, infer_layer_norm, decompose_layer_norm);
  composite("rms_norm", {"input", "weight"}, {"normalized_shape", "eps"}, infer_layer_norm, decompose_rms_norm);
  composite("group_norm", {"input", "weight", "bias"}, {"num_groups", "eps"}, infer_group_norm, decompose_group_norm);
  composite("batch_norm", {"input", "weight", "bias", "running_mean", "running_var"}, {"eps"}, infer_batch_norm, decompose_batch_norm);
  composite("batch_norm_train", {"input", "weight", "bias"}, {"eps"}, infer_batch_norm, decompose_batch_norm_train);
  composite("instance_norm", {"input", "weight", "bias"}, {"eps"}, infer_batch_norm, decompose_instance_norm);
  composite("normalize", {"self"}, {"p", "dim", "eps"}, infer_normalize, decompose_normalize);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
