#pragma once
// Matrix products: C[i, j] = sum over k of A[i, k] * B[k, j], accumulated in float32 (f32 and half types), float64 or the integer
// type itself (wrapping); half types are rounded once, at the end. No bool.
//
//   op           operands                              attributes
//   mm           self [m, k], mat2 [k, n]                             primitive
//   bmm          self [b, m, k], mat2 [b, k, n]                       primitive
//   batched_mm   self [..., m, k], mat2 [..., k, n]                   primitive: leading dims of equal number, broadcast
//   linear       input [..., k], weight [n, k], bias [n]?             primitive: input @ weight.T + bias; rounded once
//   matmul       self, other                                          torch.matmul: vectors, matrices, broadcast batches
//   mv, dot, outer                                                    composites
//   addmm        self, mat1, mat2, beta = 1, alpha = 1                beta * self + alpha * mat1 @ mat2; beta 0 ignores self
//   baddbmm      self, batch1, batch2, beta = 1, alpha = 1
//   einsum       operands...                           equation: its characters as integers (see einsum_equation)

#include <string>
#include <string_view>

#include "ir/builder.h"
#include "ir/op.h"

namespace tailor::ir {

/// Sizes of matmul(a, b). Throws Error with torch's text.
Dims matmul_sizes(IntArrayRef a, IntArrayRef b);

/// Whether `self` can be read as [..., m, n] without copying the operands: throws with torch's text when `self` does not expand to `sizes`.
void check_expandable(IntArrayRef self, IntArrayRef sizes);

/// The equation of an einsum as an attribute, and back.
///
///   builder.call("einsum", {a, b}, {einsum_equation("ij,jk->ik")});
std::vector<int64_t> einsum_equation(std::string_view text);
std::string einsum_text(IntArrayRef equation);

/// Whether einsum of one operand only moves its dims ("ij->ji", "ii->i"): then the result is a view of it. Throws as einsum does.
bool einsum_is_view(std::string_view equation, const TensorSpec& operand);

}  // namespace tailor::ir
