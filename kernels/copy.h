#pragma once
// Moving values between strided memory: the routines that every movement kernel is made of.

#include "kernels/kernels.h"

namespace tailor::kernels {

/// Writes `src`, broadcast to the sizes of `dst` and converted to its dtype (C++ conversion of the value; float to bool is
/// "not zero"; out-of-range floats convert as in `Tensor::to`). Strides of `src` may be zero or negative; the elements of `dst`
/// are distinct. The two must not overlap, unless they are the same elements in the same order.
/// Parallel when large. An equal dtype is moved bit for bit, in rows by memcpy where both sides are dense.
///
///   copy({out + row, &row_spec}, {in, &in_spec});
void copy(TensorArg dst, TensorArg src);

/// Sets every element of `dst` to `value`, converted as by `copy`.
void fill(TensorArg dst, Scalar value);

}  // namespace tailor::kernels
