#include <algorithm>

#include "ir/infer.h"
#include "ir/memory.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {
namespace {

// Memory whose every value is the whole of it: the fresh value and results of in-place ops, no views, and at most one output.
std::vector<char> whole_memories(const Graph& graph, const MemoryMap& memory) {
  std::vector<char> whole(memory.count(), 1);
  for (size_t m = 0; m < memory.count(); ++m) {
    const auto id = static_cast<MemoryId>(m);
    if (memory.is_external(id) || memory.is_constant(id) || memory.outputs(id) > 1) whole[m] = 0;
  }
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::CallOp) continue;
    if (node.op->kind == OpKind::View || node.op->kind == OpKind::Effect)
      whole[static_cast<size_t>(memory.of(node.operands[0].tensor))] = 0;
    if (node.inplace && node.op->kind != OpKind::Pointwise) whole[static_cast<size_t>(memory.of(node.operands[0].tensor))] = 0;
  }
  return whole;
}

}  // namespace

Graph functionalize(Graph graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return n.inplace; })) return graph;
  const MemoryMap memory(graph);
  const std::vector<char> whole = whole_memories(graph, memory);
  const OpDef* cast = find_op("to");
  Rewriter rewriter(graph);
  // The newest value of each whole memory: what its older names mean from here on.
  std::vector<ValueId> newest(memory.count(), -1);
  const auto refresh = [&](ValueId v) {
    const auto m = static_cast<size_t>(memory.of(v));
    if (whole[m] && newest[m] >= 0) rewriter.set(v, newest[m]);
  };
  for (const Node& node : graph.nodes) {
    for (const Value& v : node.operands)
      if (v.is_tensor()) refresh(v.tensor);
    const bool plain = node.inplace && whole[static_cast<size_t>(memory.of(node.operands[0].tensor))];
    if (!plain) {
      rewriter.copy(node);
      continue;
    }
    const TensorSpec& self = graph.spec(node.outputs[0]);
    const std::vector<AttrRef> attrs = attr_refs(node);
    TensorSpec result = infer_specs(graph, *node.op, node.operands, attrs).at(0);
    const bool converts = result.dtype != self.dtype;
    if (converts && cast == nullptr) {
      rewriter.copy(node);
      continue;
    }
    result.strides = self.is_non_overlapping_and_dense() ? self.strides : contiguous_strides(self.sizes);
    Node call = node;
    call.inplace = false;
    for (Value& v : call.operands) v = rewriter.map(v);
    ValueId value = rewriter.append(std::move(call), {&result, 1})[0];
    if (converts) {
      Node conversion;
      conversion.op = cast;
      conversion.source = node.source;
      conversion.operands = {Value(value)};
      conversion.attrs = {Attr(AttrRef(self.dtype))};
      complete_arguments(*cast, conversion.operands, conversion.attrs);
      result.dtype = self.dtype;
      value = rewriter.append(std::move(conversion), {&result, 1})[0];
    }
    rewriter.set(node.outputs[0], value);
    newest[static_cast<size_t>(memory.of(node.outputs[0]))] = value;
  }
  for (ValueId v : graph.outputs) refresh(v);
  return rewriter.finish();
}

}  // namespace tailor::ir
