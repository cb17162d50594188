#pragma once
// fmod, remainder, floor_div: exact remainders for every pair of finite operands.

#include "ir/math/basic.h"
#include "ir/math/hyperbolic.h"

namespace tailor::ir::math {

/// a b - n m for some integer n, with a magnitude of at most m; for integers |a|, |b| <= m, 2^52 <= m < 2^53. Every step is exact.
template <class W>
typename W::Value multiply_modulo(W& w, typename W::Value x, typename W::Value y, typename W::Value m) {
  const auto product = two_product(w, x, y);
  const auto zero = w.lit(0);
  const auto quotient = w.rint(w.div(product.high, m));
  const auto rest = w.fma(w.neg(quotient), m, product.high);
  // The two halves get opposite signs, so that their sum stays below m.
  const auto rest_negative = w.lt(rest, zero), low_negative = w.lt(product.low, zero);
  const auto correction = w.select(w.mask_xor(rest_negative, low_negative), zero, w.select(low_negative, m, w.neg(m)));
  return w.add(w.add(rest, correction), product.low);
}

template <class W>
struct Normalized {
  typename W::Value mantissa;  // an integer in [2^52, 2^53)
  typename W::Int exponent;    // the biased exponent field, continued below 1 for denormals
};
template <class W>
Normalized<W> normalize(W& w, typename W::Value x) {
  const auto tiny = w.lt(x, w.lit(2.2250738585072014e-308));
  const auto bits = w.bits(w.select(tiny, w.mul(x, w.lit(0x1p+54)), x));
  const auto exponent = w.sub(w.shr_logic(bits, 52), w.select(tiny, w.lit_int(54), w.lit_int(0)));
  return {w.from_bits(w.bit_or(w.bit_and(bits, w.lit_int(0xfffffffffffff)), w.bits(w.lit(0x1p+52)))), exponent};
}

/// fmod of positive finite float64 values with x / y beyond 2^51: the mantissa of x times 2^n modulo that of y, by repeated squaring.
template <class W>
typename W::Value fmod_distant(W& w, typename W::Value x, typename W::Value y) {
  const auto p = normalize(w, x), q = normalize(w, y);
  const auto m = q.mantissa, zero = w.lit(0);
  const auto n = w.sub(p.exponent, q.exponent);
  const auto nonnegative = [&](typename W::Value r) { return w.select(w.lt(r, zero), w.add(r, m), r); };
  auto rest = w.select(w.ge(p.mantissa, m), w.sub(p.mantissa, m), p.mantissa);
  rest = w.mul(rest, pow2(w, w.bit_and(n, w.lit_int(31))));
  rest = w.fma(w.neg(w.trunc(w.div(rest, m))), m, rest);
  auto power = w.lit(0x1p+32);
  for (int bit = 5; bit < 12; ++bit) {
    const auto set = w.ne(w.bit_and(n, w.lit_int(int64_t{1} << bit)), w.lit_int(0));
    rest = w.select(set, multiply_modulo(w, rest, power, m), rest);
    if (bit < 11) power = multiply_modulo(w, power, power, m);
  }
  rest = nonnegative(rest);
  rest = w.select(w.ge(rest, m), w.sub(rest, m), rest);
  const auto shift = w.sub(q.exponent, w.lit_int(1075)), half = w.shr_arith(shift, 1);
  return w.mul(w.mul(rest, pow2(w, half)), pow2(w, w.sub(shift, half)));
}

/// The remainder of the division that rounds to zero; the sign of x.
template <class A>
typename A::Value fmod(A& a, typename A::Value x, typename A::Value y) {
  return in_wide(
      a,
      [](auto& w, auto u, auto v) {
        const auto p = w.abs(u), q = w.abs(v), zero = w.lit(0);
        const auto quotient = w.trunc(w.div(p, q));
        auto rest = w.fma(w.neg(quotient), q, p);
        rest = w.select(w.lt(rest, zero), w.add(rest, q), rest);  // the quotient was rounded up to an integer
        rest = rare(w, w.ge(p, w.mul(q, w.lit(0x1p+51))), rest, [&] { return fmod_distant(w, p, q); });
        const auto finite = w.lt(p, infinity(w)), infinite_divisor = w.eq(q, infinity(w));
        rest = w.select(infinite_divisor, p, rest);
        rest = w.select(w.mask_and(finite, w.ne(q, zero)), rest, nan(w));
        rest = w.select(is_nan(w, v), v, rest);
        return copysign(w, rest, u);
      },
      x, y);
}

/// torch.remainder for floats: fmod, moved to the sign of y; the sum is rounded.
template <class A>
typename A::Value remainder(A& a, typename A::Value x, typename A::Value y) {
  const auto zero = a.lit(0), rest = fmod(a, x, y);
  const auto other_side = a.mask_and(a.ne(rest, zero), a.mask_xor(a.lt(rest, zero), a.lt(y, zero)));
  return a.select(other_side, a.add(rest, y), rest);
}

/// torch.floor_divide and div with rounding mode "floor": consistent with remainder, so floor_div(1, 0.1) is 9.
template <class A>
typename A::Value floor_div(A& a, typename A::Value x, typename A::Value y) {
  const auto zero = a.lit(0), one = a.lit(1), plain = a.div(x, y), rest = fmod(a, x, y);
  auto quotient = a.div(a.sub(x, rest), y);
  const auto other_side = a.mask_and(a.ne(rest, zero), a.mask_xor(a.lt(rest, zero), a.lt(y, zero)));
  quotient = a.select(other_side, a.sub(quotient, one), quotient);
  const auto floor = a.floor(quotient);
  const auto rounded = a.select(a.gt(a.sub(quotient, floor), a.lit(0.5)), a.add(floor, one), floor);
  const auto result = a.select(a.eq(quotient, zero), copysign(a, zero, plain), rounded);
  return a.select(a.eq(y, zero), plain, result);
}

}  // namespace tailor::ir::math
