#include <algorithm>

#include "ir/memory.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {

Graph forward_writes(Graph graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), writes_first_operand)) return graph;
  const MemoryMap memory(graph);
  std::vector<ValueId> last_write(memory.count(), -1);
  Rewriter rewriter(graph);
  // In the end a value stands for its memory: outputs need no forwarding.
  std::vector<ValueId> plain(graph.values.size(), -1);
  for (const Node& node : graph.nodes) {
    for (const Value& v : node.operands) {
      if (!v.is_tensor()) continue;
      const ValueId w = last_write[static_cast<size_t>(memory.of(v.tensor))];
      if (w >= 0 && memory.same_place(graph, v.tensor, w)) rewriter.set(v.tensor, rewriter.map(w));
    }
    rewriter.copy(node);
    for (ValueId v : node.outputs) plain[static_cast<size_t>(v)] = rewriter.map(v);
    for (const Value& v : node.operands)
      if (v.is_tensor()) rewriter.set(v.tensor, plain[static_cast<size_t>(v.tensor)]);
    if (writes_first_operand(node)) last_write[static_cast<size_t>(memory.of(node.operands[0].tensor))] = node.outputs[0];
  }
  return rewriter.finish();
}

}  // namespace tailor::ir
