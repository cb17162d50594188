// argmax argmin max_dim min_dim: the extremum and the index where it is first.
#include <algorithm>

#include "kernels/dense.h"
#include "kernels/reduce/fold.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::reduce {
namespace {

constexpr int64_t kGrain = int64_t{1} << 15;

struct ArgJob {
  const std::byte* in;
  int64_t in_size;
  TensorArg values, indices;  // values.spec is null when they are not wanted
  Layout layout;              // one folded axis at most
  ArgRowsFn rows;
  ArgColumnsFn columns;
  bool real;

  const void* at(int64_t offset) const { return in + offset * in_size; }
  void finish(int64_t out, int64_t stride, const Acc* acc, const int64_t* index, int64_t n) const {
    if (values.spec) store(values, out, stride, acc, n, real);
    for (int64_t i = 0; i < n; ++i) indices.as<int64_t>()[out + i * stride] = index[i];
  }
};

void arg_rows(const ArgJob& job) {
  const Axes& kept = job.layout.kept;
  const int64_t n = job.layout.folded.count ? job.layout.folded.inner().size : 1;
  const Axis axis = kept.count ? kept.inner() : Axis{1, 0, 0};
  parallel_for(0, kept.elements(), std::max<int64_t>(kGrain / n, 1), [&](int64_t begin, int64_t end) {
    Acc acc[64];
    int64_t index[64];
    for (int64_t r = begin; r < end;) {
      const int64_t rows = std::min({end - r, axis.size - r % axis.size, int64_t{64}});
      const Walker walk(kept, r);
      job.rows(job.at(walk.in()), rows, axis.in, n, acc, index);
      job.finish(walk.out(), axis.out, acc, index, rows);
      r += rows;
    }
  });
}

void arg_columns(const ArgJob& job) {
  const Axes& kept = job.layout.kept;
  Axes outer = kept;
  --outer.count;
  const Axis folded = job.layout.folded.count ? job.layout.folded.inner() : Axis{1, 0, 0}, inner = kept.inner();
  const int64_t chunks = (inner.size + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(kGrain / (folded.size * std::min(inner.size, kColumns)), 1);
  parallel_for(0, outer.elements() * chunks, grain, [&](int64_t begin, int64_t end) {
    Acc acc[kColumns];
    int64_t index[kColumns];
    for (int64_t t = begin; t < end; ++t) {
      const Walker walk(outer, t / chunks);
      const int64_t first = t % chunks * kColumns, n = std::min(kColumns, inner.size - first);
      job.columns(job.at(walk.in() + first), folded.size, folded.in, n, 0, acc, index);
      job.finish(walk.out() + first * inner.out, inner.out, acc, index, n);
    }
  });
}

void run_arg(TensorArg in, ir::DimMask mask, bool max, TensorArg values, TensorArg indices) {
  const ir::TensorSpec& out = *indices.spec;
  if (out.numel() == 0) return;
  Layout layout = make_layout(*in.spec, mask, out, true);
  const bool rows = layout.folded.count == 0 || (layout.folded.count == 1 && layout.folded.has_inner(1));
  const bool columns = layout.folded.count == 1 && layout.kept.has_inner(1);
  if (!rows && !columns) {
    // Any other layout is copied first: indices count in logical order.
    const ir::TensorSpec dense(in.spec->dtype, in.spec->sizes, in.spec->device);
    const DenseInput copied(in, dense.dtype);
    return run_arg({const_cast<void*>(copied.as()), &dense}, mask, max, values, indices);
  }
  const Table& t = table();
  const int d = static_cast<int>(in.spec->dtype), which = max ? 0 : 1;
  const ArgJob job{in.as<const std::byte>(), element_size(in.spec->dtype),     values, indices, layout, t.arg_rows[which][d],
                   t.arg_columns[which][d],  is_floating_point(in.spec->dtype)};
  rows ? arg_rows(job) : arg_columns(job);
}

template <bool max>
void arg_kernel(const Call& call) {
  run_arg(call.tensor(0), ir::reduced_dims(call.attrs[0], call.tensor(0).spec->rank()), max, TensorArg{}, call.outputs[0]);
}

template <bool max>
void with_indices_kernel(const Call& call) {
  run_arg(call.tensor(0), ir::reduced_dims(call.attrs[0], call.tensor(0).spec->rank()), max, call.outputs[0], call.outputs[1]);
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("argmax", arg_kernel<true>);
  register_kernel("argmin", arg_kernel<false>);
  register_kernel("max_dim", with_indices_kernel<true>);
  register_kernel("min_dim", with_indices_kernel<false>);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::reduce
