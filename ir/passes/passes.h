#pragma once
// Passes: each a function Graph -> Graph in its own file. None changes the bits of any result, an effect that can be seen, or the
// aliasing of outputs. Those that mostly find nothing to do take the graph itself, and give it back.

#include <functional>

#include "ir/graph.h"

namespace tailor::ir {

/// Replaces composite ops by their decompositions. An op stays whole when `keep` says so, or when its decomposition would not
/// have the layout that later views rely on.
Graph decompose(const Graph& graph, const std::function<bool(const Graph&, const Node&)>& keep = {});

/// In-place ops on a whole intermediate that nobody else views become plain ops.
Graph functionalize(Graph graph);

/// Reads of memory just written through the very same view name the result of the write.
Graph forward_writes(Graph graph);

/// Identities that keep every bit: x*1, neg(neg(x)), casts to the same type, views that change nothing.
Graph simplify(const Graph& graph);

/// Equal calls on equal memory become one.
Graph eliminate_common_subexpressions(const Graph& graph);

/// Calls on constants become constants, by the reference implementation.
Graph fold_constants(const Graph& graph);

/// Matrix products of a few numbers become a multiplication and a sum, which fuse with what is around them: calling a library would take
/// longer than computing.
Graph expand_small_products(Graph graph);

/// Folds over very many elements become two: over rows, then over the rows' results. Shorter chains of additions are more exact, and
/// rows can be shared among threads. Folds over the rows of a large matrix whose columns are folded too become two likewise: over parts
/// of the rows, then over the parts, so that one pass can do both. The cuts depend on the sizes alone.
Graph split_reductions(Graph graph);

/// Removes what no output, effect or possible failure needs.
Graph eliminate_dead_code(const Graph& graph);

/// All of them in the order that serves compilation; verified between passes in debug builds.
Graph optimize(const Graph& graph, const std::function<bool(const Graph&, const Node&)>& keep = {});

}  // namespace tailor::ir
