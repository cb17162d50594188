#pragma once
// Shape and dtype inference of one call, with the arguments brought to their full number.

#include "ir/graph.h"

namespace tailor::ir {

/// True when the last operand name ends in "...": any number of operands.
bool is_variadic(const OpDef& op);

/// Fills optional trailing operands and attributes with none; throws Error when there are too many.
void complete_arguments(const OpDef& op, std::vector<Value>& operands, std::vector<Attr>& attrs);

/// The specs of a call's outputs by the op's own rule (its `view` where it has no other). Throws what the rule throws.
std::vector<TensorSpec> infer_specs(const OpDef& op, std::span<const SpecOperand> operands, std::span<const AttrRef> attrs);

/// The same for a call between values of a graph; operands that are Scalar nodes are seen as scalars.
std::vector<TensorSpec> infer_specs(const Graph& graph, const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs);

/// Attributes as references into the node.
std::vector<AttrRef> attr_refs(const Node& node);

/// The spec of a Scalar node's value.
TensorSpec scalar_spec(const tailor::Scalar& scalar);

}  // namespace tailor::ir
