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
  for (size_t i = 0; i < slots_.size(); ++i) let_go(i);
}

void Invocation::begin(std::span<TensorHead* const> arguments, std::span<const int64_t> sizes) {
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
  path_.cut(0);
  executed_ = segment_begin_ = 0;
  segment_first_slot_ = used_slots_ = bound_ = 0;
  live_slots_.clear();
  reads_.clear();
  size_reads_ = nullptr;
  outputs_of_segments_.clear();
  values_held = 0;
  if (known_steps_ != tree_.steps()) make_room_for_known_steps();
  if (borrows_) borrowing_.emplace();
  if (tree_.is_in_parts()) [[unlikely]]
    begin_in_parts();
}

// Room for a whole call, so that no step need look.
void Invocation::make_room_for_known_steps() {
  follow::Room room;
  known_steps_ = tree_.steps(&room);
  make_room(room);
}

void Invocation::make_room(const follow::Room& room) {
  std::lock_guard lock(mutex_);  // another thread may be reading the lists
  scalars_.resize(std::max(scalars_.size(), room.scalars));
  slots_.resize(std::max(slots_.size(), room.slots));
  externals_.resize(std::max(externals_.size(), room.externals));
  while (path_.capacity() < known_steps_) path_.make_room();
}

// ---- comparing -----------------------------------------------------------------------------------------------------

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
  if (fresh) *how = matches(*fresh, call);
  return fresh && *how != Match::No ? fresh : nullptr;
}

// First touch: the description is the guard, and the value is what it is now.
bool Invocation::bind_external(TensorImpl& tensor, const Instance& instance, size_t index, std::source_location where) {
  if (is_own_slot(tensor)) return false;
  if (!tensor.storage || tensor.storage->pending.load(std::memory_order_acquire) != nullptr) [[unlikely]] {
    if (tensor.is_lazy() || tensor.storage->pending.load(std::memory_order_acquire) != this) await_pending(tensor, false, where);
  }
  Value& known = externals_[index];
  const bool again = known.id == tensor.id;
  if (!again || known.like != &instance) {
    if (!(tensor.spec == instance.externals[index - static_cast<size_t>(instance.step->first_external)])) return false;
    known.id = tensor.id;
    known.like = &instance;
  }
  known.tensor = &tensor;
  hold(tensor, again);
  return true;
}

// Whether nothing need be done to bind the tensor, which is that of the call before.
[[gnu::always_inline]] inline bool Invocation::is_bound_as_before(const TensorImpl& tensor, const Value& known,
                                                                  const Instance& instance) const {
  return known.like == &instance && borrowing_ && tensor.storage && tensor.storage->pending.load(std::memory_order_acquire) == nullptr &&
         (tensor.flags.load(std::memory_order_acquire) & (TensorHead::kBorrowed | TensorHead::kLazy)) == TensorHead::kBorrowed;
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

bool Invocation::is_held_elsewhere(const TensorImpl& external) const {
  const auto counted = std::count_if(held_.begin(), held_.end(), [&](const auto& h) { return h.get() == &external; });
  if (counted > 0) return external.use_count() > static_cast<uint32_t>(counted);
  return !(external.flags.load(std::memory_order_acquire) & TensorHead::kDropped);
}

// Compares without leaving a trace but for bindings and scalars past this step's, which nobody reads before advance() counts them.
Invocation::Match Invocation::matches(const Instance& instance, const OpCall& call) {
  const Step& step = *instance.step;
  if (step.op != &call.op || step.inplace != call.inplace || ((step.ambient ^ ambient_word()) & step.ambient_mask) != 0) return Match::No;
  if (step.operand_count != call.operands.size() || step.attr_count != call.attrs.size()) return Match::No;
  if (step.number >= known_steps_) [[unlikely]]
    make_room_for_known_steps();
  int bound = bound_;
  Match how = Match::Yes;
  const RecordedOperand* recorded = step.operands.data();
  const Operand* const end = call.operands.data() + call.operands.size();
  for (const Operand* got = call.operands.data(); got != end; ++got, ++recorded) {
    const auto index = static_cast<size_t>(recorded->index);
    switch (recorded->kind) {
      case Kind::Slot:  // what is no tensor has none, either
        if (got->tensor != slots_[index].tensor || got->tensor->id != slots_[index].id) return Match::No;
        break;
      case Kind::External:
        if (recorded->index < bound) [[likely]] {
          if (got->tensor != externals_[index].tensor || got->tensor->id != externals_[index].id) return Match::No;
          break;
        }
        if (!got->is_tensor() || !bind_external(*got->tensor, instance, index, call.where)) return Match::No;
        bound = recorded->index + 1;
        break;
      case Kind::Scalar:
        if (!got->is_scalar() || got->scalar.kind() != recorded->scalar.kind()) return Match::No;
        scalars_[index] = got->scalar.bits();
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
void Invocation::fresh_slot(const Instance& instance, size_t output) {
  const auto index = static_cast<size_t>(instance.step->first_slot) + output;
  let_go(index);
  TensorImpl* const fresh = &impl_of(*make_tensor(instance.outputs[output], nullptr, 0).leave());
  slots_[index] = {fresh, fresh->id, &instance};
}

void Invocation::let_go(size_t slot) noexcept {
  if (TensorImpl* const tensor = std::exchange(slots_[slot].tensor, nullptr)) give_up_slot(*tensor);
}

[[gnu::always_inline]] inline void Invocation::make_lazy(const Instance& instance) {
  const Step& step = *instance.step;
  size_t output = 0;
  do {
    const int number = step.first_slot + static_cast<int>(output);
    Value& value = slots_[static_cast<size_t>(number)];
    if (value.tensor == nullptr || value.like != &instance || value.tensor->id != value.id) [[unlikely]]
      fresh_slot(instance, output);
    TensorImpl& lazy = *value.tensor;
    lazy.slot = number;
    lazy.invocation.store(this, std::memory_order_relaxed);
    lazy.flags.store(TensorHead::kLazy | TensorHead::kSlot | step.output_flags[output], std::memory_order_release);
    ++values_held;
  } while (++output < static_cast<size_t>(step.outputs));
  used_slots_ = static_cast<int>(step.slots_after);
}

[[gnu::always_inline]] inline void Invocation::go_on_to(Instance& instance) {
  if (path_.full()) [[unlikely]] {
    std::lock_guard lock(mutex_);
    path_.make_room();
  }
  path_.push_back(&instance);
  cursor_ = &instance;
}

[[gnu::always_inline]] inline void Invocation::advance(Instance& instance, const OpCall& call, Match how) {
  Step& step = *instance.step;
  bound_ = static_cast<int>(step.externals_after);
  if (how == Match::OtherScalars) [[unlikely]]
    take_scalars(step, call);
  if (!step.makes_one_value) {
    if (step.is_view) take_offset(instance, call);
    if (step.spreads_grad) {
      TensorImpl& written = *call.operands[0].tensor;
      written.spec.requires_grad = true;
      written.flags.fetch_or(TensorHead::kNonLeaf, std::memory_order_relaxed);
      written.description_changed();
      redescribed(step);
    }
    if (step.written_external >= 0) external(step.written_external).storage->pending.store(this, std::memory_order_relaxed);
  }
  if (step.outputs > 0) make_lazy(instance);
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
  const auto index = static_cast<size_t>(self.index);
  Value& known = self.kind == Kind::Slot ? slots_[index] : externals_[index];
  known.id = known.tensor->id;
  known.like = nullptr;  // a slot is not to be used again for another call
}

// The usual step, without detours: it makes one value, from the values and the tensors that it is expected to. Null: it is not that.
[[gnu::always_inline]] inline TensorImpl* Invocation::follow(const OpCall& call) {
  Instance* const instance = cursor_->hot.load(std::memory_order_acquire);
  if (instance == nullptr) return nullptr;
  const Step& step = *instance->step;
  if (step.op != &call.op || step.number >= known_steps_ || !step.makes_one_value || mode_ != Mode::Following) return nullptr;
  if (((step.ambient ^ ambient_word()) & step.ambient_mask) != 0) return nullptr;
  if (step.operand_count != call.operands.size() || step.attr_count != call.attrs.size() || call.inplace) return nullptr;
  const Value* const slots = slots_.data();
  const Value* const externals = externals_.data();
  const auto bound = static_cast<size_t>(bound_);
  uint64_t difference = 0;
  const RecordedOperand* recorded = step.operands.data();
  const Operand* const end = call.operands.data() + step.operand_count;
  for (const Operand* got = call.operands.data(); got != end; ++got, ++recorded) {
    const auto index = static_cast<size_t>(recorded->index);
    if (recorded->kind == Kind::Slot) {  // what is no tensor has none, either
      if (got->tensor != slots[index].tensor || got->tensor->id != slots[index].id) return nullptr;
    } else if (recorded->kind == Kind::External) {
      const Value& known = externals[index];
      if (got->tensor != known.tensor || got->tensor == nullptr || got->tensor->id != known.id) return nullptr;
      if (index >= bound && !is_bound_as_before(*got->tensor, known, *instance)) return nullptr;
    } else if (recorded->kind == Kind::Scalar) {
      if (!got->is_scalar() || got->scalar.kind() != recorded->scalar.kind()) return nullptr;
      scalars_.data()[index] = got->scalar.bits();
      difference |= static_cast<uint64_t>(got->scalar.bits() ^ recorded->scalar.bits());
    } else if (!got->is_none()) {
      return nullptr;
    }
  }
  for (uint32_t i = 0; i < step.attr_count; ++i) {
    if (!(instance->attrs[i].ref() == call.attrs[i])) return nullptr;
  }
  if (difference != 0 && !step.all_scalars_lifted()) [[unlikely]]
    return nullptr;
  Value& value = slots_.data()[static_cast<size_t>(step.first_slot)];
  if (value.tensor == nullptr || value.like != instance || value.tensor->id != value.id) [[unlikely]]
    fresh_slot(*instance, 0);
  TensorImpl* const lazy = value.tensor;
  lazy->slot = step.first_slot;
  lazy->invocation.store(this, std::memory_order_relaxed);
  lazy->flags.store(TensorHead::kLazy | TensorHead::kSlot | step.first_flag, std::memory_order_release);
  ++values_held;
  used_slots_ = static_cast<int>(step.slots_after);
  bound_ = static_cast<int>(step.externals_after);
  path_.push_back(instance);
  cursor_ = instance;
  return lazy;
}

Tensor Invocation::op(const OpCall& call) {
  if (size_reads_ == nullptr && lent_.empty()) [[likely]] {
    if (TensorImpl* const value = follow(call)) [[likely]]
      return Tensor(IntrusivePtr<TensorHead>::first(value));
  }
  return op_otherwise(call);
}

Tensor Invocation::op_otherwise(const OpCall& call) {
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
  end_segment(StepKind::Escape, where, "host code needs a tensor's data");
}

void Invocation::mode_change() {
  if (mode_ != Mode::Eager && path_.size() != segment_begin_) end_segment(StepKind::Escape, {}, "a mode of the process changes");
}

void Invocation::finish() { end_segment(StepKind::Return, {}, {}); }

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

void Invocation::end_segment(StepKind kind, std::source_location where, std::string_view why) {
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
    if (kind == StepKind::Escape) host_.on_escape(where, why);
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
  go_on_to(*end);
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
    if (slots_[static_cast<size_t>(i)].tensor == &tensor) return {true, i};
  }
  for (int i = 0; i < bound_; ++i) {
    if (&external(i) == &tensor) return {false, i};
  }
  return {};
}

std::vector<int> Invocation::alive_slots() const {
  std::vector<int> alive;
  for (int i = segment_first_slot_; i < used_slots_; ++i) {
    if (is_held(i)) alive.push_back(i);
  }
  return alive;
}

// Whether `variant` computes this call: everything user code still holds is an output, and the numbers baked in are those seen.
bool Invocation::serves(const follow::Variant& variant) const {
  // When as many values are held as there are outputs, and those are, the others are not.
  const auto is_output_held = [this](int output) { return is_held(output); };
  if (segment_first_slot_ == 0 && values_held == static_cast<int64_t>(variant.outputs.size()) &&
      std::all_of(variant.outputs.begin(), variant.outputs.end(), is_output_held))
    return has_its_numbers(variant);
  const Value* const first = slots_.data() + segment_first_slot_;
  const Value* const end = slots_.data() + used_slots_;
  for (const Value* value = first; value != end; ++value) {
    if (value->tensor->slot >= 0 && has_handles(*value->tensor) && !variant.is_output[static_cast<size_t>(value - first)]) return false;
  }
  return has_its_numbers(variant);
}

bool Invocation::has_its_numbers(const follow::Variant& variant) const {
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
  const auto inputs = first_of(inputs_, variant.inputs.size());
  const auto outputs = first_of(outputs_, variant.outputs.size());
  const auto scalars = first_of(run_scalars_, variant.scalars.size());
  std::transform(variant.inputs.begin(), variant.inputs.end(), inputs.begin(),
                 [this](const follow::InputRef& ref) { return ref.slot ? &slot(ref.index) : &external(ref.index); });
  std::transform(variant.outputs.begin(), variant.outputs.end(), outputs.begin(), [this](int number) { return &slot(number); });
  std::transform(variant.scalars.begin(), variant.scalars.end(), scalars.begin(),
                 [this](int number) { return scalars_[static_cast<size_t>(number)]; });
  switch (follow::run_variant(variant, inputs, scalars, outputs, scratch_)) {
    case follow::RunResult::Done: break;
    case follow::RunResult::Aliased: host_.on_op_by_op("inputs share memory that the function writes"); return false;
    case follow::RunResult::DataError: return false;  // op by op gives the effects, the error and the line that eager has
  }
  for (int number : variant.outputs) publish(number, end.step->kind == StepKind::Return);
  outputs_of_segments_.insert(outputs_of_segments_.end(), variant.outputs.begin(), variant.outputs.end());
  executed_ = path_.size();
  return true;
}

// The value has been computed. `for_good`: user code is over, and what it holds is not kept for the next call.
void Invocation::publish(int number, bool for_good) {
  Value& value = slots_[static_cast<size_t>(number)];
  TensorImpl& tensor = *value.tensor;
  const bool leaves = for_good && has_handles(tensor);
  const uint32_t gone = leaves ? TensorHead::kLazy | TensorHead::kSlot : TensorHead::kLazy;
  const uint32_t before = tensor.flags.fetch_and(~gone, std::memory_order_acq_rel);
  if (!leaves) return;
  value.id = 0;  // its address still tells which value a result is
  if (before & TensorHead::kDropped) {
    value.tensor = nullptr;
    destroy(&tensor);
  }
}

// Lets go of what this call touched. Slots that user code holds become ordinary tensors; the others are kept for the next call.
void Invocation::end() noexcept {
  if (all_compiled_ && !recorded_) {  // the other slots had neither handles nor memory when their segment had run
    for (int i : outputs_of_segments_) end_slot(static_cast<size_t>(i));
  } else {
    for (int i = 0; i < used_slots_; ++i) end_slot(static_cast<size_t>(i));
  }
  bound_ = used_slots_ = 0;
  arguments_ = {};
  reads_.clear();
  lent_.clear();
  held_.clear();
  borrowing_.reset();
}

void Invocation::end_slot(size_t slot) noexcept {
  constexpr uint32_t kKnownElsewhere = TensorHead::kCaptured | TensorHead::kBorrowed | TensorHead::kRegistered;
  if (slots_[slot].id == 0) slots_[slot].tensor = nullptr;  // published for good
  TensorImpl* const tensor = slots_[slot].tensor;
  if (tensor == nullptr) return;
  if (has_handles(*tensor) || (tensor->flags.load(std::memory_order_relaxed) & kKnownElsewhere) != 0)
    let_go(slot);
  else
    tensor->storage.reset();
}

}  // namespace tailor
