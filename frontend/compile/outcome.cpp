#include "frontend/compile/outcome.h"

#include "runtime/log.h"

namespace tailor::detail {
namespace {

constinit thread_local Explanation* explanation_sink = nullptr;
constinit thread_local CallTrace* traced_call = nullptr;

void somebody_looks_or_not() { outcome_is_asked_for = traced_call != nullptr || explanation_sink != nullptr; }

}  // namespace

constinit thread_local bool outcome_is_asked_for = false;

void CallTrace::begin(const std::string& function) {
  span_.arg("function", function);
  outer_ = std::exchange(traced_call, this);
  somebody_looks_or_not();
}
void CallTrace::end() {
  traced_call = outer_;
  somebody_looks_or_not();
}

void tell_outcome(std::string_view outcome, int entry) {
  if (traced_call != nullptr) {
    traced_call->span_.arg("outcome", std::string(outcome));
    if (entry >= 0) traced_call->span_.arg("entry", std::to_string(entry));
  }
  if (explanation_sink != nullptr) {
    explanation_sink->outcome = outcome;
    explanation_sink->entry = entry;
  }
}

ExplanationScope::ExplanationScope(Explanation* sink) {
  explanation_sink = sink;
  somebody_looks_or_not();
}
ExplanationScope::~ExplanationScope() {
  explanation_sink = nullptr;
  somebody_looks_or_not();
}

void keep_misses(FunctionRecord& record, std::span<const MissRecord> misses) {
  constexpr size_t kKept = 32;
  if (explanation_sink != nullptr) explanation_sink->misses.insert(explanation_sink->misses.end(), misses.begin(), misses.end());
  std::lock_guard lock(record.mutex);
  auto& kept = record.recent_misses;
  kept.insert(kept.end(), misses.begin(), misses.end());
  if (kept.size() > kKept) kept.erase(kept.begin(), kept.end() - kKept);
}

void note_recompile(FunctionRecord& record, const MissRecord& miss, const std::string& tag, const std::string& then) {
  if (log_enabled(LogChannel::Recompiles)) {
    log(LogChannel::Recompiles, tag, "Recompiling " + called(record) + " because " + miss.text() + "; " + then);
    if (!miss.suggestion.empty()) log(LogChannel::Recompiles, tag, "suggestion: " + miss.suggestion, LogLevel::Debug);
  }
  if (tracing()) trace_miss(record, miss, then);
  keep_misses(record, {&miss, 1});
}

void trace_miss(const FunctionRecord& record, const MissRecord& miss, const std::string& then) {
  trace_instant("miss", miss.text(),
                {{"function", record.name},
                 {"entry", std::to_string(miss.entry)},
                 {"kind", miss.kind},
                 {"guard", miss.guard},
                 {"actual", miss.actual},
                 {"source", miss.source},
                 {"suggestion", miss.suggestion},
                 {"then", then}});
}

std::string called(const FunctionRecord& record) { return record.options.name.empty() ? "fn (" + record.place + ")" : record.name; }

void tell_eviction(const Entry& entry, std::string_view why) {
  const std::string text = "evicted: " + std::string(why);
  if (log_enabled(LogChannel::Recompiles)) log(LogChannel::Recompiles, entry.tag(), text);
  log(LogChannel::Cache, entry.tag(), text);
  if (tracing()) trace_instant("evict", text, {{"function", entry.function_name()}, {"entry", std::to_string(entry.number)}});
}

}  // namespace tailor::detail
