#pragma once
// Linear layers put the way that suits their kernels: the bias is a pointwise op, which fuses with what follows; layers of one weight whose
// inputs are slices of one tensor (the input of a recurrent network, step by step) become one product.

#include "ir/graph.h"

namespace tailor::jit {

/// float32 and float64 only: half types round once. Bits stay as they are but for the order in which a kernel adds few rows. Graphs that
/// write memory stay as they are.
ir::Graph regroup_products(ir::Graph graph);

}  // namespace tailor::jit
