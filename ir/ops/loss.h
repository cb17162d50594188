#pragma once
// Losses: composites over pointwise ops and reductions. `reduction` is an Int, torch's at::Reduction:
//
//   mse_loss l1_loss (input, target; reduction)
//   smooth_l1_loss (input, target; reduction, beta: Double)      huber_loss (input, target; reduction, delta: Double)
//   binary_cross_entropy (input, target, weight|None; reduction)
//   binary_cross_entropy_with_logits (input, target, weight|None, pos_weight|None; reduction)
//   kl_div (input, target; reduction, log_target: Bool)
//   cosine_embedding_loss (input1, input2, target; margin: Double, reduction)
//   nll_loss (input, target, weight|None; reduction, ignore_index: Int)
//   cross_entropy (input, target, weight|None; reduction, ignore_index: Int, label_smoothing: Double)
//
// Classes are dimension 1 of the input (dimension 0 of a 1-d one). Targets are class indices, or, for cross_entropy, floating point
// probabilities of the input's shape. An index outside the classes throws when the loss is computed. Half types compute in float32
// and round once.

#include "ir/op.h"

namespace tailor::ir {

enum class LossReduction : int64_t { None, Mean, Sum, BatchMean };  // BatchMean: the sum over the first size; kl_div only

}  // namespace tailor::ir
