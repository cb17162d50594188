#pragma once
// How a pointwise op is written down. One struct an op; the families (unary.h, binary.h, activation.h ...) list them:
//
//   struct Sigmoid : Pointwise<"sigmoid", 1, DTypeRule::Float> {
//     template <ScalarAlgebra A> static typename A::Value eval(A& a, typename A::Value x) {
//       return a.div(a.lit(1), a.add(a.lit(1), math::exp(a, a.neg(x))));
//     }
//     static constexpr Domain domain{-20, 20};
//   };
//   using ActivationOps = OpList<Sigmoid, ...>;
//
// `eval` takes one Value per operand (a Mask for operand 0 when `first_is_mask`; Masks for all under DTypeRule::Logical) and
// returns a Value, or a Mask where the result is bool. Operands arrive converted to the compute dtype. Under
// DTypeRule::Promote the formula must serve every dtype in `dtypes`: branch on `a.type()` (plain `if constexpr` is not
// possible in the LLVM algebra; use `if (is_floating_point(a.type()))`, both branches must compile for all).
//
// Scalars with a meaning of their own (slope, alpha, bounds, eps) are operands as well, so that a value that changes
// between calls becomes a kernel argument. No formula treats a value specially outside its definition.

#include <algorithm>
#include <string_view>
#include <utility>

#include "ir/algebra.h"
#include "ir/op.h"

namespace tailor::ir {

template <size_t N>
struct FixedString {
  char text[N];
  consteval FixedString(const char (&s)[N]) { std::copy_n(s, N, text); }
  constexpr operator std::string_view() const { return {text, N - 1}; }
};

template <FixedString Name, int Arity, DTypeRule Rule, DtypeSet Types = kAllDtypes>
struct Pointwise {
  static constexpr std::string_view name = Name;
  static constexpr int arity = Arity;
  static constexpr int min_arity = Arity;    // less where `eval` has overloads that leave out operands at the end
  static constexpr uint8_t promotes = 0xff;  // see PointwiseTraits
  static constexpr bool bool_as_int = false;
  static constexpr DTypeRule rule = Rule;
  static constexpr DtypeSet dtypes = Types;
  static constexpr bool first_is_mask = false;
  static constexpr bool can_fail = false;
  static constexpr Domain domain{};
};

template <class... Ops>
struct OpList {
  template <class F>
  static void for_each(F&& f) {
    (f.template operator()<Ops>(), ...);
  }
};

template <class... Lists>
struct JoinLists;
template <class... A>
struct JoinLists<OpList<A...>> {
  using type = OpList<A...>;
};
template <class... A, class... B, class... Rest>
struct JoinLists<OpList<A...>, OpList<B...>, Rest...> : JoinLists<OpList<A..., B...>, Rest...> {};
/// One list of several.
template <class... Lists>
using Join = typename JoinLists<Lists...>::type;

/// Whether the formula takes operand `index` as a truth value (a Mask: the operand is not zero).
template <class Op>
constexpr bool takes_mask(int index) {
  return Op::rule == DTypeRule::Logical || (Op::first_is_mask && index == 0);
}

/// Whether the formula gives a truth value.
template <class Op>
constexpr bool gives_mask() {
  return Op::rule == DTypeRule::Compare || Op::rule == DTypeRule::FloatCompare || Op::rule == DTypeRule::Logical;
}

namespace detail {
template <class Op, int Count, class A, class ValueAt, class MaskAt>
constexpr auto call_formula(A& a, ValueAt& value_at, MaskAt& mask_at) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    const auto operand = [&]<int Index>() {
      if constexpr (takes_mask<Op>(Index))
        return mask_at(Index);
      else
        return value_at(Index);
    };
    return Op::eval(a, operand.template operator()<static_cast<int>(I)>()...);
  }
  (std::make_index_sequence<static_cast<size_t>(Count)>());
}
}  // namespace detail

/// Evaluates the formula of `Op` on its first `count` operands (min_arity to arity; operands left out come last).
/// `value_at(i)` gives operand i in the compute type, `mask_at(i)` as a truth value.
template <class Op, class A, class ValueAt, class MaskAt>
constexpr auto call_formula(A& a, int count, ValueAt value_at, MaskAt mask_at) {
  if constexpr (Op::min_arity < Op::arity) {
    if (count < Op::arity) return detail::call_formula<Op, Op::min_arity>(a, value_at, mask_at);
  }
  return detail::call_formula<Op, Op::arity>(a, value_at, mask_at);
}

/// The registered definition of a pointwise op type.
template <class Op>
const OpDef& op_def() {
  static const OpDef& def = *find_op(Op::name);
  return def;
}

}  // namespace tailor::ir
