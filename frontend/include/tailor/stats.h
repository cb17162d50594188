#pragma once
// What a compiled function has done: printable, and plain data.
//
//   const tailor::Stats s = fast.stats();
//   std::cout << s;   if (s.hit_rate() < 0.9) std::cout << s.recent_misses.back().text();

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tailor {

/// Why something was compiled again: which guard of which entry failed, or in which step a call differed from what was recorded.
struct MissRecord {
  int entry = 0;
  std::string guard, actual, source, suggestion;
  std::string subject;         // what the guard reads: args[0].size(0); "step 3: other of mul"
  std::string expected;        // 64
  std::string kind = "guard";  // or "lift" (a number varies), "path" (the body does something else), "kept" (more values outlive the call)
  int step = -1;               // along the recorded path; -1: a guard of the entry
  /// `args[0].size(0) == 64 failed: got 48 (first needed at model.cpp:17)`
  std::string text() const;
};

/// A guard that failed again and again.
struct Storm {
  std::string subject;  // args[0].size(0)
  uint64_t failures = 0;
  std::vector<std::string> values;  // the first eight that were seen
  bool more_values = false;         // there were others
  std::string source, suggestion;
};

/// What the artifact cache on disk did for a function. Every kernel looked for there is a hit or a miss.
struct ArtifactStats {
  uint64_t hits = 0, misses = 0;
  uint64_t rejects = 0;  // of the misses: the file was damaged, or not of this kernel, processor and build
  uint64_t bytes = 0;    // of files read and written
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
  uint64_t plans_voided = 0;  // plans for skipping that went because a tensor they capture is gone or was described anew
  uint64_t guards_dropped = 0, guards_relaxed = 0;  // by guard_filter and guard_relax, in all entries and plans
  uint64_t symbolic_compiles = 0;                   // segments compiled for all sizes
  uint64_t symbolic_rests = 0;                      // of these, for sizes that leave one rest (s % 4 == 3) only
  uint64_t symbolic_given_up = 0;                   // segments that one program for all sizes could not be found for
  uint64_t sizes_bound = 0;                         // calls of pure functions in a new size that did not run the body (tailor/sym_int.h)
  uint64_t parts = 0;                               // times that many paths made it compile in parts which they share
  bool pure_promise_broken = false;                 // declared pure, but depends on something else: followed on every call from then on
  std::string not_skipped;  // why the body of a pure function ran in the last call looked at; empty once it is skipped

  /// Calls that ran as plain eager code, and why.
  struct EagerCalls {
    uint64_t at_limit = 0;         // cache_size_limit, with CacheLimitPolicy::RunEager
    uint64_t at_total_limit = 0;   // the limit over all functions, likewise
    uint64_t in_storm = 0;         // StormPolicy::RunEager
    uint64_t not_worth_it = 0;     // their kind had not come often enough to pay for compiling
    uint64_t while_compiling = 0;  // another thread was making an entry
    uint64_t by_stance = 0;
    uint64_t all() const { return at_limit + at_total_limit + in_storm + not_worth_it + while_compiling + by_stance; }
  } eager;
  uint64_t async_compiles = 0;  // segments compiled in the background

  int entries = 0, paths = 0, kernels = 0, ops = 0;
  uint64_t code_bytes = 0;  // of the entries there are
  int bindings = 0;         // different sizes that calls came in and that are remembered
  double trace_ms = 0, passes_ms = 0, lower_ms = 0, llvm_ms = 0, link_ms = 0;
  double compile_ms = 0;  // all of it, first calls' eager run not included
  ArtifactStats artifacts;
  double first_call_ms = 0;               // the first call, from outside
  double eager_call_us = 0;               // mean of the calls that ran eagerly, recorded ones where there is no other
  double compiled_call_us = 0;            // mean of sampled hits
  double guard_us = 0;                    // of that: finding the entry
  double follow_us = 0;                   // of that: user code and the comparison of its ops
  double run_us = 0;                      // of that: compiled code
  std::vector<MissRecord> recent_misses;  // the last 32
  std::vector<Storm> storms;

  double hit_rate() const { return calls ? static_cast<double>(hits) / static_cast<double>(calls) : 0; }
  double recompile_rate() const { return calls ? static_cast<double>(recompiles) / static_cast<double>(calls) : 0; }
  /// T_avg: what a call costs on average, compiling included, in microseconds.
  double average_call_us() const;
  /// Calls after which compiling has paid for itself: C_compile / (C_eager - C_compiled); infinite when it never does, and before both were
  /// measured.
  double break_even() const;
  std::string text() const;
  std::string json() const;
};
std::ostream& operator<<(std::ostream& out, const Stats& stats);

}  // namespace tailor
