#pragma once
// Pointwise functions: one result element per element, with broadcasting. Names and semantics are torch's.
//
//   Tensor y = exp(x) + where(mask, x, 0.0);
//
// Unless said otherwise: any shape; integers become the default floating-point dtype where the function has fractional values; the
// half types compute in float32 and round once. NotImplementedError for a dtype on which the function is not defined; Error for
// shapes that do not broadcast.

#include "tailor/tensor.h"

namespace tailor {

#define TAILOR_UNARY(name) Tensor name(const Tensor& self, Where where = Where::current());
// Sign and size. abs of the least integer wraps; sign(NaN) is 0 as in torch.
TAILOR_UNARY(abs)
TAILOR_UNARY(absolute)
TAILOR_UNARY(neg)
TAILOR_UNARY(negative)
TAILOR_UNARY(sign)
TAILOR_UNARY(positive)
TAILOR_UNARY(signbit)
// Exponentials, logarithms, powers.
TAILOR_UNARY(exp)
TAILOR_UNARY(exp2)
TAILOR_UNARY(expm1)
TAILOR_UNARY(log)
TAILOR_UNARY(log2)
TAILOR_UNARY(log10)
TAILOR_UNARY(log1p)
TAILOR_UNARY(sqrt)
TAILOR_UNARY(rsqrt)
TAILOR_UNARY(square)
TAILOR_UNARY(reciprocal)
// Trigonometric and hyperbolic.
TAILOR_UNARY(sin)
TAILOR_UNARY(cos)
TAILOR_UNARY(tan)
TAILOR_UNARY(asin)
TAILOR_UNARY(acos)
TAILOR_UNARY(atan)
TAILOR_UNARY(sinh)
TAILOR_UNARY(cosh)
TAILOR_UNARY(tanh)
TAILOR_UNARY(asinh)
TAILOR_UNARY(acosh)
TAILOR_UNARY(atanh)
// Special functions.
TAILOR_UNARY(erf)
TAILOR_UNARY(erfc)
TAILOR_UNARY(erfinv)
TAILOR_UNARY(lgamma)
TAILOR_UNARY(sigmoid)
// Rounding. frac(x) = x - trunc(x).
TAILOR_UNARY(ceil)
TAILOR_UNARY(floor)
TAILOR_UNARY(trunc)
TAILOR_UNARY(frac)
// Tests; results are bool.
TAILOR_UNARY(isnan)
TAILOR_UNARY(isinf)
TAILOR_UNARY(isfinite)
TAILOR_UNARY(logical_not)
/// Integers and bool only.
TAILOR_UNARY(bitwise_not)
// Activations without parameters.
TAILOR_UNARY(relu)
TAILOR_UNARY(relu6)
TAILOR_UNARY(selu)
TAILOR_UNARY(silu)
TAILOR_UNARY(mish)
TAILOR_UNARY(softsign)
TAILOR_UNARY(hardsigmoid)
TAILOR_UNARY(hardswish)
TAILOR_UNARY(logsigmoid)
#undef TAILOR_UNARY

#define TAILOR_UNARY_INPLACE(name) Tensor& name(const Tensor& self, Where where = Where::current());
TAILOR_UNARY_INPLACE(relu_)
TAILOR_UNARY_INPLACE(sigmoid_)
TAILOR_UNARY_INPLACE(tanh_)
TAILOR_UNARY_INPLACE(exp_)
TAILOR_UNARY_INPLACE(sqrt_)
TAILOR_UNARY_INPLACE(abs_)
#undef TAILOR_UNARY_INPLACE

/// Rounds half to even, at `decimals` digits after the point (negative: before it).
Tensor round(const Tensor& self, int64_t decimals = 0, Where where = Where::current());
/// log(x / (1 - x)), x clamped to [eps, 1 - eps] when eps is given.
Tensor logit(const Tensor& self, std::optional<double> eps = std::nullopt, Where where = Where::current());
/// Replaces NaN (by 0) and infinities (by the largest finite values), or by what is given.
Tensor nan_to_num(const Tensor& self, std::optional<double> nan = std::nullopt, std::optional<double> posinf = std::nullopt,
                  std::optional<double> neginf = std::nullopt, Where where = Where::current());
/// min(max(x, low), high); bounds are numbers or tensors, at least one of them.
Tensor clamp(const Tensor& self, const TensorOrScalar& min = std::nullopt, const TensorOrScalar& max = std::nullopt,
             Where where = Where::current());
Tensor clamp_min(const Tensor& self, const TensorOrScalar& min, Where where = Where::current());
Tensor clamp_max(const Tensor& self, const TensorOrScalar& max, Where where = Where::current());
Tensor clip(const Tensor& self, const TensorOrScalar& min = std::nullopt, const TensorOrScalar& max = std::nullopt,
            Where where = Where::current());

// Activations with parameters.
Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope = 0.01, Where where = Where::current());
Tensor elu(const Tensor& self, const Scalar& alpha = 1.0, const Scalar& scale = 1.0, const Scalar& input_scale = 1.0,
           Where where = Where::current());
Tensor celu(const Tensor& self, const Scalar& alpha = 1.0, Where where = Where::current());
/// `approximate`: "none" (erf) or "tanh".
Tensor gelu(const Tensor& self, std::string_view approximate = "none", Where where = Where::current());
Tensor softplus(const Tensor& self, const Scalar& beta = 1.0, const Scalar& threshold = 20.0, Where where = Where::current());
Tensor hardtanh(const Tensor& self, const Scalar& min_val = -1.0, const Scalar& max_val = 1.0, Where where = Where::current());
/// x where x > threshold, else value.
Tensor threshold(const Tensor& self, const Scalar& threshold, const Scalar& value, Where where = Where::current());
/// x where x > 0, else weight * x; weight has one element, or one per channel (dimension 1).
Tensor prelu(const Tensor& self, const Tensor& weight, Where where = Where::current());

#define TAILOR_BINARY(name) Tensor name(const TensorOrScalar& self, const TensorOrScalar& other, Where where = Where::current());
// Arithmetic. Integer division rounds as said; by zero it is an Error.
TAILOR_BINARY(mul)
TAILOR_BINARY(multiply)
TAILOR_BINARY(div)
TAILOR_BINARY(divide)
TAILOR_BINARY(true_divide)
TAILOR_BINARY(floor_divide)
TAILOR_BINARY(remainder)  // with the sign of the divisor
TAILOR_BINARY(fmod)       // with the sign of the dividend
TAILOR_BINARY(pow)
TAILOR_BINARY(atan2)
TAILOR_BINARY(hypot)
TAILOR_BINARY(copysign)
TAILOR_BINARY(xlogy)
// maximum and minimum propagate NaN; fmax and fmin prefer the number.
TAILOR_BINARY(maximum)
TAILOR_BINARY(minimum)
TAILOR_BINARY(fmax)
TAILOR_BINARY(fmin)
// Comparison and logic: bool results. NaN compares false, but for ne.
TAILOR_BINARY(eq)
TAILOR_BINARY(ne)
TAILOR_BINARY(lt)
TAILOR_BINARY(le)
TAILOR_BINARY(gt)
TAILOR_BINARY(ge)
TAILOR_BINARY(logical_and)
TAILOR_BINARY(logical_or)
TAILOR_BINARY(logical_xor)
// Integers and bool only.
TAILOR_BINARY(bitwise_and)
TAILOR_BINARY(bitwise_or)
TAILOR_BINARY(bitwise_xor)
TAILOR_BINARY(bitwise_left_shift)
TAILOR_BINARY(bitwise_right_shift)
#undef TAILOR_BINARY

/// self + alpha * other.
Tensor add(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha = 1, Where where = Where::current());
/// self - alpha * other.
Tensor sub(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha = 1, Where where = Where::current());
Tensor subtract(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha = 1, Where where = Where::current());
/// other - alpha * self.
Tensor rsub(const Tensor& self, const TensorOrScalar& other, const Scalar& alpha = 1, Where where = Where::current());
/// rounding_mode: nullopt (true division), "trunc" or "floor".
Tensor div(const TensorOrScalar& self, const TensorOrScalar& other, std::optional<std::string_view> rounding_mode,
           Where where = Where::current());
/// `self` where the condition holds, else `other`; the three broadcast.
Tensor where(const Tensor& condition, const TensorOrScalar& self, const TensorOrScalar& other, Where at = Where::current());
/// The indices where the condition holds, one tensor per dimension.
std::vector<Tensor> where(const Tensor& condition, Where at = Where::current());
/// self + weight * (end - self).
Tensor lerp(const Tensor& self, const Tensor& end, const TensorOrScalar& weight, Where where = Where::current());
/// self + value * tensor1 * tensor2.
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1, Where where = Where::current());
/// self + value * tensor1 / tensor2.
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1, Where where = Where::current());
/// `value` (a number or a tensor without dimensions) where the mask holds.
Tensor masked_fill(const Tensor& self, const Tensor& mask, const TensorOrScalar& value, Where where = Where::current());
/// |self - other| <= atol + rtol * |other|, element by element.
Tensor isclose(const Tensor& self, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
               Where where = Where::current());
/// All elements close; reads the data.
bool allclose(const Tensor& self, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
              Where where = Where::current());
/// Same sizes and same elements; reads the data. Throws Error when the dtypes differ.
bool equal(const Tensor& self, const Tensor& other, Where where = Where::current());

// Type promotion.
/// The dtype of an op over these operands.
ScalarType result_type(const TensorOrScalar& a, const TensorOrScalar& b);
/// Whether an in-place op may write values of `from` into a tensor of `to`.
bool can_cast(ScalarType from, ScalarType to);

}  // namespace tailor
