// Registers an OpDef per op of ir/ops/pointwise.h.

#include "ir/ops/pointwise.h"

#include <array>

#include "ir/ops/pointwise_checks.h"
#include "ir/promotion.h"

namespace tailor::ir {
namespace {

Dims broadcast_operands(const OpDef& op, std::span<const TensorSpec* const> tensors) {
  Dims sizes;
  bool first = true;
  for (const TensorSpec* t : tensors) {
    if (first) {
      sizes = t->sizes;
      first = false;
    } else if (sizes != t->sizes) {
      try {
        sizes = broadcast_shapes(sizes, t->sizes);
      } catch (const Error& e) { throw Error(std::string(op.name) + ": " + e.what()); }
    }
  }
  return sizes;
}

Device common_device(const OpDef& op, std::span<const TensorSpec* const> tensors) {
  Device device;
  const TensorSpec* decides = nullptr;
  for (const TensorSpec* t : tensors) {
    const bool travels = t->sizes.empty() && t->device.is_cpu();  // a 0-d tensor on the host goes with any device
    if (decides == nullptr || (decides->sizes.empty() && decides->device.is_cpu())) {
      decides = t;
      device = t->device;
    } else {
      check(travels || t->device == device, op.name, ": Expected all tensors to be on the same device, but found ", device, " and ",
            t->device);
    }
  }
  return device;
}

void check_call(const OpDef& op, const SpecCall& call, const PointwiseTypes& types) {
  std::array<const tailor::Scalar*, 8> scalars{};
  for (size_t i = 0; i < call.operands.size(); ++i) scalars[i] = call.operands[i].is_scalar() ? &call.operands[i].scalar : nullptr;
  check_scalar_operands(op, types.result, {scalars.data(), call.operands.size()});
  if (op.name == Where::name) {
    check(call.has_tensor(0), "where: expected condition to be a boolean tensor");
    const ScalarType condition = call.tensor(0).dtype;
    check(condition == kBool || condition == kUInt8, "where expected condition to be a boolean tensor, but got a tensor with dtype ",
          condition);
  } else if (op.name == Lerp::name) {
    for (size_t i = 1; i < call.operands.size() && call.has_tensor(0); ++i) {
      if (!call.has_tensor(i)) continue;
      check(call.tensor(i).dtype == call.tensor(0).dtype, "lerp: expected dtype ", call.tensor(0).dtype, " for `", op.operand_names[i],
            "` but got dtype ", call.tensor(i).dtype);
    }
  }
}

std::vector<TensorSpec> infer_pointwise(const OpDef& op, const SpecCall& call) {
  const PointwiseTraits& traits = op.pointwise;
  const int count = formula_arity(call.operands);
  check(count >= traits.min_arity, op.name, ": expected ", traits.min_arity == traits.arity ? "" : "at least ", traits.min_arity,
        traits.min_arity == 1 ? " operand" : " operands", ", got ", count);
  for (size_t i = static_cast<size_t>(count); i < call.operands.size(); ++i)
    check(call.operands[i].is_none(), op.name, ": operand `", op.operand_names[i], "` given without the one before it");

  std::array<const TensorSpec*, 8> storage;
  size_t tensors_count = 0;
  bool requires_grad = false;
  for (const SpecOperand& operand : call.operands) {
    if (!operand.is_tensor()) continue;
    storage[tensors_count++] = operand.tensor;
    requires_grad |= operand.tensor->requires_grad;
  }
  // torch computes rsub as other - alpha * self: the layout of the result follows `other` first.
  if (op.name == Rsub::name && tensors_count == 2) std::swap(storage[0], storage[1]);
  const std::span<const TensorSpec* const> tensors(storage.data(), tensors_count);
  const PointwiseTypes types = pointwise_types(op, call);
  check_call(op, call, types);
  const Device device = common_device(op, tensors);
  const Dims sizes = broadcast_operands(op, tensors);
  TensorSpec result(types.result, sizes, pointwise_output_strides(sizes, tensors), device);
  result.requires_grad = requires_grad && is_floating_point(types.result);
  return {result};
}

template <class Op>
OpDef definition() {
  OpDef def;
  def.name = Op::name;
  def.kind = OpKind::Pointwise;
  if constexpr (requires { Op::operands; })
    def.operand_names.assign(std::begin(Op::operands), std::end(Op::operands));
  else if constexpr (Op::arity == 1)
    def.operand_names = {"self"};
  else
    def.operand_names = {"self", "other"};
  if constexpr (requires { Op::attributes; }) def.attr_names.assign(std::begin(Op::attributes), std::end(Op::attributes));
  def.infer = infer_pointwise;
  def.pointwise = {.arity = Op::arity,
                   .min_arity = Op::min_arity,
                   .promotes = Op::promotes,
                   .bool_as_int = Op::bool_as_int,
                   .rule = Op::rule,
                   .first_is_mask = Op::first_is_mask,
                   .dtypes = Op::dtypes,
                   .can_fail = Op::can_fail};
  def.domain = Op::domain;
  def.can_fail_on_data = Op::can_fail;
  internal_check(def.operand_names.size() == static_cast<size_t>(Op::arity), "op ", def.name, " names the wrong number of operands");
  return def;
}

const bool registered = [] {
  PointwiseOps::for_each([]<class Op>() { register_op(definition<Op>()); });
  return true;
}();

}  // namespace

void check_scalar_operands(const OpDef& op, ScalarType result, std::span<const tailor::Scalar* const> scalars) {
  const auto scalar = [&](size_t i) { return i < scalars.size() ? scalars[i] : nullptr; };
  if (op.name == Add::name || op.name == Sub::name || op.name == Rsub::name) {
    const tailor::Scalar* alpha = scalar(2);
    if (!alpha) return;
    check(!alpha->is_boolean() || result == kBool, op.name, ": Boolean alpha only supported for Boolean results.");
    check(is_floating_point(result) || !alpha->is_floating_point(), op.name,
          ": For integral input tensors, argument alpha must not be a floating point number.");
  } else if (op.name == Pow::name) {
    const tailor::Scalar* exponent = scalar(1);
    check(is_floating_point(result) || !exponent || exponent->to_int() >= 0, "pow: Integers to negative integer powers are not allowed.");
  } else if (op.name == Celu::name) {
    const tailor::Scalar* alpha = scalar(1);
    check(!alpha || alpha->to_double() != 0, "celu: ZeroDivisionError: alpha cannot be 0 for CELU");
  } else if (op.name == Hardtanh::name) {
    const tailor::Scalar *low = scalar(1), *high = scalar(2);
    check(!low || !high || !(low->to_double() > high->to_double()), "hardtanh: min_val cannot be greater than max_val");
  }
}

}  // namespace tailor::ir
