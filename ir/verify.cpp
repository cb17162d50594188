#include "ir/verify.h"

#include "ir/infer.h"

namespace tailor::ir {
namespace {

template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) tailor::detail::raise<InternalError>(parts...);
}

void verify_spec(const TensorSpec& spec) {
  require(spec.dtype != ScalarType::Undefined, "a value without dtype");
  require(spec.sizes.size() == spec.strides.size(), "rank ", spec.sizes.size(), " with ", spec.strides.size(), " strides");
  for (int64_t size : spec.sizes) require(size >= 0, "negative size in ", spec);
  for (int64_t stride : spec.strides) require(stride >= 0, "negative stride in ", spec);
}

void verify_call(const Graph& graph, const Node& node) {
  const OpDef& op = *node.op;
  const size_t fixed = op.operand_names.size() - (is_variadic(op) ? 1 : 0);
  require(is_variadic(op) ? node.operands.size() >= fixed : node.operands.size() == fixed, op.name, " takes ", fixed, " operands, has ",
          node.operands.size());
  require(node.attrs.size() == op.attr_names.size(), op.name, " takes ", op.attr_names.size(), " attributes, has ", node.attrs.size());
  const std::vector<AttrRef> refs = attr_refs(node);
  std::vector<TensorSpec> inferred;
  try {
    inferred = infer_specs(graph, op, node.operands, refs);
  } catch (const Error& e) { throw InternalError(e.what()); }
  if (node.inplace) {
    require(!node.operands.empty() && node.operands[0].is_tensor(), "in-place ", op.name, " writes no tensor");
    require(node.outputs.size() == 1, "in-place ", op.name, " with ", node.outputs.size(), " outputs");
    require(op.kind != OpKind::View, "view ", op.name, " cannot be in-place");
    const TensorSpec &self = graph.spec(node.operands[0].tensor), &result = graph.spec(node.outputs[0]);
    require(self.dtype == result.dtype && self.sizes == result.sizes && self.strides == result.strides, "in-place ", op.name, " gives ",
            result, " but writes ", self);
    require(inferred.at(0).sizes == self.sizes, "in-place ", op.name, " computes ", inferred[0], " but writes ", self);
    return;
  }
  require(node.outputs.size() == inferred.size(), op.name, " has ", inferred.size(), " outputs, not ", node.outputs.size());
  for (size_t i = 0; i < inferred.size(); ++i) {
    const TensorSpec& spec = graph.spec(node.outputs[i]);
    require(spec.dtype == inferred[i].dtype && spec.sizes == inferred[i].sizes && spec.device == inferred[i].device, op.name, " gives ",
            inferred[i], ", not ", spec);
    // The inferred layout is a default: another dense one may be chosen for memory that the op itself makes.
    require(spec.strides == inferred[i].strides ||
                (op.kind != OpKind::View && op.kind != OpKind::Effect && spec.is_non_overlapping_and_dense()),
            op.name, " gives ", inferred[i], ", not ", spec);
  }
}

}  // namespace

void verify_node(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  const auto number = static_cast<int>(index);
  require(!node.outputs.empty() || node.kind == NodeKind::CallOp, "a node without a value");
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId v = node.outputs[i];
    require(v >= 0 && static_cast<size_t>(v) < graph.values.size(), "%", v, " is no value of the graph");
    const ValueInfo& info = graph.values[static_cast<size_t>(v)];
    require(info.node == number && info.output == static_cast<int>(i), "%", v, " does not point back to its node");
    verify_spec(info.spec);
  }
  for (const Value& operand : node.operands)
    if (operand.is_tensor()) {
      require(operand.tensor >= 0 && static_cast<size_t>(operand.tensor) < graph.values.size(), "%", operand.tensor,
              " is no value of the graph");
      require(graph.values[static_cast<size_t>(operand.tensor)].node < number, "%", operand.tensor, " is used before it is defined");
    }
  switch (node.kind) {
    case NodeKind::Placeholder: require(node.outputs.size() == 1, "a placeholder has one value"); break;
    case NodeKind::Scalar:
      require(node.outputs.size() == 1 && graph.spec(node.outputs[0]) == scalar_spec(node.scalar), "a scalar's spec follows from its kind");
      break;
    case NodeKind::Constant: {
      require(node.outputs.size() == 1 && node.constant != nullptr, "a constant without data");
      const TensorSpec& spec = graph.spec(node.outputs[0]);
      require(spec.is_contiguous() && static_cast<int64_t>(node.constant->bytes.size()) == spec.numel() * element_size(spec.dtype),
              "constant ", spec, " has ", node.constant->bytes.size(), " bytes");
      break;
    }
    case NodeKind::CallOp:
      require(node.op != nullptr, "a call of no op");
      verify_call(graph, node);
      break;
  }
}

void verify(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    try {
      verify_node(graph, i);
    } catch (const InternalError& e) {
      const Node& node = graph.nodes[i];
      tailor::detail::raise<InternalError>("internal error, please report: graph ", graph.name, ", node ", i, " (",
                                           node.op ? node.op->name : std::string_view(node.name),
                                           node.source ? ", at " + node.source.str() : "", "): ", e.what());
    }
  }
  for (ValueId v : graph.outputs)
    internal_check(v >= 0 && static_cast<size_t>(v) < graph.values.size() && graph.values[static_cast<size_t>(v)].node >= 0, "graph ",
                   graph.name, ": output %", v, " is no value");
}

}  // namespace tailor::ir
