#pragma once
// Selecting and writing by index tensors (int64, or int32 where torch has it). IndexError for an index out of range.

#include "tailor/indexing.h"
#include "tailor/tensor.h"

namespace tailor {

/// x[indices], integers, slices, None, Ellipsis and tensors as in Python.
Tensor index(const Tensor& self, ArrayRef<indexing::TensorIndex> indices, Where where = Where::current());
Tensor index_put(const Tensor& self, ArrayRef<indexing::TensorIndex> indices, const TensorOrScalar& value, bool accumulate = false,
                 Where where = Where::current());
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index, Where where = Where::current());
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad = false, Where where = Where::current());
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const TensorOrScalar& source, Where where = Where::current());
/// reduce: "add" or "multiply".
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const TensorOrScalar& source, std::string_view reduce,
               Where where = Where::current());
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Where where = Where::current());
/// reduce: "sum", "prod", "mean", "amax" or "amin".
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true, Where where = Where::current());
/// Elements of the flattened tensor.
Tensor take(const Tensor& self, const Tensor& index, Where where = Where::current());
/// Rows of a table.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1, bool scale_grad_by_freq = false,
                 bool sparse = false, Where where = Where::current());
/// The elements where the mask holds: a size that depends on data.
Tensor masked_select(const Tensor& self, const Tensor& mask, Where where = Where::current());
/// [count, rank], int64: the indices of elements that are not zero.
Tensor nonzero(const Tensor& self, Where where = Where::current());

}  // namespace tailor
