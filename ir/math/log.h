#pragma once
// log, log2, log10, log1p. x = 2^k (1 + f) with f around 0; log(1 + f) = f + rest; the sum with k log 2 last.

#include "ir/math/basic.h"

namespace tailor::ir::math {

template <class A>
struct LogParts {
  typename A::Value k, f;
};

/// For positive x. 1 + f lies in [2/3, 4/3) for float32 and in [sqrt(1/2), sqrt(2)) for float64.
template <class A>
LogParts<A> split_exponent(A& a, typename A::Value x) {
  const bool narrow = is_f32(a);
  const auto tiny = a.lt(x, pick(a, 1.1754943508222875e-38, 2.2250738585072014e-308));
  const auto bits = a.bits(a.select(tiny, a.mul(x, pick(a, 8388608, 18014398509481984.0)), x));
  // Offsetting by the difference between 1 and the lower end of the interval makes the exponent field change there.
  const auto offset = a.lit_int(narrow ? 0x3f800000 - 0x3f2aaaab : 0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  const auto exponent = a.sub(a.shr_logic(a.add(bits, offset), mantissa_bits(a)), a.lit_int(exponent_bias(a)));
  const auto f = a.sub(a.from_bits(a.sub(bits, a.shl(exponent, mantissa_bits(a)))), a.lit(1));
  const auto k = narrow ? a.from_int(exponent) : small_int_value(a, exponent);
  return {a.sub(k, a.select(tiny, pick(a, 23, 54), a.lit(0))), f};
}

/// log(1 + f) - f, for f in [-1/3, 1/2] (float32: [-1/3, 1/3]).
template <class A>
typename A::Value log_rest(A& a, typename A::Value f) {
  const auto square = a.mul(f, f);
  if (is_f32(a)) {
    const auto q =
        poly(a, f, 0.333333343, -0.249998108, 0.199997649, -0.166800871, 0.142989472, -0.12188524, 0.108227894, -0.128713891, 0.117370524);
    return a.mul(square, a.fma(q, f, a.lit(-0.5)));
  }
  const auto s = a.div(f, a.add(f, a.lit(2))), z = a.mul(s, s);
  const auto q = a.mul(z, poly(a, z, 0.66666666666666596, 0.4000000000005674, 0.28571428555805667, 0.22222224299489388, 0.18181665677408118,
                               0.15391118815190347, 0.13173478946995623, 0.13843880301013006));
  const auto half = a.mul(a.lit(0.5), square);
  return a.sub(a.mul(s, a.add(half, q)), half);
}

/// Values outside of the domain: NaN below `zero`, -inf at it, and x where it is infinite or NaN.
template <class A>
typename A::Value log_special(A& a, typename A::Value x, double zero, typename A::Value result) {
  result = a.select(a.lt(x, infinity(a)), result, x);
  result = a.select(a.lt(x, a.lit(zero)), nan(a), result);
  return a.select(a.eq(x, a.lit(zero)), a.neg(infinity(a)), result);
}

/// k log 2 + f + rest.
template <class A>
typename A::Value log_sum(A& a, typename A::Value k, typename A::Value f, typename A::Value rest) {
  if (is_f32(a)) return a.fma(k, a.lit(0.693147182464599609375), a.add(f, rest));
  const auto low = a.fma(k, a.lit(1.90821492927058770002e-10), rest);
  return a.fma(k, a.lit(6.93147180369123816490e-01), a.add(f, low));
}

template <class A>
typename A::Value log(A& a, typename A::Value x) {
  const auto parts = split_exponent(a, x);
  return log_special(a, x, 0, log_sum(a, parts.k, parts.f, log_rest(a, parts.f)));
}

/// k * unit + (f + rest) * factor, both given as a sum of two.
template <class A>
typename A::Value scaled_log(A& a, typename A::Value x, Pair<A> factor, Pair<A> unit) {
  const auto parts = split_exponent(a, x);
  const auto product = two_product(a, parts.f, factor.high);
  auto tail = a.fma(log_rest(a, parts.f), factor.high, a.fma(parts.f, factor.low, product.low));
  const auto whole = two_product(a, parts.k, unit.high);
  tail = a.add(tail, a.fma(parts.k, unit.low, whole.low));
  const auto sum = two_sum(a, whole.high, product.high);
  return log_special(a, x, 0, a.add(sum.high, a.add(sum.low, tail)));
}

template <class A>
typename A::Value log2(A& a, typename A::Value x) {
  return scaled_log<A>(a, x, {pick(a, 1.44269502, 1.4426950408889634), pick(a, 1.92596303e-08, 2.0355273740931033e-17)},
                       {a.lit(1), a.lit(0)});
}

template <class A>
typename A::Value log10(A& a, typename A::Value x) {
  return scaled_log<A>(a, x, {pick(a, 0.434294492, 0.43429448190325182), pick(a, -1.010305e-08, 1.0983196502167651e-17)},
                       {pick(a, 0.30103001, 0.3010299956639812), pick(a, -1.43209888e-08, -2.8037281277851704e-18)});
}

/// log(1 + x) without the rounding of 1 + x: f = x 2^-k + (2^-k - 1), with 1 + f in [3/4, 3/2).
template <class A>
typename A::Value log1p(A& a, typename A::Value x) {
  const bool narrow = is_f32(a);
  const auto sum = a.add(x, a.lit(1));
  const auto exponent = a.bit_and(a.sub(a.bits(sum), a.bits(a.lit(0.75))), a.lit_int(narrow ? int64_t{-0x800000} : -0x10000000000000));
  const auto four = a.from_bits(a.sub(a.bits(a.lit(4)), exponent));  // 4 * 2^-k is normal for every k
  const auto f = a.add(a.from_bits(a.sub(a.bits(x), exponent)), a.fma(a.lit(0.25), four, a.lit(-1)));
  const auto shifted = a.shr_arith(exponent, mantissa_bits(a));
  const auto k = narrow ? a.from_int(shifted) : small_int_value(a, shifted);
  typename A::Value rest;
  if (narrow) {
    const auto q = poly(a, f, 0.333333313, -0.250000358, 0.200003266, -0.166646138, 0.142688885, -0.12519294, 0.114300244, -0.104404457,
                        0.0759166479, -0.0281224307);
    rest = a.mul(a.mul(f, f), a.fma(q, f, a.lit(-0.5)));
  } else {
    rest = log_rest(a, f);
  }
  return log_special(a, x, -1, copysign(a, log_sum(a, k, f, rest), x));
}

}  // namespace tailor::ir::math
