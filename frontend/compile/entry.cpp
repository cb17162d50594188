#include "frontend/compile/entry.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "frontend/compile/background.h"
#include "frontend/compile/outcome.h"
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

}  // namespace tailor::detail
