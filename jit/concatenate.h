#pragma once
// Concatenations whose parts fused loops compute.

#include "ir/graph.h"

namespace tailor::jit {

/// The same graph, where a large `cat` that only kernels or the caller read, and whose parts are computed by pointwise ops for it
/// alone, is memory that each part is written to: cat(exp(a), exp(b)) becomes c = empty; c[:n] = exp(a); c[n:] = exp(b).
ir::Graph write_parts_in_place(ir::Graph graph);

}  // namespace tailor::jit
