#include "ir/infer.h"

namespace tailor::ir {

bool is_variadic(const OpDef& op) { return !op.operand_names.empty() && op.operand_names.back().ends_with("..."); }

void complete_arguments(const OpDef& op, std::vector<Value>& operands, std::vector<Attr>& attrs) {
  check(is_variadic(op) || operands.size() <= op.operand_names.size(), op.name, ": expected at most ", op.operand_names.size(),
        " operands, got ", operands.size());
  check(attrs.size() <= op.attr_names.size(), op.name, ": expected at most ", op.attr_names.size(), " attributes, got ", attrs.size());
  const size_t wanted = op.operand_names.size() - (is_variadic(op) ? 1 : 0);
  if (operands.size() < wanted) operands.resize(wanted);
  attrs.resize(op.attr_names.size());
}

std::vector<TensorSpec> infer_specs(const OpDef& op, std::span<const SpecOperand> operands, std::span<const AttrRef> attrs) {
  if (op.infer) return op.infer(op, {operands, attrs});
  check(!operands.empty() && operands[0].is_tensor(), op.name, ": expected a tensor as its first operand");
  const TensorSpec& input = *operands[0].tensor;
  ViewResult view = op.view(input, attrs);
  TensorSpec spec(input.dtype, view.sizes, view.strides, input.device);
  spec.requires_grad = input.requires_grad;
  return {spec};
}

std::vector<TensorSpec> infer_specs(const Graph& graph, const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs) {
  std::vector<SpecOperand> specs;
  specs.reserve(operands.size());
  for (const Value& v : operands) {
    if (v.is_none()) {
      specs.emplace_back();
    } else if (v.is_scalar()) {
      specs.emplace_back(v.scalar);
    } else {
      internal_check(v.tensor >= 0 && static_cast<size_t>(v.tensor) < graph.values.size(), "operand %", v.tensor, " of ", op.name,
                     " is no value of the graph");
      const Node& node = graph.node_of(v.tensor);
      if (node.kind == NodeKind::Scalar)
        specs.emplace_back(node.scalar);
      else
        specs.emplace_back(&graph.spec(v.tensor));
    }
  }
  return infer_specs(op, specs, attrs);
}

std::vector<AttrRef> attr_refs(const Node& node) { return {node.attrs.begin(), node.attrs.end()}; }

TensorSpec scalar_spec(const tailor::Scalar& scalar) { return TensorSpec(scalar.type(), {}); }

}  // namespace tailor::ir
