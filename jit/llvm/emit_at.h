#pragma once
// Appends to a level while it lives. Private to jit/llvm.

#include "jit/llvm/emit.h"

namespace tailor::jit {

class NestEmitter::At {
 public:
  At(NestEmitter& emitter, int level) : emitter_(emitter), level_(static_cast<size_t>(level)), saved_(emitter.b_.saveIP()) {
    llvm::BasicBlock* block = emitter.levels_[level_].block;
    here_ = block == saved_.getBlock();
    if (here_) return;
    if (llvm::Instruction* end = block->getTerminator())
      emitter.b_.SetInsertPoint(end);
    else
      emitter.b_.SetInsertPoint(block);
  }
  ~At() {
    // A formula may have branched, which leaves the level at another block.
    llvm::BasicBlock* block = emitter_.b_.GetInsertBlock();
    llvm::BasicBlock* former = emitter_.levels_[level_].block;
    if (block != former)
      for (Level& level : emitter_.levels_)
        if (level.block == former) level.block = block;
    if (!here_) emitter_.b_.restoreIP(saved_);
  }
  At(const At&) = delete;

 private:
  NestEmitter& emitter_;
  size_t level_;
  llvm::IRBuilderBase::InsertPoint saved_;
  bool here_ = false;
};

}  // namespace tailor::jit
