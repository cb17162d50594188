#pragma once
// Reductions: ops that fold dimensions away.
//
// Primitives, which backends fuse (OpKind::Reduction):
//   sum prod (self; dim: Ints|None, keepdim: Bool, dtype: Dtype|None)
//   amax amin any all (self; dim: Ints|None, keepdim: Bool)
//   argmax argmin (self; dim: Int|None, keepdim: Bool)                      -> i64
//   max_dim min_dim (self; dim: Int, keepdim: Bool)                         -> values, indices (i64)
// Composites, which decompose:
//   mean (self; dim, keepdim, dtype)     max min (self)                     count_nonzero (self; dim)
//   var std var_mean (self; dim: Ints|None, correction: Double, keepdim)    var_mean -> variance, mean
//   logsumexp (self; dim, keepdim)       norm (self; p: Double, dim: Ints|None, keepdim, dtype)
// Neither: median (self), median_dim (self; dim: Int, keepdim) -> values, indices
//
// `dim` may be an Int wherever Ints are allowed. None and the empty list mean all dimensions, but for any and all, where the
// empty list means none. All of them propagate NaN; index results name the first of several equal elements, or the first NaN.

#include <string_view>

#include "ir/op.h"

namespace tailor::ir {

/// Bit d is set: dimension d is reduced.
using DimMask = uint32_t;

/// What an empty list of dimensions asks for.
enum class EmptyDims : uint8_t { All, None };

/// The dimensions that `dim` (None, Int or Ints) names in a tensor of this rank. Throws IndexError for one out of range and Error
/// for one named twice. A 0-d tensor accepts 0 and -1, and has no bit set.
DimMask reduced_dims(const AttrRef& dim, int64_t rank, EmptyDims empty = EmptyDims::All);

/// As `reduced_dims`, for the op's own reading of the empty list.
DimMask reduced_dims_of(const OpDef& op, const AttrRef& dim, int64_t rank);

/// The sizes after reducing: size 1 in place of each reduced dimension with `keepdim`, else without it.
Dims reduced_sizes(IntArrayRef sizes, DimMask mask, bool keepdim);

/// How many elements fold into one.
int64_t reduced_count(IntArrayRef sizes, DimMask mask);

/// The dtype of sum and prod: the one asked for, else i64 for integers and bool, else the operand's own.
ScalarType sum_dtype(ScalarType operand, const AttrRef& dtype);

/// The median of no elements: NaN, and what a CPU converts NaN to where that is no integer.
Scalar empty_median(ScalarType type);

/// amax and the like have no value for no elements: throws torch's errors.
void check_has_elements(std::string_view op, const TensorSpec& self, const AttrRef& dim, DimMask mask);

}  // namespace tailor::ir
