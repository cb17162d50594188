#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

namespace tailor::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

struct Mode {
  Row row;
  std::function<void()> call;
  int inner = 1;  // calls of a sample: clocks are coarse and slow
  std::vector<double> samples;
  bool alive() const { return row.error.empty(); }
};

/// Linear between neighbours, as Python's statistics.quantiles and median do for many samples.
double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double part = place - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[below + 1] * part;
}

template <class F>
void guarded(Mode& mode, F&& f) {
  if (!mode.alive()) return;
  try {
    f();
  } catch (const std::exception& error) { mode.row.error = error.what(); }
}

void warm_up(Mode& mode) {
  const auto start = Clock::now();
  mode.call();
  mode.row.first_call_ms = seconds(start) * 1e3;
  mode.call();
  mode.call();
  const auto one = Clock::now();
  mode.call();
  mode.inner = static_cast<int>(std::clamp(2e-4 / std::max(seconds(one), 1e-7), 1.0, 5000.0));
}

// Some calls are not timed: what another mode has left in caches and memory is not this one's doing, and other systems are timed by
// calls that follow each other. Where a mode writes tens of megabytes, the next one's first three calls still feel it.
void sample(Mode& mode) {
  constexpr double kSettle = 5e-3;
  const auto before = Clock::now();
  do mode.call();
  while (seconds(before) < kSettle);
  const auto start = Clock::now();
  for (int i = 0; i < mode.inner; ++i) mode.call();
  mode.samples.push_back(seconds(start) / mode.inner * 1e6);
}

void finish(Mode& mode) {
  if (mode.samples.empty()) return;
  std::sort(mode.samples.begin(), mode.samples.end());
  mode.row.samples = static_cast<int>(mode.samples.size());
  mode.row.min_us = mode.samples.front();
  mode.row.q1_us = quantile(mode.samples, 0.25);
  mode.row.us = quantile(mode.samples, 0.5);
  mode.row.q3_us = quantile(mode.samples, 0.75);
}

}  // namespace

std::vector<Row> measure(const Workload& workload, const MeasureOptions& options) {
  std::vector<Mode> modes;
  for (const char* name : {"eager", "compiled", "skipped"}) {
    Row& row = modes.emplace_back().row;
    row.workload = workload.name;
    row.mode = name;
    row.warm = options.warm;
  }
  Prepared prepared;
  try {
    if (options.warm) {
      // Its kernels stay on disk, and leave memory with all that the thread remembers of the function.
      std::exception_ptr failed;
      std::thread([&] {
        try {
          manual_seed(0);
          workload.prepare().compiled();
        } catch (...) { failed = std::current_exception(); }
      }).join();
      if (failed) std::rethrow_exception(failed);
    }
    manual_seed(0);
    prepared = workload.prepare();
    modes[0].call = prepared.eager;
    modes[1].call = prepared.compiled;
    modes[2].call = prepared.skipped;
  } catch (const std::exception& error) {
    for (Mode& mode : modes) mode.row.error = error.what();
  }
  for (Mode& mode : modes) guarded(mode, [&] { warm_up(mode); });
  const auto start = Clock::now();
  const double budget = options.budget_seconds * static_cast<double>(modes.size());
  for (int round = 0; seconds(start) < budget || (round < options.min_samples && seconds(start) < 4 * budget) || round < 5; ++round) {
    for (Mode& mode : modes) guarded(mode, [&] { sample(mode); });
  }
  std::vector<Row> rows;
  for (Mode& mode : modes) {
    finish(mode);
    if (mode.row.mode == "compiled" && mode.alive()) mode.row.stats = prepared.stats();
    rows.push_back(std::move(mode.row));
  }
  return rows;
}

std::vector<Row> measure(const Sequence& sequence) {
  struct SequenceMode {
    Row row;
    std::function<void(size_t)> call;
    double with_compiling_ms = 0;
    std::vector<double> again_ms;
  };
  std::vector<SequenceMode> modes(2);
  manual_seed(0);
  const PreparedSequence prepared = sequence.prepare();
  modes[0].row.mode = "eager";
  modes[0].call = prepared.eager;
  modes[1].row.mode = "compiled";
  modes[1].call = prepared.compiled;
  const auto pass_ms = [&](const SequenceMode& mode) {
    const auto start = Clock::now();
    for (size_t call = 0; call < prepared.calls; ++call) mode.call(call);
    return seconds(start) * 1e3;
  };
  constexpr int kPasses = 4;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (SequenceMode& mode : modes) {
      if (!mode.row.error.empty()) continue;
      try {
        if (pass > 0) {
          mode.again_ms.push_back(pass_ms(mode));
          continue;
        }
        const auto start = Clock::now();
        mode.call(0);
        mode.row.first_call_ms = seconds(start) * 1e3;
        mode.with_compiling_ms = mode.row.first_call_ms + pass_ms(mode);
      } catch (const std::exception& error) { mode.row.error = error.what(); }
    }
  }
  std::vector<Row> rows;
  for (SequenceMode& mode : modes) {
    mode.row.workload = sequence.name;
    if (mode.row.error.empty()) {
      std::sort(mode.again_ms.begin(), mode.again_ms.end());
      const double scale = 1e3 / static_cast<double>(prepared.calls);
      const double median = quantile(mode.again_ms, 0.5);
      mode.row.us = median * scale;
      mode.row.min_us = mode.again_ms.front() * scale;
      mode.row.q1_us = quantile(mode.again_ms, 0.25) * scale;
      mode.row.q3_us = quantile(mode.again_ms, 0.75) * scale;
      mode.row.samples = static_cast<int>(mode.again_ms.size());
      mode.row.more = {{"sequence_ms_with_compiling", mode.with_compiling_ms}, {"sequence_ms", median}};
      if (mode.row.mode == "compiled") mode.row.stats = prepared.stats();
    }
    rows.push_back(std::move(mode.row));
  }
  return rows;
}

}  // namespace tailor::bench
