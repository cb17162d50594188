#pragma once
// Ops that make data from attributes. Operands and attributes, in order (a `stride` that is none means contiguous):
//
//   empty          ;            size, dtype, stride
//   full           value;       size, dtype, stride    value is a scalar; zeros and ones are `full` of 0 and 1
//   zeros, ones    ;            size, dtype            composite
//   arange         start, step; size, dtype            element i is start + i * step; `size` is arange_size(...)
//   linspace       start, end;  steps, dtype
//   eye            ;            n, m, dtype
//   tril_indices, triu_indices ; row, col, offset, dtype
//
// Values that vary are operands, so that they may become arguments at run time.

#include "ir/op.h"

namespace tailor::ir {

/// The number of elements of arange(start, end, step) of `dtype`; throws Error with torch's text for an impossible range.
///
///   arange_size(0.1, 0.5, 0.05, kFloat32) == 8
int64_t arange_size(Scalar start, Scalar end, Scalar step, ScalarType dtype);

/// Throws Error for a size below zero ("Trying to create tensor with negative dimension -1: [-1]").
void check_sizes(IntArrayRef sizes);

/// Rows and columns that tril_indices (`lower`) or triu_indices gives: how many.
int64_t triangle_size(int64_t rows, int64_t columns, int64_t offset, bool lower);

/// Element `i` of arange: in int64 (wrapping) for integer dtypes, else in float64.
int64_t arange_int(Scalar start, Scalar step, int64_t i);
double arange_float(Scalar start, Scalar step, int64_t i);
/// Element `i` of linspace, in float64: from both ends towards the middle, so that the last element is `end`.
double linspace_element(double start, double end, int64_t steps, int64_t i);

}  // namespace tailor::ir
