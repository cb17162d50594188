#pragma once
// Times a workload in its modes, in turn, so that the machine's moods meet all of them.

#include <string>
#include <utility>
#include <vector>

#include "workloads/workload.h"

namespace tailor::bench {

/// One mode of one workload: microseconds of a call.
struct Row {
  std::string workload, mode;
  std::string error;  // why there are no numbers
  double us = 0, min_us = 0, q1_us = 0, q3_us = 0;
  int samples = 0;
  double first_call_ms = 0;
  bool warm = false;                                 // the first call found its kernels on disk
  std::vector<std::pair<std::string, double>> more;  // figures of this kind of workload, by name
  Stats stats;                                       // of the compiled modes
};

struct MeasureOptions {
  double budget_seconds = 1;  // for each mode
  int min_samples = 20;
  bool warm = false;  // the first compiled call finds its kernels on disk; otherwise it compiles them
};

/// The rows eager, compiled and skipped. A mode that throws has an error instead of numbers.
std::vector<Row> measure(const Workload& workload, const MeasureOptions& options);

/// The rows eager and compiled, each with `sequence_ms_with_compiling`, the first call and then all of them, and `sequence_ms`, the
/// median of three more passes; `us` is the latter for one call. The modes alternate from pass to pass.
std::vector<Row> measure(const Sequence& sequence);

}  // namespace tailor::bench
