// Following: ops are compared with the steps that are known to come next.

#include <algorithm>

#include "frontend/follow/invocation.h"
#include "runtime/ambient.h"

namespace tailor {

using follow::Instance;
using follow::RecordedOperand;
using follow::Step;
using follow::StepKind;
using Kind = RecordedOperand::Kind;

bool follow::Follower::same_attrs(const Instance& instance, const ir::AttrRef* attrs, size_t count) noexcept {
  for (size_t i = 0; i < count; ++i)
    if (!(instance.attrs[i].ref() == attrs[i])) return false;
  return true;
}

TensorImpl* follow::Follower::take_fresh(Instance& instance) {
  fresh_slot(instance, 0);
  return take(instance);
}

namespace {

/// What is no tensor has none, either.
bool is_still(const follow::Value& known, const Operand& got) { return got.tensor == known.tensor && got.tensor->id == known.id; }

}  // namespace

Instance* Invocation::match(const OpCall& call, Match* how) {
  if (Instance* hot = cursor_->hot.load(std::memory_order_acquire)) {
    if ((*how = matches(*hot, call)) != Match::No) return hot;
    for (Instance* child = cursor_->first_child.load(std::memory_order_acquire); child;
         child = child->next_sibling.load(std::memory_order_acquire)) {
      if (child == hot) continue;
      if ((*how = matches(*child, call)) != Match::No) {
        cursor_->hot.store(child, std::memory_order_release);
        return child;
      }
    }
  }
  Instance* const fresh = instantiate(call);
  if (fresh == nullptr || (*how = matches(*fresh, call)) != Match::No) return fresh;
  leave_forks();
  return nullptr;
}

// First touch: the description is the guard, and the value is what it is now.
bool Invocation::bind_external(TensorImpl& tensor, const Instance& instance, int index, std::source_location where) {
  if (is_own_slot(tensor)) return false;
  if (!tensor.storage || tensor.storage->pending.load(std::memory_order_acquire) != nullptr) [[unlikely]] {
    if (tensor.is_lazy() || tensor.storage->pending.load(std::memory_order_acquire) != this) await_pending(tensor, false, where);
  }
  follow::Value& known = values_.external(index);
  const bool again = known.id == tensor.id;
  if (!again || known.like != instance.serial) {
    if (!(tensor.spec == instance.externals[static_cast<size_t>(index - instance.step->first_external)])) return false;
    known.id = tensor.id;
    known.like = instance.serial;
  }
  known.tensor = &tensor;
  hold(tensor, again);
  return true;
}

// Whoever hands it to an op has a handle, but maybe not until this call is over. The tensor of the call before is likely to be that of
// other threads too, and is not counted: they would wait for its count.
void Invocation::hold(TensorImpl& external, bool again) {
  if (!again) {
    held_.emplace_back(&external);
    return;
  }
  borrows_ = true;
  if (!borrowing_) borrowing_.emplace();
  detail::borrow(external);
}

// Compares without leaving a trace but for bindings and scalars past this step's, which nobody reads before advance() counts them.
Invocation::Match Invocation::matches(const Instance& instance, const OpCall& call) {
  const Step& step = *instance.step;
  if (step.op != &call.op || step.inplace != call.inplace || ((step.ambient ^ ambient_word()) & step.ambient_mask) != 0) return Match::No;
  if (step.operand_count != call.operands.size() || step.attr_count != call.attrs.size()) return Match::No;
  if (step.number >= known_steps_) [[unlikely]]
    make_room_for_known_steps();
  int bound = numbered_.externals;
  Match how = Match::Yes;
  const RecordedOperand* recorded = step.operands.data();
  const Operand* const end = call.operands.data() + call.operands.size();
  for (const Operand* got = call.operands.data(); got != end; ++got, ++recorded) {
    const int index = recorded->index;
    switch (recorded->kind) {
      case Kind::Slot:
        if (!is_still(values_.slot(index), *got)) return Match::No;
        break;
      case Kind::External:
        if (index < bound) [[likely]] {
          if (!is_still(values_.external(index), *got)) return Match::No;
          break;
        }
        if (!got->is_tensor() || !bind_external(*got->tensor, instance, index, call.where)) return Match::No;
        bound = index + 1;
        break;
      case Kind::Scalar:
        if (!got->is_scalar() || got->scalar.kind() != recorded->scalar.kind()) return Match::No;
        scalars_[static_cast<size_t>(index)] = got->scalar.bits();
        if (got->scalar.bits() != recorded->scalar.bits()) [[unlikely]]
          how = Match::OtherScalars;
        break;
      case Kind::None:
        if (!got->is_none()) return Match::No;
        break;
    }
  }
  // A leaf may not be written, and a view of it says so; whether it is one is not part of the description.
  if (step.reads_leaf && leaf_flags(*call.operands[0].tensor) != step.leaf_flags) return Match::No;
  for (size_t i = 0; i < step.attr_count; ++i) {
    if (!(instance.attrs[i].ref() == call.attrs[i])) return looks_elsewhere(instance, call) ? how : Match::No;
  }
  return how;
}

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

// The value that was kept for this slot does not serve any more.
void Invocation::fresh_slot(const Instance& instance, int output) {
  const int number = instance.step->first_slot + output;
  let_go(number);
  TensorImpl* const fresh = &impl_of(*make_tensor(instance.outputs[static_cast<size_t>(output)], nullptr, 0).leave());
  fresh->invocation.store(this, std::memory_order_relaxed);
  values_.slot(number) = {fresh, fresh->id, instance.serial};
}

void Invocation::let_go(int slot) noexcept {
  follow::Value& value = values_.slot(slot);
  value.like = 0;
  if (TensorImpl* const tensor = std::exchange(value.tensor, nullptr)) give_up_slot(*tensor);
}

void Invocation::make_lazy(const Instance& instance) {
  const Step& step = *instance.step;
  for (int output = 0; output < step.outputs; ++output) {
    const int number = step.first_slot + output;
    const follow::Value& value = values_.slot(number);
    if (value.like != instance.serial || value.tensor->id != value.id) [[unlikely]]
      fresh_slot(instance, output);
    TensorImpl& lazy = *value.tensor;
    lazy.slot = number;
    lazy.flags.store(TensorHead::kLazy | TensorHead::kSlot | step.output_flags[static_cast<size_t>(output)], std::memory_order_release);
    ++values_held;
  }
}

void Invocation::go_on_to(Instance& instance) {
  if (path_.full()) [[unlikely]] {
    std::lock_guard lock(mutex_);
    path_.make_room();
  }
  path_.push_back(&instance);
  cursor_ = &instance;
  aim();
}

void Invocation::advance(Instance& instance, const OpCall& call, Match how) {
  Step& step = *instance.step;
  if (how == Match::OtherScalars) [[unlikely]]
    take_scalars(step, call);
  if (step.is_view) take_offset(instance, call);
  if (step.spreads_grad) {
    TensorImpl& written = *call.operands[0].tensor;
    written.spec.requires_grad = true;
    written.flags.fetch_or(TensorHead::kNonLeaf, std::memory_order_relaxed);
    written.description_changed();
    redescribed(step);
  }
  if (step.inplace) {
    if (Storage* const written = written_storage(step)) written->pending.store(this, std::memory_order_relaxed);
  }
  make_lazy(instance);
  numbered_ = {static_cast<int>(step.slots_after), static_cast<int>(step.externals_after)};
  go_on_to(instance);
}

// The step is taken and nobody has asked for its values.
void Invocation::step_to(Instance& instance, const OpCall& call, Match how) {
  advance(instance, call, how);
  for (int j = 0; j < instance.step->outputs; ++j) {
    slot(instance.step->first_slot + j).slot = -1;
    --values_held;
  }
}

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
  follow::Value& known = self.kind == Kind::Slot ? values_.slot(self.index) : values_.external(self.index);
  known.id = known.tensor->id;
  known.like = 0;  // a slot is not to be used again for another call
}

Tensor Invocation::op(const OpCall& call) {
  if (!call.inplace) {
    if (TensorImpl* const value = follow(&call.op, call.operands, call.attrs)) return Tensor(IntrusivePtr<TensorHead>::first(value));
  }
  if (!lent_.empty() && is_on_lent(call)) return std::move(run_at_once(call).at(0));
  if (size_reads_) [[unlikely]]
    return op_noting_uses(call);
  if (mode_ == Mode::Following) {
    if (only_part_ends_here()) end_part(call.where);
    Match how = Match::No;
    if (Instance* const instance = match(call, &how)) {
      advance(*instance, call, how);
      const Step& step = *instance->step;
      if (step.outputs == 0) return {};         // in place: the caller has it
      for (int j = 1; j < step.outputs; ++j) {  // nobody asks for it
        slot(step.first_slot + j).slot = -1;
        --values_held;
      }
      return Tensor(IntrusivePtr<TensorHead>::first(&slot(step.first_slot)));
    }
    if (must_begin_segment(call)) {
      end_segment(StepKind::Escape, call.where, kMayFailAfterWrite);
      return op(call);
    }
    if (part_ends_here()) {
      end_part(call.where);
      return op(call);
    }
    diverge(&call, StepKind::Op, call.where);
  }
  return std::move(record(call).at(0));
}

std::vector<Tensor> Invocation::op_many(const OpCall& call) {
  if (!lent_.empty() && is_on_lent(call)) [[unlikely]]
    return run_at_once(call);
  if (size_reads_) [[unlikely]]
    return op_many_noting_uses(call);
  if (mode_ == Mode::Following) {
    if (only_part_ends_here()) end_part(call.where);
    Match how = Match::No;
    if (Instance* instance = match(call, &how)) {
      advance(*instance, call, how);
      const Step& step = *instance->step;
      std::vector<Tensor> all;
      if (step.inplace) all.emplace_back(IntrusivePtr<TensorHead>(call.operands[0].tensor));
      all.reserve(static_cast<size_t>(step.outputs));
      for (int j = 0; j < step.outputs; ++j) all.emplace_back(IntrusivePtr<TensorHead>::first(&slot(step.first_slot + j)));
      return all;
    }
    if (must_begin_segment(call)) {
      end_segment(StepKind::Escape, call.where, kMayFailAfterWrite);
      return op_many(call);
    }
    if (part_ends_here()) {
      end_part(call.where);
      return op_many(call);
    }
    diverge(&call, StepKind::Op, call.where);
  }
  return record(call);
}

// What is written before an op that fails on its data stays written: such an op and a write that shows outside of the segment are not in
// one.
bool Invocation::must_begin_segment(const OpCall& call) const {
  if (!call.op.can_fail_on_data && !call.op.pointwise.can_fail) return false;
  for (size_t s = segment_begin_; s < path_.size(); ++s) {
    const Step& step = step_at(s);
    if (step.written_external >= 0 || (step.written_slot >= 0 && step.written_slot < segment_first_slot_)) return true;
  }
  return false;
}

}  // namespace tailor
