#pragma once
// Pointwise ops of the reference interpreter.

#include "ir/reference.h"

namespace tailor::ir {

/// Broadcasts, converts each operand to the compute type, evaluates the formula per element and rounds to the result type.
/// Throws Error for division of integers by zero.
HostTensor evaluate_pointwise(const ReferenceCall& call);

}  // namespace tailor::ir
