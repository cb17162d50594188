// stats(), explain() and report(): what a compiled function has done, as data.

#include <algorithm>

#include "frontend/compile/compiled_function.h"
#include "frontend/compile/outcome.h"

namespace tailor::detail {
namespace {

std::vector<Explanation::GuardText> guard_texts(const guards::GuardSet& guards) {
  std::vector<Explanation::GuardText> texts;
  for (const guards::Guard& g : guards.guards()) texts.push_back({std::string(to_string(g.kind)), g.condition(), g.source});
  return texts;
}

std::vector<Explanation::GuardText> skip_guard_texts(const SkipPlan& plan) {
  std::vector<Explanation::GuardText> texts = guard_texts(plan.guards);
  texts.push_back({"module epoch", "module epoch == " + std::to_string(plan.module_epoch.load()), ""});
  for (size_t i = 0; i < plan.lives.size(); ++i)
    texts.push_back({"liveness", "captured tensor " + std::to_string(i) + " is alive (told by the module epoch)", ""});
  return texts;
}

/// What `plan` says of sizes: ranges, predicates, and facts about values that the call computes.
std::vector<Explanation::GuardText> size_guard_texts(const SymbolicPlan& plan) {
  std::vector<Explanation::GuardText> texts;
  for (const guards::Guard& g : plan.guards.guards()) {
    if (g.kind == guards::GuardKind::Size || g.kind == guards::GuardKind::SizeRange || g.kind == guards::GuardKind::Predicate)
      texts.push_back({std::string(to_string(g.kind)), g.condition(), g.source});
  }
  for (SizeFactText& fact : texts_of_computed(plan.path.sizes, plan.names))
    texts.push_back({"predicate", std::move(fact.fact), std::move(fact.source)});
  return texts;
}

EntryReport report_of(const Entry& entry) {
  return {entry.number,
          entry.hits(),
          entry.code_bytes(),
          static_cast<int>(entry.tree.size()) - 1,
          static_cast<int>(entry.tree.paths()),
          guard_texts(entry.guards()->set),
          entry.segments()};
}

}  // namespace

Explanation CompiledFunction::explain(const std::function<void()>& call) {
  Explanation result;
  result.function = record_.name;
  {
    const ExplanationScope scope(&result);
    call();
  }
  result.storms = record_.all_storms();
  {
    std::lock_guard lock(record_.mutex);
    result.not_skipped = record_.not_skipped;
  }
  std::lock_guard lock(mutex_);
  for (const auto& entry : *entries_) {
    if (entry->number != result.entry) continue;
    EntryReport seen = report_of(*entry);
    result.guards = std::move(seen.guards);
    if (const SkipPlan* plan = entry->skip_plan()) result.skip_guards = skip_guard_texts(*plan);
    for (const auto& plan : entry->symbolic_plans()) result.size_guards.push_back(size_guard_texts(*plan));
    result.segments = std::move(seen.segments);
    result.steps = seen.steps;
    result.paths = seen.paths;
  }
  return result;
}

FunctionReport CompiledFunction::report() const {
  FunctionReport report{record_.name, stats(), {}};
  std::shared_ptr<const Entries> entries;
  {
    std::lock_guard lock(mutex_);
    entries = entries_;
  }
  for (const auto& entry : *entries) report.entries.push_back(report_of(*entry));
  std::sort(report.entries.begin(), report.entries.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return report;
}

Stats CompiledFunction::stats() const {
  Stats s;
  const CallCounts::Sums sums = record_.counts.since_restart();
  s.calls = sums.calls;
  s.hits = sums.hits;
  s.skipped = sums.skipped;
  s.misses = record_.misses;
  s.recompiles = record_.recompiles;
  s.divergences = record_.divergences;
  s.op_by_op = record_.op_by_op;
  s.lifts = record_.lifts;
  s.evictions = record_.evictions;
  s.plans_voided = record_.plans_voided;
  s.guards_dropped = record_.guards_dropped;
  s.guards_relaxed = record_.guards_relaxed;
  s.compile_failures = record_.compile_failures;
  s.symbolic_compiles = record_.symbolic_compiles;
  s.symbolic_rests = record_.symbolic_rests;
  s.symbolic_given_up = record_.symbolic_given_up;
  s.sizes_bound = record_.bound;
  s.parts = record_.parts;
  s.async_compiles = record_.async_compiles;
  s.pure_promise_broken = record_.pure_promise_broken;
  const auto eager = [&](EagerReason reason) { return record_.eager[static_cast<size_t>(reason)].load(); };
  s.eager.at_limit = eager(EagerReason::AtLimit);
  s.eager.at_total_limit = eager(EagerReason::AtTotalLimit);
  s.eager.in_storm = eager(EagerReason::Storm);
  s.eager.not_worth_it = eager(EagerReason::NotWorthIt);
  s.eager.while_compiling = eager(EagerReason::OtherThread);
  s.eager.by_stance = eager(EagerReason::Stance);
  s.storms = record_.all_storms();
  {
    std::lock_guard lock(record_.mutex);
    const auto& t = record_.times;
    s.kernels = t.kernels;
    s.ops = t.ops;
    s.passes_ms = t.passes_ms;
    s.lower_ms = t.lower_ms;
    s.llvm_ms = t.llvm_ms;
    s.link_ms = t.link_ms;
    s.artifacts = {t.artifacts.hits, t.artifacts.misses, t.artifacts.rejects, t.artifacts.bytes};
    s.compile_ms = t.compile_ms;
    s.first_call_ms = t.first_call_ms;
    s.trace_ms = std::max(0.0, s.first_call_ms - s.compile_ms);
    s.eager_call_us = t.eager_us.samples ? t.eager_us.mean() : t.recorded_us.mean();
    s.guard_us = t.guard_us.mean();
    s.run_us = t.run_us.mean();
    s.follow_us = std::max(0.0, t.compiled_us.mean() - s.run_us);
    s.compiled_call_us = t.compiled_us.samples ? t.compiled_us.mean() + s.guard_us : 0;
    s.recent_misses = record_.recent_misses;
    s.not_skipped = record_.not_skipped;
  }
  std::lock_guard lock(mutex_);
  s.entries = static_cast<int>(entries_->size());
  for (const auto& entry : *entries_) {
    s.paths += static_cast<int>(entry->tree.paths());
    s.bindings += static_cast<int>(entry->tree.bindings());
    s.code_bytes += entry->code_bytes();
  }
  return s;
}

}  // namespace tailor::detail
