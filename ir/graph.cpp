#include "ir/graph.h"

#include "ir/infer.h"
#include "ir/located_error.h"

namespace tailor::ir {

std::string SourceLocation::str() const {
  const size_t slash = file.find_last_of("/\\");
  return (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" + std::to_string(line);
}

namespace {
ValueId append(Graph& graph, Node node, std::span<const TensorSpec> specs) {
  const int index = static_cast<int>(graph.nodes.size());
  const auto first = static_cast<ValueId>(graph.values.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
    graph.values.push_back({index, static_cast<int>(i), specs[i]});
  }
  graph.nodes.push_back(std::move(node));
  return first;
}

// Errors of the shape rules name the user's line.
template <class F>
auto with_source(const SourceLocation& source, F&& f) {
  if (!source) return f();
  try {
    return f();
  } catch (const Error&) { rethrow_at(source.str()); }
}
}  // namespace

ValueId GraphBuilder::placeholder(const TensorSpec& spec, std::string name, int alias_group) {
  Node node;
  node.alias_group = alias_group;
  node.kind = NodeKind::Placeholder;
  node.name = std::move(name);
  node.source = source_;
  return append(graph_, std::move(node), {&spec, 1});
}

ValueId GraphBuilder::scalar(tailor::Scalar seen, std::string name) {
  Node node;
  node.kind = NodeKind::Scalar;
  node.scalar = seen;
  node.name = std::move(name);
  node.source = source_;
  const TensorSpec spec = scalar_spec(seen);
  return append(graph_, std::move(node), {&spec, 1});
}

ValueId GraphBuilder::constant(const TensorSpec& spec, std::shared_ptr<const ConstantData> data) {
  internal_check(
      data != nullptr && spec.is_contiguous() && static_cast<int64_t>(data->bytes.size()) == spec.numel() * element_size(spec.dtype),
      "constant ", spec, " needs contiguous data of its size");
  Node node;
  node.kind = NodeKind::Constant;
  node.constant = std::move(data);
  node.source = source_;
  return append(graph_, std::move(node), {&spec, 1});
}

std::vector<int> GraphBuilder::call_many(const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs) {
  Node node;
  node.op = &op;
  node.operands.assign(operands.begin(), operands.end());
  node.attrs.assign(attrs.begin(), attrs.end());
  node.source = source_;
  complete_arguments(op, node.operands, node.attrs);
  const std::vector<AttrRef> refs = attr_refs(node);
  const std::vector<TensorSpec> specs = with_source(source_, [&] { return infer_specs(graph_, op, node.operands, refs); });
  append(graph_, std::move(node), specs);
  return graph_.nodes.back().outputs;
}

ValueId GraphBuilder::call_inplace(const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs) {
  check(!operands.empty() && operands[0].is_tensor(), op.name, "_: expected a tensor as its first operand");
  Node node;
  node.op = &op;
  node.inplace = true;
  node.operands.assign(operands.begin(), operands.end());
  node.attrs.assign(attrs.begin(), attrs.end());
  node.source = source_;
  complete_arguments(op, node.operands, node.attrs);
  const TensorSpec self = graph_.spec(operands[0].tensor);
  const std::vector<AttrRef> refs = attr_refs(node);
  with_source(source_, [&] {
    const TensorSpec result = infer_specs(graph_, op, node.operands, refs).at(0);
    check(result.sizes == self.sizes, "output with shape ", self.sizes, " doesn't match the broadcast shape ", result.sizes);
    return 0;
  });
  return append(graph_, std::move(node), {&self, 1});
}

Graph GraphBuilder::finish(std::vector<ValueId> outputs) {
  for (ValueId v : outputs)
    internal_check(v >= 0 && static_cast<size_t>(v) < graph_.values.size(), "output %", v, " is no value of the graph");
  graph_.outputs = std::move(outputs);
  return std::move(graph_);
}

}  // namespace tailor::ir
