// Eager kernels of sort, argsort, topk and median.
#include <cmath>
#include <optional>
#include <utility>

#include "ir/ops/reduction.h"
#include "ir/ops/scan.h"
#include "kernels/dense.h"
#include "kernels/scan/order.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::scan {

void sort_entries(std::vector<Narrow>& entries, std::vector<Narrow>& scratch) {
  if (entries.size() < 1024) return std::sort(entries.begin(), entries.end());
  scratch.resize(entries.size());
  constexpr int kDigits = 4, kValues = 256;
  std::vector<size_t> counts(kDigits * kValues, 0);
  for (const Narrow& e : entries)
    for (int d = 0; d < kDigits; ++d) ++counts[static_cast<size_t>(d) * kValues + (e.word >> (32 + 8 * d) & 0xff)];
  for (int d = 0; d < kDigits; ++d) {
    size_t* const starts = &counts[static_cast<size_t>(d) * kValues];
    if (std::find(starts, starts + kValues, entries.size()) != starts + kValues) continue;  // all have the same digit
    size_t sum = 0;
    for (int v = 0; v < kValues; ++v) sum += std::exchange(starts[v], sum);
    for (const Narrow& e : entries) scratch[starts[e.word >> (32 + 8 * d) & 0xff]++] = e;
    entries.swap(scratch);
  }
}

namespace {

constexpr int64_t kGrain = 4096;

/// Orders each run of `in` along `dim` by f(entries, scratch, elements, their distance) and writes the first `length` entries'
/// elements and indices.
template <class F>
void ordered(TensorArg in, const TensorArg* values, TensorArg indices, int64_t dim, int64_t length, bool descending, F&& f) {
  const ir::Runs runs = ir::runs_along(in.spec->sizes, dim);
  if (runs.count() * length == 0) return;
  check(runs.length <= int64_t{1} << 32, "a dimension of ", runs.length, " elements is too long to be sorted");
  const DenseInput x(in, in.spec->dtype);
  DenseOutput at(indices);
  std::optional<DenseOutput> y;
  if (values) y.emplace(*values);
  visit_dtype(in.spec->dtype, [&]<class T>() {
    parallel_for(0, runs.count(), std::max<int64_t>(kGrain / runs.length, 1), [&](int64_t begin, int64_t end) {
      std::vector<Entry<T>> entries, scratch;
      for (int64_t r = begin; r < end; ++r) {
        const T* const from = x.as<T>() + runs.start(r, runs.length);
        read_entries(from, runs.inner, runs.length, descending, entries);
        f(entries, scratch, from, runs.inner);
        const int64_t to = runs.start(r, length);
        for (int64_t i = 0; i < length; ++i) {
          const int64_t index = entries[static_cast<size_t>(i)].index();
          if (y) y->as<T>()[to + i * runs.inner] = from[index * runs.inner];
          at.as<int64_t>()[to + i * runs.inner] = index;
        }
      }
    });
  });
  if (y) y->finish();
  at.finish();
}

constexpr auto sort_all = [](auto& entries, auto& scratch, const auto*, int64_t) { sort_entries(entries, scratch); };

int64_t length_of(const TensorArg& in, int64_t dim) { return ir::runs_along(in.spec->sizes, dim).length; }

void sort_kernel(const Call& call) {
  const int64_t dim = call.attrs[0].as_int();
  ordered(call.tensor(0), &call.outputs[0], call.outputs[1], dim, length_of(call.tensor(0), dim), call.attrs[1].as_bool(), sort_all);
}

void argsort_kernel(const Call& call) {
  const int64_t dim = call.attrs[0].as_int();
  ordered(call.tensor(0), nullptr, call.outputs[0], dim, length_of(call.tensor(0), dim), call.attrs[1].as_bool(), sort_all);
}

void topk_kernel(const Call& call) {
  const int64_t k = call.attrs[0].as_int();
  ordered(call.tensor(0), &call.outputs[0], call.outputs[1], call.attrs[1].as_int(), k, call.attrs[2].as_bool(),
          [k](auto& entries, auto& scratch, const auto*, int64_t) {
            if (static_cast<size_t>(k) < entries.size()) {
              std::nth_element(entries.begin(), entries.begin() + k, entries.end());
              entries.resize(static_cast<size_t>(k));
            }
            sort_entries(entries, scratch);
          });
}

/// Brings the median's entry, or the first NaN's, to the front.
constexpr auto pick_median = [](auto& entries, auto&, const auto* x, int64_t stride) {
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto v = x[static_cast<int64_t>(i) * stride];
    if (v != v) return std::swap(entries[0], entries[i]);
  }
  const auto middle = entries.begin() + (static_cast<std::ptrdiff_t>(entries.size()) - 1) / 2;
  std::nth_element(entries.begin(), middle, entries.end());
  std::iter_swap(entries.begin(), middle);
};

void median_dim_kernel(const Call& call) {
  ordered(call.tensor(0), &call.outputs[0], call.outputs[1], call.attrs[0].as_int(), 1, false, pick_median);
}

void median_kernel(const Call& call) {
  const TensorArg in = call.tensor(0), out = call.outputs[0];
  if (in.spec->numel() == 0) return fill(out, ir::empty_median(in.spec->dtype));
  const DenseInput flat(in, in.spec->dtype);
  const ir::TensorSpec line(in.spec->dtype, {in.spec->numel()}, in.spec->device), one(in.spec->dtype, {1}, in.spec->device);
  const ir::TensorSpec index_spec(kInt64, {1}, in.spec->device);
  int64_t index;
  const TensorArg value{out.data, &one};
  ordered({const_cast<void*>(flat.as()), &line}, &value, {&index, &index_spec}, 0, 1, false, pick_median);
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("sort", sort_kernel);
  register_kernel("argsort", argsort_kernel);
  register_kernel("topk", topk_kernel);
  register_kernel("median_dim", median_dim_kernel);
  register_kernel("median", median_kernel);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::scan
