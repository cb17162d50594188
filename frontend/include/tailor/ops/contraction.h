#pragma once
// Matrix products. Sums are accumulated in float32 (float64 for float64); dtypes must agree. Error when inner sizes differ.
//
//   Tensor y = matmul(x, w);   // [b, m, k] x [k, n] -> [b, m, n]

#include "tailor/tensor.h"

namespace tailor {

/// Vectors, matrices and broadcast batches of matrices.
Tensor matmul(const Tensor& self, const Tensor& other, Where where = Where::current());
/// [m, k] x [k, n].
Tensor mm(const Tensor& self, const Tensor& mat2, Where where = Where::current());
/// [b, m, k] x [b, k, n].
Tensor bmm(const Tensor& self, const Tensor& mat2, Where where = Where::current());
/// [m, k] x [k].
Tensor mv(const Tensor& self, const Tensor& vec, Where where = Where::current());
/// [k] . [k], a tensor without dimensions.
Tensor dot(const Tensor& self, const Tensor& other, Where where = Where::current());
/// [m], [n] -> [m, n].
Tensor outer(const Tensor& self, const Tensor& vec2, Where where = Where::current());
/// beta * self + alpha * mat1 @ mat2.
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1, const Scalar& alpha = 1,
             Where where = Where::current());
/// The same for batches: beta * self + alpha * batch1 @ batch2.
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1, const Scalar& alpha = 1,
               Where where = Where::current());
/// input @ weight.T + bias; weight is [out, in].
Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = std::nullopt, Where where = Where::current());
/// Einstein's sum: einsum("bij,bjk->bik", {a, b}). Without an arrow the result has the letters that occur once, in order of the alphabet;
/// "..." stands for dimensions that broadcast. Throws Error for an equation that does not fit the operands.
Tensor einsum(std::string_view equation, TensorList tensors, Where where = Where::current());

}  // namespace tailor
