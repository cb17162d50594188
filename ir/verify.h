#pragma once
// The invariants of a graph, node by node (the parser reports them with a position).

#include "ir/graph.h"

namespace tailor::ir {

/// Checks node `index` of `graph`, whose earlier nodes are sound; throws InternalError without naming the node.
void verify_node(const Graph& graph, size_t index);

}  // namespace tailor::ir
