// Pointwise functions with parameters, or of three operands.

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontend/call.h"
#include "ir/promotion.h"
#include "runtime/ambient.h"
#include "tailor/ops/indexing.h"
#include "tailor/ops/pointwise.h"
#include "tailor/ops/view.h"

namespace tailor {
namespace {

/// What nan_to_num puts in place of infinities by default.
double largest_finite(ScalarType type) {
  switch (type) {
    case kFloat16: return 65504.0;
    case kBFloat16: return bfloat16_bits_to_float(0x7f7f);
    case kFloat64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

std::array<Operand, 4> nan_to_num_operands(Where where, const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                                           std::optional<double> neginf) {
  const double largest = largest_finite(self.scalar_type());
  return operands(where, self, Scalar(nan.value_or(0.0)), Scalar(posinf.value_or(largest)), Scalar(neginf.value_or(-largest)));
}

/// An integer bound of clamp beyond the dtype of an integer `self` stops at its end, rather than wrapping around.
TensorOrScalar bound_of(const Tensor& self, const TensorOrScalar& bound, const TensorOrScalar& other = {}) {
  const auto is_integer = [](const TensorOrScalar& b) { return b.is_none() || (b.is_scalar() && b.scalar().is_integral()); };
  const ScalarType type = self.scalar_type();
  if (bound.is_none() || !is_integer(bound) || !is_integer(other) || !is_integral(type)) return bound;
  return visit_dtype(type, [&]<class T>() -> TensorOrScalar {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return Scalar(std::clamp<int64_t>(bound.scalar().to_int(), Limits::lowest(), Limits::max()));
    } else {
      return bound;
    }
  });
}

/// 10^|decimals| above and below.
std::pair<double, double> decimal_scale(int64_t decimals) {
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return decimals >= 0 ? std::pair(scale, 1.0) : std::pair(1.0, scale);
}

void check_clamp(const TensorOrScalar& min, const TensorOrScalar& max, Where where) {
  check_at(where, !min.is_none() || !max.is_none(), "clamp: At least one of 'min' or 'max' must not be None");
}

Tensor prelu_weight(const Tensor& self, const Tensor& weight, Where where) {
  check_at(where, weight.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  if (weight.numel() == 1) return weight.dim() == 0 || self.dim() == 0 ? reshape(weight, {}) : weight;
  check_at(where, self.dim() > 0, "prelu: Not allow zero-dim input tensor.");
  const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  check_at(where, channels == weight.numel(),
           "prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
           " and channel size = ", channels, ".");
  Dims shape(static_cast<size_t>(self.dim()), 1);
  shape[self.dim() > 1 ? 1 : 0] = channels;
  return reshape(weight, shape);
}

}  // namespace

Tensor round(const Tensor& self, int64_t decimals, Where where) {
  if (decimals == 0) return call<"round">(where, operands(where, self));
  const auto [up, down] = decimal_scale(decimals);
  return call<"round_decimals">(where, operands(where, self, Scalar(up), Scalar(down)));
}
Tensor Tensor::round(int64_t decimals, Where where) const { return tailor::round(*this, decimals, where); }
Tensor& Tensor::round_(int64_t decimals, Where where) const {
  if (decimals == 0) return call_inplace<"round">(where, *this, operands(where, *this));
  const auto [up, down] = decimal_scale(decimals);
  return call_inplace<"round_decimals">(where, *this, operands(where, *this, Scalar(up), Scalar(down)));
}

Tensor logit(const Tensor& self, std::optional<double> eps, Where where) {
  return eps ? call<"logit_eps">(where, operands(where, self, Scalar(*eps))) : call<"logit">(where, operands(where, self));
}
Tensor Tensor::logit(std::optional<double> eps, Where where) const { return tailor::logit(*this, eps, where); }
Tensor& Tensor::logit_(std::optional<double> eps, Where where) const {
  return eps ? call_inplace<"logit_eps">(where, *this, operands(where, *this, Scalar(*eps)))
             : call_inplace<"logit">(where, *this, operands(where, *this));
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf, Where where) {
  return call<"nan_to_num">(where, nan_to_num_operands(where, self, nan, posinf, neginf));
}
Tensor Tensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf, Where where) const {
  return tailor::nan_to_num(*this, nan, posinf, neginf, where);
}
Tensor& Tensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf, Where where) const {
  return call_inplace<"nan_to_num">(where, *this, nan_to_num_operands(where, *this, nan, posinf, neginf));
}

Tensor clamp(const Tensor& self, const TensorOrScalar& min, const TensorOrScalar& max, Where where) {
  check_clamp(min, max, where);
  if (max.is_none()) return call<"clamp_min">(where, operands(where, self, bound_of(self, min)));
  if (min.is_none()) return call<"clamp_max">(where, operands(where, self, bound_of(self, max)));
  return call<"clamp">(where, operands(where, self, bound_of(self, min, max), bound_of(self, max, min)));
}
Tensor clip(const Tensor& self, const TensorOrScalar& min, const TensorOrScalar& max, Where where) { return clamp(self, min, max, where); }
Tensor clamp_min(const Tensor& self, const TensorOrScalar& min, Where where) {
  return call<"clamp_min">(where, operands(where, self, bound_of(self, min)));
}
Tensor clamp_max(const Tensor& self, const TensorOrScalar& max, Where where) {
  return call<"clamp_max">(where, operands(where, self, bound_of(self, max)));
}
Tensor Tensor::clamp(const TensorOrScalar& min, const TensorOrScalar& max, Where where) const {
  return tailor::clamp(*this, min, max, where);
}
Tensor& Tensor::clamp_(const TensorOrScalar& min, const TensorOrScalar& max, Where where) const {
  check_clamp(min, max, where);
  if (max.is_none()) return clamp_min_(min, where);
  if (min.is_none()) return clamp_max_(max, where);
  return call_inplace<"clamp">(where, *this, operands(where, *this, bound_of(*this, min, max), bound_of(*this, max, min)));
}
Tensor Tensor::clamp_min(const TensorOrScalar& min, Where where) const {
  return call<"clamp_min">(where, operands(where, *this, bound_of(*this, min)));
}
Tensor Tensor::clamp_max(const TensorOrScalar& max, Where where) const {
  return call<"clamp_max">(where, operands(where, *this, bound_of(*this, max)));
}
Tensor& Tensor::clamp_min_(const TensorOrScalar& min, Where where) const {
  return call_inplace<"clamp_min">(where, *this, operands(where, *this, bound_of(*this, min)));
}
Tensor& Tensor::clamp_max_(const TensorOrScalar& max, Where where) const {
  return call_inplace<"clamp_max">(where, *this, operands(where, *this, bound_of(*this, max)));
}

Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope, Where where) {
  return call<"leaky_relu">(where, operands(where, self, negative_slope));
}
Tensor elu(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, Where where) {
  return call<"elu">(where, operands(where, self, alpha, scale, input_scale));
}
Tensor celu(const Tensor& self, const Scalar& alpha, Where where) {
  check_at(where, alpha.to_double() != 0, "celu: ZeroDivisionError: alpha cannot be 0 for CELU");
  return call<"celu">(where, operands(where, self, alpha));
}
Tensor gelu(const Tensor& self, std::string_view approximate, Where where) {
  if (approximate == "tanh") return call<"gelu_tanh">(where, operands(where, self));
  check_at(where, approximate == "none", "gelu: approximate argument must be either none or tanh.");
  return call<"gelu">(where, operands(where, self));
}
Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold, Where where) {
  return call<"softplus">(where, operands(where, self, beta, threshold));
}
Tensor hardtanh(const Tensor& self, const Scalar& min_val, const Scalar& max_val, Where where) {
  check_at(where, min_val.to_double() <= max_val.to_double(), "hardtanh: min_val cannot be greater than max_val");
  return call<"hardtanh">(where, operands(where, self, min_val, max_val));
}
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value, Where where) {
  return call<"threshold">(where, operands(where, self, threshold, value));
}
Tensor logsigmoid(const Tensor& self, Where where) { return neg(softplus(neg(self, where), 1.0, 20.0, where), where); }
Tensor prelu(const Tensor& self, const Tensor& weight, Where where) {
  return call<"prelu">(where, operands(where, self, prelu_weight(self, weight, where)));
}
Tensor Tensor::prelu(const Tensor& weight, Where where) const { return tailor::prelu(*this, weight, where); }

Tensor where(const Tensor& condition, const TensorOrScalar& self, const TensorOrScalar& other, Where at) {
  return call<"where">(at, operands(at, condition, self, other));
}
Tensor Tensor::where(const Tensor& condition, const TensorOrScalar& other, Where at) const {
  return tailor::where(condition, *this, other, at);
}
std::vector<Tensor> where(const Tensor& condition, Where at) { return unbind(nonzero(condition, at), 1, at); }

Tensor lerp(const Tensor& self, const Tensor& end, const TensorOrScalar& weight, Where where) {
  return call<"lerp">(where, operands(where, self, end, weight));
}
Tensor Tensor::lerp(const Tensor& end, const TensorOrScalar& weight, Where where) const { return tailor::lerp(*this, end, weight, where); }
Tensor& Tensor::lerp_(const Tensor& end, const TensorOrScalar& weight, Where where) const {
  return call_inplace<"lerp">(where, *this, operands(where, *this, end, weight));
}

#define ADDC(name)                                                                                                  \
  Tensor name(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, Where where) { \
    if (value == Scalar(1)) return call<#name>(where, operands(where, self, tensor1, tensor2));                     \
    return call<#name>(where, operands(where, self, tensor1, tensor2, value));                                      \
  }                                                                                                                 \
  Tensor Tensor::name(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, Where where) const {       \
    return tailor::name(*this, tensor1, tensor2, value, where);                                                     \
  }                                                                                                                 \
  Tensor& Tensor::name##_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value, Where where) const {   \
    if (value == Scalar(1)) return call_inplace<#name>(where, *this, operands(where, *this, tensor1, tensor2));     \
    return call_inplace<#name>(where, *this, operands(where, *this, tensor1, tensor2, value));                      \
  }
ADDC(addcmul)
ADDC(addcdiv)
#undef ADDC

Tensor masked_fill(const Tensor& self, const Tensor& mask, const TensorOrScalar& value, Where where) {
  return call<"masked_fill">(where, operands(where, self, mask, value));
}
Tensor Tensor::masked_fill(const Tensor& mask, const TensorOrScalar& value, Where where) const {
  return tailor::masked_fill(*this, mask, value, where);
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const TensorOrScalar& value, Where where) const {
  return call_inplace<"masked_fill">(where, *this, operands(where, *this, mask, value));
}

// ---- comparison as a whole ------------------------------------------------------------------------------------------

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan, Where where) {
  return call<"isclose">(where, operands(where, self, other), rtol, atol, equal_nan);
}
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan, Where where) {
  return isclose(self, other, rtol, atol, equal_nan, where).all(where).item<bool>(where);
}
bool equal(const Tensor& self, const Tensor& other, Where where) {
  check_at(where, self.scalar_type() == other.scalar_type(), "equal: Expected all tensors to have the same dtype, got ", self.scalar_type(),
           " and ", other.scalar_type());
  if (self.sizes() != other.sizes()) return false;
  return self.numel() == 0 || self.eq(other, where).all(where).item<bool>(where);
}
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan, Where where) const {
  return tailor::isclose(*this, other, rtol, atol, equal_nan, where);
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan, Where where) const {
  return tailor::allclose(*this, other, rtol, atol, equal_nan, where);
}
bool Tensor::equal(const Tensor& other, Where where) const { return tailor::equal(*this, other, where); }

// ---- type promotion -------------------------------------------------------------------------------------------------

ScalarType result_type(const TensorOrScalar& a, const TensorOrScalar& b) {
  std::array<ir::SpecOperand, 2> specs;
  size_t i = 0;
  for (const TensorOrScalar* x : {&a, &b}) {
    if (x->tensor() != nullptr)
      specs[i] = &operand_impl(*x->tensor()).spec;  // dtypes and ranks
    else if (x->is_scalar())
      specs[i] = x->scalar();
    ++i;
  }
  return ir::result_type(specs);
}
bool can_cast(ScalarType from, ScalarType to) { return ir::can_cast(from, to); }

}  // namespace tailor
