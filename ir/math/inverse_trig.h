#pragma once
// asin, acos, atan, atan2.

#include "ir/math/basic.h"

namespace tailor::ir::math {

/// asin(r) / r - 1 over s = r^2, for s <= 1/4.
template <class A>
typename A::Value asin_rest(A& a, typename A::Value s) {
  if (is_f32(a)) return a.mul(s, poly(a, s, 0.166667521, 0.0749530643, 0.0454697721, 0.0241807681, 0.0421664454));
  return a.mul(s, poly(a, s, 0.16666666666665403, 0.075000000003385275, 0.044642856826999457, 0.030381959194777333, 0.02237175660045251,
                       0.01735972748341363, 0.013885003470815772, 0.012170780260659413, 0.0065210094576139896, 0.019547793920668952,
                       -0.016255588230482152, 0.03193419956199707));
}

template <class A>
typename A::Value half_pi_high(A& a) {
  return pick(a, 1.57079637050628662109375, 1.5707963267948966);
}
template <class A>
typename A::Value half_pi_low(A& a) {
  return pick(a, -4.37113883e-08, 6.123233995736766e-17);
}

/// Beyond 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
template <class A>
typename A::Value asin(A& a, typename A::Value x) {
  const auto t = a.abs(x);
  const auto large = a.gt(t, a.lit(0.5));
  const auto s = a.select(large, a.fma(t, a.lit(-0.5), a.lit(0.5)), a.mul(t, t));
  const auto r = a.select(large, a.sqrt(s), t);
  const auto angle = a.fma(asin_rest(a, s), r, r);
  const auto folded = a.add(a.fma(a.lit(-2), angle, half_pi_high(a)), half_pi_low(a));
  return copysign(a, a.select(large, folded, angle), x);
}

template <class A>
typename A::Value acos(A& a, typename A::Value x) {
  const auto t = a.abs(x);
  const auto large = a.gt(t, a.lit(0.5)), negative = a.lt(x, a.lit(0));
  const auto s = a.select(large, a.fma(t, a.lit(-0.5), a.lit(0.5)), a.mul(t, t));
  const auto r = a.select(large, a.sqrt(s), x);
  const auto rest = a.mul(asin_rest(a, s), r);
  const auto small = a.sub(half_pi_high(a), a.sub(r, a.sub(half_pi_low(a), rest)));
  const auto twice = a.mul(a.lit(2), a.add(r, rest));
  const auto folded = a.sub(a.mul(a.lit(2), half_pi_high(a)), a.sub(twice, a.mul(a.lit(2), half_pi_low(a))));
  return a.select(large, a.select(negative, folded, twice), small);
}

/// atan(y / x) in [0, pi/2], for y, x >= 0 not both zero or infinite; one division.
template <class A>
typename A::Value atan_core(A& a, typename A::Value y, typename A::Value x) {
  if (is_f32(a)) {
    const auto steep = a.gt(y, x);
    const auto t = a.div(a.select(steep, x, y), a.select(steep, y, x)), s = a.mul(t, t);
    const auto q =
        poly(a, s, -0.333331525, 0.199937671, -0.14211002, 0.106657691, -0.0755166039, 0.0432047322, -0.0163631923, 0.0029194227);
    const auto angle = a.fma(a.mul(q, s), t, t);
    return a.select(steep, a.sub(half_pi_high(a), a.sub(angle, half_pi_low(a))), angle);
  }
  // Around 0, pi/4 and pi/2. The sum y + x must not overflow, and the comparisons are not to round denormals.
  const auto larger = a.select(a.gt(y, x), y, x);
  const auto factor =
      a.select(a.gt(larger, a.lit(0x1p+1000)), a.lit(0x1p-60), a.select(a.lt(larger, a.lit(0x1p-900)), a.lit(0x1p+60), a.lit(1)));
  y = a.mul(y, factor);
  x = a.mul(x, factor);
  const auto middle = a.gt(y, a.mul(x, a.lit(0.41421356237309503))), steep = a.gt(y, a.mul(x, a.lit(2.4142135623730949)));
  const auto numerator = a.select(steep, a.neg(x), a.select(middle, a.sub(y, x), y));
  const auto denominator = a.select(steep, y, a.select(middle, a.add(y, x), x));
  const auto t = a.div(numerator, denominator), s = a.mul(t, t);
  const auto q = poly(a, s, -0.33333333333333193, 0.19999999999952184, -0.14285714280054215, 0.11111110776312018, -0.090908975514700202,
                      0.07692056533884406, -0.066630620601642196, 0.058475826090807717, -0.050379171008698237, 0.038029155222416879,
                      -0.017868267252271832);
  const auto parts = a.select(steep, a.lit(1), a.select(middle, a.lit(0.5), a.lit(0)));
  const auto angle = a.add(t, a.fma(a.mul(q, s), t, a.mul(parts, half_pi_low(a))));
  return a.fma(parts, half_pi_high(a), angle);
}

template <class A>
typename A::Value atan(A& a, typename A::Value x) {
  return copysign(a, atan_core(a, a.abs(x), a.lit(1)), x);
}

/// The angle of the point (x, y); C99's values for zeros and infinities.
template <class A>
typename A::Value atan2(A& a, typename A::Value y, typename A::Value x) {
  auto high = a.abs(y), wide = a.abs(x);
  const auto both_infinite = a.mask_and(is_inf(a, y), is_inf(a, x));
  const auto both_zero = a.mask_and(a.eq(y, a.lit(0)), a.eq(x, a.lit(0)));
  const auto one = a.lit(1);
  high = a.select(both_infinite, one, high);
  wide = a.select(a.mask_or(both_infinite, both_zero), one, wide);
  const auto angle = atan_core(a, high, wide);
  const auto two = a.lit(2);
  const auto mirrored = a.sub(a.mul(two, half_pi_high(a)), a.sub(angle, a.mul(two, half_pi_low(a))));
  return copysign(a, a.select(sign_bit(a, x), mirrored, angle), y);
}

}  // namespace tailor::ir::math
