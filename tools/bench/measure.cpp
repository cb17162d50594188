#include "bench/measure.h"

#include <algorithm>
#include <chrono>

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

void sample(Mode& mode) {
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
  std::vector<Mode> modes(3);
  const char* names[] = {"eager", "compiled", "skipped"};
  for (size_t i = 0; i < modes.size(); ++i) {
    modes[i].row.workload = workload.name;
    modes[i].row.mode = names[i];
  }
  Prepared prepared;
  try {
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

}  // namespace tailor::bench
