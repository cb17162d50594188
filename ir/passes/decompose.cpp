#include "ir/infer.h"
#include "ir/memory.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {
namespace {

using Keep = std::function<bool(const Graph&, const Node&)>;

bool is_composite(const Node& node) {
  return node.kind == NodeKind::CallOp && node.op->decompose != nullptr && node.op->kind != OpKind::View &&
         node.op->kind != OpKind::Contraction;
}

// Records the calls of decompositions at the end of a graph under construction; composites among them are decomposed in turn.
class Appender final : public Builder {
 public:
  Appender(Rewriter& rewriter, const Keep& keep, const SourceLocation& source) : rewriter_(rewriter), keep_(keep), source_(source) {}
  const TensorSpec& spec(int value) const override { return rewriter_.graph().spec(value); }

  std::vector<int> call_many(const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs) override {
    Node node;
    node.op = &op;
    node.operands.assign(operands.begin(), operands.end());
    node.attrs.assign(attrs.begin(), attrs.end());
    node.source = source_;
    complete_arguments(op, node.operands, node.attrs);
    const std::vector<AttrRef> refs = attr_refs(node);
    const std::vector<TensorSpec> specs = infer_specs(rewriter_.graph(), op, node.operands, refs);
    return call(std::move(node), specs);
  }

  /// A call whose operands are values of the new graph.
  std::vector<int> call(Node node, std::span<const TensorSpec> specs) {
    if (is_composite(node) && !(keep_ && keep_(rewriter_.graph(), node))) {
      Graph& graph = rewriter_.graph();
      const size_t nodes = graph.nodes.size(), values = graph.values.size();
      const std::vector<AttrRef> refs = attr_refs(node);
      std::vector<int> results = node.op->decompose(*this, node.operands, refs);
      if (fits(results, specs, values)) return results;
      graph.nodes.resize(nodes);  // what was there before is as it was
      graph.values.resize(values);
    }
    return rewriter_.append(std::move(node), specs);
  }

 private:
  // The results must have the layout that the op's rule promised: later views were inferred from it. Memory that the
  // decomposition itself made can take any dense layout.
  bool fits(std::span<const int> results, std::span<const TensorSpec> specs, size_t first_fresh) {
    if (results.size() != specs.size()) return false;
    for (size_t i = 0; i < results.size(); ++i) {
      ValueInfo& value = rewriter_.graph().values[static_cast<size_t>(results[i])];
      const TensorSpec& wanted = specs[i];
      if (value.spec.dtype != wanted.dtype || value.spec.sizes != wanted.sizes) return false;
      if (value.spec.strides == wanted.strides) continue;
      const Node& node = rewriter_.graph().nodes[static_cast<size_t>(value.node)];
      if (static_cast<size_t>(results[i]) < first_fresh || node.kind != NodeKind::CallOp || node.op->kind == OpKind::View ||
          writes_first_operand(node) || !wanted.is_non_overlapping_and_dense())
        return false;
      for (const Node& user : rewriter_.graph().nodes)
        if (user.kind == NodeKind::CallOp && user.op->kind == OpKind::View && user.operands[0].tensor == results[i]) return false;
      value.spec.strides = wanted.strides;
    }
    return true;
  }

  Rewriter& rewriter_;
  const Keep& keep_;
  SourceLocation source_;
};

// In-place calls that no kernel makes in place: of composites, and those that convert and may fail.
bool computes_elsewhere(const Graph& graph, const Node& node) {
  if (is_composite(node)) return true;
  if (!can_fail_on_data(graph, node)) return false;
  const std::vector<AttrRef> attrs = attr_refs(node);
  return infer_specs(graph, *node.op, node.operands, attrs).at(0).dtype != graph.spec(node.outputs[0]).dtype;
}

// The call as a plain one, and a copy of its result into operand 0.
void write_back(const Graph& graph, const Node& node, Rewriter& rewriter, const Keep& keep) {
  Node call = node;
  call.inplace = false;
  call.outputs.clear();
  for (Value& v : call.operands) v = rewriter.map(v);
  const std::vector<AttrRef> attrs = attr_refs(node);
  const std::vector<TensorSpec> specs = infer_specs(graph, *node.op, node.operands, attrs);
  Appender appender(rewriter, keep, node.source);
  const ValueId result = appender.call(call, specs).at(0);
  Node copy;
  copy.op = find_op("copy_");
  copy.source = node.source;
  copy.operands = {call.operands[0], Value(result)};
  rewriter.set(node.outputs[0], rewriter.append(std::move(copy), {&graph.spec(node.outputs[0]), 1})[0]);
}

}  // namespace

Graph decompose(const Graph& graph, const Keep& keep) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    if (node.inplace && computes_elsewhere(graph, node)) {
      write_back(graph, node, rewriter, keep);
      continue;
    }
    if (!is_composite(node) || node.inplace) {
      rewriter.copy(node);
      continue;
    }
    Node call = node;
    call.outputs.clear();
    for (Value& v : call.operands) v = rewriter.map(v);
    std::vector<TensorSpec> specs;
    for (ValueId v : node.outputs) specs.push_back(graph.spec(v));
    const std::vector<int> results = Appender(rewriter, keep, node.source).call(std::move(call), specs);
    for (size_t i = 0; i < results.size(); ++i) rewriter.set(node.outputs[i], results[i]);
  }
  return rewriter.finish();
}

}  // namespace tailor::ir
