#pragma once
// Scans and sorts: ops whose result along one dimension depends on the elements before it, or on all of them.
//
//   cumsum cumprod (self; dim: Int, dtype: Dtype|None)
//   cummax cummin (self; dim: Int)                                           -> values, indices
//   logcumsumexp (self; dim: Int)
//   sort (self; dim: Int, descending: Bool, stable: Bool)                    -> values, indices
//   argsort (self; dim: Int, descending: Bool, stable: Bool)                 -> indices
//   topk (self; k: Int, dim: Int, largest: Bool, sorted: Bool)               -> values, indices
//
// Sorting is always stable, and NaN counts as larger than every number. A 0-d tensor is taken for one element.

#include "ir/op.h"

namespace tailor::ir {

/// A tensor seen along one dimension: `outer * inner` runs of `length` elements with stride `inner`, over contiguous memory.
struct Runs {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t count() const { return outer * inner; }
  /// Where run `r` starts, when each run is `len` long.
  int64_t start(int64_t r, int64_t len) const { return r / inner * len * inner + r % inner; }
};
Runs runs_along(IntArrayRef sizes, int64_t dim);

}  // namespace tailor::ir
