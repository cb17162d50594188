#include "frontend/call.h"
#include "tailor/ops/pointwise.h"

namespace tailor {

#define FREE_AS(name, op)                                                             \
  Tensor name(const TensorOrScalar& self, const TensorOrScalar& other, Where where) { \
    return call<op>(where, operands(where, self, other));                             \
  }
#define FREE(name) FREE_AS(name, #name)
#define BOTH_AS(name, op)                                                                                                        \
  FREE_AS(name, op)                                                                                                              \
  Tensor Tensor::name(const TensorOrScalar& other, Where where) const { return call<op>(where, operands(where, *this, other)); } \
  Tensor& Tensor::name##_(const TensorOrScalar& other, Where where) const {                                                      \
    return call_inplace<op>(where, *this, operands(where, *this, other));                                                        \
  }
#define BOTH(name) BOTH_AS(name, #name)
BOTH(mul)
BOTH_AS(floor_divide, "div_floor")
BOTH(remainder)
BOTH(fmod)
BOTH(atan2)
BOTH(hypot)
BOTH(copysign)
BOTH(xlogy)
BOTH(eq)
BOTH(ne)
BOTH(lt)
BOTH(le)
BOTH(gt)
BOTH(ge)
BOTH(logical_and)
BOTH(logical_or)
BOTH(logical_xor)
BOTH(bitwise_and)
BOTH(bitwise_or)
BOTH(bitwise_xor)
BOTH(bitwise_left_shift)
BOTH(bitwise_right_shift)
FREE(div)
#undef BOTH
#undef BOTH_AS
#undef FREE
#undef FREE_AS

#define TENSORS(name)                                                                 \
  Tensor name(const TensorOrScalar& self, const TensorOrScalar& other, Where where) { \
    return call<#name>(where, operands(where, self, other));                          \
  }                                                                                   \
  Tensor Tensor::name(const Tensor& other, Where where) const { return call<#name>(where, operands(where, *this, other)); }
TENSORS(maximum)
TENSORS(minimum)
TENSORS(fmax)
TENSORS(fmin)
#undef TENSORS

Tensor multiply(const TensorOrScalar& self, const TensorOrScalar& other, Where where) { return mul(self, other, where); }
Tensor divide(const TensorOrScalar& self, const TensorOrScalar& other, Where where) { return div(self, other, where); }
Tensor true_divide(const TensorOrScalar& self, const TensorOrScalar& other, Where where) { return div(self, other, where); }
Tensor Tensor::multiply(const TensorOrScalar& other, Where where) const { return mul(other, where); }
Tensor& Tensor::multiply_(const TensorOrScalar& other, Where where) const { return mul_(other, where); }

namespace {

/// x + 1 * y needs no multiplication: alpha is left out.
bool is_one(const Scalar& alpha) { return alpha == Scalar(1); }

/// floor, trunc or true division.
template <class F>
decltype(auto) with_rounding_mode(std::optional<std::string_view> mode, Where where, F&& f) {
  if (!mode) return f.template operator()<"div">();
  if (*mode == "floor") return f.template operator()<"div_floor">();
  check_at(where, *mode == "trunc", "div: expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
  return f.template operator()<"div_trunc">();
}

}  // namespace

/// What torch refuses before it looks at any data.
static void check_power(const TensorOrScalar& base, const TensorOrScalar& exponent, Where where) {
  if (!exponent.is_scalar() || exponent.scalar().is_floating_point() || exponent.scalar().to_int() >= 0) return;
  const bool integers = base.tensor() != nullptr ? is_integral(base.tensor()->scalar_type(), true) : !base.scalar().is_floating_point();
  check_at(where, !integers, "pow: Integers to negative integer powers are not allowed.");
}
Tensor pow(const TensorOrScalar& self, const TensorOrScalar& exponent, Where where) {
  check_power(self, exponent, where);
  return call<"pow">(where, operands(where, self, exponent));
}
Tensor Tensor::pow(const TensorOrScalar& exponent, Where where) const { return tailor::pow(*this, exponent, where); }
Tensor& Tensor::pow_(const TensorOrScalar& exponent, Where where) const {
  check_power(*this, exponent, where);
  return call_inplace<"pow">(where, *this, operands(where, *this, exponent));
}
Tensor add(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha, Where where) {
  return is_one(alpha) ? call<"add">(where, operands(where, self, other)) : call<"add">(where, operands(where, self, other, alpha));
}
Tensor sub(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha, Where where) {
  return is_one(alpha) ? call<"sub">(where, operands(where, self, other)) : call<"sub">(where, operands(where, self, other, alpha));
}
Tensor subtract(const TensorOrScalar& self, const TensorOrScalar& other, const Scalar& alpha, Where where) {
  return sub(self, other, alpha, where);
}
Tensor rsub(const Tensor& self, const TensorOrScalar& other, const Scalar& alpha, Where where) { return sub(other, self, alpha, where); }
Tensor Tensor::add(const TensorOrScalar& other, const Scalar& alpha, Where where) const { return tailor::add(*this, other, alpha, where); }
Tensor Tensor::sub(const TensorOrScalar& other, const Scalar& alpha, Where where) const { return tailor::sub(*this, other, alpha, where); }
Tensor& Tensor::add_(const TensorOrScalar& other, const Scalar& alpha, Where where) const {
  return is_one(alpha) ? call_inplace<"add">(where, *this, operands(where, *this, other))
                       : call_inplace<"add">(where, *this, operands(where, *this, other, alpha));
}
Tensor& Tensor::sub_(const TensorOrScalar& other, const Scalar& alpha, Where where) const {
  return is_one(alpha) ? call_inplace<"sub">(where, *this, operands(where, *this, other))
                       : call_inplace<"sub">(where, *this, operands(where, *this, other, alpha));
}
Tensor div(const TensorOrScalar& self, const TensorOrScalar& other, std::optional<std::string_view> rounding_mode, Where where) {
  return with_rounding_mode(rounding_mode, where, [&]<ir::FixedString Name>() { return call<Name>(where, operands(where, self, other)); });
}
Tensor Tensor::div(const TensorOrScalar& other, Where where) const { return call<"div">(where, operands(where, *this, other)); }
Tensor Tensor::div(const TensorOrScalar& other, std::optional<std::string_view> rounding_mode, Where where) const {
  return tailor::div(*this, other, rounding_mode, where);
}
Tensor& Tensor::div_(const TensorOrScalar& other, Where where) const {
  return call_inplace<"div">(where, *this, operands(where, *this, other));
}
Tensor& Tensor::div_(const TensorOrScalar& other, std::optional<std::string_view> rounding_mode, Where where) const {
  return with_rounding_mode(rounding_mode, where, [&]<ir::FixedString Name>() -> Tensor& {
    return call_inplace<Name>(where, *this, operands(where, *this, other));
  });
}

#define OPERATOR(symbol, name)                                              \
  Tensor operator symbol(const Tensor& self, const TensorOrScalar& other) { \
    return call<name>(other.where(), operands(other.where(), self, other)); \
  }                                                                         \
  Tensor operator symbol(const ScalarOperand& self, const Tensor& other) {  \
    return call<name>(self.where(), operands(self.where(), self, other));   \
  }
OPERATOR(+, "add")
OPERATOR(-, "sub")
OPERATOR(*, "mul")
OPERATOR(/, "div")
OPERATOR(%, "remainder")
OPERATOR(==, "eq")
OPERATOR(!=, "ne")
OPERATOR(<, "lt")
OPERATOR(<=, "le")
OPERATOR(>, "gt")
OPERATOR(>=, "ge")
OPERATOR(&, "bitwise_and")
OPERATOR(|, "bitwise_or")
OPERATOR(^, "bitwise_xor")
#undef OPERATOR
Tensor operator<<(const Tensor& self, const TensorOrScalar& count) {
  return call<"bitwise_left_shift">(count.where(), operands(count.where(), self, count));
}
Tensor operator>>(const Tensor& self, const TensorOrScalar& count) {
  return call<"bitwise_right_shift">(count.where(), operands(count.where(), self, count));
}

}  // namespace tailor
