#pragma once
// exp, exp2, expm1, sigmoid. x = k ln 2 + r with |r| <= ln(2)/2; e^r by a polynomial; then times 2^k.

#include "ir/math/basic.h"

namespace tailor::ir::math {

/// e^x = value * 2^k, with value in [0.7, 1.42].
template <class A>
struct ScaledExp {
  typename A::Value value;
  Rounded<A> k;
};

template <class A>
struct ReducedExp {
  typename A::Value r;
  Rounded<A> k;
};

template <class A>
ReducedExp<A> reduce_exp(A& a, typename A::Value x) {
  const auto k = from_magic(a, a.fma(x, a.lit(1.4426950408889634), rounding_magic(a)));
  const auto r = a.fma(k.value, pick(a, -0.693147182464599609375, -0.69314718055994529), x);
  return {a.fma(k.value, pick(a, 1.90465421e-09, -2.3190468138462996e-17), r), k};
}

/// For x within about twice the range in which e^x is finite and not 0.
template <class A>
ScaledExp<A> scaled_exp(A& a, typename A::Value x) {
  const auto reduced = reduce_exp(a, x);
  const auto r = reduced.r;
  typename A::Value q;
  if (is_f32(a)) {
    q = poly(a, r, 0.50000006, 0.166665435, 0.0416679122, 0.00836764183, 0.00137865916);
  } else {
    q = poly(a, r, 0.50000000000000111, 0.1666666666666643, 0.041666666666525659, 0.0083333333334796606, 0.0013888888944924339,
             0.0001984126954654943, 2.4801491656545566e-05, 2.755754371649131e-06, 2.7630795224223311e-07, 2.5015729819280733e-08);
  }
  return {a.add(a.fma(q, a.mul(r, r), r), a.lit(1)), reduced.k};
}

/// exp where the caller knows that x is neither huge nor infinite.
template <class A>
typename A::Value bounded_exp(A& a, typename A::Value x) {
  const auto e = scaled_exp(a, x);
  return scale(a, e.value, e.k);
}

template <class A>
typename A::Value exp(A& a, typename A::Value x) {
  x = is_f32(a) ? at_most(a, at_least(a, x, -104), 89) : at_most(a, at_least(a, x, -746), 710);
  return bounded_exp(a, x);
}

/// 2^r, |r| <= 1/2.
template <class A>
typename A::Value exp2_core(A& a, typename A::Value r) {
  typename A::Value q;
  if (is_f32(a)) {
    q = poly(a, r, 0.693147242, 0.240226567, 0.0555026978, 0.00961686205, 0.00134203851, 0.0001591685);
  } else {
    q = poly(a, r, 0.69314718055994562, 0.24022650695910103, 0.055504108664798241, 0.0096181291076039253, 0.0013333558151322729,
             0.00015403530446832247, 1.5252729634733167e-05, 1.3215439426622086e-06, 1.0179629384539077e-07, 7.0732263350154752e-09,
             4.242346581696159e-10);
  }
  return a.fma(q, r, a.lit(1));
}

template <class A>
typename A::Value exp2(A& a, typename A::Value x) {
  x = is_f32(a) ? at_most(a, at_least(a, x, -151), 129) : at_most(a, at_least(a, x, -1076), 1025);
  const auto k = round_small(a, x);
  return scale(a, exp2_core(a, a.sub(x, k.value)), k);
}

template <class A>
typename A::Value expm1(A& a, typename A::Value x) {
  const auto bounded = is_f32(a) ? at_most(a, at_least(a, x, -20), 89) : at_most(a, at_least(a, x, -40), 710);
  const auto reduced = reduce_exp(a, bounded);
  const auto r = reduced.r;
  typename A::Value q;
  if (is_f32(a)) {
    q = poly(a, r, 0.5, 0.166666672, 0.0416664481, 0.00833307765, 0.00139370677, 0.000200796771);
  } else {
    q = poly(a, r, 0.50000000000000011, 0.16666666666666671, 0.041666666666645272, 0.0083333333333278931, 0.0013888888900585119,
             0.00019841269861669073, 2.4801560816505599e-05, 2.7557265878232586e-06, 2.7583157154755988e-07, 2.51067035438087e-08,
             1.1907885671145837e-09);
  }
  const auto m = a.fma(q, a.mul(r, r), r);                            // e^r - 1
  const auto half = pow2(a, a.sub(reduced.k.integer, a.lit_int(1)));  // 2^(k-1): 2^k may overflow where the result does not
  const auto result = a.fma(m, half, a.sub(half, a.lit(0.5)));
  return copysign(a, a.add(result, result), x);
}

/// 1 / (1 + e^-x), through e^-|x|, which cannot overflow: results below 2^-126 are denormals, not 0.
template <class A>
typename A::Value sigmoid(A& a, typename A::Value x) {
  const auto e = bounded_exp(a, at_least(a, a.neg(a.abs(x)), is_f32(a) ? -104 : -746));
  const auto one = a.lit(1);
  return a.div(a.select(a.lt(x, a.lit(0)), e, one), a.add(one, e));
}

}  // namespace tailor::ir::math
