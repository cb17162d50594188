#include "ir/infer.h"
#include "ir/memory.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {
namespace {

bool is_literal_one(const Value& v) { return v.is_scalar() && v.scalar.to_double() == 1.0; }

/// The operand that a call gives back unchanged, or -1.
ValueId unchanged_operand(const Graph& graph, const Node& node) {
  const std::string_view op = node.op->name;
  const auto same = [&](const Value& v) {
    return v.is_tensor() && graph.node_of(v.tensor).kind != NodeKind::Scalar && graph.spec(v.tensor) == graph.spec(node.outputs[0]);
  };
  if (node.op->kind == OpKind::View) {
    if (node.operands.size() > 1) return -1;  // at a position that varies
    const std::vector<AttrRef> attrs = attr_refs(node);
    return same(node.operands[0]) && node.op->view(graph.spec(node.operands[0].tensor), attrs).offset == 0 ? node.operands[0].tensor : -1;
  }
  if ((op == "mul" || op == "div") && node.operands.size() == 2 && is_literal_one(node.operands[1]) && same(node.operands[0]))
    return node.operands[0].tensor;
  if (op == "mul" && node.operands.size() == 2 && is_literal_one(node.operands[0]) && same(node.operands[1]))
    return node.operands[1].tensor;
  if ((node.op->pointwise.rule == DTypeRule::Cast || op == "positive") && same(node.operands[0])) return node.operands[0].tensor;
  if (op == "neg" && node.operands[0].is_tensor()) {
    const Node& inner = graph.node_of(node.operands[0].tensor);
    if (inner.kind == NodeKind::CallOp && inner.op == node.op && !inner.inplace && same(inner.operands[0])) return inner.operands[0].tensor;
  }
  return -1;
}

}  // namespace

Graph simplify(const Graph& graph) {
  const MemoryMap memory(graph);
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    rewriter.copy(node);
    if (!is_pure(graph, node) || node.outputs.size() != 1 || node.operands.empty()) continue;
    const ValueId source = unchanged_operand(graph, node);
    if (source < 0) continue;
    const MemoryId from = memory.of(source), to = memory.of(node.outputs[0]);
    // A copy of its own may be written or leave the graph: then it must stay one.
    if (from != to && (memory.is_written(from) || memory.is_written(to) || memory.is_output(to))) continue;
    rewriter.set(node.outputs[0], rewriter.map(source));
  }
  return rewriter.finish();
}

}  // namespace tailor::ir
