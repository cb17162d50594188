#include <utility>

#include "ir/memory.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {

Graph eliminate_dead_code(const Graph& graph) {
  const MemoryMap memory(graph);
  std::vector<std::vector<int>> writers(memory.count());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (writes_first_operand(graph.nodes[i]))
      writers[static_cast<size_t>(memory.of(graph.nodes[i].operands[0].tensor))].push_back(static_cast<int>(i));

  std::vector<char> live(graph.nodes.size(), 0), memory_live(memory.count(), 0);
  std::vector<int> work;
  const auto need_node = [&](int node) {
    if (!live[static_cast<size_t>(node)]) live[static_cast<size_t>(node)] = 1, work.push_back(node);
  };
  // Whoever looks at memory sees every write to it.
  const auto need_value = [&](ValueId v) {
    need_node(graph.values[static_cast<size_t>(v)].node);
    char& seen = memory_live[static_cast<size_t>(memory.of(v))];
    if (std::exchange(seen, 1)) return;
    for (int writer : writers[static_cast<size_t>(memory.of(v))]) need_node(writer);
  };
  for (ValueId v : graph.outputs) need_value(v);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::Placeholder || node.kind == NodeKind::Scalar) live[i] = 1;  // the signature stays
    if (writes_first_operand(node) && memory.is_external(memory.of(node.operands[0].tensor))) need_node(static_cast<int>(i));
    if (can_fail_on_data(graph, node)) need_node(static_cast<int>(i));
  }
  while (!work.empty()) {
    const Node& node = graph.nodes[static_cast<size_t>(work.back())];
    work.pop_back();
    for (const Value& v : node.operands)
      if (v.is_tensor()) need_value(v.tensor);
  }
  Rewriter rewriter(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (live[i]) rewriter.copy(graph.nodes[i]);
  return rewriter.finish();
}

}  // namespace tailor::ir
