#pragma once
// What the families of ir/math share: polynomials, rounding, scaling by powers of two, signs.

#include <limits>
#include <type_traits>

#include "ir/algebra.h"

namespace tailor::ir::math {

template <class A>
bool is_f32(A& a) {
  return a.type() == kFloat32;
}

/// One number for each of the two compute types.
template <class A>
typename A::Value pick(A& a, double for_f32, double for_f64) {
  return a.lit(is_f32(a) ? for_f32 : for_f64);
}

template <class A>
typename A::Value nan(A& a) {
  return a.lit(std::numeric_limits<double>::quiet_NaN());
}
template <class A>
typename A::Value infinity(A& a) {
  return a.lit(std::numeric_limits<double>::infinity());
}
template <class A>
typename A::Mask is_nan(A& a, typename A::Value x) {
  return a.ne(x, x);
}
template <class A>
typename A::Mask is_inf(A& a, typename A::Value x) {
  return a.eq(a.abs(x), infinity(a));
}

/// c0 + x (c1 + x (c2 + ...)), by fused multiply-adds.
template <class A>
typename A::Value poly(A& a, typename A::Value, double c0) {
  return a.lit(c0);
}
template <class A, class... C>
typename A::Value poly(A& a, typename A::Value x, double c0, double c1, C... rest) {
  return a.fma(poly(a, x, c1, rest...), x, a.lit(c0));
}

/// select(mask, f(), usual); an algebra that can see that no lane wants `f` skips it.
template <class A, class F>
typename A::Value rare(A& a, typename A::Mask mask, typename A::Value usual, F&& f) {
  if constexpr (requires { a.rare(mask, usual, f); })
    return a.rare(mask, usual, f);
  else
    return a.select(mask, f(), usual);
}

/// Clamping that lets NaN through.
template <class A>
typename A::Value at_most(A& a, typename A::Value x, double high) {
  const auto limit = a.lit(high);
  if constexpr (requires { a.at_most(x, limit); })
    return a.at_most(x, limit);
  else
    return a.select(a.lt(limit, x), limit, x);
}
template <class A>
typename A::Value at_least(A& a, typename A::Value x, double low) {
  const auto limit = a.lit(low);
  if constexpr (requires { a.at_least(x, limit); })
    return a.at_least(x, limit);
  else
    return a.select(a.gt(limit, x), limit, x);
}

template <class A>
typename A::Int sign_mask(A& a) {
  return a.lit_int(is_f32(a) ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min());
}

/// The magnitude of `x` with the sign of `sign`, NaN included.
template <class A>
typename A::Value copysign(A& a, typename A::Value x, typename A::Value sign) {
  return a.from_bits(a.bit_or(a.bits(a.abs(x)), a.bit_and(a.bits(sign), sign_mask(a))));
}
template <class A>
typename A::Mask sign_bit(A& a, typename A::Value x) {
  return a.lt(a.bits(x), a.lit_int(0));
}

template <class A>
int mantissa_bits(A& a) {
  return is_f32(a) ? 23 : 52;
}
template <class A>
int64_t exponent_bias(A& a) {
  return is_f32(a) ? 127 : 1023;
}

/// 1.5 * 2^23 (2^52): adding it rounds to an integer that stands in the low bits.
template <class A>
typename A::Value rounding_magic(A& a) {
  return pick(a, 12582912.0, 6755399441055744.0);
}

template <class A>
struct Rounded {
  typename A::Value value;
  typename A::Int integer;
};

/// What is left of an integer that was added to the magic number.
template <class A>
Rounded<A> from_magic(A& a, typename A::Value shifted) {
  const auto magic = rounding_magic(a);
  return {a.sub(shifted, magic), a.sub(a.bits(shifted), a.bits(magic))};
}
/// To the nearest integer, ties to even, for |x| < 2^22 (2^51). NaN gives some integer.
template <class A>
Rounded<A> round_small(A& a, typename A::Value x) {
  return from_magic(a, a.add(x, rounding_magic(a)));
}

/// A small integer (|k| < 2^22) as a value.
template <class A>
typename A::Value small_int_value(A& a, typename A::Int k) {
  const auto magic = rounding_magic(a);
  return a.sub(a.from_bits(a.add(k, a.bits(magic))), magic);
}

/// 2^k, for a normal result.
template <class A>
typename A::Value pow2(A& a, typename A::Int k) {
  return a.from_bits(a.shl(a.add(k, a.lit_int(exponent_bias(a))), mantissa_bits(a)));
}

/// x * 2^k, rounded once, denormal results and overflow included, for x near 1 and |k| up to twice the range of exponents.
template <class A>
typename A::Value scale(A& a, typename A::Value x, Rounded<A> k) {
  if constexpr (requires { a.scalef(x, x); }) {
    if (a.has_scalef()) return a.scalef(x, k.value);
  }
  const auto half = a.shr_arith(k.integer, 1);
  return a.mul(a.mul(x, pow2(a, half)), pow2(a, a.sub(k.integer, half)));
}

/// `x` with its sign flipped where `k` is odd.
template <class A>
typename A::Value negate_if_odd(A& a, typename A::Value x, typename A::Int k) {
  return a.from_bits(a.bit_xor(a.bits(x), a.shl(k, is_f32(a) ? 31 : 63)));
}

/// An unevaluated sum: `high` carries the value, `low` what it lacks.
template <class A>
struct Pair {
  typename A::Value high, low;
};
template <class A>
Pair<A> two_sum(A& a, typename A::Value x, typename A::Value y) {
  const auto sum = a.add(x, y), rest = a.sub(sum, x);
  return {sum, a.add(a.sub(x, a.sub(sum, rest)), a.sub(y, rest))};
}
/// For |x| >= |y|.
template <class A>
Pair<A> quick_two_sum(A& a, typename A::Value x, typename A::Value y) {
  const auto sum = a.add(x, y);
  return {sum, a.sub(y, a.sub(sum, x))};
}
template <class A>
Pair<A> two_product(A& a, typename A::Value x, typename A::Value y) {
  const auto product = a.mul(x, y);
  return {product, a.fma(x, y, a.neg(product))};
}

}  // namespace tailor::ir::math
