#include "frontend/compile/outcome.h"

#include "runtime/log.h"

namespace tailor::detail {
namespace {

constinit thread_local Explanation* explanation_sink = nullptr;
constinit thread_local CallTrace* traced_call = nullptr;

}  // namespace

void CallTrace::begin(const std::string& function) {
  span_.arg("function", function);
  outer_ = std::exchange(traced_call, this);
}
void CallTrace::end() { traced_call = outer_; }

void note_outcome(std::string_view outcome, int entry) {
  if (traced_call != nullptr) [[unlikely]] {
    traced_call->span_.arg("outcome", std::string(outcome));
    if (entry >= 0) traced_call->span_.arg("entry", std::to_string(entry));
  }
  if (explanation_sink != nullptr) [[unlikely]] {
    explanation_sink->outcome = outcome;
    explanation_sink->entry = entry;
  }
}

ExplanationScope::ExplanationScope(Explanation* sink) { explanation_sink = sink; }
ExplanationScope::~ExplanationScope() { explanation_sink = nullptr; }

void note_explained_misses(const std::vector<MissRecord>& misses) {
  if (explanation_sink != nullptr) explanation_sink->misses = misses;
}

void tell_eviction(const Entry& entry, std::string_view why) {
  const std::string text = "evicted: " + std::string(why);
  if (log_enabled(LogChannel::Recompiles)) log(LogChannel::Recompiles, entry.tag(), text);
  log(LogChannel::Cache, entry.tag(), text);
  if (tracing()) trace_instant("evict", text, {{"function", entry.function_name()}, {"entry", std::to_string(entry.number)}});
}

}  // namespace tailor::detail
