#pragma once
// Means and variances over any dimensions: two passes over pieces that stay in the cache, which are then merged in a fixed order.

#include <memory>

#include "kernels/normalize/table.h"
#include "kernels/reduce/layout.h"

namespace tailor::kernels::normalize {

/// Mean and sum of squared deviations from it.
struct Moments {
  double mean = 0, m2 = 0;
};

/// The moments of two disjoint sets of elements together (Chan, Golub, LeVeque).
Moments merged(Moments a, double count_a, Moments b, double count_b);

/// Of any number of contiguous elements.
Moments moments_of(const Loops& f, const void* x, int64_t n, int64_t element_bytes);

/// Of each result of reducing `in` (floating point) over the dimensions in `mask`, in the order of a contiguous result.
std::unique_ptr<Moments[]> moments_over(TensorArg in, ir::DimMask mask);

}  // namespace tailor::kernels::normalize
