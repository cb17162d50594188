#include "ir/promotion.h"

namespace tailor::ir {

ScalarType result_type(std::span<const SpecOperand> operands, ScalarType default_dtype) {
  Promotion promotion;
  for (const SpecOperand& operand : operands) promotion.add(operand, default_dtype);
  const ScalarType result = promotion.result();
  check(result != ScalarType::Undefined, "result_type: expected at least one tensor or scalar");
  return result;
}

bool can_cast(ScalarType from, ScalarType to) {
  if (is_floating_point(from) && !is_floating_point(to)) return false;
  return from == kBool || to != kBool;
}

namespace {

[[noreturn]] void not_implemented(const OpDef& op, ScalarType dtype) {
  if (dtype == kBool && op.name == "neg")
    detail::raise<NotImplementedError>(
        "neg: Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead.");
  if (dtype == kBool && (op.name == "sub" || op.name == "rsub"))
    detail::raise<Error>(op.name,
                         ": Subtraction, the `-` operator, with two bool tensors is not supported. If you are trying to invert a mask, "
                         "use the `~` or `logical_not()` operator instead.");
  if (op.name == "addcdiv")
    detail::raise<Error>("addcdiv: Integer division with addcdiv is not supported; use div with a rounding mode and addcmul instead");
  detail::raise<NotImplementedError>(op.name, ": not implemented for '", dtype, "'");
}

}  // namespace

PointwiseTypes pointwise_types(const OpDef& op, ScalarType promoted, ScalarType attr_dtype, ScalarType default_dtype) {
  const PointwiseTraits& traits = op.pointwise;
  PointwiseTypes types;
  if (promoted == kBool && traits.bool_as_int) promoted = kInt64;
  if (traits.rule == DTypeRule::Float && !is_floating_point(promoted)) promoted = default_dtype;
  if (!(traits.dtypes & dtype_bit(promoted)) || (traits.rule == DTypeRule::Integral && is_floating_point(promoted)))
    not_implemented(op, promoted);
  types.promoted = promoted;
  types.compute = compute_type(promoted);
  switch (traits.rule) {
    case DTypeRule::Promote:
    case DTypeRule::Float:
    case DTypeRule::Integral: types.result = promoted; break;
    case DTypeRule::Compare:
    case DTypeRule::FloatCompare: types.result = kBool; break;
    case DTypeRule::Logical:
      types.compute = kBool;
      types.result = kBool;
      break;
    case DTypeRule::Cast: types.result = attr_dtype; break;
  }
  return types;
}

PointwiseTypes pointwise_types(const OpDef& op, const SpecCall& call, ScalarType default_dtype) {
  const PointwiseTraits& traits = op.pointwise;
  Promotion promotion;
  for (size_t i = traits.first_is_mask ? 1 : 0; i < call.operands.size(); ++i)
    if (traits.promotes >> i & 1) promotion.add(call.operands[i], default_dtype);
  const ScalarType promoted = promotion.result();
  check(promoted != ScalarType::Undefined, op.name, ": expected a tensor or a number");
  const ScalarType attr_dtype = traits.rule == DTypeRule::Cast ? call.attrs[0].as_dtype() : ScalarType::Undefined;
  return pointwise_types(op, promoted, attr_dtype, default_dtype);
}

}  // namespace tailor::ir
