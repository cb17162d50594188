#pragma once
// The formulas of pointwise ops over the LLVM algebra, found by op. Private to jit/llvm.

#include <string_view>
#include <type_traits>
#include <utility>

#include "ir/ops/pointwise_base.h"
#include "jit/llvm/algebra.h"

namespace tailor::jit {

struct FormulaResult {
  llvm::Value* v = nullptr;
  bool is_mask = false;
};

/// Evaluates a formula. `args`: `count` LLVM values; masks where the op takes truth values, values of the compute type elsewhere.
using FormulaFn = FormulaResult (*)(LlvmAlgebra& a, llvm::Value* const* args, int count);

void register_llvm_formula(std::string_view op, FormulaFn formula);
/// Throws InternalError when the op has no formula.
FormulaFn find_llvm_formula(const ir::OpDef& op);

template <class Op>
FormulaResult evaluate_formula(LlvmAlgebra& a, llvm::Value* const* args, int count) {
  const auto result = ir::call_formula<Op>(
      a, count, [&](int i) { return a.value(args[i]); }, [&](int i) { return LlvmAlgebra::Mask{args[i]}; });
  return {result.v, std::is_same_v<std::remove_cv_t<decltype(result)>, LlvmAlgebra::Mask>};
}

/// Registers every op of a list.
template <class List>
bool register_llvm_formulas() {
  List::for_each([]<class Op>() { register_llvm_formula(Op::name, &evaluate_formula<Op>); });
  return true;
}

}  // namespace tailor::jit
