// Following: the hot path of every call of a compiled function.

#include "frontend/follow/invocation.h"

#include <algorithm>

#include "frontend/follow/pending.h"
#include "frontend/follow/run_variant.h"
#include "runtime/ambient.h"

namespace tailor {

using follow::Instance;
using follow::RecordedOperand;
using follow::Step;
using follow::StepKind;
using Kind = RecordedOperand::Kind;

Invocation::Invocation(follow::TraceTree& tree, follow::EntryHost& host) : tree_(tree), host_(host) { follow::register_invocation(this); }

Invocation::~Invocation() {
  follow::unregister_invocation(this);
  end();
}

void Invocation::begin(std::span<TensorImpl* const> arguments, std::span<const int64_t> sizes) {
  arguments_ = arguments;
  if (bindings_.empty() || !std::ranges::equal(sizes, sizes_)) {
    sizes_.assign(sizes.begin(), sizes.end());
    bindings_.assign(1, tree_.binding(sizes));
  } else if (bindings_.size() > 1) {
    bindings_.resize(1);
  }
  mode_ = Mode::Following;
  recorded_ = false;
  all_compiled_ = true;
  hit_return_ = nullptr;
  last_variant_ = nullptr;
  first_new_step_ = nullptr;
  cursor_ = binding().first();
  path_.clear();
  followed_.store(0, std::memory_order_relaxed);
  executed_ = segment_begin_ = 0;
  segment_first_slot_ = used_slots_ = bound_ = 0;
  live_slots_.clear();
  reads_.clear();
  size_reads_ = nullptr;
}

// ---- comparing -----------------------------------------------------------------------------------------------------

Instance* Invocation::match(const OpCall& call) {
  if (Instance* hot = cursor_->hot.load(std::memory_order_acquire)) {
    if (hot->step->kind == StepKind::Op && matches(*hot, call)) return hot;
    for (Instance* child = cursor_->first_child.load(std::memory_order_acquire); child;
         child = child->next_sibling.load(std::memory_order_acquire)) {
      if (child == hot || child->step->kind != StepKind::Op) continue;
      if (matches(*child, call)) {
        cursor_->hot.store(child, std::memory_order_release);
        return child;
      }
    }
  }
  return instantiate(call);
}

// First touch: the description is the guard, and the value is what it is now.
bool Invocation::bind_external(TensorImpl& tensor, const Instance& instance, size_t index, std::source_location where) {
  if (is_own_slot(tensor)) return false;
  if (!tensor.storage || tensor.storage->pending.load(std::memory_order_acquire) != nullptr) [[unlikely]] {
    if (tensor.is_lazy() || tensor.storage->pending.load(std::memory_order_acquire) != this) await_pending(tensor, false, where);
  }
  if (externals_.size() <= index) {
    std::lock_guard lock(mutex_);  // another thread may be reading the list
    externals_.resize(index + 1);
    checked_ids_.resize(index + 1, 0);
    checked_for_.resize(index + 1, nullptr);
    last_ids_.resize(index + 1, 0);
  }
  if (checked_ids_[index] != tensor.id || checked_for_[index] != &instance) {
    if (!(tensor.spec == instance.externals[index - static_cast<size_t>(instance.step->first_external)])) return false;
    checked_ids_[index] = tensor.id;
    checked_for_[index] = &instance;
  }
  // What was kept is not counted again: threads that share a weight would wait for its count.
  if (externals_[index].get() != &tensor) externals_[index] = IntrusivePtr<TensorHead>(&tensor);
  return true;
}

// Compares without leaving a trace but for bindings past `bound_`, which nobody reads before advance() counts them.
[[gnu::always_inline]] inline bool Invocation::compare(const Instance& instance, const OpCall& call) {
  const Step& step = *instance.step;
  if (step.op != &call.op || step.inplace != call.inplace || ((step.ambient ^ ambient_word()) & step.ambient_mask) != 0) return false;
  if (step.operand_count != call.operands.size() || step.attr_count != call.attrs.size()) return false;
  int bound = bound_;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const RecordedOperand& recorded = step.operands[i];
    const Operand& got = call.operands[i];
    switch (recorded.kind) {
      case Kind::None:
        if (!got.is_none()) return false;
        break;
      case Kind::Scalar:
        if (!got.is_scalar() || got.scalar.kind() != recorded.scalar.kind()) return false;
        break;
      case Kind::Slot: {
        const auto index = static_cast<size_t>(recorded.index);
        if (!got.is_tensor() || got.tensor != slots_[index].get() || got.tensor->id != slot_ids_[index]) return false;
        break;
      }
      case Kind::External: {
        if (!got.is_tensor()) return false;
        const auto index = static_cast<size_t>(recorded.index);
        if (recorded.index < bound) [[likely]] {
          if (got.tensor != externals_[index].get() || got.tensor->id != checked_ids_[index]) return false;
          break;
        }
        if (!bind_external(*got.tensor, instance, index, call.where)) return false;
        bound = recorded.index + 1;
        break;
      }
    }
  }
  // A leaf may not be written, and a view of it says so; whether it is one is not part of the description.
  if (step.reads_leaf && leaf_flags(*call.operands[0].tensor) != step.leaf_flags) return false;
  if (step.attr_count == 0) return true;
  for (size_t i = 0; i < call.attrs.size(); ++i) {
    if (!(instance.attrs[i].ref() == call.attrs[i])) return looks_elsewhere(instance, call);
  }
  return true;
}

bool Invocation::matches(const Instance& instance, const OpCall& call) { return compare(instance, call); }

// A view may look at another place: its offset becomes an argument. Any other attribute that differs makes another step.
bool Invocation::looks_elsewhere(const Instance& instance, const OpCall& call) const {
  if (!instance.view) return false;
  try {
    const ir::ViewResult view = call.op.view(tensor_of(instance.step->operands[0]).spec, call.attrs);
    return view.sizes == instance.view->sizes && view.strides == instance.view->strides;
  } catch (const Error&) {
    return false;  // recording will throw it where it belongs
  }
}

void Invocation::take_scalars(Step& step, const OpCall& call) {
  int scalar = 0;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const RecordedOperand& recorded = step.operands[i];
    if (recorded.kind != Kind::Scalar) continue;
    const int64_t bits = call.operands[i].scalar.bits();
    scalars_[static_cast<size_t>(recorded.index)] = bits;
    if (bits != recorded.scalar.bits()) [[unlikely]]
      lift(step, scalar, recorded.scalar, call.operands[i].scalar);
    ++scalar;
  }
}

void Invocation::fresh_slot(const Instance& instance, size_t output) {
  const auto index = static_cast<size_t>(instance.step->first_slot) + output;
  slots_[index] = make_tensor(instance.outputs[output], nullptr, 0);
  slot_maker_[index] = &instance;
  slot_ids_[index] = slot(static_cast<int>(index)).id;
}

[[gnu::always_inline]] inline void Invocation::make_lazy(const Instance& instance) {
  const Step& step = *instance.step;
  for (size_t j = 0; j < static_cast<size_t>(step.outputs); ++j) {
    const int number = step.first_slot + static_cast<int>(j);
    const auto index = static_cast<size_t>(number);
    IntrusivePtr<TensorHead>& head = slots_[index];
    if (!head || head->use_count() != 1 || slot_maker_[index] != &instance || slot(number).id != slot_ids_[index]) [[unlikely]]
      fresh_slot(instance, j);
    TensorImpl& lazy = slot(number);
    lazy.slot = number;
    lazy.invocation = this;
    lazy.flags.store(TensorHead::kLazy | step.output_flags[j], std::memory_order_release);
  }
  used_slots_ = step.slot_count();
}

void Invocation::make_room(const Step& step) {
  std::lock_guard lock(mutex_);  // another thread may be reading the lists
  scalars_.resize(std::max(scalars_.size(), static_cast<size_t>(step.scalar_count())));
  slots_.resize(std::max(slots_.size(), static_cast<size_t>(step.slot_count())));
  slot_maker_.resize(slots_.size(), nullptr);
  slot_ids_.resize(slots_.size(), 0);
}

[[gnu::always_inline]] inline void Invocation::advance(Instance& instance, const OpCall& call) {
  Step& step = *instance.step;
  if (scalars_.size() < static_cast<size_t>(step.scalar_count()) || slots_.size() < static_cast<size_t>(step.slot_count())) [[unlikely]]
    make_room(step);
  if (step.scalars > 0) take_scalars(step, call);
  if (step.is_view) take_offset(instance, call);
  bound_ = step.external_count();
  if (step.spreads_grad) {
    TensorImpl& written = *call.operands[0].tensor;
    written.spec.requires_grad = true;
    written.flags.fetch_or(TensorHead::kNonLeaf, std::memory_order_relaxed);
    written.description_changed();
    redescribed(step);
  }
  if (!step.inplace)
    make_lazy(instance);
  else if (step.written_external >= 0)
    external(step.written_external).storage->pending.store(this, std::memory_order_relaxed);
  if (path_.size() == path_.capacity()) {
    std::lock_guard lock(mutex_);
    path_.reserve(std::max<size_t>(64, 2 * path_.size()));
  }
  path_.push_back(&instance);
  cursor_ = &instance;
  followed_.store(path_.size(), std::memory_order_release);
}

void Invocation::step_to(Instance& instance, const OpCall& call) { advance(instance, call); }

void Invocation::take_offset(Instance& instance, const OpCall& call) {
  Step& step = *instance.step;
  int64_t offset = instance.view->offset;
  for (size_t i = 0; i < call.attrs.size(); ++i) {
    if (instance.attrs[i].ref() == call.attrs[i]) continue;
    offset = call.op.view(tensor_of(step.operands[0]).spec, call.attrs).offset;
    lift(step, Step::kViewOffsetBit, Scalar(instance.view->offset), Scalar(offset));
    break;
  }
  scalars_[static_cast<size_t>(step.scalar_count() - 1)] = offset;
}

// A number has turned out to vary: from now on it is an argument of what is compiled.
void Invocation::lift(Step& step, int bit, const Scalar& recorded, const Scalar& got) {
  if (step.lifted.load(std::memory_order_acquire) >> bit & 1) return;
  {
    // Who sees the bit sees the count as well, so that no older form is taken for one that knows; who builds sees both or neither.
    std::lock_guard lock(tree_.mutex());
    if (step.lifted.load(std::memory_order_relaxed) >> bit & 1) return;
    tree_.lifts.fetch_add(1, std::memory_order_relaxed);
    step.lifted.fetch_or(uint64_t{1} << bit, std::memory_order_release);
  }
  host_.on_difference(follow::number_that_varies(step, bit, recorded, got));
}

// What the step writes has got a new description on this call's own behalf: it goes on being the tensor it was.
void Invocation::redescribed(const Step& step) {
  const RecordedOperand& self = step.operands[0];
  const auto index = static_cast<size_t>(self.index);
  if (self.kind == Kind::Slot) {
    slot_ids_[index] = slot(self.index).id;
    slot_maker_[index] = nullptr;  // not to be used again for another call
  } else {
    checked_ids_[index] = external(self.index).id;
    checked_for_[index] = nullptr;
  }
}

[[gnu::always_inline]] inline Tensor Invocation::result(const Step& step, const OpCall& call) const {
  if (step.inplace) return Tensor(IntrusivePtr<TensorHead>(call.operands[0].tensor));
  return Tensor(slots_[static_cast<size_t>(step.first_slot)]);
}

Tensor Invocation::op(const OpCall& call) {
  if (!borrowed_.empty() && is_on_borrowed(call)) [[unlikely]]
    return std::move(run_at_once(call).at(0));
  if (size_reads_) [[unlikely]]
    return op_noting_uses(call);
  if (mode_ == Mode::Following) [[likely]] {
    Instance* instance = cursor_->hot.load(std::memory_order_acquire);
    if (!instance || instance->step->kind != StepKind::Op || !compare(*instance, call)) [[unlikely]]
      instance = match(call);
    if (instance) [[likely]] {
      advance(*instance, call);
      return result(*instance->step, call);
    }
    if (must_begin_segment(call)) {
      end_segment(StepKind::Escape, call.where);
      return op(call);
    }
    diverge(&call, StepKind::Op, call.where);
  }
  return std::move(record(call).at(0));
}

std::vector<Tensor> Invocation::op_many(const OpCall& call) {
  if (!borrowed_.empty() && is_on_borrowed(call)) [[unlikely]]
    return run_at_once(call);
  if (size_reads_) [[unlikely]]
    return op_many_noting_uses(call);
  if (mode_ == Mode::Following) {
    if (Instance* instance = match(call)) {
      advance(*instance, call);
      const Step& step = *instance->step;
      std::vector<Tensor> all;
      if (step.inplace) all.push_back(result(step, call));
      for (int j = 0; j < step.outputs; ++j) all.emplace_back(slots_[static_cast<size_t>(step.first_slot + j)]);
      return all;
    }
    if (must_begin_segment(call)) {
      end_segment(StepKind::Escape, call.where);
      return op_many(call);
    }
    diverge(&call, StepKind::Op, call.where);
  }
  return record(call);
}

// What is written before an op that fails on its data stays written: such an op and a write that shows outside are not in one segment.
bool Invocation::must_begin_segment(const OpCall& call) const {
  if (!call.op.can_fail_on_data && !call.op.pointwise.can_fail) return false;
  for (size_t s = segment_begin_; s < path_.size(); ++s) {
    if (step_at(s).written_external >= 0) return true;
  }
  return false;
}

// ---- ends of segments ----------------------------------------------------------------------------------------------

void Invocation::host_access(TensorImpl&, bool, std::source_location where) {
  if (mode_ == Mode::Eager || path_.size() == segment_begin_) return;  // nothing is pending
  check(!host_.fullgraph(), "fullgraph: ", host_.function_name(), " needs a tensor's data on the host, at ",
        ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str());
  end_segment(StepKind::Escape, where);
}

void Invocation::mode_change() {
  if (mode_ != Mode::Eager && path_.size() != segment_begin_) end_segment(StepKind::Escape, {});
}

void Invocation::finish() { end_segment(StepKind::Return, {}); }

Instance* Invocation::find_end(StepKind kind) {
  for (Instance* child = cursor_->first_child.load(std::memory_order_acquire); child;
       child = child->next_sibling.load(std::memory_order_acquire)) {
    if (child->step->kind == kind) return child;
  }
  for (Step* step = cursor_->step->first_child.load(std::memory_order_acquire); step;
       step = step->next_sibling.load(std::memory_order_acquire)) {
    if (step->kind != kind) continue;
    auto instance = std::make_unique<Instance>();
    instance->step = step;
    return tree_.add(binding(), cursor_, std::move(instance));
  }
  return nullptr;
}

void Invocation::end_segment(StepKind kind, std::source_location where) {
  Instance* end = mode_ == Mode::Eager ? nullptr : find_end(kind);
  if (mode_ == Mode::Following && !end) diverge(nullptr, kind, where);
  if (mode_ == Mode::Eager) {
    start_next_segment();
    return;
  }
  if (!end) {
    auto step = std::make_unique<Step>();
    step->kind = kind;
    step->where = where;
    step->first_slot = used_slots_;
    step->first_external = bound_;
    step->first_scalar = path_.empty() ? 0 : path_.back()->step->scalar_count();
    if (kind == StepKind::Escape) host_.on_escape(where, where.line() == 0);
    end = tree_.add(binding(), cursor_, std::move(step), std::make_unique<Instance>());
    if (!first_new_step_) first_new_step_ = end->step;
  }
  if (mode_ == Mode::Following) {
    if (path_.size() > segment_begin_ && !run_compiled(*end) && !(other_thread_has_compiled() && run_compiled(*end))) {
      all_compiled_ = false;
      run_what_was_followed();
      compile_variant(*end);
      note_variant(*end);
    }
  } else if (path_.size() > segment_begin_) {
    compile_variant(*end);
    note_variant(*end);
  }
  if (kind == StepKind::Return && !recorded_ && all_compiled_) hit_return_ = end;
  if (cursor_->hot.load(std::memory_order_relaxed) != end) cursor_->hot.store(end, std::memory_order_release);
  path_.push_back(end);
  followed_.store(path_.size(), std::memory_order_release);
  cursor_ = end;
  start_next_segment();
}

// Where nothing serves this call yet: waits for the thread that is compiling, if calls are to wait.
bool Invocation::other_thread_has_compiled() {
  if (last_variant_ || !host_.wait_for_compile()) return false;
  const std::lock_guard wait(tree_.compiling());
  return true;
}

// The newest form need not be of this call: nothing may have been compiled for it.
void Invocation::note_variant(const Instance& end) {
  if (last_variant_) return;
  const follow::Variant* newest = end.variants.head();
  if (newest && serves(*newest)) last_variant_ = newest;
}

void Invocation::start_next_segment() {
  executed_ = segment_begin_ = path_.size();
  segment_first_slot_ = used_slots_;
}

std::vector<int64_t> Invocation::scalars_of(const follow::Variant& variant) const {
  std::vector<int64_t> values;
  for (int number : variant.scalars) values.push_back(scalars_[static_cast<size_t>(number)]);
  return values;
}

follow::InputRef Invocation::describe(const TensorImpl& tensor) const {
  for (int i = 0; i < used_slots_; ++i) {
    if (slots_[static_cast<size_t>(i)].get() == &tensor) return {true, i};
  }
  for (int i = 0; i < bound_; ++i) {
    if (externals_[static_cast<size_t>(i)].get() == &tensor) return {false, i};
  }
  return {};
}

std::vector<int> Invocation::alive_slots() const {
  std::vector<int> alive;
  for (int i = segment_first_slot_; i < used_slots_; ++i) {
    if (slots_[static_cast<size_t>(i)]->use_count() > 1) alive.push_back(i);
  }
  return alive;
}

// Whether `variant` computes this call: everything user code still holds is an output, and the numbers baked in are those seen.
bool Invocation::serves(const follow::Variant& variant) const {
  const std::vector<bool>& kept = variant.is_output;
  for (int i = segment_first_slot_; i < used_slots_; ++i) {
    if (!kept[static_cast<size_t>(i - segment_first_slot_)] && slots_[static_cast<size_t>(i)]->use_count() > 1) return false;
  }
  if (variant.lifts_seen == tree_.lifts.load(std::memory_order_acquire)) return true;  // nothing was lifted since it was compiled
  for (size_t s = segment_begin_; s < path_.size(); ++s) {
    const Step& step = step_at(s);
    if (step.lifted.load(std::memory_order_relaxed) == 0) continue;
    const auto baked = [&](int number, int64_t recorded) {
      return variant.lifted[static_cast<size_t>(number - variant.first_scalar)] || scalars_[static_cast<size_t>(number)] == recorded;
    };
    for (const RecordedOperand& o : step.operands) {
      if (o.kind == Kind::Scalar && !baked(o.index, o.scalar.bits())) return false;
    }
    if (step.is_view && !baked(step.scalar_count() - 1, path_[s]->view->offset)) return false;
  }
  return true;
}

/// Finds the compiled form that computes this call.
bool Invocation::is_served(Instance& end) {
  last_variant_ = nullptr;
  for (const follow::Variant* v = end.variants.head(); v && !last_variant_; v = v->next) {
    if (serves(*v)) last_variant_ = v;
  }
  if (!last_variant_) last_variant_ = bind_symbolic(end);
  return last_variant_ != nullptr;
}

bool Invocation::run_compiled(Instance& end) {
  std::lock_guard lock(mutex_);
  if (executed_ > segment_begin_) return false;  // another thread has asked for a value: the rest runs op by op
  if (!is_served(end)) return false;
  const follow::Variant& variant = *last_variant_;
  inputs_.clear();
  outputs_.clear();
  run_scalars_.clear();
  for (const follow::InputRef& ref : variant.inputs) inputs_.push_back(ref.slot ? &slot(ref.index) : &external(ref.index));
  for (int number : variant.outputs) outputs_.push_back(&slot(number));
  for (int number : variant.scalars) run_scalars_.push_back(scalars_[static_cast<size_t>(number)]);
  switch (follow::run_variant(variant, inputs_, run_scalars_, outputs_, scratch_)) {
    case follow::RunResult::Done: break;
    case follow::RunResult::Aliased: host_.on_op_by_op("inputs share memory that the function writes"); return false;
    case follow::RunResult::DataError: return false;  // op by op gives the effects, the error and the line that eager has
  }
  executed_ = path_.size();
  return true;
}

// Lets go of what this call touched. Slots that user code holds become ordinary tensors; the others are kept for the next call.
void Invocation::end(bool keep_captured) noexcept {
  for (int i = 0; i < bound_; ++i) {
    const auto index = static_cast<size_t>(i);
    if (keep_captured && last_ids_[index] == checked_ids_[index]) continue;  // captured, and the same as in the call before
    const bool argument = std::find(arguments_.begin(), arguments_.end(), externals_[index].get()) != arguments_.end();
    last_ids_[index] = argument ? 0 : checked_ids_[index];
    externals_[index].reset();
  }
  for (int i = 0; i < used_slots_; ++i) {
    IntrusivePtr<TensorHead>& head = slots_[static_cast<size_t>(i)];
    if (!head) continue;
    if (head->use_count() == 1)
      slot(i).storage.reset();
    else
      head.reset();
  }
  bound_ = used_slots_ = 0;
  arguments_ = {};
  reads_.clear();
  borrowed_.clear();
}

}  // namespace tailor
