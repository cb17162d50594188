// Scans and sorts in the most obvious way, over contiguous memory.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/ops/scan.h"
#include "ir/reference.h"

namespace tailor::ir {
namespace {

std::vector<HostTensor> results_of(const ReferenceCall& call) {
  std::vector<HostTensor> results;
  for (const TensorSpec& spec : call.output_specs) results.emplace_back(spec);
  return results;
}

void copy_element(HostTensor& to, int64_t o, const HostTensor& from, int64_t i) {
  const auto size = static_cast<size_t>(element_size(from.spec.dtype));
  std::copy_n(from.bytes.data() + static_cast<size_t>(i) * size, size, to.bytes.data() + static_cast<size_t>(o) * size);
}

std::vector<HostTensor> cumulative(const ReferenceCall& call) {
  const bool product = call.op.name == "cumprod";
  const HostTensor& x = call.tensor(0);
  auto results = results_of(call);
  HostTensor& y = results[0];
  const Runs runs = runs_along(x.spec.sizes, call.attrs[0].as_int());
  const bool real = is_floating_point(y.spec.dtype);
  HostTensor one(TensorSpec(y.spec.dtype, {}));  // rounds each operand to the dtype asked for
  for (int64_t r = 0; r < runs.count(); ++r) {
    double total = product ? 1 : 0;
    uint64_t whole = product ? 1 : 0;  // wraps
    for (int64_t i = 0, at = runs.start(r, runs.length); i < runs.length; ++i, at += runs.inner) {
      if (is_integral(x.spec.dtype, true))
        one.set_int(0, x.get_int(at));
      else
        one.set(0, x.get(at));
      if (real) {
        total = product ? total * one.get(0) : total + one.get(0);
        y.set(at, total);
      } else {
        const auto v = static_cast<uint64_t>(one.get_int(0));
        whole = product ? whole * v : whole + v;
        y.set_int(at, static_cast<int64_t>(whole));
      }
    }
  }
  return results;
}

/// Of equal elements the last counts, as in torch; the first NaN stays.
std::vector<HostTensor> running_extremum(const ReferenceCall& call) {
  const bool max = call.op.name == "cummax";
  const HostTensor& x = call.tensor(0);
  auto results = results_of(call);
  const Runs runs = runs_along(x.spec.sizes, call.attrs[0].as_int());
  const bool real = is_floating_point(x.spec.dtype);
  for (int64_t r = 0; r < runs.count(); ++r) {
    const int64_t start = runs.start(r, runs.length);
    int64_t best = 0;
    for (int64_t i = 0; i < runs.length; ++i) {
      const int64_t at = start + i * runs.inner, best_at = start + best * runs.inner;
      if (real) {
        const double a = x.get(at), b = x.get(best_at);
        if (std::isnan(a) || (!std::isnan(b) && (max ? a >= b : a <= b))) best = i;
      } else {
        const int64_t a = x.get_int(at), b = x.get_int(best_at);
        if (max ? a >= b : a <= b) best = i;
      }
      copy_element(results[0], at, x, start + best * runs.inner);
      results[1].set_int(at, best);
    }
  }
  return results;
}

std::vector<HostTensor> log_cumulative(const ReferenceCall& call) {
  const HostTensor& x = call.tensor(0);
  auto results = results_of(call);
  const Runs runs = runs_along(x.spec.sizes, call.attrs[0].as_int());
  for (int64_t r = 0; r < runs.count(); ++r) {
    double log = -INFINITY;  // log of the sum so far
    for (int64_t i = 0, at = runs.start(r, runs.length); i < runs.length; ++i, at += runs.inner) {
      const double v = x.get(at), high = std::max(log, v), low = std::min(log, v);
      if (std::isnan(v) || std::isnan(log))
        log = NAN;
      else
        log = high == low && std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
      results[0].set(at, log);
    }
  }
  return results;
}

/// The order of one run's elements: stable, NaN larger than every number.
std::vector<int64_t> sorted_order(const HostTensor& x, int64_t start, const Runs& runs, bool descending) {
  std::vector<int64_t> order(static_cast<size_t>(runs.length));
  std::iota(order.begin(), order.end(), 0);
  const bool real = is_floating_point(x.spec.dtype);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    if (descending) std::swap(i, j);
    if (!real) return x.get_int(start + i * runs.inner) < x.get_int(start + j * runs.inner);
    const double a = x.get(start + i * runs.inner), b = x.get(start + j * runs.inner);
    return std::isnan(b) ? !std::isnan(a) : a < b;
  });
  return order;
}

/// sort, argsort, topk: the first elements of the order.
std::vector<HostTensor> sorted(const ReferenceCall& call) {
  const HostTensor& x = call.tensor(0);
  const bool topk = call.op.name == "topk", indices_only = call.op.name == "argsort";
  auto results = results_of(call);
  const int64_t dim = call.attrs[topk ? 1 : 0].as_int();
  const bool descending = call.attrs[topk ? 2 : 1].as_bool();
  const Runs runs = runs_along(x.spec.sizes, dim);
  const int64_t length = topk ? call.attrs[0].as_int() : runs.length;
  for (int64_t r = 0; r < runs.count(); ++r) {
    const int64_t start = runs.start(r, runs.length), to = runs.start(r, length);
    const std::vector<int64_t> order = sorted_order(x, start, runs, descending);
    for (int64_t i = 0; i < length; ++i) {
      if (!indices_only) copy_element(results[0], to + i * runs.inner, x, start + order[static_cast<size_t>(i)] * runs.inner);
      results.back().set_int(to + i * runs.inner, order[static_cast<size_t>(i)]);
    }
  }
  return results;
}

[[maybe_unused]] const bool registered = [] {
  for (std::string_view op : {"cumsum", "cumprod"}) register_reference(op, cumulative);
  for (std::string_view op : {"cummax", "cummin"}) register_reference(op, running_extremum);
  register_reference("logcumsumexp", log_cumulative);
  for (std::string_view op : {"sort", "argsort", "topk"}) register_reference(op, sorted);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
