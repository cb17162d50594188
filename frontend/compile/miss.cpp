// A call that matches no entry: why, and whether it is compiled or runs eagerly.

#include <algorithm>
#include <chrono>
#include <utility>

#include "frontend/compile/compiled_function.h"
#include "frontend/compile/outcome.h"
#include "runtime/log.h"

namespace tailor::detail {
namespace {

using Clock = std::chrono::steady_clock;
double micros_since(Clock::time_point begin) { return std::chrono::duration<double, std::micro>(Clock::now() - begin).count(); }

/// Calls that run eagerly in a row of thousands do not explain themselves each time.
constexpr uint64_t kToldMisses = 64;

}  // namespace

void CompiledFunction::miss(const CallOps& ops, const FlatValue& arguments, const guards::CallDescriptor& call, CallState state) {
  // One thread at a time changes entries; a second one that meets something new is served by eager code meanwhile, or waits.
  std::unique_lock recording(recording_, std::try_to_lock);
  if (!recording && options_.wait_for_compile && current_stance() == Stance::Default) wait_for_recording(recording);
  const Entries all = *thread_view().entries;
  for (const std::shared_ptr<Entry>& entry : all) {  // made or widened since the look-up
    if ((state.guards = entry->guards_for(call)) != nullptr) {
      if (recording) recording.unlock();
      return run(entry, ops, arguments, call, state);
    }
  }
  ArgumentNames names;
  if (recording && !all.empty()) {
    ops.names(ops.frame, names);
    for (const std::shared_ptr<Entry>& entry : all) {  // what differs is not for the entry to know: no miss
      if (!entry->adopt(call, names)) continue;
      recording.unlock();
      state.guards = entry->guards();
      return run(entry, ops, arguments, call, state);
    }
  }
  const uint64_t number = record_.misses.fetch_add(1, std::memory_order_relaxed) + 1;
  if (recording && !all.empty()) {
    if (const std::shared_ptr<Entry> entry = widened(all, arguments, call, names)) {
      recording.unlock();
      state.widened = true;
      state.guards = entry->guards_for(call);
      return run(entry, ops, arguments, call, state);
    }
  }
  std::optional<EagerReason> reason = why_eager(all, call);
  if (!reason && !recording) reason = EagerReason::OtherThread;
  if (reason) {
    if (recording) recording.unlock();
    const bool told = number <= kToldMisses || number % kToldMisses == 0 || log_enabled(LogChannel::Recompiles) || tracing();
    note_misses(told && !all.empty() ? first_failures(all, call) : std::vector<MissRecord>(), reason, -1);
    return run_eagerly(ops, *reason, &call);
  }
  const std::shared_ptr<Entry> entry = make_entry(ops);
  const std::vector<MissRecord> failures = first_failures(all, call);
  note_misses(failures, std::nullopt, entry->number);
  if (!failures.empty()) note_storm(failures.front());
  tick_cache_clock();
  state.first = true;
  const Clock::time_point begin = Clock::now();
  record(entry, ops, arguments, call, state);
  std::lock_guard lock(record_.mutex);
  if (record_.times.first_call_ms == 0) record_.times.first_call_ms = micros_since(begin) / 1e3;
}

/// The first call of a new entry; others see meanwhile how it gets on.
void CompiledFunction::record(const std::shared_ptr<Entry>& entry, const CallOps& ops, const FlatValue& arguments,
                              const guards::CallDescriptor& call, const CallState& state) {
  const auto note = [&](std::shared_ptr<Entry> recorded) {
    std::lock_guard lock(mutex_);
    recorded_ = std::move(recorded);
  };
  struct Forget {
    const decltype(note)& set;
    ~Forget() { set(nullptr); }
  } const forget{note};
  note(entry);
  run(entry, ops, arguments, call, state);
}

/// Takes the lock once the thread that makes an entry has done; not while that one's body stands still: it may be waiting for this very
/// call, which a thread that it has started makes.
void CompiledFunction::wait_for_recording(std::unique_lock<std::timed_mutex>& recording) const {
  constexpr auto kLook = std::chrono::milliseconds(10);
  constexpr int kLooks = 50;  // at a body that records nothing
  size_t steps = 0;
  for (int still = 0; still < kLooks; ++still) {
    // By the system's clock: what other clocks take is not known to every thread sanitizer.
    if (recording.try_lock_until(std::chrono::system_clock::now() + kLook)) return;
    std::shared_ptr<Entry> entry;
    {
      std::lock_guard lock(mutex_);
      entry = recorded_;
    }
    if (!entry) continue;
    const std::unique_lock idle(entry->tree.compiling(), std::try_to_lock);
    if (!idle || std::exchange(steps, entry->tree.size()) != entry->tree.size()) still = 0;
  }
}

/// A call that is like those of an entry but for sizes: they become symbolic, and the entry serves it. The number of entries stays.
/// recording_ is held.
std::shared_ptr<Entry> CompiledFunction::widened(const Entries& all, const FlatValue& arguments, const guards::CallDescriptor& call,
                                                 const ArgumentNames& names) {
  if (options_.dynamic == Dynamic::Never || options_.error_on_recompile || current_stance() != Stance::Default) return nullptr;
  const std::vector<MissRecord> failures = first_failures(all, call);
  for (const std::shared_ptr<Entry>& entry : all) {
    if (!entry->widen(call, arguments.tensors, names)) continue;
    note_misses(failures, std::nullopt, entry->number);
    return entry;
  }
  return nullptr;
}

/// The first failing guard of every entry; that of the entry used last comes first: it is the one that the call might have hit.
std::vector<MissRecord> CompiledFunction::first_failures(const Entries& entries, const guards::CallDescriptor& call) const {
  std::vector<MissRecord> records;
  std::vector<uint64_t> used;
  for (const auto& entry : entries) {
    const auto miss = entry->closest_guards(call).set.explain(call);
    if (!miss) continue;
    // A guard's text begins with what it reads.
    std::string subject = miss->subject.empty() ? miss->guard.substr(0, miss->guard.find(' ')) : miss->subject;
    const size_t equals = miss->guard.find(" == ", subject.size());
    std::string expected = equals == std::string::npos ? miss->guard : miss->guard.substr(equals + 4);
    records.push_back({entry->number, miss->guard, miss->actual, miss->source, miss->suggestion, std::move(subject), std::move(expected)});
    used.push_back(entry->last_used());
  }
  if (records.empty()) return records;
  const auto latest = std::max_element(used.begin(), used.end()) - used.begin();
  std::rotate(records.begin(), records.begin() + latest, records.begin() + latest + 1);
  std::sort(records.begin() + 1, records.end(), [](const MissRecord& a, const MissRecord& b) { return a.entry < b.entry; });
  return records;
}

std::optional<EagerReason> CompiledFunction::why_eager(const Entries& entries, const guards::CallDescriptor& call) {
  const auto failure = [&]() -> std::string {
    const auto failures = first_failures(entries, call);
    return failures.empty() ? "it has not been compiled yet" : failures.front().text();
  };
  switch (current_stance()) {
    case Stance::Default: break;
    case Stance::ForceEager:
    case Stance::EagerOnRecompile: return EagerReason::Stance;
    case Stance::FailOnRecompile:
      detail::raise<Error>(record_.name, ": a call matches no entry and the stance is fail_on_recompile: ", failure());
  }
  check(entries.empty() || !options_.error_on_recompile, record_.name,
        ": a call matches no entry and error_on_recompile is set: ", entries.empty() ? "" : failure());
  if (static_cast<int>(entries.size()) >= options_.cache_size_limit) {
    check(options_.at_limit != CacheLimitPolicy::Throw, record_.name, ": cache_size_limit (", options_.cache_size_limit, ") is reached");
    if (options_.at_limit == CacheLimitPolicy::RunEager) return EagerReason::AtLimit;
  }
  if (total_cache_is_full(record_.name)) return EagerReason::AtTotalLimit;
  const bool storm = record_.storms.under_way();
  if (storm && options_.at_storm == StormPolicy::RunEager) return EagerReason::Storm;
  if (storm && options_.at_storm == StormPolicy::Throw) {
    const std::vector<Storm> storms = record_.storms.storms();
    detail::raise<Error>(storm_text(storms.at(0), called(record_), StormPolicy::Throw));
  }
  if (options_.when_worth_it || (storm && options_.at_storm == StormPolicy::WhenWorthIt)) {
    const uint64_t pattern = pattern_of(call, options_.pure);
    if (!pays(pattern)) return EagerReason::NotWorthIt;
    record_.patterns.forget(pattern);
  }
  return std::nullopt;
}

bool CompiledFunction::pays(uint64_t pattern) const {
  const PatternCounter::Seen seen = record_.patterns.seen(pattern);
  if (options_.worth_it_after > 0) return seen.calls >= static_cast<uint64_t>(options_.worth_it_after);
  if (seen.calls == 0) return false;
  // Means over calls of all sizes say how much faster compiled calls are, not how long one of this kind takes.
  constexpr double kLeastGain = 0.1;
  CallCosts costs = record_.costs();
  const double eager_us = seen.eager_us / static_cast<double>(seen.calls);
  if (costs.compiled_us > 0 && costs.eager_us > 0)
    costs.compiled_us = eager_us * std::min(costs.compiled_us / costs.eager_us, 1 - kLeastGain);
  costs.eager_us = eager_us;
  return static_cast<double>(seen.calls) >= break_even_calls(costs);
}

void CompiledFunction::note_misses(const std::vector<MissRecord>& misses, std::optional<EagerReason> eager, int entry) {
  if (misses.empty()) return;
  if (log_enabled(LogChannel::Recompiles)) {
    const std::string tag = record_.tag + "/" + (entry < 0 ? std::string("-") : std::to_string(entry)) + "/0";
    log(LogChannel::Recompiles, tag,
        (eager ? "Not recompiling " : "Recompiling ") + called(record_) + " because guard " + misses.front().text() +
            (eager ? std::string("; it runs eagerly: ") + to_string(*eager) : std::string()));
    for (const MissRecord& m : misses) {
      log(LogChannel::Recompiles, record_.tag + "/" + std::to_string(m.entry) + "/0",
          "entry " + std::to_string(m.entry) + ": guard " + m.text());
      if (!m.suggestion.empty())
        log(LogChannel::Recompiles, record_.tag + "/" + std::to_string(m.entry) + "/0", "suggestion: " + m.suggestion, LogLevel::Debug);
    }
  }
  if (tracing()) trace_miss(record_, misses.front(), eager ? "ran eagerly" : "compiled");
  keep_misses(record_, misses);
}

void CompiledFunction::note_storm(const MissRecord& miss) {
  const int limit = options_.storm_limit > 0 ? options_.storm_limit : std::max(8, options_.cache_size_limit);
  const auto storm = record_.storms.note(miss, limit);
  if (!storm) return;
  const std::string text = storm_text(*storm, called(record_), options_.at_storm);
  log_warning(record_.tag, text);
  if (tracing()) trace_instant("storm", text, {{"function", record_.name}, {"guard", storm->subject}});
}

void CompiledFunction::run_eagerly(const CallOps& ops, EagerReason reason, const guards::CallDescriptor* call) {
  record_.count(reason);
  note_outcome([&] { return std::string(call ? "miss: ran eagerly, " : "ran eagerly, ") + to_string(reason); }, -1);
  const bool counted = reason == EagerReason::NotWorthIt;
  const uint64_t pattern = counted ? pattern_of(*call, options_.pure) : 0;
  const TraceSpan span("eager", "eager");
  const Clock::time_point begin = Clock::now();
  ops.body(ops.frame);
  const double us = micros_since(begin);
  if (counted) record_.patterns.ran(pattern, us);
  std::lock_guard lock(record_.mutex);
  record_.times.eager_us.add(us);
}

}  // namespace tailor::detail
