#pragma once
// Fills the table behind find_formula; each family of ops is instantiated in a file of its own to share the compile time.

#include "ir/formula.h"
#include "ir/host_algebra.h"
#include "ir/ops/pointwise_base.h"

namespace tailor::ir {

void register_formula(std::string_view op, ScalarType compute, Formula formula);

namespace detail {

template <class T>
T from_word(Bits word) {
  T value;
  std::memcpy(static_cast<void*>(&value), &word, sizeof value);
  return value;
}
template <class T>
Bits to_word(T value) {
  Bits word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

template <class Op, class T>
Bits host_formula(const Bits* args, int count) {
  using A = HostAlgebra<T>;
  A algebra;
  const auto result = call_formula<Op>(
      algebra, count, [&](int i) { return from_word<typename A::Value>(args[i]); }, [&](int i) { return args[i] != 0; });
  if constexpr (std::same_as<T, bool>)
    return result != 0;  // true + true computes 2
  else
    return to_word(result);
}

template <class Op>
void register_formulas_of() {
  const auto add = [&]<class T>(ScalarType compute) { register_formula(Op::name, compute, &host_formula<Op, T>); };
  if constexpr (Op::rule == DTypeRule::Logical) {
    add.template operator()<bool>(kBool);
  } else {
    constexpr bool floats_only = Op::rule == DTypeRule::Float;
    constexpr DtypeSet types = Op::dtypes;
    constexpr auto has = [](ScalarType t) { return (types & dtype_bit(t)) != 0; };
    if constexpr (Op::rule != DTypeRule::Integral) {
      if constexpr (has(kFloat32) || has(kFloat16) || has(kBFloat16)) add.template operator()<float>(kFloat32);
      if constexpr (has(kFloat64)) add.template operator()<double>(kFloat64);
    }
    if constexpr (!floats_only) {
      if constexpr (has(kUInt8)) add.template operator()<uint8_t>(kUInt8);
      if constexpr (has(kInt8)) add.template operator()<int8_t>(kInt8);
      if constexpr (has(kInt16)) add.template operator()<int16_t>(kInt16);
      if constexpr (has(kInt32)) add.template operator()<int32_t>(kInt32);
      if constexpr (has(kInt64)) add.template operator()<int64_t>(kInt64);
      if constexpr (has(kBool)) add.template operator()<bool>(kBool);
    }
  }
}

}  // namespace detail

/// Registers the formulas of a list of ops; returns true, for the initialiser of a static.
template <class List>
bool register_formulas() {
  List::for_each([]<class Op>() { detail::register_formulas_of<Op>(); });
  return true;
}

}  // namespace tailor::ir
