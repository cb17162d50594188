#include "frontend/compile/entry.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "frontend/captured.h"
#include "frontend/compile/background.h"
#include "frontend/compile/facts.h"
#include "frontend/compile/outcome.h"
#include "frontend/compile/symbolic_plan.h"
#include "frontend/nn/epoch.h"
#include "runtime/ambient.h"
#include "runtime/config.h"
#include "runtime/log.h"
#include "runtime/trace.h"

namespace tailor::detail {

FunctionRecord::FunctionRecord(CompileOptions chosen, const std::string& where)
    : options(std::move(chosen)),
      place(where),
      name(options.name.empty() ? where : options.name + " (" + where + ")"),
      tag(options.name.empty() ? where : options.name) {}

CallCosts FunctionRecord::costs() const {
  CallCosts costs = typical_costs();
  std::lock_guard lock(mutex);
  if (times.entry_compile_us.samples) costs.compile_us = times.entry_compile_us.mean();
  costs.eager_us = times.eager_us.samples ? times.eager_us.mean() : times.recorded_us.mean();
  costs.compiled_us = times.compiled_us.mean();
  return costs;
}

std::vector<Storm> FunctionRecord::all_storms() const {
  std::vector<Storm> all = storms.storms();
  for (Storm& storm : path_storms.storms()) all.push_back(std::move(storm));
  return all;
}

void FunctionRecord::clear() {
  counts.restart();
  for (auto* counter :
       {&misses, &recompiles, &divergences, &op_by_op, &lifts, &evictions, &compile_failures, &async_compiles, &guards_dropped,
        &guards_relaxed, &plans_voided, &symbolic_compiles, &symbolic_rests, &symbolic_given_up, &bound, &parts})
    counter->store(0);
  for (auto& counter : eager) counter.store(0);
  pure_promise_broken = false;
  captured.clear();
  storms.clear();
  path_storms.clear();
  patterns.clear();
  std::lock_guard lock(mutex);
  times = {};
  recent_misses.clear();
  not_skipped.clear();
}

Entry::~Entry() {
  for (Cell& c : cells_) delete c.spare.load();
}

std::string Entry::tag() const {
  return record_.tag + "/" + std::to_string(number) + "/" + std::to_string(attempts_.load(std::memory_order_relaxed));
}

// Only the last slot is shared; whoever owns another one takes no turns with anybody.
Invocation* Entry::take(int slot) {
  std::atomic<Invocation*>& spare = cell(slot).spare;
  Invocation* taken = nullptr;
  if (slot == kSharedSlot) [[unlikely]] {
    taken = spare.exchange(nullptr, std::memory_order_acquire);
  } else {
    taken = spare.load(std::memory_order_relaxed);
    spare.store(nullptr, std::memory_order_relaxed);
  }
  return taken ? taken : new Invocation(tree, *this);
}

void Entry::give_back(int slot, Invocation* invocation) {
  std::atomic<Invocation*>& spare = cell(slot).spare;
  Invocation* before = nullptr;
  if (slot == kSharedSlot) [[unlikely]] {
    before = spare.exchange(invocation, std::memory_order_acq_rel);
  } else {
    before = spare.load(std::memory_order_relaxed);
    spare.store(invocation, std::memory_order_relaxed);
  }
  delete before;
}

uint64_t Entry::hits() const noexcept {
  uint64_t sum = 0;
  for (const Cell& c : cells_) sum += c.hits.load(std::memory_order_relaxed);
  return sum;
}

uint64_t Entry::last_used() const noexcept {
  uint64_t latest = 0;
  for (const Cell& c : cells_) latest = std::max(latest, c.last_used.load(std::memory_order_relaxed));
  return latest;
}

void Entry::list() {
  std::lock_guard lock(mutex_);
  if (listed_ != Listed::NotYet) return;
  listed_ = Listed::Yes;
  count_in_total_cache(1, static_cast<int64_t>(code_bytes_.load()));
}

// Threads may keep an entry that has gone for as long as they do not look again; its laid out weights go at once.
void Entry::unlist() {
  tree.release_weights();
  std::lock_guard lock(mutex_);
  if (listed_.exchange(Listed::NoMore) == Listed::Yes) count_in_total_cache(-1, -static_cast<int64_t>(code_bytes_.load()));
}

namespace {

/// The two enumerations do not have the same members: the public one has no loop interpreter.
jit::Backend jit_backend(Backend backend) {
  switch (backend) {
    case Backend::Eager: return jit::Backend::Eager;
    case Backend::Interpreter: return jit::Backend::Interpreter;
    case Backend::Llvm: return jit::Backend::Llvm;
  }
  detail::raise<InternalError>("internal error, please report: unknown backend ", static_cast<int>(backend));
}

}  // namespace

jit::CompileOptions Entry::compile_options() const {
  jit::CompileOptions options;
  options.backend = jit_backend(options_.backend);
  options.fast_math = options_.fast_math;
  options.fold_weights = options_.fold_weights;
  options.check_bindings = config().check_bindings;
  return options;
}

// What is compiled after the call that made the entry is a recompile.
bool Entry::may_compile() {
  const bool again = !compiling_first.load();
  switch (current_stance()) {
    case Stance::Default: break;
    case Stance::ForceEager:
    case Stance::EagerOnRecompile: record_.op_by_op.fetch_add(1, std::memory_order_relaxed); return false;
    case Stance::FailOnRecompile:
      detail::raise<Error>(record_.name, ": a segment is not compiled and the stance is fail_on_recompile: ", why_compiled());
  }
  check(!again || !options_.error_on_recompile, record_.name,
        ": a segment would be compiled again and error_on_recompile is set: ", why_compiled());
  if (again && total_cache_is_full(record_.name)) {
    record_.op_by_op.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  return true;
}

std::string Entry::why_compiled() const {
  std::lock_guard lock(mutex_);
  return last_change_.empty() ? "what outlives the call differs, or it is met for the first time" : last_change_;
}

namespace {
thread_local bool on_background_thread = false;
thread_local bool for_first_call = false;  // there: the job comes from the call that made the entry
}  // namespace

bool Entry::compile_later(std::function<void()> finish) {
  if (!options_.async) return false;
  return in_background([self = shared_from_this(), finish = std::move(finish), first_call = compiling_first.load()] {
    if (self->listed_ == Listed::NoMore) return;  // evicted meanwhile: nobody follows it any more
    on_background_thread = true;
    for_first_call = first_call;
    const LogTag tag(self.get(), tag_of_entry);
    TraceSpan span("async", "compile in the background");
    if (span.on()) span.arg("entry", self->tag());
    finish();
    self->record_.async_compiles.fetch_add(1, std::memory_order_relaxed);
  });
}

void Entry::note_compiled(const jit::CompileReport& report, double compile_ms, const ir::Graph& graph, bool first_of_segment,
                          std::span<const std::string> sizes) {
  {
    std::lock_guard lock(record_.mutex);
    auto& times = record_.times;
    times.kernels += report.kernels;
    times.ops += report.ops;
    times.passes_ms += report.passes_ms;
    times.lower_ms += report.lower_ms;
    times.llvm_ms += report.llvm_ms;
    times.link_ms += report.link_ms;
    times.artifacts += report.artifacts;
    times.compile_ms += compile_ms;
    times.entry_compile_us.add(compile_ms * 1e3);
  }
  note_compile_cost(compile_ms * 1e3);
  tick_cache_clock();
  const bool first_call = on_background_thread ? for_first_call : compiling_first.load();
  if (!first_call || !first_of_segment) record_.recompiles.fetch_add(1, std::memory_order_relaxed);
  const std::string tagged = tag();
  attempts_.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    Explanation::Segment& segment =
        segments_.emplace_back(Explanation::Segment{ir::print(graph), report.ops, report.kernels, compile_ms, {}});
    for (const std::string& predicate : sizes) segment.guards.push_back({"shape predicate", predicate, ""});
    last_change_.clear();
    code_bytes_.fetch_add(static_cast<uint64_t>(report.code_bytes), std::memory_order_relaxed);
    if (listed_ == Listed::Yes) count_in_total_cache(0, report.code_bytes);
  }
  keep_total_cache_limit(this);
  if (log_enabled(LogChannel::Graph)) log(LogChannel::Graph, tagged, ir::print(graph));
  if (log_enabled(LogChannel::Perf)) {
    std::ostringstream out;
    out << report.ops << " ops in " << report.kernels << " kernels, compiled in " << compile_ms << " ms (passes " << report.passes_ms
        << ", lower " << report.lower_ms << ", LLVM " << report.llvm_ms << ", link " << report.link_ms << "), " << report.code_bytes
        << " bytes of code";
    log(LogChannel::Perf, tagged, out.str());
  }
}

void Entry::on_variant_compiled(const follow::Variant& variant, bool first_of_segment) {
  note_compiled(variant.executable->report(), variant.compile_ms, variant.graph, first_of_segment);
}

void Entry::on_symbolic_compiled(const follow::SymbolicForm& form) {
  record_.symbolic_compiles.fetch_add(1, std::memory_order_relaxed);
  const bool one_rest = form.has_steps();
  if (one_rest) record_.symbolic_rests.fetch_add(1, std::memory_order_relaxed);
  const std::vector<std::string> sizes = form.predicates();
  const LogChannel channel = one_rest ? LogChannel::Recompiles : LogChannel::Graph;
  if (log_enabled(channel)) {
    std::string text = one_rest ? "compiled for the sizes that leave one rest:" : "compiled for all sizes:";
    for (size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : " ") + sizes[i];
    log(channel, tag(), text);
  }
  note_compiled(form.family->report(), form.form->compile_ms, form.form->graph, true, sizes);
}

void Entry::on_symbolic_given_up(std::string_view why) {
  record_.symbolic_given_up.fetch_add(1, std::memory_order_relaxed);
  if (log_enabled(LogChannel::Recompiles)) log(LogChannel::Recompiles, tag(), "a segment stays static: " + std::string(why));
}

void Entry::on_parts(std::string_view why, std::source_location where) {
  if (record_.parts.fetch_add(1, std::memory_order_relaxed) != 0 && !log_enabled(LogChannel::Recompiles, LogLevel::Debug)) return;
  log(LogChannel::Recompiles, tag(),
      "paths are made of parts that they share: " + std::string(why) + ", at " +
          ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str());
}

void Entry::on_op_by_op(std::string_view why) {
  record_.op_by_op.fetch_add(1, std::memory_order_relaxed);
  if (!warned_.exchange(true)) log(LogChannel::Recompiles, tag(), "a segment runs op by op: " + std::string(why));
}

void Entry::on_escape(std::source_location where, std::string_view why) {
  if (!log_enabled(LogChannel::GraphBreaks)) return;
  std::string text = "a segment ends: " + std::string(why);
  if (where.line() != 0) text += ", at " + ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str();
  log(LogChannel::GraphBreaks, tag(), text);
}

void Entry::on_difference(const follow::Difference& difference) {
  MissRecord miss;
  miss.entry = number;
  miss.guard = difference.condition();
  miss.actual = difference.actual;
  miss.subject = "step " + std::to_string(difference.step) + ": " + difference.what;
  miss.expected = difference.expected;
  miss.step = difference.step;
  if (difference.where.line() != 0)
    miss.source = ir::SourceLocation{difference.where.file_name(), static_cast<int>(difference.where.line())}.str();
  std::string then;
  switch (difference.kind) {
    case follow::Difference::Kind::Lift:
      record_.lifts.fetch_add(1, std::memory_order_relaxed);
      miss.kind = "lift";
      miss.suggestion = "nothing: the number is an argument from now on, and any other value is a hit";
      then = "it becomes a run-time argument";
      break;
    case follow::Difference::Kind::Path:
      record_.divergences.fetch_add(1, std::memory_order_relaxed);
      miss.kind = "path";
      miss.suggestion =
          difference.attribute.empty()
              ? "nothing where the ways through the body are few: each is recorded once; else choose by where(), or split the function"
              : "nothing where it has few values: each is recorded once; else compute it from the sizes of tensors that ops take "
                "(x.size(0)), which makes it symbolic, or use a fixed length and mask the rest";
      then = "a new path is recorded";
      break;
    case follow::Difference::Kind::Kept:
      miss.kind = "kept";
      miss.suggestion = "nothing: code that keeps them serves calls with and without";
      then = "compiled with further results";
      break;
  }
  note_recompile(record_, miss, tag(), then);
  if (!difference.attribute.empty()) {
    MissRecord value = miss;
    value.actual = difference.attribute;
    const int limit = options_.storm_limit > 0 ? options_.storm_limit : std::max(8, options_.cache_size_limit);
    if (const auto storm = record_.path_storms.note(value, limit)) log_warning(record_.tag, path_storm_text(*storm, called(record_)));
  }
  std::lock_guard lock(mutex_);
  last_change_ = miss.text();
}

void Entry::on_compile_failure(std::string_view what) {
  record_.compile_failures.fetch_add(1, std::memory_order_relaxed);
  if (options_.suppress_errors || on_background_thread) log_warning(tag(), "could not be compiled and runs op by op: " + std::string(what));
}

std::string Entry::argument_path(int argument) const {
  const auto index = static_cast<size_t>(argument);
  return index < names.tensors.size() ? names.tensors[index] : "args tensor " + std::to_string(argument);
}

std::vector<Explanation::Segment> Entry::segments() const {
  std::lock_guard lock(mutex_);
  return segments_;
}

// ---- skipping ------------------------------------------------------------------------------------------------------

bool SkipPlan::holds_captured() const {
  size_t next = 0;
  return std::all_of(captured_ids.begin(), captured_ids.end(), [&](uint64_t id) {
    return id == 0 || lives[next++]->word.load(std::memory_order_acquire) == id;  // alive, and described as it was
  });
}

bool SkipPlan::captures_the_same(const SkipPlan& other) const {
  return variant == other.variant && scalars == other.scalars && arguments == other.arguments && captured_ids == other.captured_ids &&
         results == other.results;
}

namespace {

uint64_t size_hash(const guards::CallDescriptor& call) {
  uint64_t hash = 1;
  for (const guards::TensorFact& t : call.tensors) {
    hash = (hash ^ (t.spec ? t.spec->sizes.size() : 99)) * 0x9E3779B97F4A7C15u;
    for (size_t d = 0; t.spec && d < t.spec->sizes.size(); ++d)
      hash = (hash ^ (hash >> 32) ^ static_cast<uint64_t>(t.spec->sizes[d])) * 0x9E3779B97F4A7C15u;
  }
  return hash | 1;
}

}  // namespace

/// The newest first; until `visit` says true.
template <class Visit>
void Entry::each_plan_for(const guards::CallDescriptor& call, const Visit& visit) const {  // mutex_ is held
  for (const uint64_t key : {size_hash(call), uint64_t{0}}) {
    const auto known = plans_by_size_.find(key);
    if (known == plans_by_size_.end()) continue;
    for (auto plan = known->second.rbegin(); plan != known->second.rend(); ++plan) {
      if ((*plan)->guards.check(call) && visit(**plan)) return;
    }
  }
}

// Old plans may be in use by other threads: they go when the entry dies.
bool Entry::set_skip_plan(std::unique_ptr<const SkipPlan> plan, const guards::CallDescriptor& call) {
  constexpr size_t kMostPlans = 1024, kMostOfOneKind = 64;
  std::lock_guard lock(mutex_);
  const SkipPlan* known = nullptr;
  size_t alike = 0;
  each_plan_for(call, [&](const SkipPlan& old) {  // modes and numbers that go back and forth
    ++alike;
    if (old.end == plan->end && old.captures_the_same(*plan)) known = &old;
    return known != nullptr;
  });
  if (known) {
    known->module_epoch.store(call.module_epoch, std::memory_order_release);
    skip_.store(known, std::memory_order_release);
    return true;
  }
  if (const SkipPlan* current = skip_.load(std::memory_order_relaxed); current && !current->holds_captured()) {
    record_.plans_voided.fetch_add(1, std::memory_order_relaxed);
    if (log_enabled(LogChannel::Recompiles))
      log(LogChannel::Recompiles, tag(), "the plan for skipping is void: a tensor that it captures is gone or was described anew");
  }
  if (plans_.size() >= kMostPlans || alike >= kMostOfOneKind) return false;
  tell(plan->changes);
  skip_.store(plan.get(), std::memory_order_release);
  plans_by_size_[plan->changes.dropped + plan->changes.relaxed ? 0 : size_hash(call)].push_back(plan.get());
  plans_.push_back(std::move(plan));
  return true;
}

void Entry::note_not_skipped(const std::string& why) {
  {
    std::lock_guard lock(record_.mutex);
    record_.not_skipped = why;
  }
  {
    std::lock_guard lock(mutex_);
    if (why.empty() || why == told_not_skipped_) return;
    told_not_skipped_ = why;
  }
  log(LogChannel::Recompiles, tag(), "declared pure, but the body ran: " + why);
}

const SkipPlan* Entry::skip_plan_for(const guards::CallDescriptor& call) {
  const SkipPlan* last = skip_plan();
  if (!last || last->guards.check(call)) return last;
  std::lock_guard lock(mutex_);
  const SkipPlan* found = nullptr;
  each_plan_for(call, [&](const SkipPlan& plan) { return found = &plan, true; });
  if (!found) return last;
  skip_.store(found, std::memory_order_release);
  return found;
}

namespace {

/// The number of a tensor among the arguments, or -1.
int argument_number(std::span<TensorHead* const> arguments, const TensorHead* head) {
  const auto it = std::find(arguments.begin(), arguments.end(), head);
  return it == arguments.end() ? -1 : static_cast<int>(it - arguments.begin());
}

}  // namespace

std::optional<PureCall> Entry::look_at(const Invocation& invocation, const CallOps& ops, std::span<TensorHead* const> arguments,
                                       std::string* why_not) const {
  const auto refuse = [&](std::string why) {
    *why_not = std::move(why);
    return std::nullopt;
  };
  PureCall call;
  call.end = invocation.path().empty() ? nullptr : invocation.path().back();
  if (!call.end || call.end->step->kind != follow::StepKind::Return) return refuse("the call did not return");
  for (const HostRead& read : invocation.reads()) {
    if (read.what == HostRead::What::Random) return refuse("random numbers are drawn");
    if (read.what == HostRead::What::Version) return refuse("it asks how often a tensor was written");
    if (read.what == HostRead::What::Unseen && argument_number(arguments, read.tensor) >= 0)
      return refuse("it asks for the gradient of an argument, or whether that is a leaf");
    if (read.what == HostRead::What::Identity) return refuse("it asks whether an argument is, or shares memory with, another tensor");
  }
  for (int i = 0; i < invocation.external_count(); ++i) call.externals.push_back(argument_number(arguments, &invocation.external(i)));
  for (const follow::Instance* instance : invocation.path()) {
    const follow::Step& step = *instance->step;
    if (step.kind == follow::StepKind::Escape) return refuse("host code reads a tensor's data");
    if (step.reads_leaf && call.externals[static_cast<size_t>(step.operands[0].index)] >= 0)
      return refuse("whether an argument that requires gradients is a leaf matters");
    if (step.spreads_grad) return refuse("a write changes which tensors require gradients");
  }
  FlatValue result;
  ops.flatten_result(ops.frame, result);
  for (TensorHead* head : result.tensors) {
    SkipPlan::ResultTensor from;
    if (head) {
      const auto ref = invocation.describe(static_cast<const TensorImpl&>(*head));
      const int argument = argument_number(arguments, head);
      if (argument >= 0)
        from = {SkipPlan::ResultTensor::From::Argument, argument};
      else if (ref.slot)
        from = {SkipPlan::ResultTensor::From::Output, ref.index};
      else
        return refuse("a tensor that is neither computed nor an argument is returned");
    }
    call.results.push_back(from);
  }
  std::vector<int> returned;
  for (const SkipPlan::ResultTensor& r : call.results)
    if (r.from == SkipPlan::ResultTensor::From::Output) returned.push_back(r.index);
  if (!invocation.keeps_only(returned)) return refuse("a value outlives the call without being returned");
  call.prototype = ops.copy_result(ops.frame);
  if (!call.prototype.has_value()) return refuse("the result cannot be copied");
  return call;
}

/// Where a tensor that the body takes from elsewhere is an argument as well, what the body reaches it by may be made to point to other
/// tensors (a pointer does that unseen): such calls are followed.
bool Entry::captures_an_argument(const Invocation& invocation, const PureCall& seen, const PureArguments& given) {
  for (size_t e = 0; e < seen.externals.size(); ++e) {
    TensorImpl& tensor = invocation.external(static_cast<int>(e));
    // From now on its death, and what happens to handles to it, bump the epoch, registered in a module or not.
    if (seen.externals[e] < 0 && invocation.is_held_elsewhere(tensor)) record_.captured.add(tensor);
  }
  const bool both = record_.captured.any_of(given.by_caller);
  if (both) look_again();
  return both;
}

std::unique_ptr<const SkipPlan> Entry::plan_skip(const Invocation& invocation, const CallOps& ops, const guards::CallDescriptor& call,
                                                 const PureArguments& given, std::string* why_not, const SymbolicPlan* bound_by) {
  std::lock_guard lock(mutex_);
  const std::span<TensorHead* const> arguments = given.to_body;
  const auto refuse = [&](std::string why) {
    *why_not = std::move(why);
    return nullptr;
  };
  std::optional<PureCall> seen = look_at(invocation, ops, arguments, why_not);
  if (!seen) return nullptr;
  if (!given.apart) return refuse("an argument cannot be copied");
  if (!bound_by && captures_an_argument(invocation, *seen, given))
    return refuse("an argument is a tensor that it takes from elsewhere as well");
  const follow::Variant* variant = invocation.last_variant();
  if (!variant) return refuse("the segment is not compiled for this call");

  auto plan = std::make_unique<SkipPlan>();
  plan->end = seen->end;
  plan->variant = variant;
  plan->bindings = invocation.bindings();
  plan->scalars = invocation.scalars_of(*variant);
  for (const follow::InputRef& ref : variant->inputs) {
    if (ref.slot) return refuse("a value of an earlier segment is used");
    const auto number = static_cast<size_t>(ref.index);
    const int argument = bound_by ? bound_by->path.externals[number] : seen->externals[number];
    plan->arguments.push_back(argument);
    if (argument >= 0 || bound_by) {
      plan->captured.push_back(argument < 0 ? bound_by->captured[number] : nullptr);
      plan->captured_ids.push_back(argument < 0 ? bound_by->captured_ids[number] : 0);
      if (argument < 0) plan->lives.push_back(bound_by->lives[number]);
      continue;
    }
    TensorImpl& tensor = invocation.external(static_cast<int>(number));
    if (!invocation.is_held_elsewhere(tensor))
      return refuse(
          "a tensor takes part that the body makes of host data (tensor(), from_blob(), a file): it would have to be an argument");
    plan->captured.push_back(&tensor);
    plan->captured_ids.push_back(tensor.id);
    plan->lives.push_back(watch_life(tensor));
  }
  for (const SkipPlan::ResultTensor& value : seen->results) {
    SkipPlan::ResultTensor from = value;
    if (from.from == SkipPlan::ResultTensor::From::Output) {
      const auto at = std::find(variant->outputs.begin(), variant->outputs.end(), value.index);
      if (at == variant->outputs.end()) return refuse("a result is not an output of the compiled segment");
      from.index = static_cast<int>(at - variant->outputs.begin());
    }
    plan->results.push_back(from);
  }
  for (size_t i = 0; i < variant->outputs.size(); ++i) {
    const auto used = [&](const SkipPlan::ResultTensor& r) {
      return r.from == SkipPlan::ResultTensor::From::Output && r.index == static_cast<int>(i);
    };
    if (std::none_of(plan->results.begin(), plan->results.end(), used)) return refuse("a value outlives the call without being returned");
  }
  plan->prototype = std::move(seen->prototype);

  for (size_t i = 0; i < call.tensors.size(); ++i)
    plan->guards.require_spec(static_cast<int>(i), call.tensors[i].spec, argument_path(static_cast<int>(i)), "");
  require_scalars(plan->guards, call.scalars, names);
  require_structure(plan->guards, call.structure, names);
  plan->guards.require_ambient(call.ambient);
  plan->module_epoch = call.module_epoch;
  // Which arguments are the same tensor decides which input each of them is; shared memory matters where it is written.
  if (call.tensors.size() > 1) {
    plan->guards.require_identity(call.tensors);
    if (!variant->written.empty()) plan->guards.require_aliasing(call.tensors);
  }
  const std::vector<HostRead> of_body = bound_by ? reads_of(*bound_by, arguments) : std::vector<HostRead>();
  require_reads(plan->guards, bound_by ? of_body : invocation.reads(), call, arguments, names);
  plan->changes = seal_as_asked(plan->guards, options_, true);
  return plan;
}

}  // namespace tailor::detail
