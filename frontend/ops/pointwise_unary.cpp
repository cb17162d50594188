#include "frontend/call.h"
#include "tailor/ops/pointwise.h"

namespace tailor {

#define FREE(name) \
  Tensor name(const Tensor& self, Where where) { return call<#name>(where, operands(where, self)); }
#define METHOD(name) \
  Tensor Tensor::name(Where where) const { return call<#name>(where, operands(where, *this)); }
#define INPLACE(name) \
  Tensor& Tensor::name##_(Where where) const { return call_inplace<#name>(where, *this, operands(where, *this)); }
#define ALL(name) FREE(name) METHOD(name) INPLACE(name)
ALL(abs)
ALL(acos)
ALL(acosh)
ALL(asin)
ALL(asinh)
ALL(atan)
ALL(atanh)
ALL(bitwise_not)
ALL(ceil)
ALL(cos)
ALL(cosh)
ALL(erf)
ALL(erfc)
ALL(erfinv)
ALL(exp)
ALL(exp2)
ALL(expm1)
ALL(floor)
ALL(frac)
ALL(lgamma)
ALL(log)
ALL(log10)
ALL(log1p)
ALL(log2)
ALL(logical_not)
ALL(neg)
ALL(reciprocal)
ALL(relu)
ALL(rsqrt)
ALL(sigmoid)
ALL(sign)
ALL(sin)
ALL(sinh)
ALL(sqrt)
ALL(square)
ALL(tan)
ALL(tanh)
ALL(trunc)
FREE(isnan)
METHOD(isnan)
FREE(isinf)
METHOD(isinf)
FREE(isfinite)
METHOD(isfinite)
FREE(signbit)
METHOD(signbit)
FREE(relu6)
FREE(selu)
FREE(silu)
FREE(mish)
FREE(softsign)
FREE(hardsigmoid)
FREE(hardswish)

#undef ALL
#undef FREE
#undef METHOD
#undef INPLACE

Tensor absolute(const Tensor& self, Where where) { return self.abs(where); }
Tensor negative(const Tensor& self, Where where) { return self.neg(where); }
Tensor positive(const Tensor& self, Where where) { return self.positive(where); }
Tensor Tensor::absolute(Where where) const { return abs(where); }
Tensor& Tensor::absolute_(Where where) const { return abs_(where); }
Tensor Tensor::negative(Where where) const { return neg(where); }
Tensor& Tensor::negative_(Where where) const { return neg_(where); }
Tensor Tensor::positive(Where where) const {
  check_at(where, scalar_type() != kBool, "positive: The `+` operator, on a bool tensor is not supported.");
  return *this;
}
Tensor& relu_(const Tensor& self, Where where) { return self.relu_(where); }
Tensor& sigmoid_(const Tensor& self, Where where) { return self.sigmoid_(where); }
Tensor& tanh_(const Tensor& self, Where where) { return self.tanh_(where); }
Tensor& exp_(const Tensor& self, Where where) { return self.exp_(where); }
Tensor& sqrt_(const Tensor& self, Where where) { return self.sqrt_(where); }
Tensor& abs_(const Tensor& self, Where where) { return self.abs_(where); }

}  // namespace tailor
