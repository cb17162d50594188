#pragma once
// The sizes that depend on data. Ops whose result's size does (see ir/ops/indexing.h) take it as an attribute, which the caller
// asks for here first.
//
//   int64_t n = kernels::nonzero_count(mask);           // then nonzero(mask; n)

#include "kernels/kernels.h"

namespace tailor::kernels {

/// How many elements are not zero (NaN is not zero).
int64_t nonzero_count(const TensorArg& self);

/// The sum of `repeats` (int64 or int32); with `size` given and a single repeat, that many times it. Throws Error for a negative one.
int64_t repeat_interleave_size(const TensorArg& repeats, int64_t size);

/// The largest element of an integer tensor plus one, 0 when empty: the classes of one_hot(self, -1). Throws Error when negative.
int64_t class_count(const TensorArg& self);

}  // namespace tailor::kernels
