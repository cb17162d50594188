#pragma once
// How the public functions reach dispatch:
//
//   Tensor softmax(const Tensor& self, int64_t dim, ...) { return call<"softmax">(where, operands(self), dim, dtype); }

#include <array>

#include "frontend/dispatch.h"
#include "ir/ops/pointwise_base.h"
#include "tailor/tensor.h"

namespace tailor {

/// Throws NotImplementedError when the build has no such op.
const ir::OpDef& require_op(std::string_view name);

/// The definition of an op, looked up once.
template <ir::FixedString Name>
const ir::OpDef& op() {
  static const ir::OpDef& def = require_op(Name);
  return def;
}

/// Throws Error for an undefined tensor.
[[noreturn, gnu::cold]] void raise_undefined();
inline TensorImpl& impl_of(const Tensor& tensor) {
  if (!tensor.defined()) [[unlikely]]
    raise_undefined();
  return impl_of(*tensor.head());
}

inline Operand operand(const Tensor& tensor) { return &impl_of(tensor); }
inline Operand operand(const Scalar& scalar) { return scalar; }
inline Operand operand(std::nullopt_t) { return std::nullopt; }
inline Operand operand(const TensorOrScalar& x) {
  if (x.tensor() != nullptr) return &impl_of(*x.tensor());
  return x.is_scalar() ? Operand(x.scalar()) : Operand(std::nullopt);
}
/// An absent optional tensor may also be given as an undefined one, as in libtorch.
inline Operand optional_operand(const Tensor& tensor) { return tensor.defined() ? Operand(&impl_of(tensor)) : Operand(std::nullopt); }
inline Operand optional_operand(const std::optional<Tensor>& tensor) { return tensor ? optional_operand(*tensor) : Operand(std::nullopt); }

inline const Operand& operand(const Operand& o) { return o; }
template <class... Ts>
std::array<Operand, sizeof...(Ts)> operands(const Ts&... inputs) {
  return {operand(inputs)...};
}

template <ir::FixedString Name, size_t N, class... Attrs>
Tensor call(Where where, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  const std::array<ir::AttrRef, sizeof...(Attrs)> list{ir::AttrRef(attrs)...};
  return dispatch(OpCall{op<Name>(), inputs, list, false, where});
}
template <ir::FixedString Name, size_t N, class... Attrs>
std::vector<Tensor> call_many(Where where, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  const std::array<ir::AttrRef, sizeof...(Attrs)> list{ir::AttrRef(attrs)...};
  return dispatch_many(OpCall{op<Name>(), inputs, list, false, where});
}
template <ir::FixedString Name, size_t N, class... Attrs>
std::tuple<Tensor, Tensor> call_pair(Where where, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  std::vector<Tensor> both = call_many<Name>(where, inputs, attrs...);
  return {std::move(both.at(0)), std::move(both.at(1))};
}
/// Writes into `self`, which is inputs[0].
template <ir::FixedString Name, size_t N, class... Attrs>
Tensor& call_inplace(Where where, const Tensor& self, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  const std::array<ir::AttrRef, sizeof...(Attrs)> list{ir::AttrRef(attrs)...};
  dispatch(OpCall{op<Name>(), inputs, list, true, where});
  return const_cast<Tensor&>(self);
}

/// Operands of an op that takes a list of tensors.
std::vector<Operand> operand_list(TensorList tensors);

}  // namespace tailor
