#pragma once
// What PyTorch demands of the values of scalar operands. Shape rules ask, and kernels ask again, because small eager calls skip the rules.

#include "ir/op.h"

namespace tailor::ir {

/// `scalars[i]` is operand i where that is a scalar, else null. Throws Error with the op's name in front.
void check_scalar_operands(const OpDef& op, ScalarType result, std::span<const tailor::Scalar* const> scalars);

}  // namespace tailor::ir
