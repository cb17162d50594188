#include "tailor/ops/contraction.h"

#include "frontend/decomposition.h"
#include "frontend/eager.h"
#include "ir/ops/contraction.h"

namespace tailor {

#define PRODUCT(name)                                                                                                            \
  Tensor name(const Tensor& self, const Tensor& other, Where where) { return call<#name>(where, operands(where, self, other)); } \
  Tensor Tensor::name(const Tensor& other, Where where) const { return tailor::name(*this, other, where); }
PRODUCT(matmul)
PRODUCT(mm)
PRODUCT(bmm)
PRODUCT(mv)
PRODUCT(dot)
PRODUCT(outer)
#undef PRODUCT

#define ADD_PRODUCT(name)                                                                                                   \
  Tensor name(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha, Where where) { \
    return call<#name>(where, operands(where, self, a, b, beta, alpha));                                                    \
  }                                                                                                                         \
  Tensor Tensor::name(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha, Where where) const {       \
    return tailor::name(*this, a, b, beta, alpha, where);                                                                   \
  }
ADD_PRODUCT(addmm)
ADD_PRODUCT(baddbmm)
#undef ADD_PRODUCT

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, Where where) {
  return call<"linear">(where, operands(where, input, weight, optional_operand(bias)));
}

Tensor einsum(std::string_view equation, TensorList tensors, Where where) {
  check_at(where, !tensors.empty(), "einsum(): must provide at least one operand");
  const std::vector<Operand> list = operand_list(where, tensors);
  std::vector<int64_t> characters;
  bool is_view = false;
  try {  // no op is called yet
    characters = ir::einsum_equation(equation);
    is_view = tensors.size() == 1 && ir::einsum_is_view(equation, impl_of(tensors[0]).spec);
  } catch (const Error&) { eager::rethrow_with_line(where); }
  const ir::AttrRef attrs[] = {characters};
  if (is_view) return Decomposition<dispatch_many>(where).run(op<"einsum">(), list, attrs).at(0);
  return dispatch(OpCall{op<"einsum">(), list, attrs, false, where});
}

}  // namespace tailor
