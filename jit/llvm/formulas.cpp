#include "jit/llvm/formulas.h"

#include <string>
#include <unordered_map>

namespace tailor::jit {
namespace {

std::unordered_map<std::string_view, FormulaFn>& table() {
  static std::unordered_map<std::string_view, FormulaFn> instance;
  return instance;
}

}  // namespace

void register_llvm_formula(std::string_view op, FormulaFn formula) { table().emplace(op, formula); }

FormulaFn find_llvm_formula(const ir::OpDef& op) {
  const auto found = table().find(op.name);
  internal_check(found != table().end(), "op ", op.name, " has no formula to generate code from");
  return found->second;
}

}  // namespace tailor::jit
