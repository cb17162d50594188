#pragma once
// What a compiled function has done: printable, and plain data.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tailor {

/// One failed look-up: which guard of which entry, what it expected and what came.
struct MissRecord {
  int entry = 0;
  std::string guard, actual, source, suggestion;
  std::string text() const;
};

/// Counters since `compile` or `reset`. Times are sums over all calls, in milliseconds unless said otherwise.
struct Stats {
  uint64_t calls = 0;
  uint64_t hits = 0;         // calls that ran nothing but cached code
  uint64_t skipped = 0;      // of these, calls that did not run user code (pure)
  uint64_t misses = 0;       // calls that no entry matched
  uint64_t recompiles = 0;   // segments compiled after the first call's
  uint64_t divergences = 0;  // calls that left every recorded path of their entry
  uint64_t op_by_op = 0;     // segments that ran eagerly inside a compiled call
  uint64_t lifts = 0;        // numbers that became run-time arguments
  uint64_t evictions = 0;
  uint64_t compile_failures = 0;
  bool pure_promise_broken = false;

  int entries = 0, paths = 0, kernels = 0, ops = 0;
  double trace_ms = 0, passes_ms = 0, lower_ms = 0, llvm_ms = 0, link_ms = 0;
  double compile_ms = 0;                  // all of it, first calls' eager run not included
  double first_call_ms = 0;               // the first call, from outside
  double eager_call_us = 0;               // mean of the calls that were recorded (they run eagerly)
  double compiled_call_us = 0;            // mean of sampled hits
  std::vector<MissRecord> recent_misses;  // the last 32

  double hit_rate() const { return calls ? static_cast<double>(hits) / static_cast<double>(calls) : 0; }
  double recompile_rate() const { return calls ? static_cast<double>(recompiles) / static_cast<double>(calls) : 0; }
  /// Calls after which compiling has paid for itself: C_compile / (C_eager - C_compiled); infinite when it never does.
  double break_even() const;
};
std::ostream& operator<<(std::ostream& out, const Stats& stats);

}  // namespace tailor
