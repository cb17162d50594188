#pragma once
// What is done to each channel of a contraction's result (a batch norm in evaluation mode, a learned scale and shift) becomes part of its
// weights and bias, where all of these may last from call to call: computed once, ahead of the calls (jit/ahead.h).
//
//   (conv2d(x, w, b) - mean) * rsqrt(variance + eps) * gamma + beta   ->   conv2d(x, w * s, b * s + t)
//
// Sums are then of scaled products: results differ in their last bits, as those of contractions may.

#include <span>
#include <vector>

#include "ir/graph.h"

namespace tailor::jit {

/// By input: whether it is one of `lasting` and the program does not write it.
std::vector<bool> steady_inputs(const ir::Graph& graph, std::span<const int> lasting);

/// By value: whether it is a steady input (`steady`: by placeholder), a constant, or computed from such alone without effect or failure.
std::vector<bool> steady_values(const ir::Graph& graph, const std::vector<bool>& steady);

/// Convolutions, linear layers and matrix products of float32 and float64. Not where scaling the weights would cost more than it saves when
/// they turn out not to last: a weight is to be used often in a call. Graphs that write memory stay as they are.
ir::Graph fold_affine(const ir::Graph& graph, const std::vector<bool>& steady);

}  // namespace tailor::jit
