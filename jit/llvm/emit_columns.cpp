// Folds along columns: the vector dim is an outer one, and the rows are folded.
//
//   for each block of columns:
//     for each stage: for each row (several at once): for each vector of the block: fold into the block's accumulators in memory
//
// Rows are read as they lie. Each column folds its rows in order, whatever the block.

#include "jit/llvm/emit_at.h"

namespace tailor::jit {

using llvm::Value;

void NestEmitter::column_blocks(Value* begin, Value* end) {
  counted_loop(-1, begin, end, schedule_.column_block, [&] {
    block_begin_ = levels_.back().index;
    block_end_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end,
                                          b_.CreateAdd(block_begin_, b_.getInt64(static_cast<uint64_t>(schedule_.column_block))));
    stage_level_ = top();
    for (size_t i = 0; i < nest_.stages.size(); ++i) column_stage(nest_.stages[i], schedule_.rows_at_once[i]);
  });
}

/// Where the current vector's accumulators are.
Value* NestEmitter::column_place(llvm::AllocaInst* memory) {
  Value* column = b_.CreateSub(levels_[static_cast<size_t>(level_of(nest_.vector_dim))].index, block_begin_);
  return b_.CreateGEP(memory->getAllocatedType()->getArrayElementType(), memory, column);
}

void NestEmitter::column_stage(const Stage& stage, unsigned rows) {
  if (stage.dims.empty()) return loop(nest_.vector_dim, block_begin_, block_end_, [&] { stage_body(stage); });
  for (const int id : stage.reductions) {
    Accumulator& acc = accumulators_[static_cast<size_t>(id)];
    const Reduction& r = nest_.reductions[static_cast<size_t>(id)];
    acc = {};
    acc.lanes = lanes_;
    const auto count = static_cast<uint64_t>(schedule_.column_block);
    auto block_of = [&](llvm::Type* element) {
      llvm::AllocaInst* slot = stack_slot(llvm::ArrayType::get(element, count));
      slot->setAlignment(llvm::Align(64));
      return slot;
    };
    llvm::Type* element = compute_llvm_type(context_, compute_type(r.accumulate));
    acc.value = stack_slot(with_lanes(element, lanes_));
    acc.column_value = block_of(element);
    if (r.index < 0) continue;
    acc.index = stack_slot(with_lanes(b_.getInt64Ty(), lanes_));
    acc.column_index = block_of(b_.getInt64Ty());
  }
  loop(nest_.vector_dim, block_begin_, block_end_, [&] {
    for (const int id : stage.reductions) {
      const Accumulator& acc = accumulators_[static_cast<size_t>(id)];
      const Reduction& r = nest_.reductions[static_cast<size_t>(id)];
      b_.CreateStore(identity(r.op, compute_type(r.accumulate), lanes_), column_place(acc.column_value));
      if (r.index >= 0) b_.CreateStore(llvm::ConstantInt::get(acc.index->getAllocatedType(), INT64_MAX), column_place(acc.column_index));
    }
  });
  row_loops(stage, 0, rows);
}

void NestEmitter::row_loops(const Stage& stage, size_t position, unsigned rows) {
  const int d = stage.dims[position];
  Value *zero = b_.getInt64(0), *extent = size(nest_.dims[static_cast<size_t>(d)].extent);
  if (position + 1 < stage.dims.size()) return counted_loop(d, zero, extent, 1, [&] { row_loops(stage, position + 1, rows); });
  if (rows == 1) return row_loop(stage, zero, extent, 1);
  Value* whole = b_.CreateAnd(extent, b_.getInt64(~static_cast<uint64_t>(rows - 1)));
  row_loop(stage, zero, whole, rows);
  row_loop(stage, whole, extent, 1);
}

void NestEmitter::row_loop(const Stage& stage, Value* begin, Value* end, unsigned rows) {
  auto move = [&](bool in) {
    for (const int id : stage.reductions) {
      const Accumulator& acc = accumulators_[static_cast<size_t>(id)];
      auto copy = [&](llvm::AllocaInst* reg, llvm::AllocaInst* memory) {
        if (reg == nullptr) return;
        Value* place = column_place(memory);
        if (in)
          b_.CreateStore(b_.CreateLoad(reg->getAllocatedType(), place), reg);
        else
          b_.CreateStore(b_.CreateLoad(reg->getAllocatedType(), reg), place);
      };
      copy(acc.value, acc.column_value);
      copy(acc.index, acc.column_index);
    }
  };
  counted_loop(-1, begin, end, rows, [&] {
    std::vector<Value*> indices;
    for (unsigned i = 0; i < rows; ++i) indices.push_back(b_.CreateAdd(levels_.back().index, b_.getInt64(i)));
    loop(nest_.vector_dim, block_begin_, block_end_, [&] {
      move(true);
      for (Value* index : indices) {
        push_level(stage.dims.back(), index, true);
        stage_body(stage);
        pop_level();
      }
      move(false);
    });
  });
}

void NestEmitter::load_column_result(int id) {
  const Accumulator& acc = accumulators_[static_cast<size_t>(id)];
  const int level = level_of(nest_.vector_dim);
  At at(*this, level);
  Value* value = b_.CreateLoad(acc.value->getAllocatedType(), column_place(acc.column_value));
  Value* index = acc.index == nullptr ? nullptr : b_.CreateLoad(acc.index->getAllocatedType(), column_place(acc.column_index));
  finish_reduction(id, value, index, acc.lanes, level);
}

}  // namespace tailor::jit
