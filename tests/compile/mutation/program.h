#pragma once
// A program: a function, how it is compiled, and changes between its calls, each with the seed of its random numbers. The same program
// does the same thing again, in whole or in part; so one that fails can be made small.

#include <optional>
#include <string>

#include "compile/mutation/subject.h"

namespace tailor::mutation {

struct Program {
  const Subject* subject = nullptr;
  CompileOptions options;
  struct Change {
    const Fact* fact = nullptr;  // null: the entries are dropped
    uint64_t seed = 0;
  };
  std::vector<Change> changes;
  int calls_between = 2;

  std::string text() const;
};

/// `changes` random changes of facts that the function may rely on; pure functions are only promised some.
Program random_program(const Subject& subject, uint64_t seed, int changes);

/// Runs it in two worlds; what differs first, or nothing. `stats`: of the compiled function, at the end.
std::optional<std::string> run(const Program& program, Stats* stats = nullptr);

/// Calls `subject` compiled, changes one fact `changes` times with two calls after each, and counts what that cost.
struct Cost {
  uint64_t calls = 0, hits = 0, misses = 0, recompiles = 0, divergences = 0, lifts = 0, op_by_op = 0;
  std::string text() const;
};
Cost cost_of(const Subject& subject, const Fact& fact, uint64_t seed, int changes, CompileOptions options);

/// The smallest part of a failing program found by leaving out changes.
Program smallest(Program program);

}  // namespace tailor::mutation
