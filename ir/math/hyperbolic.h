#pragma once
// sinh, cosh, tanh and their inverses.

#include "ir/math/exp.h"
#include "ir/math/log.h"
#include "ir/math/tables.h"

namespace tailor::ir::math {

/// f over float64 whatever the compute type: for functions that are too rare to have a float32 form of their own.
template <class A, class F, class... X>
typename A::Value in_wide(A& a, F f, X... x) {
  if (!is_f32(a)) return f(a, x...);
  auto w = a.wide();
  return a.from_wide(f(w, a.to_wide(x)...));
}

/// e^t / 2 for t >= 0; overflows no sooner than its result does.
template <class A>
typename A::Value half_exp(A& a, typename A::Value t) {
  auto e = scaled_exp(a, is_f32(a) ? at_most(a, t, 91) : at_most(a, t, 712));
  e.k = {a.sub(e.k.value, a.lit(1)), a.sub(e.k.integer, a.lit_int(1))};
  return scale(a, e.value, e.k);
}

template <class A>
typename A::Value sinh(A& a, typename A::Value x) {
  const auto t = a.abs(x), s = a.mul(x, x);
  typename A::Value q;
  if (is_f32(a)) {
    q = poly(a, s, 0.166666672, 0.00833331048, 0.000198428912, 2.78226662e-06);
  } else {
    q = poly(a, s, 0.16666666666666666, 0.0083333333333335726, 0.00019841269841061157, 2.7557319310093254e-06, 2.5052089411872646e-08,
             1.6061339304480436e-10, 7.5032558548027614e-13, 6.4755624286156306e-15);
  }
  const auto small = a.fma(a.mul(q, s), t, t), e = half_exp(a, t);
  const auto large = a.sub(e, a.div(a.lit(0.25), e));
  return copysign(a, a.select(a.lt(t, a.lit(1)), small, large), x);
}

template <class A>
typename A::Value cosh(A& a, typename A::Value x) {
  const auto e = half_exp(a, a.abs(x));
  return a.add(e, a.div(a.lit(0.25), e));
}

/// By tables in float32; in float64 an odd polynomial below 0.6, 1 - 2 / (e^2t + 1) above.
template <class A>
typename A::Value tanh(A& a, typename A::Value x) {
  if (is_f32(a)) return tanh_by_tables(a, x);
  const auto t = a.abs(x), s = a.mul(x, x);
  const auto q = poly(a, s, -0.33333333333333326, 0.13333333333331848, -0.053968253967243307, 0.021869488502001697, -0.0088632348559132684,
                      0.0035921195705449645, -0.0014557633136889517, 0.00058961824068611793, -0.00023749972583686599,
                      9.2463230762128616e-05, -3.1148779883325461e-05, 6.4886809843519683e-06);
  const auto small = a.fma(a.mul(q, s), t, t), bounded = at_most(a, t, 20);
  const auto e = scaled_exp(a, a.add(bounded, bounded));
  const auto one = a.lit(1);
  const auto large = a.sub(one, a.div(a.lit(2), a.fma(e.value, pow2(a, e.k.integer), one)));
  return copysign(a, a.select(a.gt(t, a.lit(0.6)), large, small), x);
}

template <class A>
typename A::Value asinh(A& a, typename A::Value x) {
  return in_wide(
      a,
      [](auto& w, auto v) {
        const auto t = w.abs(v), one = w.lit(1), s = w.mul(t, t);
        const auto huge = w.gt(t, w.lit(0x1p+60));  // t^2 might overflow: log(2t)
        const auto argument = w.add(t, w.div(s, w.add(one, w.sqrt(w.add(one, s)))));
        const auto result = log1p(w, w.select(huge, t, argument));
        return copysign(w, w.add(result, w.select(huge, w.lit(0.69314718055994529), w.lit(0))), v);
      },
      x);
}

template <class A>
typename A::Value acosh(A& a, typename A::Value x) {
  return in_wide(
      a,
      [](auto& w, auto v) {
        const auto u = w.sub(v, w.lit(1));
        const auto huge = w.gt(v, w.lit(0x1p+60));
        const auto result = log1p(w, w.select(huge, v, w.add(u, w.sqrt(w.fma(u, u, w.add(u, u))))));
        const auto sum = w.add(result, w.select(huge, w.lit(0.69314718055994529), w.lit(0)));
        return w.select(w.lt(v, w.lit(1)), nan(w), sum);
      },
      x);
}

template <class A>
typename A::Value atanh(A& a, typename A::Value x) {
  return in_wide(
      a,
      [](auto& w, auto v) {
        const auto t = w.abs(v), twice = w.add(t, t), rest = w.sub(w.lit(1), t);
        const auto small = w.add(twice, w.div(w.mul(twice, t), rest)), large = w.div(twice, rest);
        const auto result = w.mul(w.lit(0.5), log1p(w, w.select(w.lt(t, w.lit(0.5)), small, large)));
        return copysign(w, result, v);
      },
      x);
}

}  // namespace tailor::ir::math
