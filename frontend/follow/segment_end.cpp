// The end of a segment: compiled code runs, or what was followed runs op by op.

#include <algorithm>

#include "frontend/follow/invocation.h"
#include "frontend/follow/run_variant.h"

namespace tailor {

using follow::Instance;
using follow::RecordedOperand;
using follow::Step;
using follow::StepKind;
using Kind = RecordedOperand::Kind;

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
    return tree_.add(binding_to_join(), cursor_, std::move(instance));
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
    step->first_slot = numbered_.slots;
    step->first_external = numbered_.externals;
    step->first_scalar = path_.empty() ? 0 : path_.back()->step->scalar_count();
    if (kind == StepKind::Escape) host_.on_escape(where, why);
    end = tree_.add(binding_to_join(), cursor_, std::move(step), std::make_unique<Instance>());
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
  segment_first_slot_ = numbered_.slots;
}

std::vector<int> Invocation::alive_slots() const {
  std::vector<int> alive;
  for (int i = segment_first_slot_; i < numbered_.slots; ++i) {
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
  for (int i = segment_first_slot_; i < numbered_.slots; ++i) {
    if (is_held(i) && !variant.is_output[static_cast<size_t>(i - segment_first_slot_)]) return false;
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
  follow::Value& value = values_.slot(number);
  TensorImpl& tensor = *value.tensor;
  const bool leaves = for_good && has_handles(tensor);
  const uint32_t gone = leaves ? TensorHead::kLazy | TensorHead::kSlot : TensorHead::kLazy;
  const uint32_t before = tensor.flags.fetch_and(~gone, std::memory_order_acq_rel);
  if (!leaves) return;
  value.id = 0;  // its address still tells which value a result is
  value.like = 0;
  if (before & TensorHead::kDropped) {
    value.tensor = nullptr;
    destroy(&tensor);
  }
}

}  // namespace tailor
