#include <utility>

#include "ir/passes/passes.h"

namespace tailor::ir {
namespace {
Graph verified(Graph graph) {
#ifndef NDEBUG
  verify(graph);
#endif
  return graph;
}
}  // namespace

Graph optimize(const Graph& graph, const std::function<bool(const Graph&, const Node&)>& keep) {
  Graph g = verified(decompose(graph, keep));
  g = verified(functionalize(std::move(g)));
  g = verified(forward_writes(std::move(g)));
  g = verified(simplify(g));
  g = verified(expand_small_products(std::move(g)));
  g = verified(split_reductions(std::move(g)));
  g = verified(fold_constants(g));
  g = verified(eliminate_common_subexpressions(g));
  return verified(eliminate_dead_code(g));
}

}  // namespace tailor::ir
