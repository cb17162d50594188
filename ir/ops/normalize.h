#pragma once
// Normalising ops: composites with fused eager kernels (kernels/normalize).
//
//   softmax log_softmax (self; dim: Int, dtype: Dtype|None)
//   layer_norm (input, weight|None, bias|None; normalized_shape: Ints, eps: Double)
//   rms_norm (input, weight|None; normalized_shape: Ints, eps: Double|None)     None: the machine epsilon of the compute type
//   group_norm (input, weight|None, bias|None; num_groups: Int, eps: Double)
//   batch_norm (input, weight|None, bias|None, running_mean, running_var; eps: Double)
//   batch_norm_train (input, weight|None, bias|None; eps: Double)               -> output, mean[C], unbiased variance[C]
//   instance_norm (input, weight|None, bias|None; eps: Double)                  -> output, mean[C], unbiased variance[C]
//   normalize (self; p: Double, dim: Int, eps: Double)
//
// The training forms update no running statistics. Their last outputs (in the compute type: f32 for half inputs) are what goes into them,
// and the caller writes
//   running_mean.mul_(1 - momentum).add_(mean, momentum);   running_var.mul_(1 - momentum).add_(variance, momentum);
// Half types: everything between the input and the result is computed in float32 and rounded once. Weights may be float32 then.

#include "ir/op.h"

namespace tailor::ir {

/// The dtype of softmax: the one asked for, else the operand's own. Integers are an error, but for no elements.
ScalarType softmax_dtype(std::string_view op, const TensorSpec& self, const AttrRef& dtype);

}  // namespace tailor::ir
