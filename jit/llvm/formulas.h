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

/// Evaluates a formula. `args`: one LLVM value per operand; masks where the op takes masks, values of the compute type elsewhere.
using FormulaFn = FormulaResult (*)(LlvmAlgebra& a, llvm::Value* const* args);

void register_formula(std::string_view op, FormulaFn formula);
/// Throws InternalError when the op has no formula.
FormulaFn find_formula(const ir::OpDef& op);

template <class Op>
FormulaResult evaluate_formula(LlvmAlgebra& a, llvm::Value* const* args) {
  constexpr bool logical = Op::rule == ir::DTypeRule::Logical;
  auto operand = [&]<size_t I>(std::integral_constant<size_t, I>) {
    if constexpr (logical || (Op::first_is_mask && I == 0))
      return LlvmAlgebra::Mask{args[I]};
    else
      return a.value(args[I]);
  };
  auto result = [&]<size_t... I>(std::index_sequence<I...>) { return Op::eval(a, operand(std::integral_constant<size_t, I>{})...); }
  (std::make_index_sequence<static_cast<size_t>(Op::arity)>{});
  return {result.v, std::is_same_v<decltype(result), LlvmAlgebra::Mask>};
}

/// Registers every op of a list.
template <class List>
bool register_formulas() {
  List::for_each([]<class Op>() { register_formula(Op::name, &evaluate_formula<Op>); });
  return true;
}

}  // namespace tailor::jit
