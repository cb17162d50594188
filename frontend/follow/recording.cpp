// Recording, divergence, and running what was followed op by op.

#include <algorithm>
#include <chrono>

#include "frontend/follow/invocation.h"
#include "frontend/follow/pending.h"
#include "runtime/ambient.h"
#include "runtime/trace.h"

namespace tailor {

using follow::Instance;
using follow::RecordedOperand;
using follow::Step;
using follow::StepKind;
using Kind = RecordedOperand::Kind;

namespace {

/// The modes a step was followed under, for running it later. Modes of the process cannot differ within a call that matched.
class AmbientScope {
 public:
  explicit AmbientScope(uint64_t word) : before_(detail::thread_ambient) { detail::thread_ambient = word & 0xff; }
  AmbientScope(const AmbientScope&) = delete;
  AmbientScope& operator=(const AmbientScope&) = delete;
  ~AmbientScope() { detail::thread_ambient = before_; }

 private:
  uint64_t before_;
};

/// The modes that what an op did depends on. Grad mode matters where something requires gradients. The default dtype does where there
/// are numbers and the tensors do not all say theirs, or where it is a result's. Every kernel of the CPU is deterministic.
uint64_t modes_that_matter(const OpCall& call, std::span<const ir::TensorSpec> results) {
  bool tensors = false, gradients = false, floating = true, numbers = false;
  for (const Operand& o : call.operands) {
    numbers = numbers || (o.is_scalar() && o.scalar.is_floating_point());
    if (!o.is_tensor()) continue;
    tensors = true;
    gradients = gradients || o.tensor->spec.requires_grad;
    floating = floating && is_floating_point(o.tensor->spec.dtype);
  }
  bool dtype_given = false;  // creation: an attribute that is compared as such
  for (const ir::AttrRef& attr : call.attrs) {
    numbers = numbers || attr.kind == ir::AttrRef::Kind::Double;
    dtype_given = dtype_given || attr.kind == ir::AttrRef::Kind::Dtype;
  }
  const auto says_its_dtype = [&](const ir::TensorSpec& result) {
    return !is_floating_point(result.dtype) || std::any_of(call.operands.begin(), call.operands.end(), [&](const Operand& o) {
      return o.is_tensor() && o.tensor->spec.dtype == result.dtype;
    });
  };
  const bool told = tensors ? floating || (!numbers && std::all_of(results.begin(), results.end(), says_its_dtype)) : dtype_given;
  uint64_t mask = ~(uint64_t{1} << detail::kDeterministicShift);
  if (!gradients) mask &= ~(static_cast<uint64_t>(Ambient::NoGrad) | static_cast<uint64_t>(Ambient::Inference));
  if (told) mask &= ~(uint64_t{15} << detail::kDefaultDtypeShift);
  return mask;
}

}  // namespace

void Invocation::diverge(const OpCall* call, StepKind kind, std::source_location where) {
  const follow::Way expected = follow::most_like(*cursor_, call);
  if (expected.step)
    host_.on_difference(call ? follow::other_path(expected, *call) : follow::other_path(expected, kind == StepKind::Return, where));
  all_compiled_ = false;
  mode_ = Mode::Recording;
  aim();
  recorded_ = true;
  struct NoteLiveSlots {
    Invocation& self;
    ~NoteLiveSlots() {
      self.live_slots_.clear();
      for (int i = 0; i < self.numbered_.slots; ++i) self.live_slots_.push_back(i);
    }
  } also_when_it_throws{*this};
  run_what_was_followed();
  if (kind != StepKind::Escape) note_new_path(expected.step, call);
}

void Invocation::run_what_was_followed() {
  std::lock_guard lock(mutex_);
  try {
    run_op_by_op(path_.size());
  } catch (...) {
    drop_unexecuted();
    throw;
  }
}

// The op that failed and those after it have not happened, as in eager, where user code would not have come to them. What it does
// now, having caught the error, goes on from before the one that failed.
void Invocation::drop_unexecuted() noexcept {
  if (executed_ >= path_.size()) return;
  const Step& failed = step_at(executed_);
  for (size_t s = executed_; s < path_.size(); ++s) {
    void* mine = this;
    if (Storage* const written = written_storage(step_at(s))) written->pending.compare_exchange_strong(mine, nullptr);
  }
  for (int i = failed.first_slot; i < numbered_.slots; ++i) {
    if (slot(i).is_lazy()) slot(i).invocation.store(nullptr, std::memory_order_relaxed);  // says so when it is read
    let_go(i);
  }
  numbered_.slots = failed.first_slot;
  numbered_.externals = failed.first_external;
  path_.cut(executed_);
  leave_forks();
  cursor_ = path_.empty() ? bindings_.front()->first() : path_.back();
  aim();
}

void Invocation::run_op_by_op(size_t until) {
  struct Executing {
    explicit Executing(Invocation* now) : before(std::exchange(follow::executing_invocation(), now)) {}
    ~Executing() { follow::executing_invocation() = before; }
    Invocation* before;
  } executing(this);
  while (executed_ < until) {
    if (step_at(executed_).kind == StepKind::Op) execute(*path_[executed_]);
    ++executed_;
  }
}

void Invocation::give_value(TensorImpl& lazy, TensorImpl& value) {
  lazy.storage = value.storage;
  lazy.offset = value.offset;
  lazy.autograd = std::move(value.autograd);
  lazy.flags.fetch_and(~static_cast<uint32_t>(TensorHead::kLazy), std::memory_order_release);
}

void Invocation::execute(Instance& instance) {
  Step& step = *instance.step;
  AmbientScope modes(step.ambient);
  if (step.is_view) {
    TensorImpl& base = tensor_of(step.operands[0]);
    TensorImpl& lazy = slot(step.first_slot);
    lazy.storage = base.storage;
    lazy.offset = base.offset + scalars_[static_cast<size_t>(step.scalar_count() - 1)];
    lazy.flags.fetch_and(~static_cast<uint32_t>(TensorHead::kLazy), std::memory_order_release);
    return;
  }
  std::vector<Operand> operands;
  operands.reserve(step.operands.size());
  for (const RecordedOperand& o : step.operands) {
    switch (o.kind) {
      case Kind::None: operands.emplace_back(); break;
      case Kind::Slot:
      case Kind::External: operands.emplace_back(&tensor_of(o)); break;
      case Kind::Scalar: operands.emplace_back(Scalar::from_bits(o.scalar.kind(), scalars_[static_cast<size_t>(o.index)])); break;
    }
  }
  const std::vector<ir::AttrRef> attrs(instance.attrs.begin(), instance.attrs.end());
  // Before the write, so that the write itself does not wait for this call.
  if (step.inplace) {
    if (Storage* const written = written_storage(step)) written->pending.store(nullptr, std::memory_order_release);
  }
  const OpCall call{*step.op, operands, attrs, step.inplace, step.where};
  const std::vector<Tensor> results = run_eager_many(call);
  if (step.inplace) return;
  for (int j = 0; j < step.outputs; ++j) {
    give_value(slot(step.first_slot + j), *static_cast<TensorImpl*>(results.at(static_cast<size_t>(j)).head()));
  }
}

void Invocation::compute_for_other_thread(const TensorImpl& wanted) {
  std::unique_lock lock(mutex_, std::defer_lock);
  // A thread in the middle of its own steps waits for nobody: the other one may be waiting for it.
  if (follow::executing_invocation() == nullptr)
    lock.lock();
  else if (!lock.try_lock())
    return;
  const bool needed =
      wanted.is_lazy() ? wanted.invocation == this : wanted.storage && wanted.storage->pending.load(std::memory_order_acquire) == this;
  if (needed) run_op_by_op(path_.size());
}

// ---- recording -----------------------------------------------------------------------------------------------------

int Invocation::external_number(TensorImpl& tensor, Step& step, Instance& instance) {
  for (int i = 0; i < numbered_.externals; ++i) {
    if (&external(i) == &tensor && values_.external(i).id == tensor.id) return i;
  }
  if (values_.externals() <= numbered_.externals) {
    std::lock_guard lock(mutex_);
    values_.make_room(0, numbered_.externals + 1);
  }
  values_.external(numbered_.externals) = {&tensor, tensor.id, 0};
  hold(tensor, false);
  const auto argument = std::find(arguments_.begin(), arguments_.end(), &tensor);
  step.external_arguments.push_back(argument == arguments_.end() ? -1 : static_cast<int>(argument - arguments_.begin()));
  instance.externals.push_back(tensor.spec);
  return numbered_.externals++;
}

// The external whose memory a tensor shows: itself, or what it is a view of; -1 for memory of this call.
int Invocation::root_external(RecordedOperand tensor) const {
  while (tensor.kind == Kind::Slot) {
    const Step& made = maker(tensor.index);
    if (!made.is_view) return -1;
    tensor = made.operands[0];
  }
  return tensor.kind == Kind::External ? tensor.index : -1;
}

// The value whose memory a value that is no view of an external shows: one of an earlier segment, or what this segment allocates.
int Invocation::root_slot(int slot) const {
  while (slot >= segment_first_slot_ && maker(slot).is_view) slot = maker(slot).operands[0].index;
  return slot;
}

const Step& Invocation::maker(int slot) const {
  return *(*std::partition_point(path_.begin(), path_.end(), [slot](const Instance* i) { return i->step->slot_count() <= slot; }))->step;
}

// The memory that an in-place step writes; null where it is not there yet, so that nobody can ask for it without this call.
Storage* Invocation::written_storage(const Step& step) const {
  if (step.written_external >= 0) return external(step.written_external).storage.get();
  if (step.written_slot < 0 || slot(step.written_slot).is_lazy()) return nullptr;
  return slot(step.written_slot).storage.get();
}

std::vector<Tensor> Invocation::record(const OpCall& call) {
  if (mode_ == Mode::Recording && tree_.is_full()) {
    mode_ = Mode::Eager;
    host_.on_op_by_op("too many paths have been recorded");
  }
  if (mode_ == Mode::Recording && goes_round(call)) end_part(call.where);
  if (mode_ == Mode::Recording && must_begin_segment(call)) end_segment(StepKind::Escape, call.where, kMayFailAfterWrite);
  if (mode_ == Mode::Eager) return run_eager_many(call);

  recorded_ = true;
  const int bound_before = numbered_.externals;
  bool fork = false;
  Step* known = step_in_other_sizes(call, &fork);
  auto step = std::make_unique<Step>();
  auto instance = std::make_unique<Instance>();
  step->kind = StepKind::Op;
  step->op = &call.op;
  step->inplace = call.inplace;
  step->ambient = ambient_word();
  step->where = call.where;
  step->first_slot = numbered_.slots;
  step->first_external = numbered_.externals;
  step->first_scalar = path_.empty() ? 0 : path_.back()->step->scalar_count();
  instance->attrs.assign(call.attrs.begin(), call.attrs.end());
  int number = step->first_scalar;
  std::vector<int64_t> values;
  for (const Operand& o : call.operands) {
    RecordedOperand recorded;
    if (o.is_scalar()) {
      recorded = {Kind::Scalar, number++, o.scalar};
      ++step->scalars;
      values.push_back(o.scalar.bits());
      // Numbers drawn from the generator differ on every call.
      if (call.op.kind == ir::OpKind::Random) step->lifted |= uint64_t{1} << (values.size() - 1);
    } else if (o.is_tensor()) {
      TensorImpl& t = *o.tensor;
      recorded = is_own_slot(t) ? RecordedOperand{Kind::Slot, t.slot, {}}
                                : RecordedOperand{Kind::External, external_number(t, *step, *instance), {}};
    }
    step->operands.push_back(recorded);
  }
  // Following, a tensor may be two externals of one step; here it keeps the number that it has, and what comes after counts on that.
  if (known && !follow::same_operands(*known, *step)) known = nullptr, fork = false;
  if ((call.inplace || call.op.kind == ir::OpKind::View) && step->operands[0].kind == Kind::External && GradMode::is_enabled() &&
      call.operands[0].tensor->spec.requires_grad) {
    step->reads_leaf = true;
    step->leaf_flags = leaf_flags(*call.operands[0].tensor);
  }
  for (const Step* other = cursor_->step->first_child.load(std::memory_order_acquire); other != nullptr;
       other = other->next_sibling.load(std::memory_order_acquire)) {
    if (other->op == &call.op && other->numbers.load(std::memory_order_relaxed) == Step::Numbers::Choose)
      step->numbers = Step::Numbers::Choose;
  }
  const uint64_t id_before = call.inplace ? call.operands[0].tensor->id : 0;
  std::vector<Tensor> results;
  try {
    results = run_eager_many(call);
  } catch (...) {
    numbered_.externals = bound_before;
    throw;
  }
  if (call.op.kind == ir::OpKind::View && !call.inplace) {
    step->is_view = true;
    instance->view = call.op.view(call.operands[0].tensor->spec, call.attrs);
    values.push_back(instance->view->offset);
  }
  if (call.inplace) {
    step->written_external = root_external(step->operands[0]);
    if (step->written_external < 0) step->written_slot = root_slot(step->operands[0].index);
    if (call.operands[0].tensor->id != id_before) {
      step->spreads_grad = true;
      redescribed(*step);
    }
  } else {
    for (const Tensor& t : results) {
      instance->outputs.push_back(static_cast<TensorImpl*>(t.head())->spec);
      step->output_flags.push_back(leaf_flags(*static_cast<TensorImpl*>(t.head())));
    }
  }

  step->ambient_mask = modes_that_matter(call, instance->outputs);
  step->outputs = static_cast<int>(instance->outputs.size());
  Instance* added_instance = nullptr;
  if (known) {
    instance->step = known;
    added_instance = add_instance(std::move(instance), fork);
  } else {
    added_instance = tree_.add(binding_to_join(), cursor_, std::move(step), std::move(instance));
  }
  Step* const added = added_instance->step;
  internal_check(added->external_count() == numbered_.externals, call.op.name, " is a step that has numbered other tensors");
  if (!first_new_step_) first_new_step_ = added;
  {
    std::lock_guard lock(mutex_);
    values_.make_room(added->slot_count(), 0);
    scalars_.resize(std::max(scalars_.size(), static_cast<size_t>(added->scalar_count())));
    std::copy(values.begin(), values.end(), scalars_.begin() + added->first_scalar);
    if (path_.full()) path_.make_room();
    path_.push_back(added_instance);
    executed_ = path_.size();
  }
  if (known) take_scalars(*added, call);
  for (int j = 0; j < added->outputs; ++j) {
    auto* impl = static_cast<TensorImpl*>(results[static_cast<size_t>(j)].head());
    const int index = added->first_slot + j;
    internal_check(!(impl->flags.load(std::memory_order_relaxed) & TensorHead::kSlot), call.op.name, " gave one tensor twice");
    let_go(index);
    impl->invocation.store(this, std::memory_order_relaxed);
    impl->slot = index;
    impl->flags.fetch_or(TensorHead::kSlot, std::memory_order_release);
    ++values_held;
    values_.slot(index) = {impl, impl->id, 0};
    live_slots_.push_back(index);
  }
  numbered_.slots = added->slot_count();
  if (!fork) cursor_->hot.store(added_instance, std::memory_order_release);
  cursor_ = added_instance;
  drop_dead_slots();
  return results;
}

// Recording holds every value it saw; the memory of those that user code has let go of is given back.
void Invocation::drop_dead_slots() {
  std::erase_if(live_slots_, [&](int i) {
    if (is_held(i)) return false;
    slot(i).storage.reset();
    return true;
  });
}

std::exception_ptr Invocation::abandon() noexcept {
  std::exception_ptr earlier;
  all_compiled_ = false;
  try {
    if (mode_ == Mode::Following) run_what_was_followed();
  } catch (...) { earlier = std::current_exception(); }  // values not computed stay so
  end();
  return earlier;
}

}  // namespace tailor
