#include "ir/reference_pointwise.h"

#include "ir/formula.h"
#include "ir/host_tensor.h"
#include "ir/promotion.h"

namespace tailor::ir {
namespace {

// Operand elements in the order of the result's.
std::vector<int64_t> broadcast_offsets(const TensorSpec& operand, IntArrayRef sizes) {
  Dims strides(sizes.size(), 0);
  const Dims own = contiguous_strides(operand.sizes);
  const size_t missing = sizes.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d) strides[d + missing] = operand.sizes[d] == 1 ? 0 : own[d];
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(product(sizes)));
  for_each_offset(sizes, strides, [&](int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

}  // namespace

HostTensor evaluate_pointwise(const ReferenceCall& call) {
  const OpDef& op = call.op;
  std::vector<SpecOperand> specs;
  for (const HostOperand& o : call.operands) {
    if (o.is_none())
      specs.emplace_back();
    else if (o.is_scalar())
      specs.emplace_back(o.scalar);
    else
      specs.emplace_back(&o.tensor->spec);
  }
  const PointwiseTypes types = pointwise_types(op, {specs, call.attrs});
  const Formula formula = find_formula(op, types.compute);
  internal_check(formula != nullptr, "op ", op.name, " has no formula for ", types.compute);
  const int count = formula_arity(call.operands);
  HostTensor result(call.output_specs[0]);
  const auto n = static_cast<size_t>(result.spec.numel());

  std::vector<std::vector<Bits>> columns(static_cast<size_t>(count));
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool truth = takes_truth(op, i);
    const ScalarType type = truth ? kBool : types.compute;
    const HostOperand& operand = call.operands[i];
    if (operand.is_scalar()) {
      columns[i].assign(n, convert(operand.scalar, type));
      continue;
    }
    const HostTensor& tensor = *operand.tensor;
    const int64_t width = element_size(tensor.spec.dtype);
    for (int64_t offset : broadcast_offsets(tensor.spec, result.spec.sizes))
      columns[i].push_back(convert(load_bits(tensor.bytes.data() + offset * width, tensor.spec.dtype), tensor.spec.dtype, type));
  }
  if (pointwise_can_fail(op, types.compute))
    for (Bits divisor : columns.back()) check(divisor != 0, kZeroDivisionText);

  const ScalarType computed = gives_truth(op) ? kBool : types.compute;
  std::vector<Bits> args(columns.size());
  for (size_t i = 0; i < n; ++i) {
    for (size_t a = 0; a < args.size(); ++a) args[a] = columns[a][i];
    store_bits(result.bytes.data() + static_cast<int64_t>(i) * element_size(types.result),
               convert(formula(args.data(), count), computed, types.result), types.result);
  }
  return result;
}

}  // namespace tailor::ir
