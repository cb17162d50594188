#include "jit/llvm/cost.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <map>
#include <mutex>

#include "ir/formula.h"
#include "jit/llvm/formulas.h"

namespace tailor::jit {
namespace {

int count_instructions(const ir::OpDef& op, ScalarType compute, int args) {
  llvm::LLVMContext context;
  llvm::Module module("cost", context);
  Builder builder(context);
  std::vector<llvm::Type*> types;
  for (int i = 0; i < args; ++i)
    types.push_back(ir::takes_truth(op, static_cast<size_t>(i)) ? builder.getInt1Ty() : compute_llvm_type(context, compute));
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), types, false), llvm::Function::ExternalLinkage, "f", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  std::vector<llvm::Value*> values;
  for (llvm::Argument& argument : function->args()) values.push_back(&argument);
  LlvmAlgebra algebra(builder, compute, 1, kernels::Isa::Avx512);
  find_llvm_formula(op)(algebra, values.data(), args);
  builder.CreateRetVoid();
  return static_cast<int>(function->getInstructionCount()) - 1;
}

}  // namespace

int formula_cost(const ir::OpDef& op, ScalarType compute, int args) {
  static auto* mutex = new std::mutex;
  static auto* known = new std::map<std::tuple<const ir::OpDef*, ScalarType, int>, int>;
  const std::tuple key{&op, compute, args};
  std::lock_guard lock(*mutex);
  const auto found = known->find(key);
  if (found != known->end()) return found->second;
  return (*known)[key] = count_instructions(op, compute_type(compute), args);
}

int stage_cost(const LoopNest& nest, const Stage& stage) {
  int cost = static_cast<int>(stage.stores.size());
  for (const int id : stage.exprs) {
    const Expr& e = nest.exprs[static_cast<size_t>(id)];
    switch (e.kind) {
      case ExprKind::Load: cost += is_half_type(e.type) ? 2 : 1; break;
      case ExprKind::Cast: cost += is_half_type(e.type) ? 7 : 1; break;
      case ExprKind::Op: cost += formula_cost(*e.op, e.compute, static_cast<int>(e.args.size())) + (is_half_type(e.type) ? 7 : 0); break;
      case ExprKind::Index: cost += 1; break;
      case ExprKind::Literal:
      case ExprKind::Param:
      case ExprKind::Reduced: break;
    }
  }
  for (const int r : stage.reductions) cost += nest.reductions[static_cast<size_t>(r)].index >= 0 ? 8 : 1;
  return cost;
}

}  // namespace tailor::jit
