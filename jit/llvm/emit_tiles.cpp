// Operands that lie across: contiguous along another outer dim than the lanes. Square tiles of them are loaded along their own rows,
// transposed in registers and kept in a little memory, from where the body reads rows of lanes.
//
//   for each tile along tile_dim: ... for each vector: transpose the tiles; for each index of the tile along tile_dim: the body

#include "jit/llvm/emit_at.h"

namespace tailor::jit {

using llvm::Value;

namespace {

constexpr int64_t kTilesAhead = 8;              // what is prefetched
constexpr int64_t kPrefetchStrideBytes = 1024;  // nearer rows are within reach of the hardware's prefetchers

/// Swaps ever smaller blocks across the diagonal.
void transpose(Builder& b, std::vector<Value*>& rows) {
  const auto n = static_cast<unsigned>(rows.size());
  for (unsigned block = n / 2; block > 0; block /= 2) {
    std::vector<int> low, high;
    for (unsigned lane = 0; lane < n; ++lane) {
      const bool second = (lane & block) != 0;
      low.push_back(static_cast<int>(second ? n + lane - block : lane));
      high.push_back(static_cast<int>(second ? n + lane : lane + block));
    }
    for (unsigned i = 0; i < n; ++i) {
      if ((i & block) != 0) continue;
      Value *first = rows[i], *second = rows[i + block];
      rows[i] = b.CreateShuffleVector(first, second, low);
      rows[i + block] = b.CreateShuffleVector(first, second, high);
    }
  }
}

}  // namespace

void NestEmitter::tile_loop(Value* begin, Value* end, Body body) {
  for (const int id : schedule_.tiled) {
    llvm::Type* element =
        memory_llvm_type(context_, nest_.buffers[static_cast<size_t>(nest_.exprs[static_cast<size_t>(id)].access.buffer)].dtype);
    tiles_[id] = stack_slot(llvm::ArrayType::get(element, uint64_t{lanes_} * lanes_));
    tiles_[id]->setAlignment(llvm::Align(64));
  }
  counted_loop(-1, begin, end, lanes_, [&] {
    tile_begin_ = levels_.back().index;
    Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(end, tile_begin_), b_.getInt64(lanes_));
    tile_end_ = b_.CreateAdd(tile_begin_, count);
    std::vector<llvm::Constant*> numbers;
    for (unsigned i = 0; i < lanes_; ++i) numbers.push_back(llvm::ConstantInt::get(lane_type_, i));
    tile_mask_ = b_.CreateICmpUGT(b_.CreateVectorSplat(lanes_, b_.CreateTrunc(count, lane_type_)), llvm::ConstantVector::get(numbers));
    body();
  });
}

void NestEmitter::tile_rows() {
  for (const int id : schedule_.tiled) fill_tile(id);
  counted_loop(schedule_.tile_dim, tile_begin_, tile_end_, 1, [&] { outer_loops(nest_.dims.size()); });
}

void NestEmitter::fill_tile(int id) {
  const Access& access = nest_.exprs[static_cast<size_t>(id)].access;
  const ScalarType type = nest_.buffers[static_cast<size_t>(access.buffer)].dtype;
  llvm::Type* element = memory_llvm_type(context_, type);
  llvm::Type* row_type = with_lanes(element, lanes_);
  const Size along = vector_stride(access.index);
  Value* stride = size(along);
  Value* corner = b_.CreateGEP(element, address(access), tile_begin_);
  const bool far = !along.is_static() || std::abs(along.value) * element_size(type) >= kPrefetchStrideBytes;
  Value* ahead = b_.CreateMul(stride, b_.getInt64(static_cast<uint64_t>(kTilesAhead) * lanes_));
  std::vector<Value*> rows;
  for (unsigned i = 0; i < lanes_; ++i) {
    Value* number = b_.getInt64(i);
    if (remaining_ != nullptr)  // absent rows repeat the last
      number =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, b_.CreateSub(b_.CreateZExt(remaining_, b_.getInt64Ty()), b_.getInt64(1)));
    Value* row = b_.CreateGEP(element, corner, b_.CreateMul(number, stride));
    if (far)
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {b_.CreateGEP(element, row, ahead), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
    rows.push_back(b_.CreateMaskedLoad(row_type, row, llvm::Align(static_cast<uint64_t>(element_size(type))), tile_mask_,
                                       llvm::Constant::getNullValue(row_type)));
  }
  transpose(b_, rows);
  for (unsigned i = 0; i < lanes_; ++i)
    b_.CreateAlignedStore(rows[i], b_.CreateConstGEP1_64(row_type, tiles_[id], i),
                          llvm::Align(static_cast<uint64_t>(element_size(type)) * lanes_));
}

Value* NestEmitter::load_from_tile(int id) {
  const ScalarType type = nest_.buffers[static_cast<size_t>(nest_.exprs[static_cast<size_t>(id)].access.buffer)].dtype;
  llvm::Type* row_type = with_lanes(memory_llvm_type(context_, type), lanes_);
  Value* number = b_.CreateSub(levels_[static_cast<size_t>(level_of(schedule_.tile_dim))].index, tile_begin_);
  return b_.CreateAlignedLoad(row_type, b_.CreateGEP(row_type, tiles_[id], number),
                              llvm::Align(static_cast<uint64_t>(element_size(type)) * lanes_));
}

}  // namespace tailor::jit
