#pragma once
// All pointwise ops, one list: what backends iterate over to find the formula of an op by type.
//
//   PointwiseOps::for_each([&]<class Op>() { table[&op_def<Op>()] = &emit<Op>; });

#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/compare.h"
#include "ir/ops/rounding.h"
#include "ir/ops/transcendental.h"

namespace tailor::ir {

using PointwiseOps =
    Join<ArithmeticUnaryOps, ArithmeticBinaryOps, DivisionOps, PowerOps, ArithmeticTernaryOps, RoundingOps, SelectionOps, CastOps,
         CompareOps, LogicalOps, BitwiseOps, ExponentialOps, TrigonometricOps, SpecialOps, RectifierOps, SmoothActivationOps>;

}  // namespace tailor::ir
