#pragma once
// pow with C99's special cases, hypot, rsqrt.

#include "ir/math/exp.h"
#include "ir/math/log.h"

namespace tailor::ir::math {

/// x^y for x >= 0 where both are float32 values held in float64: 2^(y log2 x), with some 31 good bits.
template <class W>
typename W::Value pow_magnitude_f32(W& w, typename W::Value x, typename W::Value y) {
  const auto parts = split_exponent(w, x);
  const auto f = parts.f, s = w.div(f, w.add(f, w.lit(2))), z = w.mul(s, s);
  const auto r = w.mul(z, poly(w, z, 0.66666665622256438, 0.40000340969056397, 0.28536912554164751, 0.23590151672156509));
  const auto twice = w.add(s, s);
  auto logarithm = w.fma(w.fma(s, r, twice), w.lit(1.4426950408889634), parts.k);
  logarithm = log_special(w, x, 0, logarithm);
  const auto exponent = at_most(w, at_least(w, w.mul(y, logarithm), -200), 200);
  const auto k = round_small(w, exponent);
  const auto q = poly(w, w.sub(exponent, k.value), 0.69314718282441634, 0.24022650920285712, 0.055504035098101139, 0.0096180569307287456,
                      0.0013339461277254746, 0.00015461384903061454, 1.3926647977592327e-05);
  return w.mul(w.fma(q, w.sub(exponent, k.value), w.lit(1)), pow2(w, k.integer));
}

/// log x as a sum of two, good to about 2^-68, for x > 0.
template <class W>
Pair<W> log_pair(W& w, typename W::Value x) {
  const auto parts = split_exponent(w, x);
  const auto f = parts.f, two = w.lit(2);
  const auto divisor = quick_two_sum(w, two, f);
  const auto s = w.div(f, divisor.high);
  const auto s_low = w.div(w.fma(w.neg(s), divisor.low, w.fma(w.neg(s), divisor.high, f)), divisor.high);
  // log(1 + f) = 2s + s^3 (2/3 + z (2/5 + ...)), z = s^2
  auto z = two_product(w, s, s);
  z.low = w.fma(w.add(s, s), s_low, z.low);
  const auto tail = w.mul(z.high, poly(w, z.high, 0.39999999999999974, 0.28571428571447044, 0.22222222217070162, 0.18181818927113327,
                                       0.15384553023230518, 0.13336464449569446, 0.11671853524387241, 0.1201354784627111));
  auto factor = quick_two_sum(w, w.lit(0.66666666666666663), tail);
  factor.low = w.add(factor.low, w.lit(3.7007434154171883e-17));
  auto cube = two_product(w, s, z.high);
  cube.low = w.add(cube.low, w.fma(s, z.low, w.mul(s_low, z.high)));
  auto rest = two_product(w, cube.high, factor.high);
  rest.low = w.add(rest.low, w.fma(cube.high, factor.low, w.mul(cube.low, factor.high)));
  auto fraction = quick_two_sum(w, w.add(s, s), rest.high);
  fraction.low = w.add(fraction.low, w.add(w.add(s_low, s_low), rest.low));
  const auto sum = two_sum(w, w.mul(parts.k, w.lit(0.69314718060195446)), fraction.high);
  const auto low = w.add(w.fma(parts.k, w.lit(-4.2009150726810846e-11), fraction.low), sum.low);
  return quick_two_sum(w, sum.high, low);
}

/// e^(high + low), with an error small enough that powers which are exact come out exact.
template <class W>
typename W::Value exp_of_pair(W& w, Pair<W> x) {
  const auto k = from_magic(w, w.fma(x.high, w.lit(1.4426950408889634), rounding_magic(w)));
  const auto head = w.fma(k.value, w.lit(-0.69314718060195446), x.high);  // exact: this part of ln 2 has 32 bits
  const auto lost = two_product(w, k.value, w.lit(4.2009150726810846e-11));
  auto r = two_sum(w, head, lost.high);
  r = quick_two_sum(w, r.high, w.add(r.low, w.add(lost.low, x.low)));
  const auto q =
      poly(w, r.high, 0.50000000000000111, 0.1666666666666643, 0.041666666666525659, 0.0083333333334796606, 0.0013888888944924339,
           0.0001984126954654943, 2.4801491656545566e-05, 2.755754371649131e-06, 2.7630795224223311e-07, 2.5015729819280733e-08);
  const auto rest = w.fma(q, w.mul(r.high, r.high), w.fma(r.high, r.low, r.low));
  const auto sum = quick_two_sum(w, w.lit(1), r.high);
  return scale(w, w.add(sum.high, w.add(sum.low, rest)), k);
}

template <class W>
typename W::Value pow_magnitude_f64(W& w, typename W::Value x, typename W::Value y) {
  const auto logarithm = log_pair(w, x);
  const auto high = log_special(w, x, 0, logarithm.high);
  auto product = two_product(w, y, high);
  product.low = w.fma(y, logarithm.low, product.low);
  // Out of range, and with infinite factors, the low part means nothing.
  product.low = w.select(w.lt(w.abs(product.high), w.lit(1000)), product.low, w.lit(0));
  product.high = at_most(w, at_least(w, product.high, -746), 710);
  return exp_of_pair(w, product);
}

template <class A>
typename A::Value pow(A& a, typename A::Value x, typename A::Value y) {
  auto w = a.wide();
  const auto magnitude = a.abs(x);
  typename A::Value result;
  if (is_f32(a)) {
    result = a.from_wide(pow_magnitude_f32(w, a.to_wide(magnitude), a.to_wide(y)));
  } else {
    result = a.from_wide(pow_magnitude_f64(w, a.to_wide(magnitude), a.to_wide(y)));
  }
  const auto zero = a.lit(0), one = a.lit(1), half = a.mul(y, a.lit(0.5));
  const auto integer = a.eq(a.trunc(y), y), odd = a.mask_and(integer, a.ne(a.trunc(half), half));
  const auto negative = a.mask_and(a.lt(x, zero), a.ne(x, a.neg(infinity(a))));
  result = a.select(a.mask_and(negative, a.mask_not(integer)), nan(a), result);
  result = a.select(a.mask_and(odd, sign_bit(a, x)), a.neg(result), result);
  result = a.select(a.mask_and(a.eq(magnitude, one), is_inf(a, y)), one, result);
  result = a.select(a.mask_or(is_nan(a, x), is_nan(a, y)), nan(a), result);
  return a.select(a.mask_or(a.eq(y, zero), a.eq(x, one)), one, result);
}

template <class A>
typename A::Value hypot(A& a, typename A::Value x, typename A::Value y) {
  typename A::Value result;
  if (is_f32(a)) {
    auto w = a.wide();
    const auto p = a.to_wide(x), q = a.to_wide(y);
    result = a.from_wide(w.sqrt(w.fma(p, p, w.mul(q, q))));
  } else {
    const auto p = a.abs(x), q = a.abs(y), larger = a.select(a.gt(p, q), p, q);
    const auto big = a.gt(larger, a.lit(0x1p+500)), small = a.lt(larger, a.lit(0x1p-450));
    const auto factor = a.select(big, a.lit(0x1p-600), a.select(small, a.lit(0x1p+600), a.lit(1)));
    const auto back = a.select(big, a.lit(0x1p+600), a.select(small, a.lit(0x1p-600), a.lit(1)));
    const auto u = a.mul(p, factor), v = a.mul(q, factor);
    result = a.mul(a.sqrt(a.fma(u, u, a.mul(v, v))), back);
  }
  return a.select(a.mask_or(is_inf(a, x), is_inf(a, y)), infinity(a), result);
}

/// 1 / sqrt(x), both rounded, as torch does on the CPU.
template <class A>
typename A::Value rsqrt(A& a, typename A::Value x) {
  return a.div(a.lit(1), a.sqrt(x));
}

}  // namespace tailor::ir::math
