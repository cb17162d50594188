#pragma once
// The shared part of every pointwise kernel: dtypes, broadcasting, strides, threads.

#include "kernels/pointwise/inner.h"

namespace tailor::kernels {

/// Computes a call of a pointwise op with the inner loops of `row`.
/// Throws Error for integer division by zero, before anything is written.
void run_pointwise(const Call& call, const InnerRow& row);

}  // namespace tailor::kernels
