#pragma once
// Type promotion: PyTorch's result_type. Operands fall into three categories: tensors with dimensions, 0-d tensors, and scalars.
// A lower category only matters where it is of a higher kind (bool < integer < floating point) than those above it.
//
//   f32[2] + f64[]  -> f32        i32[2] + f64[] -> f64        i32[2] + 1.5 -> the default dtype        u8[2] + 300 -> u8

#include <span>

#include "ir/op.h"
#include "runtime/ambient.h"

namespace tailor::ir {

/// Collects the operands of one call.
class Promotion {
 public:
  void add_tensor(ScalarType dtype, bool has_dimensions) {
    ScalarType& category = has_dimensions ? dimensioned_ : zero_dim_;
    category = join(category, dtype);
  }
  void add_scalar(Scalar::Kind kind, ScalarType default_dtype) {
    scalar_ = join(scalar_, kind == Scalar::Kind::Bool ? kBool : kind == Scalar::Kind::Int ? kInt64 : default_dtype);
  }
  void add(const SpecOperand& operand, ScalarType default_dtype) {
    if (operand.is_tensor()) add_tensor(operand.tensor->dtype, !operand.tensor->sizes.empty());
    if (operand.is_scalar()) add_scalar(operand.scalar.kind(), default_dtype);
  }
  /// Undefined when nothing was added.
  ScalarType result() const { return combine(combine(dimensioned_, zero_dim_), scalar_); }

 private:
  static ScalarType join(ScalarType a, ScalarType b) {
    if (a == b || b == ScalarType::Undefined) return a;
    return a == ScalarType::Undefined ? b : promote_types(a, b);
  }
  static ScalarType combine(ScalarType higher, ScalarType lower) {
    if (higher == ScalarType::Undefined) return lower;
    if (is_floating_point(higher)) return higher;
    return higher == kBool || is_floating_point(lower) ? join(higher, lower) : higher;
  }
  ScalarType dimensioned_ = ScalarType::Undefined, zero_dim_ = ScalarType::Undefined, scalar_ = ScalarType::Undefined;
};

/// torch.result_type of any number of operands. Throws Error when there is none.
ScalarType result_type(std::span<const SpecOperand> operands, ScalarType default_dtype = get_default_dtype());

/// Whether a value of dtype `from` may be written to a tensor of dtype `to` by an in-place op (torch.can_cast).
bool can_cast(ScalarType from, ScalarType to);

/// The dtypes of one call of a pointwise op.
///
/// Each operand is converted from its own dtype straight to `compute` (the half types compute in float32; a scalar is rounded once,
/// from double); the formula's value is rounded once, from `compute` to `result`. A formula of comparisons gives bool by itself.
struct PointwiseTypes {
  ScalarType promoted = ScalarType::Undefined;
  ScalarType compute = ScalarType::Undefined;  // never a half type; kBool computes as uint8 0 and 1
  ScalarType result = ScalarType::Undefined;
};

/// Throws NotImplementedError (Error for sub of two bool tensors) when the op is not defined for these dtypes.
PointwiseTypes pointwise_types(const OpDef& op, const SpecCall& call, ScalarType default_dtype = get_default_dtype());

/// The last step of pointwise_types: from the promoted dtype to all three. `attr_dtype` is the result under DTypeRule::Cast.
PointwiseTypes pointwise_types(const OpDef& op, ScalarType promoted, ScalarType attr_dtype, ScalarType default_dtype);

/// How many operands take part in the formula: those before the first one left out.
template <class Operands>
int formula_arity(const Operands& operands) {
  int count = 0;
  for (const auto& operand : operands) {
    if (operand.is_none()) break;
    ++count;
  }
  return count;
}

/// Whether a call can fail on its data: integer division (by zero). Only then must a backend check divisors.
inline bool pointwise_can_fail(const OpDef& op, ScalarType compute) { return op.pointwise.can_fail && !is_floating_point(compute); }

/// The text of the error that such a call throws.
inline constexpr std::string_view kZeroDivisionText = "ZeroDivisionError: division by zero";

}  // namespace tailor::ir
