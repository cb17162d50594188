#pragma once
// lgamma: log |Gamma(x)|.

#include "ir/math/hyperbolic.h"
#include "ir/math/log.h"

namespace tailor::ir::math {

/// For u > 0, in float64: around 2 a polynomial that vanishes there; other arguments below 8 are moved there by products;
/// Stirling's series above.
template <class W>
typename W::Value lgamma_core(W& w, typename W::Value u) {
  const auto zero = w.lit(0), one = w.lit(1);
  // log of: u (u + 1) below 1/2, u below 3/2, the product of u - 1, u - 2, ... down to the interval [3/2, 5/2) above; u for Stirling.
  const auto below_half = w.lt(u, w.lit(0.5)), below = w.lt(u, w.lit(1.5)), stirling = w.ge(u, w.lit(8));
  auto product = one, shift = w.select(below_half, w.lit(2), w.select(below, one, zero));
  for (int i = 1; i <= 6; ++i) {
    const auto past = w.ge(u, w.lit(i + 1.5));
    product = w.mul(product, w.select(past, w.sub(u, w.lit(i)), one));
    shift = w.sub(shift, w.select(past, one, zero));
  }
  const auto lower = w.select(below_half, w.mul(u, w.add(u, one)), u);
  const auto logarithm = log(w, w.select(w.mask_or(below, stirling), w.select(stirling, u, lower), product));

  // z = (u + shift) - 2 without rounding where it matters: u - 1 and u - 2 are exact near 1 and 2.
  const auto z = w.add(u, w.sub(shift, w.lit(2)));
  const auto near_two = w.mul(
      z, poly(w, z, 0.42278433509846713, 0.32246703342411326, -0.067352301053194924, 0.02058080842777589, -0.0073855510290089564,
              0.0028905103312906184, -0.0011927538980911867, 0.00050966950884270368, -0.0002231550351598485, 9.9457762776130677e-05,
              -4.4923084251529178e-05, 2.0504903696035656e-05, -9.4605014691086655e-06, 4.3877162904120637e-06, -1.9582355801276564e-06,
              9.1305033812412404e-07, -6.1418999036029286e-07, 2.854412871546715e-07, 2.8317674526284018e-08));
  const auto moved = w.add(near_two, w.select(below, w.neg(logarithm), logarithm));

  const auto inverse = w.div(one, u);
  const auto series = poly(w, w.mul(inverse, inverse), 0.083333333333333329, -0.002777777777766726, 0.00079365078600241367,
                           -0.00059523575415966674, 0.00084138068091212982, -0.0018857616535479943, 0.0049740234885685512);
  // (u - 1/2)(log u - 1) - 1/2 + log(2 pi)/2 + series / u
  const auto large = w.fma(w.sub(u, w.lit(0.5)), w.sub(logarithm, one), w.fma(series, inverse, w.lit(0.41893853320467274)));
  return w.select(stirling, w.select(w.lt(u, infinity(w)), large, u), moved);
}

/// sin(pi f), 0 <= f <= 1/2, in float64.
template <class W>
typename W::Value sin_pi_core(W& w, typename W::Value f) {
  const auto r = w.mul(f, w.lit(3.1415926535897931)), s = w.mul(r, r);
  const auto q = poly(w, s, -0.16666666666666666, 0.0083333333333332066, -0.00019841269841212479, 2.7557319211569177e-06,
                      -2.5052106904340899e-08, 1.6058940994457801e-10, -7.6430190507999531e-13, 2.7214147916424629e-15);
  return w.fma(w.mul(q, s), r, r);
}

template <class A>
typename A::Value lgamma(A& a, typename A::Value x) {
  return in_wide(
      a,
      [](auto& w, auto v) {
        const auto t = w.abs(v), one = w.lit(1);
        const auto negative = w.lt(v, w.lit(0));
        const auto core = lgamma_core(w, w.select(negative, w.add(one, t), t));
        // log |Gamma(-t)| = -log(|sin(pi t)| / pi) - log Gamma(1 + t)
        const auto fraction = w.abs(w.sub(t, w.rint(t)));
        const auto sine = sin_pi_core(w, fraction);
        const auto mirrored = w.sub(w.neg(log(w, w.mul(sine, w.lit(0.31830988618379069)))), core);
        const auto result = w.select(negative, mirrored, core);
        return w.select(w.mask_or(is_inf(w, v), w.mask_and(negative, w.eq(fraction, w.lit(0)))), infinity(w), result);
      },
      x);
}

}  // namespace tailor::ir::math
