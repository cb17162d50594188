#include "frontend/compile/compiled_function.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>

#include "frontend/captured.h"
#include "frontend/compile/background.h"
#include "frontend/compile/facts.h"
#include "frontend/compile/outcome.h"
#include "frontend/compile/stand_ins.h"
#include "frontend/compile/symbolic_plan.h"
#include "frontend/follow/run_variant.h"
#include "frontend/nn/epoch.h"
#include "runtime/ambient.h"
#include "runtime/log.h"
#include "runtime/thread_pool.h"
#include "runtime/trace.h"

namespace tailor::detail {
namespace {

using Clock = std::chrono::steady_clock;
double micros_since(Clock::time_point begin) { return std::chrono::duration<double, std::micro>(Clock::now() - begin).count(); }

std::atomic<uint64_t> next_function_id{1};

/// User code may ask for the number of threads: a call that skips it compares that, too.
uint64_t skipping_ambient_word() { return ambient_word() | static_cast<uint64_t>(get_num_threads()) << 16; }

/// What guards see of a call, and room for it.
class Description {
 public:
  explicit Description(const FlatValue& arguments) {
    const size_t count = arguments.tensors.size();
    guards::TensorFact* fact = few_;
    if (count > std::size(few_)) {
      many_.resize(count);
      fact = many_.data();
    }
    call_.tensors = {fact, count};
    for (TensorHead* head : arguments.tensors) {
      if (head) {
        const auto& t = static_cast<const TensorImpl&>(*head);
        std::construct_at(fact++, &t.spec, t.id, t.storage.get(), t.offset);
      } else {
        std::construct_at(fact++);
      }
    }
    call_.scalars = arguments.scalars;
    call_.structure = arguments.structure;
    call_.ambient = skipping_ambient_word();
    call_.module_epoch = module_epoch();
  }
  Description(const Description&) = delete;
  guards::CallDescriptor& call() { return call_; }

 private:
  union {  // made as they are needed
    guards::TensorFact few_[8];
  };
  std::vector<guards::TensorFact> many_;
  guards::CallDescriptor call_;
};

/// Whether some tensor of the call is bound twice.
bool has_two_roles(const Invocation& invocation) {
  for (int i = 0; i < invocation.external_count(); ++i) {
    for (int j = 0; j < i; ++j)
      if (&invocation.external(i) == &invocation.external(j)) return true;
  }
  return false;
}

}  // namespace

bool inside_compiled_call() noexcept { return current_interceptor() != nullptr; }

FlatValue& thread_arguments() noexcept {
  static thread_local FlatValue arguments;
  return arguments;
}

std::shared_ptr<CompiledFunction> make_compiled_function(CompileOptions options, std::source_location where) {
  if (options.backend == Backend::Llvm) jit::warm_up_in_background();
  if (options.async) prepare_background();
  return std::make_shared<CompiledFunction>(std::move(options), where);
}
void call_compiled(CompiledFunction& function, const CallOps& ops, FlatValue& arguments) { function.call(ops, arguments); }
Stats stats_of(const CompiledFunction& function) { return function.stats(); }
void reset_compiled(CompiledFunction& function) { function.reset(); }
FunctionReport report_of(const CompiledFunction& function) { return function.report(); }
Explanation explain_call(CompiledFunction& function, const std::function<void()>& call) { return function.explain(call); }

CompiledFunction::CompiledFunction(CompileOptions options, std::source_location where)
    : shared_record_(std::make_shared<FunctionRecord>(std::move(options),
                                                      ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str())),
      id_(next_function_id.fetch_add(1)),
      entries_(std::make_shared<Entries>()) {
  check(options_.cache_size_limit > 0, "compile: cache_size_limit must be positive, got ", options_.cache_size_limit);
  check(options_.worth_it_after >= 0 && options_.storm_limit >= 0, "compile: worth_it_after and storm_limit must not be negative, got ",
        options_.worth_it_after, " and ", options_.storm_limit);
  enter_total_cache(this);
}

CompiledFunction::~CompiledFunction() {
  leave_total_cache(this);
  for (const auto& entry : *entries_) entry->unlist();
}

CompiledFunction::ThreadView& CompiledFunction::thread_view() {
  using Views = std::array<ThreadView, 64>;
  static thread_local const std::unique_ptr<Views> views = std::make_unique<Views>();
  ThreadView& mine = (*views)[id_ % views->size()];
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (mine.function != id_ || mine.generation != generation) [[unlikely]] {
    std::shared_ptr<const Entries> before;  // goes after the lock
    std::lock_guard lock(mutex_);
    before = std::exchange(mine.entries, entries_);
    mine.function = id_;
    mine.generation = generation_.load(std::memory_order_relaxed);
    mine.last_hit = 0;
  }
  return mine;
}

void CompiledFunction::publish(Entries entries) {  // mutex_ is held
  entries_ = std::make_shared<const Entries>(std::move(entries));
  generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const CompiledFunction::Entries> CompiledFunction::drop_entries() {
  std::lock_guard lock(mutex_);
  std::shared_ptr<const Entries> dropped = entries_;
  for (const auto& entry : *dropped) entry->unlist();
  publish({});
  record_.clear();
  return dropped;
}

void CompiledFunction::reset() { drop_entries(); }

std::shared_ptr<Entry> CompiledFunction::least_recently_used(const Entry* keep) const {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Entry> oldest;
  for (const auto& entry : *entries_)
    if (entry.get() != keep && (!oldest || entry->last_used() < oldest->last_used())) oldest = entry;
  return oldest;
}

bool CompiledFunction::evict(const Entry& entry, std::string_view why) {
  std::lock_guard lock(mutex_);
  Entries next = *entries_;
  if (std::erase_if(next, [&](const auto& e) { return e.get() == &entry; }) == 0) return false;
  const_cast<Entry&>(entry).unlist();
  publish(std::move(next));
  record_.evictions.fetch_add(1, std::memory_order_relaxed);
  tell_eviction(entry, why);
  return true;
}

void CompiledFunction::note_skipped_time(double us, double run_us) {
  std::lock_guard lock(record_.mutex);
  record_.times.guard_us.add(us - run_us);
  record_.times.compiled_us.add(run_us);
  record_.times.run_us.add(run_us);
}

void CompiledFunction::call(const CallOps& ops, FlatValue& arguments) {
  constexpr uint64_t kFirst = 16, kSampled = 64;
  CallState state{thread_slot(), false, false};
  const uint64_t number = record_.counts.call(state.slot);
  state.timed = number < kFirst || number % kSampled == 0;
  const CallTrace trace(record_.name);
  if (current_stance() == Stance::ForceEager) [[unlikely]]
    return run_eagerly(ops, EagerReason::Stance, nullptr);
  for (TensorHead* head : arguments.tensors) {
    if (head && head->flags.load(std::memory_order_acquire) & TensorHead::kLazy)
      prepare_host_access(static_cast<TensorImpl&>(*head), false);
  }
  const Clock::time_point begin = state.timed ? Clock::now() : Clock::time_point();
  Description description(arguments);
  const guards::CallDescriptor& call = description.call();
  ThreadView& mine = thread_view();
  const Entries& all = *mine.entries;
  const std::shared_ptr<Entry>* found = nullptr;
  const size_t last = mine.last_hit;
  if (options_.pure && last < all.size()) {
    double run_us = 0;
    const follow::RunTimer timer(state.timed ? &run_us : nullptr);
    if (skip_last_hit(*all[last], call, ops, arguments, state.slot)) {
      if (state.timed) note_skipped_time(micros_since(begin), run_us);
      return;
    }
  }
  {
    const TraceSpan span("guard", "look-up");
    if (last < all.size() && (state.guards = all[last]->guards_for(call)) != nullptr) found = &all[last];
    for (size_t i = 0; i < all.size() && found == nullptr; ++i) {
      if (i == last || (state.guards = all[i]->guards_for(call)) == nullptr) continue;
      mine.last_hit = i;
      found = &all[i];
    }
  }
  if (found == nullptr) return miss(ops, arguments, call, state);
  if (state.timed) {
    std::lock_guard lock(record_.mutex);
    record_.times.guard_us.add(micros_since(begin));
  }
  run(*found, ops, arguments, call, state);
}

// A new entry is not in the cache before its first call has ended: what it relies on is known only then, and a call that throws leaves
// the cache as it was.
std::shared_ptr<Entry> CompiledFunction::make_entry(const CallOps& ops) {
  std::lock_guard lock(mutex_);
  auto entry = std::make_shared<Entry>(next_entry_++, shared_record_);
  ops.names(ops.frame, entry->names);
  return entry;
}

void CompiledFunction::add(const std::shared_ptr<Entry>& entry, const Invocation& invocation, const FlatValue& arguments) {
  entry->make_guards(invocation, arguments.tensors, arguments.structure);
  entry->compiling_first.store(false);
  if (log_enabled(LogChannel::Guards)) {
    for (const guards::Guard& g : entry->guards()->set.guards())
      log(LogChannel::Guards, entry->tag(), g.condition() + (g.source.empty() ? "" : "  # " + g.source));
  }
  std::shared_ptr<Entry> evicted;  // goes after the lock
  {
    std::lock_guard lock(mutex_);
    Entries next = *entries_;
    if (static_cast<int>(next.size()) >= options_.cache_size_limit) {
      const auto oldest =
          std::min_element(next.begin(), next.end(), [](const auto& a, const auto& b) { return a->last_used() < b->last_used(); });
      evicted = *oldest;
      evicted->unlist();
      tell_eviction(*evicted, "cache_size_limit is reached");
      next.erase(oldest);
      record_.evictions.fetch_add(1, std::memory_order_relaxed);
    }
    // The newest is tried first, the others from the one hit most often on.
    std::stable_sort(next.begin(), next.end(), [](const auto& a, const auto& b) { return a->hits() > b->hits(); });
    next.insert(next.begin(), entry);
    entry->list();
    publish(std::move(next));
  }
  keep_total_cache_limit(entry.get());
}

void CompiledFunction::run(const std::shared_ptr<Entry>& shared, const CallOps& ops, const FlatValue& arguments,
                           const guards::CallDescriptor& call, const CallState& state) {
  Entry& entry = *shared;
  entry.used(state.slot);
  const bool pure = options_.pure && !record_.pure_promise_broken.load(std::memory_order_relaxed);
  const SkipPlan* plan = pure ? entry.skip_plan_for(call) : nullptr;
  const bool notes_sizes = pure && entry.dynamic() && entry.plans_other_sizes() && (state.first || !plan || !plan->serves(call));
  if (notes_sizes && !state.first && serve_new_size(entry, ops, arguments, call, state)) return;
  if (plan && !state.first) {
    const uint64_t hit = entry.hit(state.slot);
    const bool audit = (hit & (hit - 1)) == 0;  // 1, 2, 4, 8 ... of a thread: followed, to see whether the promise is kept
    if (!audit && plan->serves(call) && skip(*plan, ops, arguments)) {
      record_.counts.skipped(state.slot);
      note_outcome([] { return "skipped: guards hold, the body did not run"; }, entry.number);
      return;
    }
  }

  const bool timed = state.first || state.timed;
  const Clock::time_point begin = timed ? Clock::now() : Clock::time_point();
  double run_us = 0;
  const follow::RunTimer timer(timed ? &run_us : nullptr);
  TraceSpan span(state.first ? "trace" : "follow", state.first ? "record" : "follow");
  // Arguments that the body lets go of stay what they are while there is something to be learnt about them.
  std::vector<IntrusivePtr<TensorHead>> held;
  const bool looks = pure && entry.looks_at_call();
  if (state.first || looks)
    for (TensorHead* head : arguments.tensors) held.emplace_back(head);
  std::unique_ptr<StandIns> stand_ins;  // large, and rare
  if (looks) {
    stand_ins = std::make_unique<StandIns>(arguments.tensors);
    if (!ops.stand_in(ops.frame, stand_ins->forth())) stand_ins.reset();
  }
  const PureArguments given{arguments.tensors, stand_ins ? stand_ins->heads() : arguments.tensors, stand_ins != nullptr};
  FlatValue lent;
  if (looks) ops.lent(ops.frame, lent);
  const uint64_t epoch = module_epoch();
  const LogTag tag(&entry, tag_of_entry);
  Invocation* invocation = entry.take(state.slot);
  if (state.guards && !state.guards->dynamic.empty()) {
    static thread_local std::vector<int64_t> sizes;
    state.guards->sizes_of(call, sizes);
    invocation->begin(given.to_body, sizes);
  } else {
    invocation->begin(given.to_body);
  }
  std::unique_ptr<SizeReads> size_reads;  // large, and rare
  if (notes_sizes && given.apart && !arguments.tensors.empty()) {
    size_reads = std::make_unique<SizeReads>(*invocation);
    invocation->note_sizes(size_reads.get());
  }
  double recorded_us = 0;
  {
    InterceptorScope scope(invocation);
    try {
      {
        const PureBody body(pure, stand_ins ? &record_.captured : nullptr);
        const SizeReadsScope noting(size_reads.get());
        ops.body(ops.frame);
      }
      if (timed) recorded_us = micros_since(begin);
      invocation->finish();
    } catch (...) {
      const std::exception_ptr earlier = invocation->abandon();
      entry.give_back(state.slot, invocation);
      if (stand_ins) {
        stand_ins->settle();
        ops.stand_back(ops.frame, stand_ins->back(), assigns(entry, ops, lent));
      }
      if (earlier) std::rethrow_exception(earlier);
      throw;
    }
  }
  if (stand_ins) stand_ins->settle();
  const bool hit = invocation->hit_return() != nullptr;
  if (hit) record_.counts.hit(state.slot);
  if (hit && !plan) entry.hit(state.slot);
  if (timed) {
    const double us = micros_since(begin);
    std::lock_guard lock(record_.mutex);
    auto& times = record_.times;
    if (invocation->recorded()) times.recorded_us.add(recorded_us);
    if (hit) times.compiled_us.add(us), times.run_us.add(run_us);
  }
  if (state.first) add(shared, *invocation, arguments);
  if (size_reads) note_other_sizes(entry, *invocation, ops, given, call, epoch, *size_reads);
  const bool assigned = looks && assigns(entry, ops, lent);
  if (looks && !assigned) review_promise(entry, *invocation, ops, arguments, given, plan, epoch);
  if (stand_ins) ops.stand_back(ops.frame, stand_ins->back(), assigned);
  note_outcome(
      [&] {
        return state.first              ? "miss: recorded and compiled"
               : hit                    ? "hit: followed cached code"
               : state.widened          ? "miss: a size varies and became symbolic, compiled again"
               : invocation->recorded() ? "entry hit, new path recorded"
                                        : "entry hit, a segment ran op by op";
      },
      entry.number);
  invocation->end();
  entry.give_back(state.slot, invocation);
  if (stand_ins && stand_ins->any_kept() && !record_.pure_promise_broken.exchange(true))
    log_warning(entry.tag(), "is declared pure but keeps a tensor that it was given; its body runs on every call");
}

// ---- pure ----------------------------------------------------------------------------------------------------------

// The plan's guards say all that the entry's say: the last hit is tried by them alone.
bool CompiledFunction::skip_last_hit(const Entry& entry, const guards::CallDescriptor& call, const CallOps& ops, const FlatValue& arguments,
                                     int slot) {
  if (record_.pure_promise_broken.load(std::memory_order_relaxed)) return false;
  const SkipPlan* plan = entry.skip_plan();
  if (!plan || !plan->serves(call)) return false;
  const uint64_t hit = entry.hits_of(slot) + 1;
  if ((hit & (hit - 1)) == 0 || !skip(*plan, ops, arguments)) return false;  // due to be followed: run() counts it
  auto& mine = const_cast<Entry&>(entry);
  mine.hit(slot);
  mine.used(slot);
  record_.counts.skipped(slot);
  note_outcome([] { return "skipped: guards hold, the body did not run"; }, entry.number);
  return true;
}

bool CompiledFunction::skip(const SkipPlan& plan, const CallOps& ops, const FlatValue& arguments) {
  std::optional<CapturedRegion> region;
  if (!plan.lives.empty() && record_.captured.any_of(arguments.tensors)) return false;
  if (!plan.lives.empty() && region.emplace().epoch() != plan.module_epoch.load(std::memory_order_acquire)) return false;
  // User code does not run in here, so that these are never in use twice on one thread.
  struct Scratch {
    OwnVector<TensorImpl*> inputs, outputs;
    follow::RunScratch run;
  };
  static thread_local Scratch scratch;
  const std::span<TensorImpl*> inputs = first_of(scratch.inputs, plan.arguments.size());
  const std::span<TensorImpl*> outputs = first_of(scratch.outputs, plan.variant->outputs.size());
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    auto* tensor =
        plan.arguments[i] >= 0 ? static_cast<TensorImpl*>(arguments.tensors[static_cast<size_t>(plan.arguments[i])]) : plan.captured[i];
    if (tensor->is_lazy() || tensor->storage->pending.load(std::memory_order_acquire)) prepare_host_access(*tensor, false);
    inputs[i] = tensor;
  }
  const size_t count = plan.variant->outputs.size();
  std::array<Tensor, 4> few_made, few_results;
  std::vector<Tensor> many;
  if (count > few_made.size() || plan.results.size() > few_results.size()) many.resize(count + plan.results.size());
  Tensor* made = many.empty() ? few_made.data() : many.data();
  Tensor* results = many.empty() ? few_results.data() : many.data() + count;
  for (size_t i = 0; i < count; ++i) {
    made[i] = Tensor(make_tensor(plan.variant->output_specs[i], nullptr, 0));
    made[i].head()->flags.store(plan.variant->output_flags[i], std::memory_order_relaxed);
    outputs[i] = &impl_of(*made[i].head());
  }
  if (follow::run_variant(*plan.variant, inputs, plan.scalars, outputs, scratch.run) != follow::RunResult::Done) return false;
  for (size_t i = 0; i < plan.results.size(); ++i) {
    switch (plan.results[i].from) {
      case SkipPlan::ResultTensor::From::Undefined: break;
      case SkipPlan::ResultTensor::From::Output: results[i] = made[plan.results[i].index]; break;
      case SkipPlan::ResultTensor::From::Argument:
        results[i] = Tensor(IntrusivePtr<TensorHead>(arguments.tensors[static_cast<size_t>(plan.results[i].index)]));
        break;
    }
  }
  ops.restore_result(ops.frame, plan.prototype, results);
  return true;
}

/// Whether the body has given the caller's variables other values (`x = x + 1` of a `Tensor& x`), which a skipped call would not.
bool CompiledFunction::assigns(const Entry& entry, const CallOps& ops, const FlatValue& before) {
  FlatValue after;
  ops.lent(ops.frame, after);
  const auto same = [](const Scalar& a, const Scalar& b) { return a.type() == b.type() && a.bits() == b.bits(); };
  if (after.tensors == before.tensors && after.structure == before.structure && std::ranges::equal(after.scalars, before.scalars, same))
    return false;
  if (!record_.pure_promise_broken.exchange(true))
    log_warning(entry.tag(), "is declared pure but assigns to an argument that it takes by reference; its body runs on every call");
  return true;
}

// After a followed call of a pure function: makes the plan for skipping, or compares the call with it.
void CompiledFunction::review_promise(Entry& entry, const Invocation& invocation, const CallOps& ops, const FlatValue& arguments,
                                      const PureArguments& given, const SkipPlan* plan, uint64_t module_epoch) {
  Description description(arguments);
  guards::CallDescriptor& call = description.call();
  call.module_epoch = module_epoch;  // what changed while the body ran may have been read before
  std::string why_not;
  auto fresh = entry.plan_skip(invocation, ops, call, given, &why_not);
  if (fresh) entry.look_again();
  entry.note_not_skipped(why_not);
  const bool holds = plan && plan->guards.check(call) && plan->holds_captured();
  if (holds && plan->module_epoch.load() != module_epoch && fresh && fresh->captures_the_same(*plan)) {
    // Some handle has changed somewhere: another one, or a copy of one that is captured here.
    plan->module_epoch.store(module_epoch, std::memory_order_release);
    return;
  }
  if (holds && plan->module_epoch.load() == module_epoch) {
    // Its instances may be others: those of sizes seen long ago are forgotten.
    const bool same_path = !invocation.path().empty() && invocation.path().back()->step == plan->end->step && !invocation.recorded() &&
                           follow::in_same_numbers(invocation.path().back(), plan->end);
    // Another form of the segment takes other numbers as arguments, and a user may have said that they do not matter.
    const bool comparable = fresh && fresh->variant == plan->variant && plan->changes.dropped + plan->changes.relaxed == 0;
    const bool same_numbers = !comparable || fresh->scalars == plan->scalars;
    // One tensor in two roles fits paths that tell the roles apart and paths that do not.
    if (!same_path && !invocation.recorded() && has_two_roles(invocation)) return;
    if (same_path && (!fresh || (fresh->results == plan->results && same_numbers))) return;
    if (record_.pure_promise_broken.exchange(true)) return;
    std::string where = "its result comes from other tensors or numbers than before";
    if (!same_path && invocation.first_new_step()) {
      const follow::Step& step = *invocation.first_new_step();
      where = step.kind == follow::StepKind::Op ? std::string(step.op->name) + " at " +
                                                      ir::SourceLocation{step.where.file_name(), static_cast<int>(step.where.line())}.str()
                                                : "where it ends";
      where = "it differs from the recorded call from " + where;
    }
    log_warning(entry.tag(), "is declared pure but depends on something else: " + where + "; its body runs on every call from now on");
    return;
  }
  if (fresh && !entry.set_skip_plan(std::move(fresh), call)) entry.note_not_skipped("what it captures has been replaced too often");
}

}  // namespace tailor::detail
