#pragma once
// The algebra of one host value: the interpreter, constant folding and scalar tails. It is the plainest rendering of the contract
// in ir/algebra.h, and what the other algebras are compared with bit for bit.
//
//   HostAlgebra<float> a;
//   float y = Sigmoid::eval(a, 0.5f);
//
// The operations that the contract gives to floats alone exist for integers too (without a meaning), so that a formula that
// branches on `type()` compiles for every type.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ir/algebra.h"

namespace tailor::ir {

namespace detail {

template <class T>
struct HostTypes {
  using Value = T;
  using Int = std::make_signed_t<T>;
};
template <>
struct HostTypes<float> {
  using Value = float;
  using Int = int32_t;
};
template <>
struct HostTypes<double> {
  using Value = double;
  using Int = int64_t;
};
template <>
struct HostTypes<bool> {
  using Value = uint8_t;
  using Int = int8_t;
};

/// Unsigned arithmetic at least as wide as `unsigned`: wraps, and small types are not promoted to a signed int.
template <std::integral V>
using Wrapping = std::conditional_t<(sizeof(V) < sizeof(unsigned)), unsigned, std::make_unsigned_t<V>>;

}  // namespace detail

/// T is float, double, a signed integer, uint8_t, or bool (whose values are uint8 0 and 1).
template <class T>
struct HostAlgebra {
  using Value = typename detail::HostTypes<T>::Value;
  using Int = typename detail::HostTypes<T>::Int;
  using Mask = bool;

  static constexpr ScalarType type() { return scalar_type_of<T>; }

  static constexpr Value lit(double v) {
    if constexpr (std::is_floating_point_v<Value>)
      return static_cast<Value>(v);
    else
      return static_cast<Value>(static_cast<int64_t>(v));
  }
  static constexpr Int lit_int(int64_t v) { return static_cast<Int>(v); }

  template <class V>
  static constexpr V add(V x, V y) {
    if constexpr (std::is_floating_point_v<V>)
      return x + y;
    else
      return static_cast<V>(detail::Wrapping<V>(x) + detail::Wrapping<V>(y));
  }
  template <class V>
  static constexpr V sub(V x, V y) {
    if constexpr (std::is_floating_point_v<V>)
      return x - y;
    else
      return static_cast<V>(detail::Wrapping<V>(x) - detail::Wrapping<V>(y));
  }
  template <class V>
  static constexpr V mul(V x, V y) {
    if constexpr (std::is_floating_point_v<V>)
      return x * y;
    else
      return static_cast<V>(detail::Wrapping<V>(x) * detail::Wrapping<V>(y));
  }
  template <class V>
  static constexpr V neg(V x) {
    if constexpr (std::is_floating_point_v<V>)
      return flip(x, sign_bit);
    else
      return sub(V(0), x);
  }
  template <class V>
  static constexpr V abs(V x) {
    if constexpr (std::is_floating_point_v<V>)
      return std::bit_cast<V>(static_cast<Int>(std::bit_cast<Int>(x) & ~sign_bit));
    else
      return x < V(0) ? neg(x) : x;
  }

  static constexpr Value div(Value x, Value y) {
    if constexpr (std::is_floating_point_v<Value>)
      return x / y;
    else
      return trunc_div(x, y);
  }
  static Value sqrt(Value x) {
    if constexpr (std::is_floating_point_v<Value>)
      return std::sqrt(x);
    else
      return x;
  }
  static Value fma(Value x, Value y, Value z) {
    if constexpr (std::is_floating_point_v<Value>)
      return std::fma(x, y, z);
    else
      return add(mul(x, y), z);
  }
  static Value floor(Value x) {
    if constexpr (std::is_floating_point_v<Value>)
      return std::floor(x);
    else
      return x;
  }
  static Value ceil(Value x) {
    if constexpr (std::is_floating_point_v<Value>)
      return std::ceil(x);
    else
      return x;
  }
  static Value trunc(Value x) {
    if constexpr (std::is_floating_point_v<Value>)
      return std::trunc(x);
    else
      return x;
  }
  static Value rint(Value x) {
    if constexpr (std::is_floating_point_v<Value>)
      return std::nearbyint(x);
    else
      return x;
  }

  template <class V>
  static constexpr V trunc_div(V x, V y) {
    if constexpr (std::is_floating_point_v<V>)
      return x;
    else {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<V>) {
        if (y == -1) return neg(x);
      }
      return static_cast<V>(x / y);
    }
  }
  template <class V>
  static constexpr V trunc_rem(V x, V y) {
    if constexpr (std::is_floating_point_v<V>)
      return x;
    else {
      if (y == 0) return 0;
      if constexpr (std::is_signed_v<V>) {
        if (y == -1) return 0;
      }
      return static_cast<V>(x % y);
    }
  }
  template <class V>
  static constexpr V floor_div(V x, V y) {
    const V quotient = trunc_div(x, y), rest = trunc_rem(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? sub(quotient, V(1)) : quotient;
  }
  template <class V>
  static constexpr V floor_rem(V x, V y) {
    const V rest = trunc_rem(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? add(rest, y) : rest;
  }

  template <class V>
  static constexpr Mask eq(V x, V y) {
    return x == y;
  }
  template <class V>
  static constexpr Mask ne(V x, V y) {
    return x != y;
  }
  template <class V>
  static constexpr Mask lt(V x, V y) {
    return x < y;
  }
  template <class V>
  static constexpr Mask le(V x, V y) {
    return x <= y;
  }
  template <class V>
  static constexpr Mask gt(V x, V y) {
    return x > y;
  }
  template <class V>
  static constexpr Mask ge(V x, V y) {
    return x >= y;
  }

  static constexpr Mask mask_and(Mask x, Mask y) { return x && y; }
  static constexpr Mask mask_or(Mask x, Mask y) { return x || y; }
  static constexpr Mask mask_xor(Mask x, Mask y) { return x != y; }
  static constexpr Mask mask_not(Mask x) { return !x; }
  static constexpr Mask mask_lit(bool x) { return x; }
  template <class V>
  static constexpr V select(Mask m, V x, V y) {
    return m ? x : y;
  }
  template <class V, class F>
  static constexpr V rare(Mask m, V usual, F&& f) {
    return m ? f() : usual;
  }

  static constexpr Int bits(Value x) { return std::bit_cast<Int>(x); }
  static constexpr Value from_bits(Int x) { return std::bit_cast<Value>(x); }
  static constexpr Int to_int(Value x) { return static_cast<Int>(x); }
  static constexpr Value from_int(Int x) { return static_cast<Value>(x); }

  template <class V>
  static constexpr V bit_and(V x, V y) {
    return bitwise(x, y, [](auto p, auto q) { return p & q; });
  }
  template <class V>
  static constexpr V bit_or(V x, V y) {
    return bitwise(x, y, [](auto p, auto q) { return p | q; });
  }
  template <class V>
  static constexpr V bit_xor(V x, V y) {
    return bitwise(x, y, [](auto p, auto q) { return p ^ q; });
  }
  template <class V>
  static constexpr V bit_not(V x) {
    return bitwise(x, x, [](auto p, auto) { return ~p; });
  }
  template <class V>
  static constexpr V shl(V x, int count) {
    if constexpr (std::is_floating_point_v<V>)
      return x;
    else
      return shifted_left(x, count);
  }
  template <class V>
  static constexpr V shr_arith(V x, int count) {
    if constexpr (std::is_floating_point_v<V>)
      return x;
    else
      return shifted_right(static_cast<std::make_signed_t<V>>(x), count);
  }
  template <class V>
  static constexpr V shr_logic(V x, int count) {
    if constexpr (std::is_floating_point_v<V>)
      return x;
    else
      return static_cast<V>(shifted_right(static_cast<std::make_unsigned_t<V>>(x), count));
  }
  static constexpr Value shl_var(Value x, Value count) {
    if constexpr (std::is_floating_point_v<Value>)
      return x;
    else
      return shifted_left(x, count);
  }
  static constexpr Value shr_var(Value x, Value count) {
    if constexpr (std::is_floating_point_v<Value>)
      return x;
    else
      return shifted_right(x, count);
  }

  template <const Table& table>
  static constexpr Value lookup(Int index) {
    return lit(table.entries[static_cast<unsigned>(index) % Table::kEntries]);
  }

  static constexpr HostAlgebra<double> wide() { return {}; }
  static constexpr double to_wide(Value x) { return static_cast<double>(x); }
  static constexpr Value from_wide(double x) { return static_cast<Value>(x); }

 private:
  static constexpr Int sign_bit = std::numeric_limits<Int>::min();
  static constexpr Value flip(Value x, Int mask) { return std::bit_cast<Value>(static_cast<Int>(std::bit_cast<Int>(x) ^ mask)); }
  template <class V, class F>
  static constexpr V bitwise(V x, V y, F f) {
    if constexpr (std::is_floating_point_v<V>)
      return x;
    else
      return static_cast<V>(f(x, y));
  }
  template <class V, class C>
  static constexpr V shifted_left(V x, C count) {
    constexpr C width = sizeof(V) * 8;
    if (count < 0 || count >= width) return 0;
    return static_cast<V>(detail::Wrapping<V>(x) << count);
  }
  template <class V, class C>
  static constexpr V shifted_right(V x, C count) {
    constexpr C width = sizeof(V) * 8;
    if (count < 0 || count >= width) return x < 0 ? static_cast<V>(-1) : static_cast<V>(0);
    return static_cast<V>(x >> count);
  }
};

}  // namespace tailor::ir
