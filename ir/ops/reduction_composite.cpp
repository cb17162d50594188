// Reductions that decompose into others: mean, var, logsumexp, norm ...
#include <cmath>

#include "ir/ops/compose.h"
#include "ir/ops/reduction.h"

namespace tailor::ir {
namespace {

using Specs = std::vector<TensorSpec>;
using Values = std::vector<int>;
using Operands = std::span<const Value>;
using Attrs = std::span<const AttrRef>;

TensorSpec reduced(const TensorSpec& self, ScalarType type, const AttrRef& dim, bool keepdim) {
  return TensorSpec(type, reduced_sizes(self.sizes, reduced_dims(dim, self.rank()), keepdim), self.device);
}

// ---- mean(self; dim, keepdim, dtype) ------------------------------------------------------------------------------

Specs infer_mean(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const ScalarType type = call.attrs[2].is_none() ? self.dtype : call.attrs[2].as_dtype();
  if (call.attrs[2].is_none())
    check<NotImplementedError>(
        is_floating_point(type),
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ", type);
  else
    check<NotImplementedError>(is_floating_point(type), "mean(): the dtype must be a floating point one. Got: ", type);
  return {reduced(self, type, call.attrs[0], call.attrs[1].as_bool())};
}

Values decompose_mean(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const int self = in[0].tensor;
  const ScalarType type = attrs[2].is_none() ? c.spec(self).dtype : attrs[2].as_dtype();
  return {c.cast(c.mean(c.wide(c.cast(self, type)), attrs[0], attrs[1].as_bool()), type)};
}

// ---- max(self), min(self) -----------------------------------------------------------------------------------------

Specs infer_whole_extremum(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  check_has_elements(op.name, self, std::nullopt, ~DimMask{0});
  return {TensorSpec(self.dtype, {}, self.device)};
}
Values decompose_max(Builder& b, Operands in, Attrs) { return {Compose(b).amax(in[0].tensor, std::nullopt, false)}; }
Values decompose_min(Builder& b, Operands in, Attrs) { return {Compose(b).amin(in[0].tensor, std::nullopt, false)}; }

// ---- var std var_mean (self; dim, correction, keepdim) ------------------------------------------------------------

double correction_of(const AttrRef& attr) {
  return attr.is_none() ? 1.0 : attr.kind == AttrRef::Kind::Int ? static_cast<double>(attr.as_int()) : attr.as_double();
}

Specs infer_var(const OpDef& op, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  if (op.name == "var_mean")
    check<NotImplementedError>(is_floating_point(self.dtype), "var_mean only support floating point and complex dtypes");
  else
    check<NotImplementedError>(is_floating_point(self.dtype), "std and var only support floating point and complex dtypes");
  const TensorSpec result = reduced(self, self.dtype, call.attrs[0], call.attrs[2].as_bool());
  return op.name == "var_mean" ? Specs{result, result} : Specs{result};
}

/// Variance in the compute type, and the mean with kept dimensions. Two passes: the mean, then the squared deviations from it.
std::pair<int, int> variance(Compose& c, int wide, Attrs attrs) {
  const DimMask mask = reduced_dims(attrs[0], c.spec(wide).rank());
  const double count = static_cast<double>(reduced_count(c.spec(wide).sizes, mask));
  const int mean = c.mean(wide, attrs[0], true);
  const int deviation = c.sub(wide, mean);
  const double divisor = std::max(0.0, count - correction_of(attrs[1]));
  return {c.div(c.sum(c.mul(deviation, deviation), attrs[0], attrs[2].as_bool()), Compose::lit(divisor)), mean};
}

Values decompose_var(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = c.spec(in[0].tensor).dtype;
  return {c.cast(variance(c, c.wide(in[0].tensor), attrs).first, type)};
}

Values decompose_std(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = c.spec(in[0].tensor).dtype;
  return {c.cast(c.sqrt(variance(c, c.wide(in[0].tensor), attrs).first), type)};
}

Values decompose_var_mean(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const TensorSpec self = c.spec(in[0].tensor);
  const auto [var, mean] = variance(c, c.wide(in[0].tensor), attrs);
  const Dims sizes = reduced_sizes(self.sizes, reduced_dims(attrs[0], self.rank()), attrs[2].as_bool());
  return {c.cast(var, self.dtype), c.cast(c.reshape(mean, sizes), self.dtype)};
}

// ---- logsumexp(self; dim, keepdim) --------------------------------------------------------------------------------

Specs infer_logsumexp(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  const ScalarType type = is_floating_point(self.dtype) ? self.dtype : kFloat32;
  return {reduced(self, type, call.attrs[0], call.attrs[1].as_bool())};
}

Values decompose_logsumexp(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = is_floating_point(c.spec(in[0].tensor).dtype) ? c.spec(in[0].tensor).dtype : kFloat32;
  const int x = c.wide(c.cast(in[0].tensor, type));
  const bool keepdim = attrs[1].as_bool();
  if (c.spec(x).numel() == 0) return {c.cast(c.log(c.sum(c.exp(x), attrs[0], keepdim)), type)};
  // An infinite maximum is not subtracted: inf - inf would be NaN where the answer is an infinity.
  const int max = c.amax(x, attrs[0], true);
  const int shift = c.where(c.eq(c.abs(max), Compose::lit(INFINITY)), Compose::lit(0.0), max);
  const int log = c.log(c.sum(c.exp(c.sub(x, shift)), attrs[0], keepdim));
  return {c.cast(c.add(log, c.reshape(shift, c.spec(log).sizes)), type)};
}

// ---- norm(self; p, dim, keepdim, dtype) ---------------------------------------------------------------------------

double p_of(const AttrRef& attr) {
  return attr.is_none() ? 2.0 : attr.kind == AttrRef::Kind::Int ? static_cast<double>(attr.as_int()) : attr.as_double();
}

Specs infer_norm(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  check<NotImplementedError>(is_floating_point(self.dtype),
                             "linalg.vector_norm: Expected a floating point or complex tensor as input. Got ", self.dtype);
  const ScalarType type = call.attrs[3].is_none() ? self.dtype : call.attrs[3].as_dtype();
  check(is_floating_point(type), "linalg.vector_norm: dtype should be a floating point one. Got ", type);
  const double p = p_of(call.attrs[0]);
  const DimMask mask = reduced_dims(call.attrs[1], self.rank());
  if (self.numel() == 0 && (p < 0 || p == INFINITY)) {
    check(!call.attrs[1].is_none(), "linalg.vector_norm cannot compute the ", p,
          " norm on an empty tensor because the operation does not have an identity");
    for (size_t d = 0; d < self.sizes.size(); ++d)
      check(!(mask >> d & 1) || self.sizes[d] != 0, "linalg.vector_norm cannot compute the ", p, " norm on the dimension ", d,
            " because this dimension is empty and the operation does not have an identity");
  }
  return {reduced(self, type, call.attrs[1], call.attrs[2].as_bool())};
}

Values decompose_norm(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const ScalarType type = attrs[3].is_none() ? c.spec(in[0].tensor).dtype : attrs[3].as_dtype();
  const int x = c.wide(c.cast(in[0].tensor, type));
  const AttrRef& dim = attrs[1];
  const bool keepdim = attrs[2].as_bool();
  const double p = p_of(attrs[0]);
  int result;
  if (p == 2)
    result = c.sqrt(c.sum(c.mul(x, x), dim, keepdim));
  else if (p == 1)
    result = c.sum(c.abs(x), dim, keepdim);
  else if (p == INFINITY)
    result = c.amax(c.abs(x), dim, keepdim);
  else if (p == -INFINITY)
    result = c.amin(c.abs(x), dim, keepdim);
  else if (p == 0)
    result = c.sum(c.cast(c.ne(x, Compose::lit(0)), c.spec(x).dtype), dim, keepdim);
  else
    result = c.pow(c.sum(c.pow(c.abs(x), Compose::lit(p)), dim, keepdim), Compose::lit(1 / p));
  return {c.cast(result, type)};
}

// ---- count_nonzero(self; dim) -------------------------------------------------------------------------------------

Specs infer_count(const OpDef&, const SpecCall& call) { return {reduced(call.tensor(0), kInt64, call.attrs[0], false)}; }

Values decompose_count(Builder& b, Operands in, Attrs attrs) {
  Compose c(b);
  const int x = in[0].tensor;
  return {c.sum(c.spec(x).dtype == kBool ? x : c.ne(x, Value(tailor::Scalar(0))), attrs[0], false)};
}

void composite(std::string_view name, std::vector<std::string_view> attrs, decltype(OpDef::infer) infer,
               decltype(OpDef::decompose) decompose) {
  OpDef def;
  def.name = name;
  def.kind = OpKind::Composite;
  def.operand_names = {"self"};
  def.attr_names = std::move(attrs);
  def.infer = infer;
  def.decompose = decompose;
  register_op(std::move(def));
}

[[maybe_unused]] const bool registered = [] {
  composite("mean", {"dim", "keepdim", "dtype"}, infer_mean, decompose_mean);
  composite("max", {}, infer_whole_extremum, decompose_max);
  composite("min", {}, infer_whole_extremum, decompose_min);
  composite("var", {"dim", "correction", "keepdim"}, infer_var, decompose_var);
  composite("std", {"dim", "correction", "keepdim"}, infer_var, decompose_std);
  composite("var_mean", {"dim", "correction", "keepdim"}, infer_var, decompose_var_mean);
  composite("logsumexp", {"dim", "keepdim"}, infer_logsumexp, decompose_logsumexp);
  composite("norm", {"p", "dim", "keepdim", "dtype"}, infer_norm, decompose_norm);
  composite("count_nonzero", {"dim"}, infer_count, decompose_count);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
