#pragma once
// What became of a call, told to whoever looks: explain(), the trace, the log.

#include <string>
#include <string_view>

#include "frontend/compile/entry.h"
#include "runtime/trace.h"

namespace tailor::detail {

/// The span of one call.
class CallTrace {
 public:
  explicit CallTrace(const std::string& function) : span_("call", "call") {
    if (span_.on()) [[unlikely]]
      begin(function);
  }
  CallTrace(const CallTrace&) = delete;
  CallTrace& operator=(const CallTrace&) = delete;
  ~CallTrace() {
    if (span_.on()) [[unlikely]]
      end();
  }

 private:
  friend void tell_outcome(std::string_view outcome, int entry);
  void begin(const std::string& function);
  void end();
  TraceSpan span_;
  CallTrace* outer_ = nullptr;
};

/// Tells the call under way what became of it. Nobody looks, mostly: `outcome` makes the text.
void tell_outcome(std::string_view outcome, int entry);
extern constinit thread_local bool outcome_is_asked_for;
template <class F>
void note_outcome(F outcome, int entry) {
  if (outcome_is_asked_for) [[unlikely]]
    tell_outcome(outcome(), entry);
}
/// Calls that this thread makes until the end of the scope fill `sink`.
class ExplanationScope {
 public:
  explicit ExplanationScope(Explanation* sink);
  ExplanationScope(const ExplanationScope&) = delete;
  ExplanationScope& operator=(const ExplanationScope&) = delete;
  ~ExplanationScope();
};
/// Keeps what made something be compiled again, for statistics and for a call that is explained.
void keep_misses(FunctionRecord& record, std::span<const MissRecord> misses);
/// Tells of a difference from what an entry has recorded: log, trace, statistics, explanation.
void note_recompile(FunctionRecord& record, const MissRecord& miss, const std::string& tag, const std::string& then);
void trace_miss(const FunctionRecord& record, const MissRecord& miss, const std::string& then);
/// "fn (model.cpp:12)", whether the function has a name or not.
std::string called(const FunctionRecord& record);

void tell_eviction(const Entry& entry, std::string_view why);

}  // namespace tailor::detail
