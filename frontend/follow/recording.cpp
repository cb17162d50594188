// Recording, divergence, and running what was followed op by op.

#include <algorithm>
#include <chrono>

#include "frontend/follow/invocation.h"
#include "frontend/follow/pending.h"
#include "runtime/ambient.h"
#include "runtime/trace.h"

namespace tailor {

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

bool writes_and_may_fail_later(const ir::Graph& graph, bool writes_outside) {
  bool written = false;
  for (const ir::Node& node : graph.nodes) {
    if (node.kind != ir::NodeKind::CallOp) continue;
    if (written && (node.op->can_fail_on_data || node.op->pointwise.can_fail)) return true;
    written = written || (writes_outside && node.inplace);
  }
  return false;
}

}  // namespace

void Invocation::diverge(const OpCall* call) {
  if (const Step* expected = cursor_->hot.load(std::memory_order_relaxed)) host_.on_divergence(expected, call);
  all_compiled_ = false;
  mode_ = Mode::Recording;
  recorded_ = true;
  struct NoteLiveSlots {
    Invocation& self;
    ~NoteLiveSlots() {
      self.live_slots_.clear();
      for (int i = 0; i < self.used_slots_; ++i) self.live_slots_.push_back(i);
    }
  } also_when_it_throws{*this};
  run_what_was_followed();
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
  const Step& failed = *path_[executed_];
  for (size_t s = executed_; s < path_.size(); ++s) {
    void* mine = this;
    if (path_[s]->written_external >= 0) external(path_[s]->written_external).storage->pending.compare_exchange_strong(mine, nullptr);
  }
  for (int i = failed.first_slot; i < used_slots_; ++i) {
    if (slot(i).is_lazy()) slot(i).invocation = nullptr;  // says so when it is read
    slots_[static_cast<size_t>(i)].reset();
  }
  for (int i = failed.first_external; i < bound_; ++i) externals_[static_cast<size_t>(i)].reset();
  used_slots_ = failed.first_slot;
  bound_ = failed.first_external;
  path_.resize(executed_);
  followed_.store(executed_, std::memory_order_release);
  cursor_ = path_.empty() ? tree_.root() : path_.back();
}

void Invocation::run_op_by_op(size_t until) {
  struct Executing {
    explicit Executing(Invocation* now) : before(std::exchange(follow::executing_invocation(), now)) {}
    ~Executing() { follow::executing_invocation() = before; }
    Invocation* before;
  } executing(this);
  while (executed_ < until) {
    Step& step = *path_[executed_];
    if (step.kind == StepKind::Op) execute(step);
    ++executed_;
  }
}

void Invocation::give_value(TensorImpl& lazy, TensorImpl& value) {
  lazy.storage = value.storage;
  lazy.offset = value.offset;
  lazy.autograd = std::move(value.autograd);
  lazy.flags.fetch_and(~static_cast<uint32_t>(TensorHead::kLazy), std::memory_order_release);
}

void Invocation::execute(Step& step) {
  AmbientScope modes(step.ambient);
  if (step.view) {
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
  const std::vector<ir::AttrRef> attrs(step.attrs.begin(), step.attrs.end());
  // Before the write, so that the write itself does not wait for this call.
  if (step.written_external >= 0) external(step.written_external).storage->pending.store(nullptr, std::memory_order_release);
  const OpCall call{*step.op, operands, attrs, step.inplace, step.where};
  const std::vector<Tensor> results = run_eager_many(call);
  if (step.inplace) return;
  for (size_t j = 0; j < step.outputs.size(); ++j) {
    give_value(slot(step.first_slot + static_cast<int>(j)), *static_cast<TensorImpl*>(results.at(j).head()));
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
  if (needed) run_op_by_op(followed_.load(std::memory_order_acquire));
}

// ---- recording -----------------------------------------------------------------------------------------------------

int Invocation::external_number(TensorImpl& tensor, Step& step) {
  for (int i = 0; i < bound_; ++i) {
    if (externals_[static_cast<size_t>(i)].get() == &tensor && checked_ids_[static_cast<size_t>(i)] == tensor.id) return i;
  }
  const auto index = static_cast<size_t>(bound_);
  if (externals_.size() <= index) {
    std::lock_guard lock(mutex_);
    externals_.resize(index + 1);
    checked_ids_.resize(index + 1, 0);
    checked_for_.resize(index + 1, nullptr);
  }
  externals_[index] = IntrusivePtr<TensorHead>(&tensor);
  checked_ids_[index] = tensor.id;
  checked_for_[index] = nullptr;
  const auto argument = std::find(arguments_.begin(), arguments_.end(), &tensor);
  step.new_externals.push_back({tensor.spec, argument == arguments_.end() ? -1 : static_cast<int>(argument - arguments_.begin())});
  return bound_++;
}

// The external whose memory a tensor shows: itself, or what it is a view of; -1 for memory of this call.
int Invocation::root_external(RecordedOperand tensor) const {
  while (tensor.kind == Kind::Slot) {
    const auto maker = std::partition_point(path_.begin(), path_.end(), [&](const Step* s) { return s->slot_count() <= tensor.index; });
    if (!(*maker)->view) return -1;
    tensor = (*maker)->operands[0];
  }
  return tensor.kind == Kind::External ? tensor.index : -1;
}

std::vector<Tensor> Invocation::record(const OpCall& call) {
  const follow::TraceLimits limits;
  if (mode_ == Mode::Recording && (tree_.paths() >= limits.paths || tree_.size() >= limits.steps)) {
    mode_ = Mode::Eager;
    host_.on_op_by_op("too many paths have been recorded");
  }
  if (mode_ == Mode::Eager) return run_eager_many(call);

  recorded_ = true;
  const int bound_before = bound_;
  auto step = std::make_unique<Step>();
  step->kind = StepKind::Op;
  step->op = &call.op;
  step->inplace = call.inplace;
  step->ambient = ambient_word();
  step->where = call.where;
  step->first_slot = used_slots_;
  step->first_external = bound_;
  step->first_scalar = path_.empty() ? 0 : path_.back()->scalar_count();
  step->attrs.assign(call.attrs.begin(), call.attrs.end());
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
      const bool ours = t.invocation == this && t.slot < used_slots_ && slots_[static_cast<size_t>(t.slot)].get() == &t &&
                        slot_ids_[static_cast<size_t>(t.slot)] == t.id;
      recorded = ours ? RecordedOperand{Kind::Slot, t.slot, {}} : RecordedOperand{Kind::External, external_number(t, *step), {}};
    }
    step->operands.push_back(recorded);
  }
  if ((call.inplace || call.op.kind == ir::OpKind::View) && step->operands[0].kind == Kind::External && GradMode::is_enabled() &&
      call.operands[0].tensor->spec.requires_grad) {
    step->reads_leaf = true;
    step->leaf_flags = leaf_flags(*call.operands[0].tensor);
  }
  const uint64_t id_before = call.inplace ? call.operands[0].tensor->id : 0;
  std::vector<Tensor> results;
  try {
    results = run_eager_many(call);
  } catch (...) {
    for (int i = bound_before; i < bound_; ++i) externals_[static_cast<size_t>(i)].reset();
    bound_ = bound_before;
    throw;
  }
  if (call.op.kind == ir::OpKind::View && !call.inplace) {
    step->view = call.op.view(call.operands[0].tensor->spec, call.attrs);
    values.push_back(step->view->offset);
  }
  if (call.inplace) {
    step->written_external = root_external(step->operands[0]);
    if (call.operands[0].tensor->id != id_before) {
      step->spreads_grad = true;
      redescribed(*step);
    }
  } else {
    for (const Tensor& t : results) {
      step->outputs.push_back(static_cast<TensorImpl*>(t.head())->spec);
      step->output_flags.push_back(leaf_flags(*static_cast<TensorImpl*>(t.head())));
    }
  }

  step->ambient_mask = modes_that_matter(call, step->outputs);
  Step* added = tree_.add(cursor_, std::move(step));
  if (!first_new_step_) first_new_step_ = added;
  const auto slot_count = static_cast<size_t>(added->slot_count());
  {
    std::lock_guard lock(mutex_);
    if (slots_.size() < slot_count) {
      slots_.resize(slot_count);
      slot_maker_.resize(slot_count, nullptr);
      slot_ids_.resize(slot_count, 0);
    }
    scalars_.resize(std::max(scalars_.size(), static_cast<size_t>(added->scalar_count())));
    std::copy(values.begin(), values.end(), scalars_.begin() + added->first_scalar);
    path_.push_back(added);
    executed_ = path_.size();
  }
  for (size_t j = 0; j < added->outputs.size(); ++j) {
    auto* impl = static_cast<TensorImpl*>(results[j].head());
    const int index = added->first_slot + static_cast<int>(j);
    impl->invocation = this;
    impl->slot = index;
    slots_[static_cast<size_t>(index)] = results[j].pointer();
    slot_maker_[static_cast<size_t>(index)] = nullptr;
    slot_ids_[static_cast<size_t>(index)] = impl->id;
    live_slots_.push_back(index);
  }
  used_slots_ = added->slot_count();
  cursor_->hot.store(added, std::memory_order_release);
  cursor_ = added;
  followed_.store(path_.size(), std::memory_order_release);
  drop_dead_slots();
  return results;
}

// Recording holds every value it saw; the memory of those that user code has let go of is given back.
void Invocation::drop_dead_slots() {
  std::erase_if(live_slots_, [&](int i) {
    if (slots_[static_cast<size_t>(i)]->use_count() > 1) return false;
    slot(i).storage.reset();
    return true;
  });
}

// ---- compiling -----------------------------------------------------------------------------------------------------

std::unique_ptr<follow::Variant> Invocation::build_variant(Step& end) {
  std::vector<int> outputs = alive_slots();
  // What an earlier variant keeps is kept here too, so that one variant serves survivors that come and go.
  if (const follow::Variant* earlier = end.variants.head()) {
    std::vector<int> both;
    std::set_union(outputs.begin(), outputs.end(), earlier->outputs.begin(), earlier->outputs.end(), std::back_inserter(both));
    outputs = std::move(both);
  }
  std::vector<const ir::TensorSpec*> external_specs, slot_specs;
  std::vector<std::string> names;
  for (const Step* step : path_) {
    for (const follow::ExternalFact& external : step->new_externals) {  // as it was then: its description may have changed since
      external_specs.push_back(&external.spec);
      names.push_back(external.argument >= 0 ? host_.argument_path(external.argument) : "captured" + std::to_string(names.size()));
    }
    for (const ir::TensorSpec& spec : step->outputs) slot_specs.push_back(&spec);
  }
  const std::span<Step* const> steps{path_.data() + segment_begin_, path_.size() - segment_begin_};
  return follow::build_segment(steps, segment_first_slot_, std::move(outputs), external_specs, names, slot_specs, host_.function_name());
}

// Registered parameters, and what the body reaches by itself. Arguments are expected to differ from call to call.
std::vector<int> Invocation::lasting_inputs(const follow::Variant& variant) const {
  std::vector<int> lasting;
  for (size_t i = 0; i < variant.inputs.size(); ++i) {
    const follow::InputRef& ref = variant.inputs[i];
    if (ref.slot) continue;
    const TensorImpl* tensor = &external(ref.index);
    const bool registered = tensor->flags.load(std::memory_order_relaxed) & TensorHead::kRegistered;
    if (registered || std::find(arguments_.begin(), arguments_.end(), tensor) == arguments_.end()) lasting.push_back(static_cast<int>(i));
  }
  return lasting;
}

namespace {

/// Gives a variant its code and lets callers see it.
void finish_variant(follow::EntryHost& host, follow::VariantList& variants, std::unique_ptr<follow::Variant> variant,
                    const jit::CompileOptions& options, bool first) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const TraceSpan span("compile", "compile");
    variant->executable = jit::compile(variant->graph, options);
  }
  if (!variant->executable->weights().empty()) variant->weights = std::make_unique<follow::Weights>(variant->executable);
  variant->compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  for (const jit::OutputPlan& plan : variant->executable->outputs()) {
    variant->output_bytes.push_back(plan.kind == jit::OutputPlan::Kind::Fresh ? plan.storage_bytes() : 0);
  }
  host.on_variant_compiled(*variant, first);
  variants.push(std::move(variant));
}

}  // namespace

void Invocation::compile_variant(Step& end) {
  // Whoever compiles in this tree meanwhile may be at the very same segment; this call has its values already.
  std::unique_lock lock(tree_.compiling(), std::try_to_lock);
  follow::VariantList& variants = end.variants;
  if (!lock || variants.failed || variants.waiting || variants.count() >= follow::TraceLimits().variants) return;
  if (!host_.may_compile()) return;
  const bool first = variants.count() == 0;
  try {
    const uint64_t lifts_seen = tree_.lifts.load(std::memory_order_acquire);
    std::unique_ptr<follow::Variant> variant = build_variant(end);
    variant->lifts_seen = lifts_seen;
    variant->is_output.resize(static_cast<size_t>(used_slots_ - segment_first_slot_));
    for (int output : variant->outputs) variant->is_output[static_cast<size_t>(output - segment_first_slot_)] = true;
    if (writes_and_may_fail_later(variant->graph, !variant->written.empty())) {
      variants.failed = true;
      host_.on_op_by_op("an op that can fail on data comes after a write that is visible outside");
      return;
    }
    jit::CompileOptions options = host_.compile_options();
    options.lasting = lasting_inputs(*variant);
    const auto later = [&host = host_, &variants, first, options,
                        shared = std::make_shared<std::unique_ptr<follow::Variant>>(std::move(variant))] {
      try {
        finish_variant(host, variants, std::move(*shared), options, first);
      } catch (const std::exception& error) {
        variants.failed = true;
        host.on_compile_failure(error.what());
        if (!variants.waiting && !host.suppress_errors()) throw;
      }
      variants.waiting = false;
    };
    variants.waiting = true;
    if (host_.compile_later(later)) return;
    variants.waiting = false;
    later();
  } catch (const std::exception& error) {
    if (variants.failed) throw;
    variants.failed = true;
    host_.on_compile_failure(error.what());
    if (!host_.suppress_errors()) throw;
  }
}

std::exception_ptr Invocation::abandon() noexcept {
  std::exception_ptr earlier;
  try {
    if (mode_ == Mode::Following) run_what_was_followed();
  } catch (...) { earlier = std::current_exception(); }  // values not computed stay so
  end();
  return earlier;
}

}  // namespace tailor
