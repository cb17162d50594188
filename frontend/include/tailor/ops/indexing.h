#pragma once
// Selecting and writing by index tensors (int64, or int32 where torch has it). IndexError for an index out of range;
// negative indices count from the end in index, index_put and take only, as in torch.
//
//   Tensor rows = index_select(table, 0, tensor({2, 0}));           // [2, ...]
//   Tensor hist = zeros({10}).scatter_add(0, digits, ones({n}));    // digits: int64 [n]

#include "tailor/indexing.h"
#include "tailor/tensor.h"

namespace tailor {

/// x[indices], integers, slices, None, Ellipsis and tensors as in Python.
Tensor index(const Tensor& self, ArrayRef<indexing::TensorIndex> indices, Where where = Where::current());
/// A copy with `value` (broadcast) in the place of what index() gives; `accumulate` adds it, once for each time that an element is named.
Tensor index_put(const Tensor& self, ArrayRef<indexing::TensorIndex> indices, const TensorOrScalar& value, bool accumulate = false,
                 Where where = Where::current());
/// The slices along `dim` that a vector of indices names.
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index, Where where = Where::current());
/// result[i][j] = self[index[i][j]][j] for dim 0, self[i][index[i][j]] for dim 1 ...; the result has the sizes of `index`.
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool sparse_grad = false, Where where = Where::current());
/// A copy with result[index[i][j]][j] = source[i][j] for dim 0, and so on. Where an index comes twice, one of the values stays.
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const TensorOrScalar& source, Where where = Where::current());
/// reduce: "add" or "multiply".
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const TensorOrScalar& source, std::string_view reduce,
               Where where = Where::current());
/// The same, but what is there is added to: a sum over all that have one index.
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Where where = Where::current());
/// reduce: "sum", "prod", "mean", "amax" or "amin".
Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true, Where where = Where::current());
/// Elements of the flattened tensor.
Tensor take(const Tensor& self, const Tensor& index, Where where = Where::current());
/// Rows of a table [count, width]: indices [*] -> [*, width].
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1, bool scale_grad_by_freq = false,
                 bool sparse = false, Where where = Where::current());
/// The elements where the mask holds: a size that depends on data.
Tensor masked_select(const Tensor& self, const Tensor& mask, Where where = Where::current());
/// [count, rank], int64: the indices of elements that are not zero.
Tensor nonzero(const Tensor& self, Where where = Where::current());

}  // namespace tailor
