#pragma once
// Convolutional networks with the batch innermost.
//
// Rows of small images do not fill vectors, and their borders cut every loop. Where a batch has 16 images or more, a convolution's
// input and result are kept as [C, H, W, N] instead: the images are the lanes. What lies between convolutions (pointwise ops, maxima over
// windows that do not overlap the padding, sums over the pixels) follows; whatever else reads such a value gets a copy in its own layout.

#include "ir/graph.h"

namespace tailor::jit {

/// The graph with such values in that layout; graphs that write memory stay as they are.
ir::Graph put_batch_last(ir::Graph graph);

}  // namespace tailor::jit
