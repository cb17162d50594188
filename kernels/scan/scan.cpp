// Eager kernels of cumsum, cumprod, cummax, cummin and logcumsumexp: one pass along each run. Runs that lie side by side in memory
// are scanned together, row by row.
#include "ir/ops/scan.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/dense.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::scan {
namespace {

constexpr int64_t kGrain = int64_t{1} << 14, kStrip = 256;

/// Calls f(offset of the first element, distance of elements, number of neighbouring runs) for strips of runs, in parallel.
template <class F>
void for_each_strip(const ir::Runs& runs, F&& f) {
  const int64_t strips = (runs.inner + kStrip - 1) / kStrip, elements = std::min(runs.inner, kStrip) * runs.length;
  parallel_for(0, runs.outer * strips, std::max<int64_t>(kGrain / std::max<int64_t>(elements, 1), 1), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t column = t % strips * kStrip;
      f(t / strips * runs.length * runs.inner + column, runs.inner, std::min(kStrip, runs.inner - column));
    }
  });
}

/// Floats accumulate in double, integers wrap.
template <class T>
using Total = std::conditional_t<is_floating_point(scalar_type_of<T>), double, uint64_t>;

template <class T>
T rounded(Total<T> total) {
  if constexpr (std::is_same_v<T, bool>)
    return total != 0;
  else if constexpr (sizeof(T) == 2 && is_floating_point(scalar_type_of<T>))
    return T(static_cast<float>(total));
  else
    return static_cast<T>(total);
}

template <bool product>
void cumulative_kernel(const Call& call) {
  const TensorArg out = call.outputs[0];
  if (out.spec->numel() == 0) return;
  const DenseInput in(call.tensor(0), out.spec->dtype);
  DenseOutput to(out);
  const ir::Runs runs = ir::runs_along(out.spec->sizes, call.attrs[0].as_int());
  visit_dtype(out.spec->dtype, [&]<class T>() {
    for_each_strip(runs, [&](int64_t first, int64_t stride, int64_t n) {
      Total<T> totals[kStrip];
      std::fill_n(totals, n, product ? 1 : 0);
      const T* x = in.as<T>() + first;
      T* y = to.as<T>() + first;
      for (int64_t i = 0; i < runs.length; ++i, x += stride, y += stride)
        for (int64_t j = 0; j < n; ++j) {
          const auto v = static_cast<Total<T>>(x[j]);
          totals[j] = product ? totals[j] * v : totals[j] + v;
          y[j] = rounded<T>(totals[j]);
        }
    });
  });
  to.finish();
}

template <bool max>
void extremum_kernel(const Call& call) {
  const TensorArg values = call.outputs[0];
  if (values.spec->numel() == 0) return;
  const DenseInput in(call.tensor(0), values.spec->dtype);
  DenseOutput to(values), indices(call.outputs[1]);
  const ir::Runs runs = ir::runs_along(values.spec->sizes, call.attrs[0].as_int());
  visit_dtype(values.spec->dtype, [&]<class T>() {
    for_each_strip(runs, [&](int64_t first, int64_t stride, int64_t n) {
      T best[kStrip];
      int64_t where[kStrip];
      const T* x = in.as<T>() + first;
      for (int64_t i = 0; i < runs.length; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const T v = x[i * stride + j];
          // Of equal elements the last counts, as in torch; after a NaN only another one does.
          if (i == 0 || v != v || (best[j] == best[j] && (max ? v >= best[j] : v <= best[j]))) best[j] = v, where[j] = i;
          to.as<T>()[first + i * stride + j] = best[j];
          indices.as<int64_t>()[first + i * stride + j] = where[j];
        }
    });
  });
  to.finish();
  indices.finish();
}

void logcumsumexp_kernel(const Call& call) {
  const TensorArg out = call.outputs[0];
  if (out.spec->numel() == 0) return;
  const DenseInput in(call.tensor(0), out.spec->dtype);
  DenseOutput to(out);
  const ir::Runs runs = ir::runs_along(out.spec->sizes, call.attrs[0].as_int());
  visit_dtype(out.spec->dtype, [&]<class T>() {
    if constexpr (is_floating_point(scalar_type_of<T>)) {
      for_each_strip(runs, [&](int64_t first, int64_t stride, int64_t n) {
        double logs[kStrip];
        std::fill_n(logs, n, -INFINITY);
        for (int64_t i = 0; i < runs.length; ++i)
          for (int64_t j = 0; j < n; ++j) {
            const int64_t at = first + i * stride + j;
            const auto v = static_cast<double>(in.as<T>()[at]);
            if (std::isnan(v) || std::isnan(logs[j])) {
              logs[j] = NAN;
            } else {
              const double high = std::max(logs[j], v), low = std::min(logs[j], v);
              logs[j] = high == low && std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
            }
            to.as<T>()[at] = rounded<T>(logs[j]);
          }
      });
    }
  });
  to.finish();
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("cumsum", cumulative_kernel<false>);
  register_kernel("cumprod", cumulative_kernel<true>);
  register_kernel("cummax", extremum_kernel<true>);
  register_kernel("cummin", extremum_kernel<false>);
  register_kernel("logcumsumexp", logcumsumexp_kernel);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::scan
