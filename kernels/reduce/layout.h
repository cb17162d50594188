#pragma once
// A reduction seen by the kernels: which strides are walked for each result and which elements fold into it.

#include "ir/ops/reduction.h"
#include "kernels/reduce/table.h"

namespace tailor::kernels::reduce {

/// One dimension, strides in elements.
struct Axis {
  int64_t size, in, out;
};

/// Up to rank axes, outermost first, with neighbours merged where memory allows it.
struct Axes {
  Axis axis[Dims::kMaxDims];
  int count = 0;
  int64_t elements() const;
  const Axis& inner() const { return axis[count - 1]; }
  bool has_inner(int64_t in_stride) const { return count > 0 && inner().in == in_stride; }
};

struct Layout {
  Axes kept, folded;
  int64_t repeats = 1;  // how often each folded element counts: the product of the broadcast (stride 0) folded sizes
};

/// `keep_order` leaves the folded dimensions in logical order and the broadcast ones in place: index results need that.
/// `out` is the spec of the result, with or without kept dimensions.
Layout make_layout(const ir::TensorSpec& in, ir::DimMask mask, const ir::TensorSpec& out, bool keep_order);

/// Walks the elements of `axes` in order: position `i` lies `in()` and `out()` elements from the start.
class Walker {
 public:
  Walker(const Axes& axes, int64_t i);
  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  void next();

 private:
  const Axes* axes_;
  int64_t index_[Dims::kMaxDims];
  int64_t in_ = 0, out_ = 0;
};

/// How the elements that fold into one result are split: stretches of one long run, or groups of short runs, of about `segment`
/// elements each. Depends on the shape only.
struct Units {
  int64_t run, runs;        // elements of a run; runs of a result
  int64_t segments, group;  // pieces of a run; runs of a unit (one of the two is 1)
  int64_t count;            // units of a result
  Units(const Axes& folded, int64_t segment);
};

Axes without_inner(const Axes& axes);

}  // namespace tailor::kernels::reduce
