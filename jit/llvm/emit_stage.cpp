// Stages: loops over the inner dims with folds and stores.
//
// The order of a fold: each lane folds its own points in loop order, the lanes are then folded by halves (lane i with lane
// i + n/2, and so on down to one). It depends on the extents and the number of lanes alone.

#include "jit/llvm/emit_at.h"

namespace tailor::jit {

using llvm::Value;

bool NestEmitter::stage_has_vector(const Stage& stage) const {
  return lanes_ > 1 && std::find(stage.dims.begin(), stage.dims.end(), nest_.vector_dim) != stage.dims.end();
}

void NestEmitter::stage(const Stage& stage) {
  if (!vector_active()) {
    lanes_ = schedule_.per_stage[static_cast<size_t>(&stage - nest_.stages.data())];
    if (row_mask_ != nullptr) lanes_ = std::min(lanes_, schedule_.native);
  }
  for (const int r : stage.reductions) open_reduction(stage, r);
  stage_loops(stage, 0);
  for (const int r : stage.reductions) close_reduction(stage, r);
}

void NestEmitter::stage_loops(const Stage& stage, size_t position) {
  if (position == stage.dims.size()) return stage_body(stage);
  const int d = stage.dims[position];
  loop(d, b_.getInt64(0), size(nest_.dims[static_cast<size_t>(d)].extent), [&] { stage_loops(stage, position + 1); });
}

void NestEmitter::stage_body(const Stage& stage) {
  for (const int id : stage.exprs) ensure(id);
  for (const int r : stage.reductions) fold(stage, r);
  for (const Store& store : stage.stores) emit_store(store);
}

// ---- reductions ----------------------------------------------------------------------------------------------------

llvm::Constant* NestEmitter::identity(ReduceOp op, ScalarType type, unsigned lanes) {
  llvm::Type* t = with_lanes(compute_llvm_type(context_, type), lanes);
  const unsigned bits = t->getScalarSizeInBits();
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Any: return llvm::Constant::getNullValue(t);
    case ReduceOp::Prod:
    case ReduceOp::All: return t->isFPOrFPVectorTy() ? llvm::ConstantFP::get(t, 1.0) : llvm::ConstantInt::get(t, 1);
    case ReduceOp::Max:
    case ReduceOp::ArgMax:
      if (t->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(t, true);
      return llvm::ConstantInt::get(t, is_signed(type) ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getMinValue(bits));
    case ReduceOp::Min:
    case ReduceOp::ArgMin:
      if (t->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(t, false);
      return llvm::ConstantInt::get(t, is_signed(type) ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits));
  }
  return nullptr;
}

/// Where `value` must replace `best`: strictly better, or the first NaN.
Value* NestEmitter::better(ReduceOp op, ScalarType type, Value* value, Value* best, unsigned lanes) {
  LlvmAlgebra a(b_, type, lanes);
  const bool largest = op == ReduceOp::ArgMax;
  Value* wins = (largest ? a.gt(a.value(value), a.value(best)) : a.lt(a.value(value), a.value(best))).v;
  if (!is_floating_point(type)) return wins;
  Value* first_nan = b_.CreateAnd(b_.CreateFCmpUNO(value, value), b_.CreateFCmpORD(best, best));
  return b_.CreateOr(wins, first_nan);
}

Value* NestEmitter::combine(ReduceOp op, ScalarType type, Value* x, Value* y, unsigned lanes) {
  LlvmAlgebra a(b_, type, lanes);
  switch (op) {
    case ReduceOp::Sum: return type == kBool ? b_.CreateOr(x, y) : a.add(a.value(x), a.value(y)).v;
    case ReduceOp::Prod: return type == kBool ? b_.CreateAnd(x, y) : a.mul(a.value(x), a.value(y)).v;
    case ReduceOp::Any: return b_.CreateOr(x, y);
    case ReduceOp::All: return b_.CreateAnd(x, y);
    case ReduceOp::Max:
    case ReduceOp::Min: {
      // One instruction for numbers, and two that let NaN win.
      Value* number = b_.CreateSelect((op == ReduceOp::Max ? a.gt(a.value(y), a.value(x)) : a.lt(a.value(y), a.value(x))).v, y, x);
      return is_floating_point(type) ? b_.CreateSelect(b_.CreateFCmpUNO(y, y), y, number) : number;
    }
    case ReduceOp::ArgMax:
    case ReduceOp::ArgMin: break;
  }
  internal_check(false, "index reductions fold pairs");
  return nullptr;
}

void NestEmitter::open_reduction(const Stage& stage, int id) {
  const Reduction& r = nest_.reductions[static_cast<size_t>(id)];
  Accumulator& acc = accumulators_[static_cast<size_t>(id)];
  const bool outer_vector = lanes_ > 1 && vector_active();
  acc = {};
  acc.lanes = stage_has_vector(stage) || outer_vector ? lanes_ : 1;
  const ScalarType type = compute_type(r.accumulate);
  acc.value = stack_slot(with_lanes(compute_llvm_type(context_, type), acc.lanes));
  b_.CreateStore(identity(r.op, type, acc.lanes), acc.value);
  if (r.index < 0) return;
  llvm::Type* index = with_lanes(b_.getInt64Ty(), acc.lanes);
  acc.index = stack_slot(index);
  b_.CreateStore(llvm::ConstantInt::get(index, INT64_MAX), acc.index);
}

void NestEmitter::fold(const Stage& stage, int id) {
  const Reduction& r = nest_.reductions[static_cast<size_t>(id)];
  const Accumulator& acc = accumulators_[static_cast<size_t>(id)];
  const ScalarType type = compute_type(r.accumulate), from = nest_.exprs[static_cast<size_t>(r.value)].type;
  Datum datum = operand(r.value, acc.lanes, from);
  if (from != type) datum = convert_.cast(datum, from, type);
  Value* value = convert_.as_value(datum);
  Value* mask = stage_has_vector(stage) ? mask_ : nullptr;
  Value* old = b_.CreateLoad(acc.value->getAllocatedType(), acc.value);
  if (r.index < 0) {
    Value* folded = combine(r.op, type, old, value, acc.lanes);
    b_.CreateStore(mask == nullptr ? folded : b_.CreateSelect(mask, folded, old), acc.value);
    return;
  }
  Value* wins = better(r.op, type, value, old, acc.lanes);
  if (mask != nullptr) wins = b_.CreateAnd(wins, mask);
  const Datum index = operand(r.index, acc.lanes, kInt64);
  b_.CreateStore(b_.CreateSelect(wins, value, old), acc.value);
  Value* old_index = b_.CreateLoad(acc.index->getAllocatedType(), acc.index);
  b_.CreateStore(b_.CreateSelect(wins, index.value, old_index), acc.index);
}

void NestEmitter::close_reduction(const Stage& stage, int id) {
  const Reduction& r = nest_.reductions[static_cast<size_t>(id)];
  const Accumulator& acc = accumulators_[static_cast<size_t>(id)];
  const ScalarType type = compute_type(r.accumulate);
  Value* value = b_.CreateLoad(acc.value->getAllocatedType(), acc.value);
  Value* index = acc.index != nullptr ? b_.CreateLoad(acc.index->getAllocatedType(), acc.index) : nullptr;
  unsigned lanes = acc.lanes;
  while (stage_has_vector(stage) && lanes > 1) {
    lanes /= 2;
    auto part = [&](Value* v, unsigned from) -> Value* {
      if (v == nullptr) return nullptr;
      if (lanes == 1) return b_.CreateExtractElement(v, uint64_t{from});
      std::vector<int> picks;
      for (unsigned i = 0; i < lanes; ++i) picks.push_back(static_cast<int>(from + i));
      return b_.CreateShuffleVector(v, picks);
    };
    Value *low = part(value, 0), *high = part(value, lanes), *low_index = part(index, 0), *high_index = part(index, lanes);
    if (index == nullptr) {
      value = combine(r.op, type, low, high, lanes);
      continue;
    }
    LlvmAlgebra a(b_, type, lanes);
    Value* same = a.eq(a.value(low), a.value(high)).v;
    if (is_floating_point(type)) same = b_.CreateOr(same, b_.CreateAnd(b_.CreateFCmpUNO(low, low), b_.CreateFCmpUNO(high, high)));
    Value* earlier = b_.CreateAnd(same, b_.CreateICmpSLT(high_index, low_index));
    Value* wins = b_.CreateOr(better(r.op, type, high, low, lanes), earlier);
    value = b_.CreateSelect(wins, high, low);
    index = b_.CreateSelect(wins, high_index, low_index);
  }
  finish_reduction(id, value, index, lanes, top());
}

/// Makes the folded value readable by later stages, at the current position, which belongs to `level`.
void NestEmitter::finish_reduction(int id, Value* value, Value* index, unsigned lanes, int level) {
  const Reduction& r = nest_.reductions[static_cast<size_t>(id)];
  Slot& done = reduced_[static_cast<size_t>(id)];
  done = {};
  done.level = level;
  done.datum.lanes = lanes;
  if (index != nullptr) {
    // No point was better than the identity: all are equal to it, and the first index counts.
    llvm::Type* t = with_lanes(b_.getInt64Ty(), lanes);
    Value* first = affine(nest_.exprs[static_cast<size_t>(r.index)].index);
    if (lanes > 1) first = b_.CreateVectorSplat(lanes, first);
    done.datum.value = b_.CreateSelect(b_.CreateICmpEQ(index, llvm::ConstantInt::get(t, INT64_MAX)), first, index);
  } else if (r.accumulate == kBool) {
    done.datum.mask = b_.CreateIsNotNull(value);
  } else {
    done.datum.value = value;
  }
}

}  // namespace tailor::jit
