#pragma once
// Pieces of eager execution, shared by its files. A call is shape rule, memory, kernel; views share memory; composites without
// a kernel of their own run as the ops they consist of.

#include "frontend/dispatch.h"
#include "kernels/kernels.h"

namespace tailor::eager {

/// The op's fast kernel, or null; remembered by op.
kernels::Kernel kernel_of(const ir::OpDef& op);

/// Whether the result of this call takes part in gradient computation.
bool needs_grad(const OpCall& call, ScalarType result);

/// Waits for pending work on every tensor operand.
void await_operands(const OpCall& call);

/// All outputs of a call that is neither in place nor a view.
std::vector<Tensor> compute(const OpCall& call);
Tensor run_view(const OpCall& call);
Tensor run_inplace(const OpCall& call);
/// Pointwise over operands of one shape and dtype, dense in the same order: no shape rule, no lists. Undefined when that does not apply.
Tensor run_same_shape(const OpCall& call);

/// Runs the kernel, or the reference implementation, into existing memory.
void run_kernel(const OpCall& call, std::span<const kernels::TensorArg> outputs);

/// Throws the error under way again, with the user's line at its end.
[[noreturn]] void rethrow_with_line(std::source_location where);

}  // namespace tailor::eager
