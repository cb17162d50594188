#pragma once
// Reading and writing at indices. Operands and attributes, in order:
//
//   index           self, indices...           a place of `indices` is none where the dimension is taken whole
//   index_put       self, values, indices...;  accumulate          in-place form: index_put_
//   index_select    self, index;               dim
//   index_add       self, index, source, alpha; dim                alpha none: 1
//   index_fill      self, index, value;        dim
//   index_copy      self, index, source;       dim
//   gather          self, index;               dim
//   scatter         self, index, src;          dim                 src is a tensor or a scalar
//   scatter_add     self, index, src;          dim
//   scatter_reduce  self, index, src;          dim, reduce, include_self   reduce is a ScatterReduce
//   take            self, index                                    into the flattened tensor
//   embedding       weight, indices
//   nonzero         self;                      count               count is kernels::nonzero_count(self)
//   masked_select   self, mask;                count               count is kernels::nonzero_count(mask broadcast against self)
//   one_hot         self;                      num_classes
//
// Index tensors are int64 or int32; the caller turns bool and uint8 masks into indices with nonzero. Negative indices count from
// the end in index, index_put and take, and are errors elsewhere, as in torch.
//
// Indices are checked before anything is written; IndexError with torch's text otherwise (`can_fail_on_data`).
//
// *Sizes that depend on data.* The shape rule of an op only sees specs, so nonzero, masked_select and repeat_interleave_tensor take
// the size that depends on data as their last attribute. The caller reads it from the data first (`kernels/sizes.h`), which is
// a host access like `item()`: it ends a compiled segment, and the number is an integer attribute like any other from there on.
// The kernels check it against the data, and throw Error when it does not fit.

#include "ir/op.h"

namespace tailor::ir {

enum class ScatterReduce : int64_t { Sum, Prod, Mean, Amax, Amin };

/// How `index` and `index_put` read their operands: the dimensions of `self` that are indexed are brought together, so that the
/// result is (before..., broadcast indices..., after...). Where indexed dimensions are not adjacent, `before` is empty and the
/// dimensions in between belong to `after`.
struct IndexPlan {
  Dims index_sizes;    // the index tensors, broadcast
  Dims indexed;        // dimensions of self with an index tensor, ascending
  Dims before, after;  // the other dimensions of self
  Dims result_sizes;   // sizes of before, index_sizes, sizes of after
};

/// `indices` holds one spec per dimension of self (null or missing: taken whole). Throws IndexError with torch's text.
IndexPlan plan_index(const TensorSpec& self, std::span<const TensorSpec* const> indices);

}  // namespace tailor::ir
