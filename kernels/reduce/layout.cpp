#include "kernels/reduce/layout.h"

#include <algorithm>

namespace tailor::kernels::reduce {

int64_t Axes::elements() const {
  int64_t n = 1;
  for (int i = 0; i < count; ++i) n *= axis[i].size;
  return n;
}

namespace {

void sort_by_stride(Axes& axes) {
  std::stable_sort(axes.axis, axes.axis + axes.count, [](const Axis& a, const Axis& b) { return a.in > b.in; });
}

void merge_neighbours(Axes& axes) {
  int to = 0;
  for (int i = 1; i < axes.count; ++i) {
    Axis &outer = axes.axis[to], &inner = axes.axis[i];
    if (outer.in == inner.in * inner.size && outer.out == inner.out * inner.size)
      outer = {outer.size * inner.size, inner.in, inner.out};
    else
      axes.axis[++to] = inner;
  }
  if (axes.count > 0) axes.count = to + 1;
}

}  // namespace

Layout make_layout(const ir::TensorSpec& in, ir::DimMask mask, const ir::TensorSpec& out, bool keep_order) {
  Layout layout;
  const bool keepdim = out.rank() == in.rank();
  size_t out_dim = 0;
  for (size_t d = 0; d < in.sizes.size(); ++d) {
    const bool folded = mask >> d & 1;
    const int64_t size = in.sizes[d], stride = in.strides[d];
    const int64_t out_stride = folded ? 0 : out.strides[keepdim ? d : out_dim];
    if (!folded) ++out_dim;
    if (size == 1) continue;
    if (folded && stride == 0 && !keep_order && size > 0) {
      layout.repeats *= size;
      continue;
    }
    Axes& axes = folded ? layout.folded : layout.kept;
    axes.axis[axes.count++] = {size, stride, out_stride};
  }
  sort_by_stride(layout.kept);
  if (!keep_order) sort_by_stride(layout.folded);
  merge_neighbours(layout.kept);
  merge_neighbours(layout.folded);
  return layout;
}

Walker::Walker(const Axes& axes, int64_t i) : axes_(&axes) {
  for (int d = axes.count; d-- > 0;) {
    const Axis& axis = axes.axis[d];
    index_[d] = i % axis.size;
    i /= axis.size;
    in_ += index_[d] * axis.in;
    out_ += index_[d] * axis.out;
  }
}

void Walker::next() {
  for (int d = axes_->count; d-- > 0;) {
    const Axis& axis = axes_->axis[d];
    in_ += axis.in;
    out_ += axis.out;
    if (++index_[d] < axis.size) return;
    in_ -= axis.size * axis.in;
    out_ -= axis.size * axis.out;
    index_[d] = 0;
  }
}

Units::Units(const Axes& folded, int64_t segment) {
  run = folded.count ? folded.inner().size : 1;
  runs = run ? folded.elements() / run : 0;
  segments = std::max<int64_t>((run + segment - 1) / segment, 1);
  group = segments > 1 ? 1 : std::max<int64_t>(segment / std::max<int64_t>(run, 1), 1);
  count = segments > 1 ? runs * segments : (runs + group - 1) / group;
}

Axes without_inner(const Axes& axes) {
  Axes outer = axes;
  if (outer.count > 0) --outer.count;
  return outer;
}

}  // namespace tailor::kernels::reduce
