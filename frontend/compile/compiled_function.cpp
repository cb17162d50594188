#include "frontend/compile/compiled_function.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>

#include "frontend/compile/facts.h"
#include "frontend/follow/run_variant.h"
#include "frontend/nn/epoch.h"
#include "runtime/ambient.h"
#include "runtime/log.h"

namespace tailor::detail {
namespace {

using Clock = std::chrono::steady_clock;
double micros_since(Clock::time_point begin) { return std::chrono::duration<double, std::micro>(Clock::now() - begin).count(); }

std::atomic<uint64_t> next_function_id{1};

/// This thread's copy of the entries of the functions it called last: look-ups take no lock.
struct CachedEntries {
  uint64_t function = 0, generation = 0;
  std::shared_ptr<const std::vector<std::shared_ptr<Entry>>> entries;
};
thread_local std::array<CachedEntries, 16> cached_entries;

/// Sets the thread's interceptor for a scope.
class InterceptorScope {
 public:
  explicit InterceptorScope(OpInterceptor* interceptor) { current_interceptor() = interceptor; }
  InterceptorScope(const InterceptorScope&) = delete;
  InterceptorScope& operator=(const InterceptorScope&) = delete;
  ~InterceptorScope() { current_interceptor() = nullptr; }
};

thread_local std::vector<guards::TensorFact> facts;

guards::CallDescriptor describe(const FlatValue& arguments) {
  facts.resize(arguments.tensors.size());
  guards::TensorFact* fact = facts.data();
  for (TensorHead* head : arguments.tensors) {
    if (head) {
      const auto& t = static_cast<const TensorImpl&>(*head);
      *fact++ = {&t.spec, t.id, t.storage.get(), t.offset};
    } else {
      *fact++ = {};
    }
  }
  return {facts, arguments.scalars, arguments.structure, ambient_word(), module_epoch()};
}

MissRecord to_record(const guards::Miss& miss, int entry) { return {entry, miss.guard, miss.actual, miss.source, miss.suggestion}; }

}  // namespace

bool inside_compiled_call() noexcept { return current_interceptor() != nullptr; }

FlatValue& thread_arguments() noexcept {
  static thread_local FlatValue arguments;
  return arguments;
}

std::shared_ptr<CompiledFunction> make_compiled_function(CompileOptions options, std::source_location where) {
  if (options.backend == Backend::Llvm) jit::warm_up_in_background();
  return std::make_shared<CompiledFunction>(std::move(options), where);
}
void call_compiled(CompiledFunction& function, const CallOps& ops, FlatValue& arguments) { function.call(ops, arguments); }
Stats stats_of(const CompiledFunction& function) { return function.stats(); }
void reset_compiled(CompiledFunction& function) { function.reset(); }
Explanation explain_call(CompiledFunction& function, const std::function<void()>& call) { return function.explain(call); }

CompiledFunction::CompiledFunction(CompileOptions options, std::source_location where)
    : options_(std::move(options)), id_(next_function_id.fetch_add(1)), entries_(std::make_shared<Entries>()) {
  check(options_.cache_size_limit > 0, "compile: cache_size_limit must be positive, got ", options_.cache_size_limit);
  const std::string place = ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str();
  record_.name = options_.name.empty() ? place : options_.name + " (" + place + ")";
}

const CompiledFunction::Entries& CompiledFunction::entries() {
  CachedEntries& mine = cached_entries[id_ % cached_entries.size()];
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (mine.function != id_ || mine.generation != generation) [[unlikely]] {
    std::lock_guard lock(mutex_);
    mine.entries = entries_;
    mine.function = id_;
    mine.generation = generation_.load(std::memory_order_relaxed);
  }
  return *mine.entries;
}

// mutex_ is held. Threads may keep an entry that has gone for as long as they do not look again; its laid out weights go at once.
void CompiledFunction::publish(std::shared_ptr<const Entries> entries) {
  for (const auto& entry : *entries_)
    if (std::find(entries->begin(), entries->end(), entry) == entries->end()) entry->tree.release_weights();
  entries_ = std::move(entries);
  last_hit_.store(0, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
}

CompiledFunction::~CompiledFunction() { publish(std::make_shared<Entries>()); }

void CompiledFunction::reset() {
  std::lock_guard lock(mutex_);
  publish(std::make_shared<Entries>());
  record_.clear();
}

void CompiledFunction::call(const CallOps& ops, FlatValue& arguments) {
  record_.calls.fetch_add(1, std::memory_order_relaxed);
  for (TensorHead* head : arguments.tensors) {
    if (head && head->flags.load(std::memory_order_acquire) & TensorHead::kLazy)
      prepare_host_access(static_cast<TensorImpl&>(*head), false);
  }
  const guards::CallDescriptor call = describe(arguments);
  const Entries& all = entries();
  if (options_.pure && skip_last_hit(all, call, ops, arguments)) return;
  const size_t last = last_hit_.load(std::memory_order_relaxed);
  if (last < all.size() && all[last]->guards.check(call)) return run(all[last], ops, arguments, false);
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == last || !all[i]->guards.check(call)) continue;
    last_hit_.store(i, std::memory_order_relaxed);
    return run(all[i], ops, arguments, false);
  }
  record_.misses.fetch_add(1, std::memory_order_relaxed);
  if (!all.empty()) record_misses(all, call);
  check(all.empty() || !options_.error_on_recompile, record_.name, ": a call matches no entry and error_on_recompile is set: ",
        all.empty() ? "" : all.back()->guards.explain(call).value_or(guards::Miss{}).text());
  if (static_cast<int>(all.size()) >= options_.cache_size_limit) {
    check(options_.at_limit != CacheLimitPolicy::Throw, record_.name, ": cache_size_limit (", options_.cache_size_limit, ") is reached");
    if (options_.at_limit == CacheLimitPolicy::RunEager) {
      record_.op_by_op.fetch_add(1, std::memory_order_relaxed);
      note_outcome("miss: at cache_size_limit, ran eagerly", -1);
      ops.body(ops.frame);
      return;
    }
  }
  // One thread records at a time; a second one that meets something new is served by eager code meanwhile.
  std::unique_lock recording(recording_, std::try_to_lock);
  if (!recording) {
    record_.op_by_op.fetch_add(1, std::memory_order_relaxed);
    note_outcome("miss: another thread is compiling, ran eagerly", -1);
    ops.body(ops.frame);
    return;
  }
  for (const auto& entry : entries()) {  // added since the look-up above
    if (entry->guards.check(call)) {
      recording.unlock();
      return run(entry, ops, arguments, false);
    }
  }
  const std::shared_ptr<Entry> entry = make_entry(ops, call);
  const Clock::time_point begin = Clock::now();
  run(entry, ops, arguments, true);
  std::lock_guard lock(record_.mutex);
  if (record_.first_call_ms == 0) record_.first_call_ms = micros_since(begin) / 1e3;
}

void CompiledFunction::record_misses(const Entries& entries, const guards::CallDescriptor& call) {
  std::vector<MissRecord> records;
  for (const auto& entry : entries) {
    if (const auto miss = entry->guards.explain(call)) records.push_back(to_record(*miss, entry->number));
  }
  if (log_enabled(LogChannel::Recompiles) && !records.empty()) {
    log(LogChannel::Recompiles, record_.name, "Recompiling because no entry matches:");
    for (const MissRecord& r : records) log(LogChannel::Recompiles, record_.name + "/" + std::to_string(r.entry), "guard " + r.text());
  }
  std::lock_guard lock(record_.mutex);
  for (MissRecord& r : records) record_.recent_misses.push_back(std::move(r));
  constexpr size_t kept = 32;
  if (record_.recent_misses.size() > kept) record_.recent_misses.erase(record_.recent_misses.begin(), record_.recent_misses.end() - kept);
}

// A new entry is not in the cache before its first call has ended: what it relies on is known only then, and a call that throws leaves
// the cache as it was.
std::shared_ptr<Entry> CompiledFunction::make_entry(const CallOps& ops, const guards::CallDescriptor& call) {
  std::lock_guard lock(mutex_);
  auto entry = std::make_shared<Entry>(next_entry_++, options_, record_);
  ops.names(ops.frame, entry->names);
  require_structure(entry->guards, call.structure, entry->names);
  return entry;
}

void CompiledFunction::add(const std::shared_ptr<Entry>& entry, const Invocation& invocation) {
  for (const follow::Step* step : invocation.path()) {
    for (const follow::ExternalFact& external : step->new_externals) {
      if (external.argument < 0) continue;
      entry->guards.require_spec(external.argument, &external.spec, entry->argument_path(external.argument),
                                 ir::SourceLocation{step->where.file_name(), static_cast<int>(step->where.line())}.str());
    }
  }
  entry->guards.seal();
  entry->compiling_first.store(false);
  if (log_enabled(LogChannel::Guards)) {
    for (const guards::Guard& g : entry->guards.guards())
      log(LogChannel::Guards, entry->tag(), g.condition() + (g.source.empty() ? "" : "  # " + g.source));
  }
  std::lock_guard lock(mutex_);
  auto next = std::make_shared<Entries>(*entries_);
  if (static_cast<int>(next->size()) >= options_.cache_size_limit) {
    const auto oldest = std::min_element(next->begin(), next->end(),
                                         [](const auto& a, const auto& b) { return a->last_used.load() < b->last_used.load(); });
    if (log_enabled(LogChannel::Recompiles)) log(LogChannel::Recompiles, (*oldest)->tag(), "evicted: cache_size_limit is reached");
    next->erase(oldest);
    record_.evictions.fetch_add(1, std::memory_order_relaxed);
  }
  next->push_back(entry);
  publish(std::move(next));
}

void CompiledFunction::run(const std::shared_ptr<Entry>& shared, const CallOps& ops, const FlatValue& arguments, bool first_call) {
  Entry& entry = *shared;
  const uint64_t now = record_.calls.load(std::memory_order_relaxed);
  entry.last_used.store(now, std::memory_order_relaxed);
  const bool pure = options_.pure && !record_.pure_promise_broken.load(std::memory_order_relaxed);
  const SkipPlan* plan = pure ? entry.skip_plan() : nullptr;
  if (plan && !first_call) {
    const uint64_t hit = entry.hits.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool audit = (hit & (hit - 1)) == 0;  // 1, 2, 4, 8 ...: followed, to see whether the promise is kept
    if (!audit && plan->serves(describe(arguments)) && skip(*plan, ops, arguments)) {
      record_.hits.fetch_add(1, std::memory_order_relaxed);
      record_.skipped.fetch_add(1, std::memory_order_relaxed);
      note_outcome("skipped: guards hold, the body did not run", entry.number);
      return;
    }
  }

  static thread_local std::vector<TensorImpl*> tensors;
  tensors.clear();
  for (TensorHead* head : arguments.tensors) tensors.push_back(static_cast<TensorImpl*>(head));
  const bool timed = first_call || now % 64 == 0;
  const Clock::time_point begin = timed ? Clock::now() : Clock::time_point();
  // Arguments that the body lets go of stay what they are while there is something to be learnt about them.
  std::vector<IntrusivePtr<TensorHead>> held;
  if (first_call || pure)
    for (TensorHead* head : arguments.tensors) held.emplace_back(head);
  const uint64_t epoch = module_epoch();
  Invocation* invocation = entry.take();
  invocation->begin(tensors);
  {
    InterceptorScope scope(invocation);
    try {
      ops.body(ops.frame);
      if (timed && invocation->recorded()) add_time(record_.eager_us, record_.eager_samples, micros_since(begin));
      invocation->finish();
    } catch (...) {
      const std::exception_ptr earlier = invocation->abandon();
      entry.give_back(invocation);
      if (earlier) std::rethrow_exception(earlier);
      throw;
    }
  }
  const bool hit = invocation->hit_return() != nullptr;
  if (hit) record_.hits.fetch_add(1, std::memory_order_relaxed);
  if (timed && hit) add_time(record_.compiled_us, record_.compiled_samples, micros_since(begin));
  if (first_call) add(shared, *invocation);
  if (pure) review_promise(entry, *invocation, ops, arguments, plan, epoch);
  note_outcome(first_call               ? "miss: recorded and compiled"
               : hit                    ? "hit: followed cached code"
               : invocation->recorded() ? "entry hit, new path recorded"
                                        : "entry hit, a segment ran op by op",
               entry.number);
  invocation->end();
  entry.give_back(invocation);
}

// ---- pure ----------------------------------------------------------------------------------------------------------

// The plan's guards say all that the entry's say: the last hit is tried by them alone.
bool CompiledFunction::skip_last_hit(const Entries& entries, const guards::CallDescriptor& call, const CallOps& ops,
                                     const FlatValue& arguments) {
  const size_t last = last_hit_.load(std::memory_order_relaxed);
  if (last >= entries.size() || record_.pure_promise_broken.load(std::memory_order_relaxed)) return false;
  Entry& entry = *entries[last];
  const SkipPlan* plan = entry.skip_plan();
  if (!plan || !plan->serves(call)) return false;
  const uint64_t hit = entry.hits.load(std::memory_order_relaxed) + 1;
  if ((hit & (hit - 1)) == 0 || !skip(*plan, ops, arguments)) return false;  // due to be followed: run() counts it
  entry.hits.fetch_add(1, std::memory_order_relaxed);
  record_.hits.fetch_add(1, std::memory_order_relaxed);
  record_.skipped.fetch_add(1, std::memory_order_relaxed);
  note_outcome("skipped: guards hold, the body did not run", entry.number);
  return true;
}

bool CompiledFunction::skip(const SkipPlan& plan, const CallOps& ops, const FlatValue& arguments) {
  if (!plan.holds_captured()) return false;
  // User code does not run in here, so that these are never in use twice on one thread.
  struct Scratch {
    std::vector<TensorImpl*> inputs, outputs;
    follow::RunScratch run;
  };
  static thread_local Scratch scratch;
  auto& [inputs, outputs, run] = scratch;
  inputs.clear();
  outputs.clear();
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    TensorHead* head = plan.arguments[i] >= 0 ? arguments.tensors[static_cast<size_t>(plan.arguments[i])] : plan.captured[i].get();
    auto* tensor = static_cast<TensorImpl*>(head);
    if (tensor->is_lazy() || tensor->storage->pending.load(std::memory_order_acquire)) prepare_host_access(*tensor, false);
    inputs.push_back(tensor);
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
    outputs.push_back(&impl_of(*made[i].head()));
  }
  if (follow::run_variant(*plan.variant, inputs, {}, outputs, run) != follow::RunResult::Done) return false;
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

// After a followed call of a pure function: makes the plan for skipping, or compares the call with it.
void CompiledFunction::review_promise(Entry& entry, const Invocation& invocation, const CallOps& ops, const FlatValue& arguments,
                                      const SkipPlan* plan, uint64_t module_epoch) {
  guards::CallDescriptor call = describe(arguments);
  call.module_epoch = module_epoch;  // what changed while the body ran may have been read before
  std::string why_not;
  auto fresh = entry.plan_skip(invocation, ops, call, arguments.tensors, &why_not);
  const bool holds = plan && plan->guards.check(call) && plan->holds_captured();
  if (holds && plan->module_epoch.load() != module_epoch && fresh && fresh->captures_the_same(*plan)) {
    // Some handle has changed somewhere: another one, or a copy of one that is captured here.
    plan->module_epoch.store(module_epoch, std::memory_order_release);
    return;
  }
  if (holds && plan->module_epoch.load() == module_epoch) {
    const bool same_path = !invocation.path().empty() && invocation.path().back() == plan->end && !invocation.recorded();
    if (same_path && (!fresh || fresh->results == plan->results)) return;
    if (record_.pure_promise_broken.exchange(true)) return;
    std::string where = "its result comes from other tensors than before";
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
  if (fresh && !entry.set_skip_plan(std::move(fresh))) why_not = "what it captures has been replaced too often";
  if (!why_not.empty() && log_enabled(LogChannel::Recompiles)) {
    log(LogChannel::Recompiles, entry.tag(), "pure, but cannot be skipped: " + why_not);
  }
}

// ---- looking in ----------------------------------------------------------------------------------------------------

void CompiledFunction::add_time(double& sum, uint64_t& samples, double micros) {
  std::lock_guard lock(record_.mutex);
  sum += micros;
  ++samples;
}

namespace {
thread_local Explanation* explanation_sink = nullptr;
}

void CompiledFunction::note_outcome(const char* outcome, int entry) {
  if (!explanation_sink) return;
  explanation_sink->outcome = outcome;
  explanation_sink->entry = entry;
}

Explanation CompiledFunction::explain(const std::function<void()>& call) {
  Explanation result;
  result.function = record_.name;
  size_t misses_before = 0;
  {
    std::lock_guard lock(record_.mutex);
    misses_before = record_.recent_misses.size();
  }
  struct Scope {
    explicit Scope(Explanation* sink) { explanation_sink = sink; }
    ~Scope() { explanation_sink = nullptr; }
  } scope(&result);
  call();
  {
    std::lock_guard lock(record_.mutex);
    const size_t now = record_.recent_misses.size();
    for (size_t i = std::min(misses_before, now); i < now; ++i) result.misses.push_back(record_.recent_misses[i]);
  }
  std::lock_guard lock(mutex_);
  for (const auto& entry : *entries_) {
    if (entry->number != result.entry) continue;
    for (const guards::Guard& g : entry->guards.guards())
      result.guards.push_back({std::string(to_string(g.kind)), g.condition(), g.source});
    result.segments = entry->segments();
    result.steps = static_cast<int>(entry->tree.size()) - 1;
    result.paths = static_cast<int>(entry->tree.paths());
  }
  return result;
}

Stats CompiledFunction::stats() const {
  Stats s;
  s.calls = record_.calls;
  s.hits = record_.hits;
  s.skipped = record_.skipped;
  s.misses = record_.misses;
  s.recompiles = record_.recompiles;
  s.divergences = record_.divergences;
  s.op_by_op = record_.op_by_op;
  s.lifts = record_.lifts;
  s.evictions = record_.evictions;
  s.compile_failures = record_.compile_failures;
  s.pure_promise_broken = record_.pure_promise_broken;
  {
    std::lock_guard lock(record_.mutex);
    s.kernels = record_.kernels;
    s.ops = record_.ops;
    s.passes_ms = record_.passes_ms;
    s.lower_ms = record_.lower_ms;
    s.llvm_ms = record_.llvm_ms;
    s.link_ms = record_.link_ms;
    s.compile_ms = record_.compile_ms;
    s.first_call_ms = record_.first_call_ms;
    s.trace_ms = std::max(0.0, s.first_call_ms - s.compile_ms);
    s.eager_call_us = record_.eager_samples ? record_.eager_us / static_cast<double>(record_.eager_samples) : 0;
    s.compiled_call_us = record_.compiled_samples ? record_.compiled_us / static_cast<double>(record_.compiled_samples) : 0;
    s.recent_misses = record_.recent_misses;
  }
  std::lock_guard lock(mutex_);
  s.entries = static_cast<int>(entries_->size());
  for (const auto& entry : *entries_) s.paths += static_cast<int>(entry->tree.paths());
  return s;
}

}  // namespace tailor::detail
