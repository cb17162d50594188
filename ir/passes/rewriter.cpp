#include "ir/passes/rewriter.h"

#include "ir/infer.h"

namespace tailor::ir {

Rewriter::Rewriter(const Graph& from) : from_(from), map_(from.values.size(), -1) {
  to_.name = from.name;
  to_.nodes.reserve(from.nodes.size());
  to_.values.reserve(from.values.size());
}

std::vector<ValueId> Rewriter::append(Node node, std::span<const TensorSpec> specs) {
  node.outputs.clear();
  const auto index = static_cast<int>(to_.nodes.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    node.outputs.push_back(static_cast<ValueId>(to_.values.size()));
    to_.values.push_back({index, static_cast<int>(i), specs[i]});
  }
  to_.nodes.push_back(std::move(node));
  return to_.nodes.back().outputs;
}

Node& Rewriter::copy(const Node& node) {
  const auto index = static_cast<int>(to_.nodes.size());
  Node& fresh = to_.nodes.emplace_back(node);
  for (Value& v : fresh.operands) v = map(v);
  for (size_t i = 0; i < fresh.outputs.size(); ++i) {
    const auto to = static_cast<ValueId>(to_.values.size());
    to_.values.push_back({index, static_cast<int>(i), from_.spec(node.outputs[i])});
    set(node.outputs[i], to);
    fresh.outputs[i] = to;
  }
  return fresh;
}

ValueId Rewriter::call(std::string_view op, std::vector<Value> operands, std::vector<Attr> attrs, const SourceLocation& source) {
  Node node;
  node.op = find_op(op);
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  node.source = source;
  complete_arguments(*node.op, node.operands, node.attrs);
  const auto specs = infer_specs(to_, *node.op, node.operands, attr_refs(node));
  return append(std::move(node), specs)[0];
}

Graph Rewriter::finish() {
  for (ValueId v : from_.outputs) to_.outputs.push_back(map(v));
  return std::move(to_);
}

}  // namespace tailor::ir
