#include "jit/llvm/algebra.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace tailor::jit {

llvm::Type* compute_llvm_type(llvm::LLVMContext& context, ScalarType type) {
  switch (type) {
    case kFloat32:
    case kFloat16:
    case kBFloat16: return llvm::Type::getFloatTy(context);
    case kFloat64: return llvm::Type::getDoubleTy(context);
    case kUInt8:
    case kInt8:
    case kInt16:
    case kInt32:
    case kInt64:
    case kBool: return llvm::Type::getIntNTy(context, static_cast<unsigned>(element_size(type) * 8));
    case ScalarType::Undefined: break;
  }
  detail::raise<InternalError>("internal error, please report: code for an undefined dtype");
}

llvm::Type* with_lanes(llvm::Type* element, unsigned lanes) { return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes); }

using Value = LlvmAlgebra::Value;
using Mask = LlvmAlgebra::Mask;

llvm::Type* LlvmAlgebra::int_type() const {
  llvm::Type* element = compute_llvm_type(b_->getContext(), type_);
  return with_lanes(b_->getIntNTy(element->getScalarSizeInBits()), lanes_);
}

llvm::Constant* LlvmAlgebra::int_constant(llvm::Type* like, int64_t x) const {
  return llvm::ConstantInt::get(like, static_cast<uint64_t>(x), true);
}

Value LlvmAlgebra::lit(double x) const {
  llvm::Type* type = with_lanes(compute_llvm_type(b_->getContext(), type_), lanes_);
  if (type->isFPOrFPVectorTy()) {
    // A float literal is built from the float itself: APFloat's conversion would quieten a NaN differently.
    llvm::Type* element = type->getScalarType();
    llvm::Constant* c = element->isFloatTy() ? llvm::ConstantFP::get(b_->getContext(), llvm::APFloat(static_cast<float>(x)))
                                             : llvm::ConstantFP::get(b_->getContext(), llvm::APFloat(x));
    return {lanes_ == 1 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_), c), false};
  }
  return value(int_constant(type, static_cast<int64_t>(x)));
}

Value LlvmAlgebra::lit_int(int64_t x) const { return {int_constant(int_type(), x), false}; }

Mask LlvmAlgebra::mask_lit(bool x) const { return {llvm::ConstantInt::get(with_lanes(b_->getInt1Ty(), lanes_), x)}; }

Value LlvmAlgebra::add(Value x, Value y) const { return {is_float(x) ? b_->CreateFAdd(x.v, y.v) : b_->CreateAdd(x.v, y.v), x.is_unsigned}; }
Value LlvmAlgebra::sub(Value x, Value y) const { return {is_float(x) ? b_->CreateFSub(x.v, y.v) : b_->CreateSub(x.v, y.v), x.is_unsigned}; }
Value LlvmAlgebra::mul(Value x, Value y) const { return {is_float(x) ? b_->CreateFMul(x.v, y.v) : b_->CreateMul(x.v, y.v), x.is_unsigned}; }
Value LlvmAlgebra::neg(Value x) const { return {is_float(x) ? b_->CreateFNeg(x.v) : b_->CreateNeg(x.v), x.is_unsigned}; }

Value LlvmAlgebra::unary(llvm::Intrinsic::ID id, Value x) const {
  return is_float(x) ? Value{b_->CreateUnaryIntrinsic(id, x.v), x.is_unsigned} : x;
}
Value LlvmAlgebra::sqrt(Value x) const { return unary(llvm::Intrinsic::sqrt, x); }
Value LlvmAlgebra::floor(Value x) const { return unary(llvm::Intrinsic::floor, x); }
Value LlvmAlgebra::ceil(Value x) const { return unary(llvm::Intrinsic::ceil, x); }
Value LlvmAlgebra::trunc(Value x) const { return unary(llvm::Intrinsic::trunc, x); }
Value LlvmAlgebra::rint(Value x) const { return unary(llvm::Intrinsic::rint, x); }

Value LlvmAlgebra::abs(Value x) const {
  if (is_float(x)) return unary(llvm::Intrinsic::fabs, x);
  if (x.is_unsigned) return x;
  return {b_->CreateBinaryIntrinsic(llvm::Intrinsic::abs, x.v, b_->getInt1(false)), false};
}

/// A constant in which no lane is 0.
static bool is_known_nonzero(const llvm::Value* v) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number != nullptr && !number->isZero();
}

// Where LLVM 19 knows the lanes of both operands to be 0, it takes those of a quotient of vectors for 0 as well, not for NaN
// (TargetLowering::SimplifyDemandedVectorElts). The fence hides what it knows, and is no instruction.
Value LlvmAlgebra::div(Value x, Value y) const {
  if (!is_float(x)) return trunc_div(x, y);
  llvm::Value* divisor = y.v;
  if (lanes_ > 1 && !is_known_nonzero(x.v) && !is_known_nonzero(y.v))
    divisor = b_->CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {divisor->getType()}, {divisor});
  return {b_->CreateFDiv(x.v, divisor), false};
}

Value LlvmAlgebra::fma(Value x, Value y, Value z) const {
  if (!is_float(x)) return add(mul(x, y), z);
  return {b_->CreateIntrinsic(llvm::Intrinsic::fma, {x.v->getType()}, {x.v, y.v, z.v}), false};
}

/// Lanes `from` to `from + count` of a vector; lanes past its end are undefined.
static llvm::Value* slice(Builder& b, llvm::Value* v, unsigned lanes, unsigned from, unsigned count) {
  if (lanes == 1) return b.CreateInsertElement(llvm::PoisonValue::get(with_lanes(v->getType(), count)), v, uint64_t{0});
  std::vector<int> picks;
  for (unsigned i = from; i < from + count; ++i) picks.push_back(i < lanes ? static_cast<int>(i) : -1);
  return picks.size() == lanes ? v : b.CreateShuffleVector(v, picks);
}

template <class F>
llvm::Value* LlvmAlgebra::by_registers(llvm::Value* x, llvm::Value* y, unsigned bits, F f) const {
  const unsigned count = bits / x->getType()->getScalarSizeInBits();
  llvm::Value* whole = nullptr;
  for (unsigned from = 0; from < lanes_; from += count) {
    llvm::Value* part = f(slice(*b_, x, lanes_, from, count), slice(*b_, y, lanes_, from, count));
    if (lanes_ == 1) return b_->CreateExtractElement(part, uint64_t{0});
    if (lanes_ < count) return slice(*b_, part, count, 0, lanes_);
    if (whole == nullptr) {
      whole = part;
      continue;
    }
    std::vector<int> picks;  // appended; the shorter operand is widened first
    for (unsigned i = 0; i < from + count; ++i) picks.push_back(static_cast<int>(i));
    whole = b_->CreateShuffleVector(whole, slice(*b_, part, count, 0, from), picks);
  }
  return whole;
}

Value LlvmAlgebra::scalef(Value x, Value n) const {
  const bool f32 = type_ != kFloat64;
  const unsigned bits = std::clamp(lanes_ * (f32 ? 32u : 64u), 128u, 512u), count = bits / (f32 ? 32 : 64);
  namespace I = llvm::Intrinsic;
  const I::ID id = bits == 512   ? (f32 ? I::x86_avx512_mask_scalef_ps_512 : I::x86_avx512_mask_scalef_pd_512)
                   : bits == 256 ? (f32 ? I::x86_avx512_mask_scalef_ps_256 : I::x86_avx512_mask_scalef_pd_256)
                                 : (f32 ? I::x86_avx512_mask_scalef_ps_128 : I::x86_avx512_mask_scalef_pd_128);
  return {
      by_registers(
          x.v, n.v, bits,
          [&](llvm::Value* part, llvm::Value* exponent) {
            std::vector<llvm::Value*> args = {part, exponent, part, llvm::ConstantInt::getAllOnesValue(b_->getIntNTy(std::max(count, 8u)))};
            if (bits == 512) args.push_back(b_->getInt32(4));  // the current rounding mode
            return b_->CreateIntrinsic(id, {}, args);
          }),
      false};
}

/// Entry by entry from a constant of the module.
llvm::Value* LlvmAlgebra::lookup_in_memory(llvm::Constant* entries, llvm::Value* index) const {
  llvm::Module& module = *b_->GetInsertBlock()->getModule();
  llvm::GlobalVariable* memory = nullptr;
  for (llvm::GlobalVariable& known : module.globals())
    if (known.hasInitializer() && known.getInitializer() == entries) memory = &known;
  if (memory == nullptr)
    memory = new llvm::GlobalVariable(module, entries->getType(), true, llvm::GlobalValue::PrivateLinkage, entries, "table");
  llvm::Type* element = entries->getType()->getArrayElementType();
  llvm::Value* inside = b_->CreateAnd(index, int_constant(index->getType(), ir::Table::kEntries - 1));
  const auto entry = [&](llvm::Value* at) {
    return b_->CreateLoad(element, b_->CreateInBoundsGEP(element, memory, b_->CreateZExtOrTrunc(at, b_->getInt64Ty())));
  };
  if (lanes_ == 1) return entry(inside);
  llvm::Value* result = llvm::PoisonValue::get(with_lanes(element, lanes_));
  for (uint64_t i = 0; i < lanes_; ++i) result = b_->CreateInsertElement(result, entry(b_->CreateExtractElement(inside, i)), i);
  return result;
}

// A permutation of one register where the level has one for 16 floats, of two for 8.
Value LlvmAlgebra::lookup(const ir::Table& table, Int index) const {
  llvm::LLVMContext& context = b_->getContext();
  if (!compute_llvm_type(context, type_)->isFloatTy()) return lit(0);
  float entries[ir::Table::kEntries];
  std::copy(std::begin(table.entries), std::end(table.entries), entries);
  const llvm::ArrayRef<float> all(entries);
  if (isa_ < kernels::Isa::Avx2) return {lookup_in_memory(llvm::ConstantDataArray::get(context, all), index.v), false};
  const auto constant = [&](llvm::ArrayRef<float> part) { return llvm::ConstantDataVector::get(context, part); };
  if (isa_ == kernels::Isa::Avx512) {
    const auto permute = [&](llvm::Value* at, llvm::Value*) {
      return b_->CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {constant(all), at});
    };
    return {by_registers(index.v, index.v, 512, permute), false};
  }
  const auto permute = [&](llvm::Value* at, llvm::Value*) {
    llvm::Value* halves[2];
    for (size_t i = 0; i < 2; ++i)
      halves[i] = b_->CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {constant(all.slice(8 * i, 8)), at});
    llvm::Value* high = b_->CreateICmpSLT(b_->CreateShl(at, int_constant(at->getType(), 28)), llvm::Constant::getNullValue(at->getType()));
    return b_->CreateSelect(high, halves[1], halves[0]);
  };
  return {by_registers(index.v, index.v, 256, permute), false};
}

// Vectors have no integer division: narrow ones divide as float or double, where truncating the rounded quotient is exact (an
// inexact quotient of n-bit numbers is further from the next integer than half a unit in the last place of a 3n/2-bit one).
llvm::Value* LlvmAlgebra::quotient(llvm::Value* x, llvm::Value* y, bool is_unsigned) const {
  const unsigned width = x->getType()->getScalarSizeInBits();
  if (lanes_ == 1 || width == 64 || llvm::isa<llvm::Constant>(y)) return is_unsigned ? b_->CreateUDiv(x, y) : b_->CreateSDiv(x, y);
  llvm::Type* real = with_lanes(width <= 16 ? b_->getFloatTy() : b_->getDoubleTy(), lanes_);
  auto convert = [&](llvm::Value* v) { return is_unsigned ? b_->CreateUIToFP(v, real) : b_->CreateSIToFP(v, real); };
  llvm::Value* q = b_->CreateFDiv(convert(x), convert(y));
  llvm::Type* middle = with_lanes(b_->getInt32Ty(), lanes_);  // 32 bits hold every quotient but INT_MIN / -1, excluded by the caller
  return b_->CreateTrunc(b_->CreateFPToSI(q, middle), x->getType());
}

Value LlvmAlgebra::divide(Value x, Value y, bool remainder) const {
  if (is_float(x)) return x;
  llvm::Type* type = x.v->getType();
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  llvm::Value* by_zero = b_->CreateICmpEQ(y.v, zero);
  llvm::Value* special = by_zero;
  if (!x.is_unsigned) special = b_->CreateOr(special, b_->CreateICmpEQ(y.v, llvm::Constant::getAllOnesValue(type)));
  llvm::Value* safe = b_->CreateSelect(special, int_constant(type, 1), y.v);
  llvm::Value* q = quotient(x.v, safe, x.is_unsigned);
  if (remainder) {
    llvm::Value* r = b_->CreateSub(x.v, b_->CreateMul(q, safe));
    return {b_->CreateSelect(special, zero, r), x.is_unsigned};
  }
  if (!x.is_unsigned) q = b_->CreateSelect(special, b_->CreateNeg(x.v), q);  // division by -1
  return {b_->CreateSelect(by_zero, zero, q), x.is_unsigned};
}

Value LlvmAlgebra::floor_div(Value x, Value y) const {
  if (is_float(x) || x.is_unsigned) return trunc_div(x, y);
  const Value q = trunc_div(x, y), r = trunc_rem(x, y), zero{llvm::Constant::getNullValue(x.v->getType()), false};
  const Mask down = mask_and(ne(r, zero), mask_xor(lt(r, zero), lt(y, zero)));
  return select(down, sub(q, {int_constant(x.v->getType(), 1), false}), q);
}

Value LlvmAlgebra::floor_rem(Value x, Value y) const {
  if (is_float(x) || x.is_unsigned) return trunc_rem(x, y);
  const Value r = trunc_rem(x, y), zero{llvm::Constant::getNullValue(x.v->getType()), false};
  const Mask down = mask_and(ne(r, zero), mask_xor(lt(r, zero), lt(y, zero)));
  return select(down, add(r, y), r);
}

Mask LlvmAlgebra::eq(Value x, Value y) const { return {is_float(x) ? b_->CreateFCmpOEQ(x.v, y.v) : b_->CreateICmpEQ(x.v, y.v)}; }
Mask LlvmAlgebra::ne(Value x, Value y) const { return {is_float(x) ? b_->CreateFCmpUNE(x.v, y.v) : b_->CreateICmpNE(x.v, y.v)}; }
Mask LlvmAlgebra::lt(Value x, Value y) const {
  if (is_float(x)) return {b_->CreateFCmpOLT(x.v, y.v)};
  return {x.is_unsigned ? b_->CreateICmpULT(x.v, y.v) : b_->CreateICmpSLT(x.v, y.v)};
}
Mask LlvmAlgebra::le(Value x, Value y) const {
  if (is_float(x)) return {b_->CreateFCmpOLE(x.v, y.v)};
  return {x.is_unsigned ? b_->CreateICmpULE(x.v, y.v) : b_->CreateICmpSLE(x.v, y.v)};
}

LlvmAlgebra::Int LlvmAlgebra::bits(Value x) const { return {is_float(x) ? b_->CreateBitCast(x.v, int_type()) : x.v, false}; }

Value LlvmAlgebra::from_bits(Int x) const {
  return value(b_->CreateBitCast(x.v, with_lanes(compute_llvm_type(b_->getContext(), type_), lanes_)));
}

// Frozen: formulas convert before they select, and a lane that is discarded must not become poison.
LlvmAlgebra::Int LlvmAlgebra::to_int(Value x) const {
  return {is_float(x) ? b_->CreateFreeze(b_->CreateFPToSI(x.v, int_type())) : x.v, false};
}
Value LlvmAlgebra::from_int(Int x) const {
  llvm::Type* type = with_lanes(compute_llvm_type(b_->getContext(), type_), lanes_);
  return type->isFPOrFPVectorTy() && !is_float(x) ? Value{b_->CreateSIToFP(x.v, type), false} : value(x.v);
}

Value LlvmAlgebra::shl(Value x, int count) const {
  return is_float(x) ? x : Value{b_->CreateShl(x.v, int_constant(x.v->getType(), count)), x.is_unsigned};
}
Value LlvmAlgebra::shr_arith(Value x, int count) const {
  return is_float(x) ? x : Value{b_->CreateAShr(x.v, int_constant(x.v->getType(), count)), x.is_unsigned};
}
Value LlvmAlgebra::shr_logic(Value x, int count) const {
  return is_float(x) ? x : Value{b_->CreateLShr(x.v, int_constant(x.v->getType(), count)), x.is_unsigned};
}

Value LlvmAlgebra::shl_var(Value x, Value count) const {
  if (is_float(x)) return x;
  llvm::Type* type = x.v->getType();
  llvm::Value* legal = b_->CreateICmpULT(count.v, int_constant(type, type->getScalarSizeInBits()));
  llvm::Value* safe = b_->CreateSelect(legal, count.v, llvm::Constant::getNullValue(type));
  return {b_->CreateSelect(legal, b_->CreateShl(x.v, safe), llvm::Constant::getNullValue(type)), x.is_unsigned};
}

Value LlvmAlgebra::shr_var(Value x, Value count) const {
  if (is_float(x)) return x;
  llvm::Type* type = x.v->getType();
  const unsigned width = type->getScalarSizeInBits();
  llvm::Value* legal = b_->CreateICmpULT(count.v, int_constant(type, width));
  if (x.is_unsigned) {
    llvm::Value* safe = b_->CreateSelect(legal, count.v, llvm::Constant::getNullValue(type));
    return {b_->CreateSelect(legal, b_->CreateLShr(x.v, safe), llvm::Constant::getNullValue(type)), true};
  }
  return {b_->CreateAShr(x.v, b_->CreateSelect(legal, count.v, int_constant(type, width - 1))), false};
}

Value LlvmAlgebra::to_wide(Value x) const {
  return is_float(x) ? Value{b_->CreateFPExt(x.v, with_lanes(b_->getDoubleTy(), lanes_)), false} : x;
}
Value LlvmAlgebra::from_wide(Value x) const {
  if (!is_float(x)) return x;
  return {b_->CreateFPTrunc(x.v, with_lanes(compute_llvm_type(b_->getContext(), type_), lanes_)), false};
}

// The builder may stand at the end of a block under construction or inside a finished one (a hoisted expression); a finished
// one is split, which keeps the phis of its successors right.
LlvmAlgebra::Branch LlvmAlgebra::open_branch(Mask m) const {
  llvm::Value* any = lanes_ == 1 ? m.v : b_->CreateOrReduce(m.v);
  Branch branch;
  branch.before = b_->GetInsertBlock();
  if (b_->GetInsertPoint() != branch.before->end()) {
    branch.join = branch.before->splitBasicBlock(b_->GetInsertPoint(), "join");
    branch.before->getTerminator()->eraseFromParent();
  } else {
    branch.join = llvm::BasicBlock::Create(b_->getContext(), "join", branch.before->getParent());
  }
  branch.rare = llvm::BasicBlock::Create(b_->getContext(), "rare", branch.before->getParent());
  b_->SetInsertPoint(branch.before);
  b_->CreateCondBr(any, branch.rare, branch.join);
  b_->SetInsertPoint(branch.rare);
  return branch;
}

llvm::Value* LlvmAlgebra::close_branch(const Branch& branch, llvm::Value* unusual, llvm::Value* usual) const {
  llvm::BasicBlock* from = b_->GetInsertBlock();  // `f` may itself have branched
  b_->CreateBr(branch.join);
  if (branch.join->empty())
    b_->SetInsertPoint(branch.join);
  else
    b_->SetInsertPoint(branch.join, branch.join->begin());
  llvm::PHINode* phi = b_->CreatePHI(usual->getType(), 2);
  phi->addIncoming(unusual, from);
  phi->addIncoming(usual, branch.before);
  if (llvm::Instruction* end = branch.join->getTerminator()) b_->SetInsertPoint(end);
  return phi;
}

}  // namespace tailor::jit
