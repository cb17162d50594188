#pragma once
// What formulas cost, counted in instructions. Private to jit/llvm.

#include "jit/loop_nest.h"

namespace tailor::jit {

/// Instructions of a formula in a compute type, found by evaluating it once; remembered. Thread-safe.
int formula_cost(const ir::OpDef& op, ScalarType compute, int args);

/// The same for everything a stage evaluates at one point; loads count one.
int stage_cost(const LoopNest& nest, const Stage& stage);

}  // namespace tailor::jit
