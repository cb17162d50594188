#include "jit/llvm/emit_at.h"

namespace tailor::jit {

using llvm::Value;

namespace {

bool is_zero(const Size& s) { return s.is_static() && s.value == 0; }
bool is_one(const Size& s) { return s.is_static() && s.value == 1; }

}  // namespace

/// The address of the first lane.
Value* NestEmitter::address(const Access& access) {
  const auto buffer = static_cast<size_t>(access.buffer);
  const Buffer& info = nest_.buffers[buffer];
  const bool per_lane =
      info.kind == BufferKind::Scratch && nest_.vector_dim >= 0 && !nest_.dims[static_cast<size_t>(nest_.vector_dim)].inner;
  llvm::Type* element = memory_llvm_type(context_, info.dtype);
  if (per_lane) element = llvm::ArrayType::get(element, lanes_);
  Value* pointer = buffers_[buffer];
  const IndexMap& map = access.index;
  std::vector<int64_t> key = {access.buffer, map.offset.value, map.offset.param};
  if (!is_zero(map.offset)) {
    auto& known = partial_[key].first;
    if (known == nullptr) {
      Value* offset = size(map.offset);
      At entry(*this, 0);
      known = b_.CreateGEP(element, pointer, offset);
    }
    pointer = known;
  }
  for (int level = 1; level <= top(); ++level) {
    const auto d = static_cast<size_t>(levels_[static_cast<size_t>(level)].dim);
    if (d >= map.strides.size() || is_zero(map.strides[d])) continue;
    key.insert(key.end(), {static_cast<int64_t>(d), map.strides[d].value, map.strides[d].param});
    auto& [known, at_level] = partial_[key];
    if (known == nullptr) {
      Value* stride = size(map.strides[d]);
      At at(*this, level);
      known = b_.CreateGEP(element, pointer, b_.CreateMul(levels_[static_cast<size_t>(level)].index, stride));
      at_level = level;
    }
    pointer = known;
  }
  return pointer;
}

/// Lanes (or the one lane) whose coordinates lie within all bounds; null when there are none. `possible`: false only where no lane does.
/// `whole`: true only where all do; null where that is not known without looking at each.
Value* NestEmitter::bounds_mask(const Access& access, unsigned lanes, Value** possible, Value** whole) {
  Value *all = nullptr, *some = nullptr, *every = b_.getTrue();
  auto narrow = [&](Value* condition) { some = some == nullptr ? condition : b_.CreateAnd(some, condition); };
  auto narrow_every = [&](Value* condition) {
    every = every == nullptr || condition == nullptr ? nullptr : b_.CreateAnd(every, condition);
  };
  for (const Bound& bound : access.bounds) {
    Value* first = affine(bound.coordinate);
    Value *low = size(bound.low), *high = size(bound.high), *inside = nullptr;
    const Size stride = vector_stride(bound.coordinate);
    if (lanes == 1 || is_zero(stride)) {
      inside = b_.CreateAnd(b_.CreateICmpSGE(first, low), b_.CreateICmpSLT(first, high));
      narrow(inside);
      narrow_every(inside);
      if (lanes > 1) inside = b_.CreateVectorSplat(lanes, inside);
    } else if (is_one(stride)) {  // a run of lanes: compare lane numbers, which are narrow
      Value* last = b_.CreateAdd(first, b_.getInt64(lanes));
      narrow(b_.CreateAnd(b_.CreateICmpSGT(last, low), b_.CreateICmpSLT(first, high)));
      narrow_every(b_.CreateAnd(b_.CreateICmpSGE(first, low), b_.CreateICmpSLE(last, high)));
      auto run_end = [&](Value* edge) {
        Value* n = b_.CreateSub(edge, first);
        n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, b_.getInt64(0));
        n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, n, b_.getInt64(lanes));
        return b_.CreateVectorSplat(lanes, b_.CreateTrunc(n, lane_type_));
      };
      std::vector<llvm::Constant*> numbers;
      for (unsigned i = 0; i < lanes; ++i) numbers.push_back(llvm::ConstantInt::get(lane_type_, i));
      llvm::Constant* lane = llvm::ConstantVector::get(numbers);
      inside = b_.CreateAnd(b_.CreateICmpULE(run_end(low), lane), b_.CreateICmpUGT(run_end(high), lane));
    } else {
      narrow_every(nullptr);
      Value* coordinate = b_.CreateAdd(b_.CreateVectorSplat(lanes, first), lane_offsets(stride, false));
      inside = b_.CreateAnd(b_.CreateICmpSGE(coordinate, b_.CreateVectorSplat(lanes, low)),
                            b_.CreateICmpSLT(coordinate, b_.CreateVectorSplat(lanes, high)));
    }
    all = all == nullptr ? inside : b_.CreateAnd(all, inside);
  }
  if (possible != nullptr) *possible = some;
  if (whole != nullptr) *whole = every;
  return all;
}

/// lane * stride; 32 bits wide where that is enough, 64 otherwise. `clamp`: absent lanes repeat the last that exists.
Value* NestEmitter::lane_offsets(const Size& stride, bool clamp) {
  const bool narrow = clamp ? stride.is_static() && std::abs(stride.value) < (1 << 23) : false;
  llvm::IntegerType* type = narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes_; ++i) numbers.push_back(llvm::ConstantInt::get(type, i));
  Value* lane = llvm::ConstantVector::get(numbers);
  if (clamp && remaining_ != nullptr) {
    Value* last = b_.CreateSub(b_.CreateZExtOrTrunc(remaining_, type), llvm::ConstantInt::get(type, 1));
    lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lane, b_.CreateVectorSplat(lanes_, last));
  }
  return b_.CreateMul(lane, b_.CreateVectorSplat(lanes_, b_.CreateTrunc(size(stride), type)));
}

Value* NestEmitter::lane_pointers(const Access& access, llvm::Type* element, Value* pointer, bool clamp) {
  const Size stride = vector_stride(access.index);
  if (!clamp && stride.is_static() && std::abs(stride.value) < (1 << 23)) {
    std::vector<llvm::Constant*> offsets;
    for (unsigned i = 0; i < lanes_; ++i) offsets.push_back(llvm::ConstantInt::getSigned(b_.getInt32Ty(), stride.value * i));
    return b_.CreateGEP(element, pointer, llvm::ConstantVector::get(offsets));
  }
  return b_.CreateGEP(element, pointer, lane_offsets(stride, clamp));
}

/// Every second to fourth element: whole vectors and permutations are several times faster than a gather.
bool NestEmitter::is_interleaved(const Access& access) const {
  const Size stride = vector_stride(access.index);
  if (!target_.masks || lanes_ > schedule_.native || lanes_ < 4 || !stride.is_static() || stride.value < 2 || stride.value > 4)
    return false;
  if (element_size(nest_.buffers[static_cast<size_t>(access.buffer)].dtype) < 4 || !access.index.offset.is_static()) return false;
  return std::all_of(access.index.strides.begin(), access.index.strides.end(), [](const Size& s) { return s.is_static() && s.value >= 0; });
}

Value* NestEmitter::load_interleaved(const Access& access, llvm::Type* element) {
  // Accesses to the fields of one record start at the record, so that they share the loads.
  const int64_t stride = vector_stride(access.index).value, field = access.index.offset.value % stride;
  Access record = access;
  record.index.offset = access.index.offset.value - field;
  Value* pointer = address(record);
  llvm::Type* type = with_lanes(element, lanes_);
  const llvm::Align align(element->getScalarSizeInBits() / 8);
  Value* limit = nullptr;  // elements up to the last that exists
  if (remaining_ != nullptr) {
    limit = b_.CreateMul(remaining_, llvm::ConstantInt::get(lane_type_, static_cast<uint64_t>(stride)));
    limit = b_.CreateVectorSplat(lanes_, b_.CreateSub(limit, llvm::ConstantInt::get(lane_type_, static_cast<uint64_t>(stride - 1))));
  }
  Value* picked = llvm::PoisonValue::get(type);
  for (int64_t part = 0; part < stride; ++part) {
    std::vector<llvm::Constant*> numbers;
    std::vector<int> picks;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      numbers.push_back(llvm::ConstantInt::getSigned(lane_type_, part * lanes_ + lane - field));
      const int64_t wanted = lane * stride + field - part * lanes_;
      const bool here = wanted >= 0 && wanted < lanes_;
      picks.push_back(here ? static_cast<int>(lanes_ + wanted) : static_cast<int>(lane));
    }
    Value* last = limit;
    if (last == nullptr) last = llvm::ConstantInt::getSigned(with_lanes(lane_type_, lanes_), (lanes_ - 1) * stride + 1);
    Value* mask = b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), last);
    Value* vector = b_.CreateMaskedLoad(type, b_.CreateConstGEP1_64(element, pointer, static_cast<uint64_t>(part * lanes_)), align, mask,
                                        llvm::Constant::getNullValue(type));
    picked = b_.CreateShuffleVector(picked, vector, picks);
  }
  return picked;
}

/// One prefetch for each cache line that the lanes cover, at the same place of the next outer point.
void NestEmitter::prefetch_next(const Access& access, Value* pointer) {
  constexpr int64_t kLine = 64, kNearRowBytes = 16 * 1024;  // two such rows fit into a first-level cache
  const ScalarType type = nest_.buffers[static_cast<size_t>(access.buffer)].dtype;
  int outer = -1;
  for (size_t d = 0; d < nest_.dims.size(); ++d)
    if (!nest_.dims[d].inner) outer = static_cast<int>(d);
  Value* next = b_.CreateGEP(memory_llvm_type(context_, type), pointer, size(access.index.strides[static_cast<size_t>(outer)]));
  const int64_t bytes = lanes_ * element_size(type);
  const Size& row = nest_.dims[static_cast<size_t>(nest_.vector_dim)].extent;
  const bool near = row.is_static() && row.value * element_size(type) <= kNearRowBytes;
  for (int64_t at = 0; at < bytes; at += kLine) {
    Value* line = b_.CreateConstGEP1_64(b_.getInt8Ty(), next, static_cast<uint64_t>(at));
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()}, {line, b_.getInt32(0), b_.getInt32(near ? 3 : 2), b_.getInt32(1)});
  }
}

Datum NestEmitter::emit_load(const Expr& e, unsigned lanes) {
  const Access& access = e.access;
  const Buffer& buffer = nest_.buffers[static_cast<size_t>(access.buffer)];
  if (const auto tile = tiles_.find(static_cast<int>(&e - nest_.exprs.data())); tile != tiles_.end()) {
    Datum datum = convert_.from_memory(load_from_tile(tile->first), buffer.dtype, lanes);
    return convert_.cast(datum, buffer.dtype, e.type);
  }
  llvm::Type* element = memory_llvm_type(context_, buffer.dtype);
  const llvm::Align align(static_cast<uint64_t>(element_size(buffer.dtype)));
  Value *pointer = address(access), *possible = nullptr, *whole = nullptr;
  Value* inside = bounds_mask(access, lanes, &possible, &whole);
  llvm::Constant* otherwise =
      inside != nullptr ? convert_.memory_literal(e.otherwise, buffer.dtype) : llvm::Constant::getNullValue(element);
  Value* raw = nullptr;
  if (lanes == 1) {
    if (inside != nullptr) pointer = b_.CreateSelect(inside, pointer, stack_slot(b_.getInt64Ty()));
    raw = b_.CreateAlignedLoad(element, pointer, align);
    if (inside != nullptr) raw = b_.CreateSelect(inside, raw, otherwise);
  } else {
    llvm::Type* type = with_lanes(element, lanes);
    Value* mask = mask_;
    if (inside != nullptr) mask = mask == nullptr ? inside : b_.CreateAnd(mask, inside);
    Value* passthru = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), otherwise);
    const bool unit = buffer.kind == BufferKind::Scratch
                          ? !is_zero(vector_stride(access.index)) || !nest_.dims[static_cast<size_t>(nest_.vector_dim)].inner
                          : is_one(vector_stride(access.index));
    // Processors take hundreds of cycles to load nothing from pages that do not exist.
    if (possible != nullptr && buffer.kind != BufferKind::Scratch)
      pointer = b_.CreateSelect(possible, pointer, buffers_[static_cast<size_t>(access.buffer)]);
    if (unit) {
      if (std::find(schedule_.prefetched.begin(), schedule_.prefetched.end(), static_cast<int>(&e - nest_.exprs.data())) !=
          schedule_.prefetched.end())
        prefetch_next(access, pointer);
      const bool lane_by_lane = !target_.masks && (target_.vector_bytes < 32 || element_size(buffer.dtype) < 4);
      if (mask == nullptr)
        raw = b_.CreateAlignedLoad(type, pointer, align);
      else if (lane_by_lane && whole != nullptr && mask_ == nullptr && b_.GetInsertBlock()->getTerminator() == nullptr)
        raw = load_bounded(access, type, pointer, align, passthru, whole, possible);
      else
        raw = b_.CreateMaskedLoad(type, pointer, align, mask, passthru);
    } else if (buffer.kind != BufferKind::Scratch && vector_stride(access.index) == Size(-1)) {
      pointer = b_.CreateGEP(element, pointer, b_.getInt64(-static_cast<int64_t>(lanes - 1)));
      raw = mask == nullptr ? static_cast<Value*>(b_.CreateAlignedLoad(type, pointer, align))
                            : b_.CreateMaskedLoad(type, pointer, align, b_.CreateVectorReverse(mask), passthru);
      raw = b_.CreateVectorReverse(raw);
    } else if (inside == nullptr && is_interleaved(access)) {
      raw = load_interleaved(access, element);
    } else {
      // Without bounds every lane can be given a legal address, which saves the branches of a masked gather of narrow elements.
      const bool hardware = target_.masks && element_size(buffer.dtype) >= 4;
      const bool clamp = inside == nullptr && mask != nullptr && !hardware;
      Value* pointers = lane_pointers(access, element, pointer, clamp);
      Value* gather_mask = clamp || mask == nullptr ? llvm::Constant::getAllOnesValue(with_lanes(b_.getInt1Ty(), lanes)) : mask;
      raw = b_.CreateMaskedGather(type, pointers, align, gather_mask, passthru);
    }
  }
  ScalarType stored = buffer.dtype;
  Datum datum = convert_.from_memory(raw, stored, lanes);
  return convert_.cast(datum, stored, e.type);
}

/// Where there are no masked loads, which run lane by lane: most vectors lie wholly on one side of their bounds.
Value* NestEmitter::load_bounded(const Access& access, llvm::Type* type, Value* pointer, llvm::Align align, Value* otherwise, Value* whole,
                                 Value* possible) {
  llvm::AllocaInst* result = stack_slot(type);
  const auto found = [&](Value* v) { b_.CreateStore(v, result); };
  const auto lanes = [&] { found(b_.CreateMaskedLoad(type, pointer, align, bounds_mask(access, lanes_), otherwise)); };
  branch(
      whole, [&] { found(b_.CreateAlignedLoad(type, pointer, align)); }, [&] { branch(possible, lanes, [&] { found(otherwise); }); });
  return b_.CreateLoad(type, result);
}

/// Contiguous lanes. Non-temporal stores exist for whole aligned vectors only, which is found out as the code runs.
void NestEmitter::store_vector(Value* raw, Value* pointer, llvm::Align align, Value* mask, bool bounded) {
  auto plain = [&] {
    if (mask == nullptr)
      b_.CreateAlignedStore(raw, pointer, align);
    else
      b_.CreateMaskedStore(raw, pointer, align, mask);
  };
  const auto bytes = static_cast<uint64_t>(raw->getType()->getPrimitiveSizeInBits().getFixedValue() / 8);
  const auto width = std::min<uint64_t>(bytes, static_cast<uint64_t>(target_.vector_bytes));
  if (!nest_.nontemporal || bounded || bytes < 16) return plain();
  Value* low = b_.CreateAnd(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), b_.getInt64(width - 1));
  Value* whole = b_.CreateICmpEQ(low, b_.getInt64(0));
  if (remaining_ != nullptr) whole = b_.CreateAnd(whole, b_.CreateICmpEQ(remaining_, llvm::ConstantInt::get(lane_type_, lanes_)));
  branch(
      whole,
      [&] {
        auto* store = b_.CreateAlignedStore(raw, pointer, llvm::Align(width));
        store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
      },
      plain);
}

void NestEmitter::emit_store(const Store& store) {
  const Access& access = store.access;
  const Buffer& buffer = nest_.buffers[static_cast<size_t>(access.buffer)];
  ensure(store.value);
  const unsigned have = slots_[static_cast<size_t>(store.value)].datum.lanes;
  const unsigned lanes = varies(access) ? lanes_ : 1;
  internal_check(have <= lanes, "nest ", nest_.name, ": a value that varies along the vector dim is stored to one place");
  const ScalarType type = nest_.exprs[static_cast<size_t>(store.value)].type;
  Datum datum = operand(store.value, lanes, type);
  if (type != buffer.dtype) datum = convert_.cast(datum, type, buffer.dtype);
  Value* raw = convert_.to_memory(datum, buffer.dtype);
  const llvm::Align align(static_cast<uint64_t>(element_size(buffer.dtype)));
  Value* pointer = address(access);
  Value* inside = bounds_mask(access, lanes);
  if (lanes == 1) {
    if (inside != nullptr) pointer = b_.CreateSelect(inside, pointer, stack_slot(b_.getInt64Ty()));
    b_.CreateAlignedStore(raw, pointer, align);
    return;
  }
  Value* mask = mask_;
  if (inside != nullptr) mask = mask == nullptr ? inside : b_.CreateAnd(mask, inside);
  const bool unit = buffer.kind == BufferKind::Scratch || is_one(vector_stride(access.index));
  if (unit) {
    if (buffer.kind != BufferKind::Output)
      return mask == nullptr ? void(b_.CreateAlignedStore(raw, pointer, align)) : void(b_.CreateMaskedStore(raw, pointer, align, mask));
    return store_vector(raw, pointer, align, mask, inside != nullptr);
  }
  llvm::Type* element = memory_llvm_type(context_, buffer.dtype);
  if (mask == nullptr) mask = llvm::Constant::getAllOnesValue(with_lanes(b_.getInt1Ty(), lanes));
  b_.CreateMaskedScatter(raw, lane_pointers(access, element, pointer, false), align, mask);
}

}  // namespace tailor::jit
