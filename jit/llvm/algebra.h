#pragma once
// The algebra of ir/algebra.h over LLVM values: each operation appends one instruction (or a few) at the builder's position.
// The compute type and the number of lanes are known at run time; one lane means scalar types. Private to jit/llvm.
//
// No fast-math flags, no nsw: the bits are those of the host algebra. Value and Int are one C++ type here.

#include <llvm/IR/IRBuilder.h>

#include "ir/algebra.h"
#include "jit/llvm/target.h"

namespace tailor::jit {

using Builder = llvm::IRBuilder<>;

/// The LLVM type that values of `type` are computed in: float for the half types, i8 for bool.
llvm::Type* compute_llvm_type(llvm::LLVMContext& context, ScalarType type);
/// `element` itself for one lane, else a vector of it.
llvm::Type* with_lanes(llvm::Type* element, unsigned lanes);

class LlvmAlgebra {
 public:
  struct Value {
    llvm::Value* v = nullptr;
    bool is_unsigned = false;
  };
  using Int = Value;
  struct Mask {
    llvm::Value* v = nullptr;
  };

  /// `isa`: whose instructions the code may use where LLVM has no operation of its own.
  LlvmAlgebra(Builder& builder, ScalarType type, unsigned lanes, kernels::Isa isa = kernels::Isa::Sse2)
      : b_(&builder), type_(type), lanes_(lanes), isa_(isa) {}

  ScalarType type() const { return type_; }
  unsigned lanes() const { return lanes_; }
  Builder& builder() const { return *b_; }
  Value value(llvm::Value* v) const { return {v, !is_signed(type_)}; }

  Value lit(double x) const;
  Int lit_int(int64_t x) const;
  Mask mask_lit(bool x) const;

  Value add(Value x, Value y) const;
  Value sub(Value x, Value y) const;
  Value mul(Value x, Value y) const;
  Value neg(Value x) const;
  Value abs(Value x) const;
  Value div(Value x, Value y) const;
  Value sqrt(Value x) const;
  Value fma(Value x, Value y, Value z) const;
  bool has_scalef() const { return isa_ == kernels::Isa::Avx512 && is_floating_point(type_); }
  Value scalef(Value x, Value n) const;
  Value floor(Value x) const;
  Value ceil(Value x) const;
  Value trunc(Value x) const;
  Value rint(Value x) const;

  Value trunc_div(Value x, Value y) const { return divide(x, y, false); }
  Value trunc_rem(Value x, Value y) const { return divide(x, y, true); }
  Value floor_div(Value x, Value y) const;
  Value floor_rem(Value x, Value y) const;

  Mask eq(Value x, Value y) const;
  Mask ne(Value x, Value y) const;
  Mask lt(Value x, Value y) const;
  Mask le(Value x, Value y) const;
  Mask gt(Value x, Value y) const { return lt(y, x); }
  Mask ge(Value x, Value y) const { return le(y, x); }
  Mask mask_and(Mask x, Mask y) const { return {b_->CreateAnd(x.v, y.v)}; }
  Mask mask_or(Mask x, Mask y) const { return {b_->CreateOr(x.v, y.v)}; }
  Mask mask_xor(Mask x, Mask y) const { return {b_->CreateXor(x.v, y.v)}; }
  Mask mask_not(Mask x) const { return {b_->CreateNot(x.v)}; }
  Value select(Mask m, Value x, Value y) const { return {b_->CreateSelect(m.v, x.v, y.v), x.is_unsigned}; }

  /// Evaluates `f` under a branch: only when some lane wants it.
  template <class F>
  Value rare(Mask m, Value usual, F&& f) const {
    const Branch branch = open_branch(m);
    const Value unusual = select(m, f(), usual);
    return {close_branch(branch, unusual.v, usual.v), usual.is_unsigned};
  }

  Int bits(Value x) const;
  Value from_bits(Int x) const;
  Int to_int(Value x) const;
  Value from_int(Int x) const;

  Value bit_and(Value x, Value y) const { return is_float(x) ? x : Value{b_->CreateAnd(x.v, y.v), x.is_unsigned}; }
  Value bit_or(Value x, Value y) const { return is_float(x) ? x : Value{b_->CreateOr(x.v, y.v), x.is_unsigned}; }
  Value bit_xor(Value x, Value y) const { return is_float(x) ? x : Value{b_->CreateXor(x.v, y.v), x.is_unsigned}; }
  Value bit_not(Value x) const { return is_float(x) ? x : Value{b_->CreateNot(x.v), x.is_unsigned}; }
  Value shl(Value x, int count) const;
  Value shr_arith(Value x, int count) const;
  Value shr_logic(Value x, int count) const;
  Value shl_var(Value x, Value count) const;
  Value shr_var(Value x, Value count) const;

  template <const ir::Table& table>
  Value lookup(Int index) const {
    return lookup(table, index);
  }

  LlvmAlgebra wide() const { return {*b_, is_floating_point(type_) ? kFloat64 : type_, lanes_, isa_}; }
  Value to_wide(Value x) const;
  Value from_wide(Value x) const;

  static bool is_float(Value x) { return x.v->getType()->isFPOrFPVectorTy(); }

 private:
  struct Branch {
    llvm::BasicBlock *before, *rare, *join;
  };
  Branch open_branch(Mask m) const;
  llvm::Value* close_branch(const Branch& branch, llvm::Value* unusual, llvm::Value* usual) const;

  llvm::Type* int_type() const;
  llvm::Constant* int_constant(llvm::Type* like, int64_t x) const;
  Value divide(Value x, Value y, bool remainder) const;
  llvm::Value* quotient(llvm::Value* x, llvm::Value* y, bool is_unsigned) const;
  Value unary(llvm::Intrinsic::ID id, Value x) const;
  /// `f` of the parts of x and y that fill a register of 128 to 512 bits each, put together again.
  template <class F>
  llvm::Value* by_registers(llvm::Value* x, llvm::Value* y, unsigned bits, F f) const;
  Value lookup(const ir::Table& table, Int index) const;
  llvm::Value* lookup_in_memory(llvm::Constant* entries, llvm::Value* index) const;

  Builder* b_;
  ScalarType type_;
  unsigned lanes_;
  kernels::Isa isa_;
};

}  // namespace tailor::jit
