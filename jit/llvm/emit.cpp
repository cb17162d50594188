#include "jit/llvm/emit.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <utility>

#include "jit/llvm/cost.h"
#include "jit/llvm/emit_at.h"

namespace tailor::jit {

using llvm::BasicBlock;
using llvm::Value;

namespace {

enum Argument : unsigned { kBuffers, kSizes, kScalars, kBegin, kEnd };
constexpr int64_t kStackScratchBytes = 64 * 1024;
constexpr int kCheap = 16, kWorthTwice = 64;  // instructions of a point

llvm::Function* declare(llvm::Module& module, const Target& target, const std::string& symbol) {
  llvm::LLVMContext& c = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(c), *word = llvm::Type::getInt64Ty(c);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), {pointer, pointer, pointer, word, word}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  function->addFnAttr("no-trapping-math", "true");
  return function;
}

}  // namespace

NestEmitter::NestEmitter(llvm::Module& module, const LoopNest& nest, const Target& target, const std::string& symbol, bool fast_math)
    : module_(module),
      nest_(nest),
      target_(target),
      context_(module.getContext()),
      b_(context_),
      convert_(b_, target),
      function_(declare(module, target, symbol)),
      dim_level_(nest.dims.size(), -1),
      slots_(nest.exprs.size()),
      accumulators_(nest.reductions.size()),
      reduced_(nest.reductions.size()),
      buffers_(nest.buffers.size()),
      written_(nest.buffers.size()),
      sizes_(static_cast<size_t>(nest.size_params)),
      scalars_(static_cast<size_t>(nest.scalar_params)) {
  if (fast_math) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    b_.setFastMathFlags(flags);
  }
  schedule_ = choose_schedule(nest, target);
  lanes_ = schedule_.outer;
  lane_type_ = b_.getInt32Ty();
}

void NestEmitter::emit() {
  BasicBlock* entry = BasicBlock::Create(context_, "entry", function_);
  b_.SetInsertPoint(entry);
  levels_.push_back({-1, nullptr, entry, false});
  declare_buffers();
  if (has_short_rows())
    rows_by_length();
  else
    outer_loops(0);
  if (nest_.nontemporal) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  b_.CreateRetVoid();

  std::vector<llvm::AllocaInst*> promotable;
  for (llvm::Instruction& instruction : function_->getEntryBlock())
    if (auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&instruction); slot != nullptr && llvm::isAllocaPromotable(slot))
      promotable.push_back(slot);
  if (promotable.empty()) return;
  llvm::DominatorTree tree(*function_);
  llvm::PromoteMemToReg(promotable, tree);
}

void NestEmitter::declare_buffers() {
  for (const Stage& stage : nest_.stages)
    for (const Store& store : stage.stores) written_[static_cast<size_t>(store.access.buffer)] = true;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Buffer& buffer = nest_.buffers[i];
    if (buffer.kind != BufferKind::Scratch) {
      Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), function_->getArg(kBuffers), i);
      buffers_[i] = b_.CreateLoad(b_.getPtrTy(), slot);
      continue;
    }
    // With lanes along an outer dim each lane has a scratch of its own, interleaved.
    const bool per_lane = nest_.vector_dim >= 0 && !nest_.dims[static_cast<size_t>(nest_.vector_dim)].inner;
    const int64_t bytes = element_size(buffer.dtype) * (per_lane ? schedule_.outer : 1);
    if (buffer.elements.is_static() && buffer.elements.value * bytes <= kStackScratchBytes) {
      auto* type = llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(buffer.elements.value * bytes));
      auto* slot = b_.CreateAlloca(type);
      slot->setAlignment(llvm::Align(64));
      buffers_[i] = slot;
      continue;
    }
    auto helper = module_.getOrInsertFunction("tailor_scratch", b_.getPtrTy(), b_.getInt64Ty(), b_.getInt64Ty());
    buffers_[i] = b_.CreateCall(helper, {b_.getInt64(i), b_.CreateMul(size(buffer.elements), b_.getInt64(static_cast<uint64_t>(bytes)))});
  }
}

Value* NestEmitter::size(const Size& s) {
  if (s.is_static()) return b_.getInt64(static_cast<uint64_t>(s.value));
  Value*& loaded = sizes_.at(static_cast<size_t>(s.param));
  if (loaded == nullptr) {
    At entry(*this, 0);
    loaded = b_.CreateLoad(b_.getInt64Ty(),
                           b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(kSizes), static_cast<uint64_t>(s.param)));
  }
  return loaded;
}

Value* NestEmitter::scalar_parameter(int index) {
  Value*& loaded = scalars_.at(static_cast<size_t>(index));
  if (loaded == nullptr) {
    At entry(*this, 0);
    loaded = b_.CreateLoad(b_.getInt64Ty(),
                           b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(kScalars), static_cast<uint64_t>(index)));
  }
  return loaded;
}

llvm::AllocaInst* NestEmitter::stack_slot(llvm::Type* type, unsigned count) {
  BasicBlock& entry = function_->getEntryBlock();
  Builder at_top(&entry, entry.begin());
  return at_top.CreateAlloca(type, count == 1 ? nullptr : b_.getInt32(count));
}

// ---- loops ---------------------------------------------------------------------------------------------------------

/// Rows of a length known when running alone, folded in little code: short ones get code of their own.
bool NestEmitter::has_short_rows() const {
  if (nest_.vector_dim < 0 || !target_.masks || schedule_.native < 2) return false;
  const LoopDim& d = nest_.dims[static_cast<size_t>(nest_.vector_dim)];
  if (!d.inner || d.extent.is_static() || total_cost() > kWorthTwice) return false;
  const auto lanes_of = [&](const Stage& s) { return schedule_.per_stage[static_cast<size_t>(&s - nest_.stages.data())]; };
  return std::all_of(nest_.stages.begin(), nest_.stages.end(), [&](const Stage& s) {
    return std::find(s.dims.begin(), s.dims.end(), nest_.vector_dim) == s.dims.end() || lanes_of(s) >= schedule_.native;
  });
}

/// Rows that one register holds take one masked step without a loop.
void NestEmitter::rows_by_length() {
  Value* length = size(nest_.dims[static_cast<size_t>(nest_.vector_dim)].extent);
  const auto version = [&](bool single) {
    push_level(-1, nullptr, false);  // what is hoisted stays on this side
    if (single) {
      lanes_ = schedule_.native;
      set_vector_mask(b_.getInt64(0), length);
      row_mask_ = std::exchange(mask_, nullptr);
      row_remaining_ = std::exchange(remaining_, nullptr);
    }
    outer_loops(0);
    row_mask_ = row_remaining_ = nullptr;
    pop_level();
  };
  branch(
      b_.CreateICmpSLE(length, b_.getInt64(schedule_.native)), [&] { version(true); }, [&] { version(false); });
}

void NestEmitter::outer_loops(size_t position) {
  size_t d = position;
  while (d < nest_.dims.size() && nest_.dims[d].inner) ++d;
  if (d == nest_.dims.size()) return stages();
  bool outermost = true;
  for (size_t k = 0; k < d; ++k) outermost = outermost && nest_.dims[k].inner;
  Value* begin = outermost ? static_cast<Value*>(function_->getArg(kBegin)) : b_.getInt64(0);
  Value* end = outermost ? function_->getArg(kEnd) : size(nest_.dims[d].extent);
  const int dim = static_cast<int>(d);
  if (dim == schedule_.tile_dim) return tile_loop(begin, end, [&] { outer_loops(d + 1); });
  if (dim == nest_.vector_dim && schedule_.column_block > 0) return column_blocks(begin, end);
  loop(dim, begin, end, [&] {
    if (dim == nest_.vector_dim && schedule_.tile_dim >= 0) return tile_rows();
    outer_loops(d + 1);
  });
}

void NestEmitter::stages() {
  stage_level_ = top();
  for (const Stage& s : nest_.stages) stage(s);
}

void NestEmitter::loop(int dim, Value* begin, Value* end, Body body) {
  const LoopDim& d = nest_.dims[static_cast<size_t>(dim)];
  if (dim != nest_.vector_dim || lanes_ == 1) {
    const bool whole = llvm::isa<llvm::ConstantInt>(begin) && d.extent.is_static();
    if (d.unrolled && whole) return unrolled_loop(dim, d.extent.value, body);
    return counted_loop(dim, begin, end, 1, body);
  }
  if (row_mask_ != nullptr) {
    push_level(dim, b_.getInt64(0), true);
    mask_ = row_mask_;
    remaining_ = row_remaining_;
    body();
    mask_ = remaining_ = nullptr;
    return pop_level();
  }
  const auto *first = llvm::dyn_cast<llvm::ConstantInt>(begin), *last = llvm::dyn_cast<llvm::ConstantInt>(end);
  const bool exact =
      (first != nullptr && last != nullptr && (last->getSExtValue() - first->getSExtValue()) % lanes_ == 0) ||
      (begin == function_->getArg(kBegin) && d.extent.is_static() && d.extent.value % lanes_ == 0 && kCutMultiple % lanes_ == 0);
  auto masked = [&] {
    set_vector_mask(levels_.back().index, end);
    body();
    mask_ = remaining_ = nullptr;
  };
  if (exact) return counted_loop(dim, begin, end, lanes_, body);
  // Rows of a length known when running alone are often whole vectors: masks would be most of what they cost more than known ones. The
  // same goes for little work; much of it is not worth compiling twice.
  const bool unknown_row = d.inner && !d.extent.is_static();
  if (target_.masks && lanes_ <= schedule_.native && !unknown_row && total_cost() > kCheap)
    return counted_loop(dim, begin, end, lanes_, masked);
  // Without masked memory instructions, or with many lanes, whose masks would cost as much as the work: whole vectors, then the rest once.
  Value* whole = b_.CreateAnd(b_.CreateSub(end, begin), b_.getInt64(~static_cast<uint64_t>(lanes_ - 1)));
  Value* middle = b_.CreateAdd(begin, whole);
  counted_loop(dim, begin, middle, lanes_, body);
  counted_loop(dim, middle, end, lanes_, masked);
}

int NestEmitter::total_cost() const {
  int cost = 0;
  for (const Stage& s : nest_.stages) cost += stage_cost(nest_, s);
  return cost;
}

void NestEmitter::set_vector_mask(Value* index, Value* end) {
  Value* rest = b_.CreateSub(end, index);
  rest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rest, b_.getInt64(lanes_));
  remaining_ = b_.CreateTrunc(rest, lane_type_);
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes_; ++i) numbers.push_back(llvm::ConstantInt::get(lane_type_, i));
  mask_ = b_.CreateICmpUGT(b_.CreateVectorSplat(lanes_, remaining_), llvm::ConstantVector::get(numbers));
}

void NestEmitter::counted_loop(int dim, Value* begin, Value* end, int64_t step, Body body) {
  Value* any = b_.CreateICmpSLT(begin, end);
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(any);
  if (known != nullptr && known->isZero()) return;
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* inside = BasicBlock::Create(context_, "loop", function_);
  BasicBlock* after = BasicBlock::Create(context_, "after", function_);
  if (known != nullptr)
    b_.CreateBr(inside);
  else
    b_.CreateCondBr(any, inside, after);
  // The levels that share this straight line of code: hoisted code goes before the loop while we are inside it.
  size_t first = levels_.size() - 1;
  while (levels_[first].unrolled) --first;
  for (size_t i = first; i < levels_.size(); ++i) levels_[i].block = before;
  const size_t count = levels_.size();

  b_.SetInsertPoint(inside);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
  index->addIncoming(begin, before);
  push_level(dim, index, false);
  body();
  pop_level();
  Value* next = b_.CreateAdd(index, b_.getInt64(static_cast<uint64_t>(step)));
  index->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), inside, after);
  b_.SetInsertPoint(after);
  for (size_t i = first; i < count; ++i) levels_[i].block = after;
}

void NestEmitter::branch(Value* condition, Body then, Body otherwise) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* join = BasicBlock::Create(context_, "join", function_);
  BasicBlock* sides[] = {BasicBlock::Create(context_, "then", function_), BasicBlock::Create(context_, "else", function_)};
  b_.CreateCondBr(condition, sides[0], sides[1]);
  b_.SetInsertPoint(sides[0]);
  then();
  b_.CreateBr(join);
  b_.SetInsertPoint(sides[1]);
  otherwise();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  for (Level& level : levels_)
    if (level.block == before) level.block = join;
}

void NestEmitter::unrolled_loop(int dim, int64_t extent, Body body) {
  for (int64_t i = 0; i < extent; ++i) {
    push_level(dim, b_.getInt64(static_cast<uint64_t>(i)), true);
    body();
    pop_level();
  }
}

void NestEmitter::push_level(int dim, Value* index, bool unrolled) {
  if (dim >= 0) dim_level_[static_cast<size_t>(dim)] = static_cast<int>(levels_.size());
  levels_.push_back({dim, index, b_.GetInsertBlock(), unrolled});
}

void NestEmitter::pop_level() {
  const int gone = top();
  if (levels_.back().dim >= 0) dim_level_[static_cast<size_t>(levels_.back().dim)] = -1;
  levels_.pop_back();
  for (Slot& slot : slots_)
    if (slot.level >= gone) slot = {};
  for (Slot& slot : reduced_)
    if (slot.level >= gone) slot = {};
  std::erase_if(partial_, [&](const auto& entry) { return entry.second.second >= gone; });
}

}  // namespace tailor::jit
