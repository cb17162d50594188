#pragma once
// A decomposition reads like the formula it stands for:
//
//   Compose c(b);
//   int e = c.exp(c.sub(x, c.amax(x, dim, true)));
//   return {c.div(e, c.sum(e, dim, true))};
//
// Operands are values of the builder or scalars. Half types: cast up with `wide`, compute in float32, and cast back once at the end,
// where torch's kernels round once.

#include "ir/builder.h"

namespace tailor::ir {

class Compose {
 public:
  explicit Compose(Builder& b) : b_(b) {}

  const TensorSpec& spec(int v) const { return b_.spec(v); }
  int call(std::string_view op, std::initializer_list<Value> operands, std::initializer_list<AttrRef> attrs = {}) {
    return b_.call(op, operands, attrs);
  }
  static Value lit(double v) { return Value(tailor::Scalar(v)); }

  /// `x` itself when it has the dtype already.
  int cast(int x, ScalarType type);
  /// In the type in which arithmetic on it is done: f32 for the half types.
  int wide(int x) { return cast(x, compute_type(spec(x).dtype)); }
  /// `x` in another shape with as many elements; `x` itself when it has the shape already.
  int reshape(int x, Dims sizes);

  int add(Value a, Value b);
  int sub(Value a, Value b);
  int mul(Value a, Value b) { return call("mul", {a, b}); }
  int div(Value a, Value b);
  int eq(Value a, Value b) { return call("eq", {a, b}); }
  int ne(Value a, Value b) { return call("ne", {a, b}); }
  int lt(Value a, Value b) { return call("lt", {a, b}); }
  int le(Value a, Value b) { return call("le", {a, b}); }
  int where(int condition, Value a, Value b) { return call("where", {condition, a, b}); }
  int pow(Value a, Value b) { return call("pow", {a, b}); }
  int unary(std::string_view op, int x) { return call(op, {x}); }
  int exp(int x) { return unary("exp", x); }
  int log(int x) { return unary("log", x); }
  int abs(int x) { return unary("abs", x); }
  int neg(int x) { return unary("neg", x); }
  int sqrt(int x) { return unary("sqrt", x); }
  int rsqrt(int x) { return unary("rsqrt", x); }
  /// max(x, low), NaN kept.
  int clamp_min(int x, double low);
  int clamp_max(int x, double high);

  int sum(int x, const AttrRef& dim, bool keepdim) { return call("sum", {x}, {dim, keepdim, std::nullopt}); }
  int amax(int x, const AttrRef& dim, bool keepdim) { return call("amax", {x}, {dim, keepdim}); }
  int amin(int x, const AttrRef& dim, bool keepdim) { return call("amin", {x}, {dim, keepdim}); }
  /// sum / count, in the operand's type.
  int mean(int x, const AttrRef& dim, bool keepdim);

 private:
  Builder& b_;
};

}  // namespace tailor::ir
