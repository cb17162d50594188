#pragma once
// How the public functions reach dispatch:
//
//   Tensor softmax(const Tensor& self, int64_t dim, ...) { return call<"softmax">(where, operands(where, self), dim, dtype); }

#include <array>
#include <atomic>
#include <boost/container/small_vector.hpp>
#include <exception>
#include <tuple>

#include "frontend/check_at.h"
#include "frontend/dispatch.h"
#include "frontend/size_reads.h"
#include "ir/ops/pointwise_base.h"
#include "tailor/tensor.h"

namespace tailor {

/// Throws NotImplementedError when the build has no such op.
const ir::OpDef& require_op(std::string_view name);

/// The definition of an op, looked up once.
template <ir::FixedString Name>
struct NamedOp {
  [[gnu::visibility("hidden")]] static inline constinit std::atomic<const ir::OpDef*> known{nullptr};
  [[gnu::noinline, gnu::cold]] static const ir::OpDef& find() {
    const ir::OpDef& def = require_op(Name);
    known.store(&def, std::memory_order_release);
    return def;
  }
};
template <ir::FixedString Name>
[[gnu::always_inline]] inline const ir::OpDef& op() {
  const ir::OpDef* const def = NamedOp<Name>::known.load(std::memory_order_acquire);
  return def != nullptr ? *def : NamedOp<Name>::find();
}

/// Throws Error for an undefined tensor.
[[noreturn, gnu::cold]] void raise_undefined(Where where);
/// For an op's operand, and for what a description holds besides sizes and strides.
inline TensorImpl& operand_impl(const Tensor& tensor, Where where = {}) {
  if (!tensor.defined()) [[unlikely]]
    raise_undefined(where);
  return impl_of(*tensor.head());
}
/// For whoever looks at the description: its sizes and strides are facts of the call from then on. Compositions that should hold for
/// other sizes ask sym_sizes() and its siblings instead.
inline TensorImpl& impl_of(const Tensor& tensor) {
  TensorImpl& impl = operand_impl(tensor);
  if (current_size_reads != nullptr) [[unlikely]]
    current_size_reads->strides_read(impl);
  return impl;
}

/// While it lives sizes are looked at that are noted otherwise, or follow from what is. An error out of it may depend on them: the record
/// is given up, for user code may catch it and go another way.
class UnnotedReads {
 public:
  UnnotedReads() = default;
  UnnotedReads(const UnnotedReads&) = delete;
  UnnotedReads& operator=(const UnnotedReads&) = delete;
  ~UnnotedReads() {
    if (current_size_reads != nullptr && std::uncaught_exceptions() > before_) [[unlikely]]
      current_size_reads->give_up();
  }

 private:
  int before_ = std::uncaught_exceptions();
};

/// The sizes that both broadcast to; comparisons of sizes are noted. Throws as ir::broadcast_shapes.
SymSizes broadcast_sizes(const SymSizes& a, const SymSizes& b);

inline Operand operand(Where where, const Tensor& tensor) { return &operand_impl(tensor, where); }
inline Operand operand(Where, const Scalar& scalar) { return scalar; }
inline Operand operand(Where, std::nullopt_t) { return std::nullopt; }
/// A scalar that is an expression over sizes: noted for the op that is dispatched next.
Operand symbolic_operand(const TensorOrScalar& x);
inline Operand operand(Where where, const TensorOrScalar& x) {
  if (x.tensor() != nullptr) return &operand_impl(*x.tensor(), where);
  if (x.is_symbolic()) [[unlikely]]
    return symbolic_operand(x);
  return x.is_scalar() ? Operand(x.scalar()) : Operand(std::nullopt);
}
inline Operand operand(Where where, const ScalarOperand& x) { return operand(where, x.number()); }
/// An absent optional tensor may also be given as an undefined one, as in libtorch.
inline Operand optional_operand(const Tensor& tensor) { return tensor.defined() ? Operand(&operand_impl(tensor)) : Operand(std::nullopt); }
inline Operand optional_operand(const std::optional<Tensor>& tensor) { return tensor ? optional_operand(*tensor) : Operand(std::nullopt); }

inline const Operand& operand(Where, const Operand& o) { return o; }
/// Of the op called at `where`, which an undefined tensor is told to be at.
template <class... Ts>
[[gnu::always_inline]] inline std::array<Operand, sizeof...(Ts)> operands([[maybe_unused]] Where where, const Ts&... inputs) {
  return {operand(where, inputs)...};
}

/// An attribute as a plain one; what is symbolic about it is added to `uses`.
template <class T>
struct PlainAttr {
  const T& value;
  ir::AttrRef ref(int, std::vector<SymUse>&) const { return ir::AttrRef(value); }
};
template <>
struct PlainAttr<SymInt> {
  const SymInt& value;
  ir::AttrRef ref(int attribute, std::vector<SymUse>& uses) const {
    if (value.is_symbolic()) [[unlikely]]
      uses.push_back({attribute, -1, value.symbol()});
    return ir::AttrRef(value.unguarded());
  }
};
template <>
struct PlainAttr<std::optional<SymInt>> {
  const std::optional<SymInt>& value;
  ir::AttrRef ref(int attribute, std::vector<SymUse>& uses) const {
    return value ? PlainAttr<SymInt>{*value}.ref(attribute, uses) : ir::AttrRef();
  }
};
template <>
struct PlainAttr<SymIntArrayRef> {
  const SymIntArrayRef& value;
  mutable boost::container::small_vector<int64_t, 8> ints = {};
  ir::AttrRef ref(int attribute, std::vector<SymUse>& uses) const {
    if (!value.of_symbols()) return ir::AttrRef(IntArrayRef(value.ints(), value.size()));
    for (size_t i = 0; i < value.size(); ++i) {
      const SymInt element = value[i];
      if (element.is_symbolic()) [[unlikely]]
        uses.push_back({attribute, static_cast<int>(i), element.symbol()});
      ints.push_back(element.unguarded());
    }
    return ir::AttrRef(IntArrayRef(ints.data(), ints.size()));
  }
};
template <class T>
inline constexpr bool may_be_symbolic =
    std::is_same_v<T, SymInt> || std::is_same_v<T, std::optional<SymInt>> || std::is_same_v<T, SymIntArrayRef>;

/// Calls `run` with the op call.
template <ir::FixedString Name, size_t N, class Run, class... Attrs>
decltype(auto) with_call(Run&& run, Where where, bool inplace, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  if constexpr ((may_be_symbolic<Attrs> || ...)) {
    std::vector<SymUse> uses;
    const std::tuple<PlainAttr<Attrs>...> plain{PlainAttr<Attrs>{attrs}...};
    const auto list = [&]<size_t... I>(std::index_sequence<I...>) {
      return std::array<ir::AttrRef, sizeof...(Attrs)>{std::get<I>(plain).ref(static_cast<int>(I), uses)...};
    }
    (std::index_sequence_for<Attrs...>());
    return run(OpCall{op<Name>(), inputs, list, inplace, where, uses});
  } else {
    const std::array<ir::AttrRef, sizeof...(Attrs)> list{ir::AttrRef(attrs)...};
    return run(OpCall{op<Name>(), inputs, list, inplace, where});
  }
}

template <ir::FixedString Name, size_t N, class... Attrs>
[[gnu::noinline]] Tensor call_otherwise(Where where, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  return with_call<Name>([](const OpCall& c) { return dispatch(c); }, where, false, inputs, attrs...);
}
/// A copy member by member: it alone has an address, so that the compiler keeps `inputs` in registers.
template <size_t N>
[[gnu::always_inline]] inline std::array<Operand, N> in_memory(const std::array<Operand, N>& inputs) {
  std::array<Operand, N> copy;
  for (size_t i = 0; i < N; ++i) {
    copy[i].kind = inputs[i].kind;
    copy[i].tensor = inputs[i].tensor;
    copy[i].scalar = Scalar::from_bits(inputs[i].scalar.kind(), inputs[i].scalar.bits());
  }
  return copy;
}
/// The usual step of a followed call is compared right here (follow/follower.h): what is known of the operands saves looking.
template <ir::FixedString Name, size_t N, class... Attrs>
[[gnu::always_inline]] inline Tensor call(Where where, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  if constexpr ((may_be_symbolic<Attrs> || ...)) {
    return with_call<Name>([](const OpCall& c) { return dispatch(c); }, where, false, inputs, attrs...);
  } else {
    if (OpInterceptor* const interceptor = current_interceptor()) {
      const ir::OpDef* const def = NamedOp<Name>::known.load(std::memory_order_acquire);
      const std::array<ir::AttrRef, sizeof...(Attrs)> list{ir::AttrRef(attrs)...};
      if (TensorImpl* const value = interceptor->follow(def, inputs, list)) [[likely]]
        return Tensor(IntrusivePtr<TensorHead>::first(value));
    }
    return call_otherwise<Name>(where, in_memory(inputs), attrs...);
  }
}
template <ir::FixedString Name, size_t N, class... Attrs>
std::vector<Tensor> call_many(Where where, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  return with_call<Name>([](const OpCall& c) { return dispatch_many(c); }, where, false, inputs, attrs...);
}
template <ir::FixedString Name, size_t N, class... Attrs>
std::tuple<Tensor, Tensor> call_pair(Where where, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  std::vector<Tensor> both = call_many<Name>(where, inputs, attrs...);
  return {std::move(both.at(0)), std::move(both.at(1))};
}
/// Writes into `self`, which is inputs[0].
template <ir::FixedString Name, size_t N, class... Attrs>
Tensor& call_inplace(Where where, const Tensor& self, const std::array<Operand, N>& inputs, const Attrs&... attrs) {
  with_call<Name>([](const OpCall& c) { dispatch(c); }, where, true, inputs, attrs...);
  return const_cast<Tensor&>(self);
}

/// Operands of an op that takes a list of tensors.
std::vector<Operand> operand_list(Where where, TensorList tensors);

}  // namespace tailor
