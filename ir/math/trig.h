#pragma once
// sin, cos, tan over the whole range: x = n pi/2 + r with |r| <= pi/4; n says which of +-sin(r), +-cos(r) it is.

#include <array>

#include "ir/math/basic.h"

namespace tailor::ir::math {

template <class A>
struct ReducedAngle {
  typename A::Value r;
  typename A::Int n;
};

/// For |x| up to 2^16 (float64: 2^20): pi/2 in three parts.
template <class A>
ReducedAngle<A> reduce_angle(A& a, typename A::Value x) {
  const auto q = from_magic(a, a.fma(x, a.lit(0.63661977236758138), rounding_magic(a)));
  auto r = a.fma(q.value, pick(a, -1.57079637050628662109375, -1.5707963267948966), x);
  r = a.fma(q.value, pick(a, 4.37113883e-08, -6.123233995736766e-17), r);
  r = a.fma(q.value, pick(a, 1.71512451e-15, 1.4973849048591698e-33), r);
  return {r, q.integer};
}

/// p - (the nearest multiple of 4), exact.
template <class W>
typename W::Value modulo_four(W& w, typename W::Value p) {
  return w.fma(w.rint(w.mul(p, w.lit(0.25))), w.lit(-4), p);
}

/// Payne and Hanek for float32 arguments in the float64 algebra: products with pieces of 2/pi are exact, and whole turns drop out of each.
template <class W>
ReducedAngle<W> reduce_huge_f32(W& w, typename W::Value x) {
  constexpr std::array pieces{0.63661976903676987,    3.3308114738561656e-09, 2.276010047810136e-18, 2.5268260189002822e-26,
                              1.6682867657019525e-34, 1.1588713282888551e-43, 7.0539591744042953e-52};
  std::array<typename W::Value, pieces.size()> turns;
  for (size_t i = 0; i < pieces.size(); ++i) turns[i] = modulo_four(w, w.mul(x, w.lit(pieces[i])));
  auto total = turns[0];
  for (size_t i = 1; i < pieces.size(); ++i) total = w.add(total, turns[i]);
  const auto q = round_small(w, total);
  auto rest = w.neg(q.value);  // subtracted first, so that the cancellation is exact
  for (const auto& turn : turns) rest = w.add(rest, turn);
  return {w.mul(rest, w.lit(1.5707963267948966)), q.integer};
}

/// The same for float64: the pieces that matter for the exponent of x are moved into place by powers of two of their number.
template <class W>
ReducedAngle<W> reduce_huge_f64(W& w, typename W::Value x) {
  using V = typename W::Value;
  // 2/pi * 2^200 in pieces of 53 bits.
  constexpr std::array pieces{1.0230085319449646e+60,  1.1516113316819946e+44,  1.6361303858150191e+28,  1358343193086.3179,
                              5.6020620623732848e-05,  7.7144746376511897e-21,  1.8472517870813544e-38,  1.8911118011307012e-52,
                              6.0351832073466505e-69,  2.6677448732289975e-84,  3.4397626741732307e-100, 3.9837440029748285e-116,
                              1.624180225205116e-132,  1.9664481955930104e-148, 3.5110063993197222e-164, 2.7356739367952825e-180,
                              4.2410521266334644e-196, 8.6433186523254631e-212, 7.4956647858162281e-228, 1.1384144142191172e-243,
                              8.3921052229474539e-260, 5.5423135025157354e-276, 1.2780914982458862e-291};
  constexpr int used = 5;
  const auto exponent = w.sub(w.shr_logic(w.bits(w.abs(x)), 52), w.lit_int(1023 + 54));
  const auto first = w.trunc(w.mul(w.add(small_int_value(w, exponent), w.lit(0.5)), w.lit(1.0 / 53)));
  const auto skip = round_small(w, w.select(w.gt(first, w.lit(0)), first, w.lit(0))).integer;
  std::array<V, pieces.size() + 32> window;
  for (size_t i = 0; i < window.size(); ++i) window[i] = w.lit(i < pieces.size() ? pieces[i] : 0.0);
  for (int step = 16; step >= 1; step /= 2) {
    const auto shifted = w.ne(w.bit_and(skip, w.lit_int(step)), w.lit_int(0));
    for (int i = 0; i < used + step - 1; ++i) window[i] = w.select(shifted, window[i + step], window[i]);
  }
  const auto small = w.mul(x, w.lit(0x1p-200));
  std::array<V, 2 * used> turns;
  for (int i = 0; i < used; ++i) {
    const auto product = two_product(w, small, window[i]);
    turns[2 * i] = modulo_four(w, product.high);
    turns[2 * i + 1] = modulo_four(w, product.low);
  }
  auto total = turns[0];
  for (int i = 1; i < 2 * used; ++i) total = w.add(total, turns[i]);
  const auto q = round_small(w, total);
  Pair<W> rest{w.neg(q.value), w.lit(0)};
  for (const auto& turn : turns) {
    const auto sum = two_sum(w, rest.high, turn);
    rest = {sum.high, w.add(rest.low, sum.low)};
  }
  const auto r = w.fma(rest.high, w.lit(1.5707963267948966),
                       w.fma(rest.low, w.lit(1.5707963267948966), w.mul(rest.high, w.lit(6.123233995736766e-17))));
  return {r, q.integer};
}

/// sin(r), |r| <= pi/4.
template <class A>
typename A::Value sin_core(A& a, typename A::Value r) {
  const auto s = a.mul(r, r);
  typename A::Value q;
  if (is_f32(a)) {
    q = poly(a, s, -0.166666552, 0.00833218731, -0.00019517896);
  } else {
    q = poly(a, s, -0.16666666666666666, 0.0083333333333330418, -0.00019841269840962473, 2.755731907398534e-06, -2.5052070923733853e-08,
             1.6054311711664664e-10, -7.3894725353762088e-13);
  }
  return a.fma(a.mul(q, s), r, r);
}

/// cos(r), |r| <= pi/4.
template <class A>
typename A::Value cos_core(A& a, typename A::Value r) {
  const auto s = a.mul(r, r);
  typename A::Value q;
  if (is_f32(a)) {
    q = poly(a, s, 0.0416666456, -0.00138873013, 2.4430683e-05);
  } else {
    q = poly(a, s, 0.041666666666666602, -0.0013888888888874441, 2.4801587289636476e-05, -2.7557314387577075e-07, 2.0875727081974692e-09,
             -1.135980408264472e-11);
  }
  return a.fma(a.mul(s, s), q, a.fma(s, a.lit(-0.5), a.lit(1)));
}

/// sin(r + n pi/2)
template <class A>
typename A::Value sin_of(A& a, ReducedAngle<A> angle) {
  const auto odd = a.ne(a.bit_and(angle.n, a.lit_int(1)), a.lit_int(0));
  return negate_if_odd(a, a.select(odd, cos_core(a, angle.r), sin_core(a, angle.r)), a.shr_arith(angle.n, 1));
}
template <class A>
typename A::Value cos_of(A& a, ReducedAngle<A> angle) {
  return sin_of(a, ReducedAngle<A>{angle.r, a.add(angle.n, a.lit_int(1))});
}
template <class A>
typename A::Value tan_of(A& a, ReducedAngle<A> angle) {
  const auto odd = a.ne(a.bit_and(angle.n, a.lit_int(1)), a.lit_int(0));
  if (is_f32(a)) {
    const auto s = a.mul(angle.r, angle.r);
    const auto q = poly(a, s, 0.333333492, 0.133326724, 0.0540594459, 0.0212827697, 0.0108377039, 8.38593332e-05, 0.00438036863);
    const auto t = a.fma(a.mul(q, s), angle.r, angle.r);
    return a.div(a.select(odd, a.lit(-1), t), a.select(odd, t, a.lit(1)));
  }
  const auto sine = sin_core(a, angle.r), cosine = cos_core(a, angle.r);
  return a.div(a.select(odd, a.neg(cosine), sine), a.select(odd, sine, cosine));
}

/// Whether the reduction by three parts of pi/2 does not serve: huge arguments; infinities (which give NaN either way) as well.
template <class A>
typename A::Mask is_huge_angle(A& a, typename A::Value x) {
  return a.gt(a.abs(x), pick(a, 65536, 1048576));
}

/// The function given by `finish` of the reduced angle, for small and huge arguments. Infinities give NaN.
template <class A, class Finish>
typename A::Value periodic(A& a, typename A::Value x, Finish finish) {
  const auto usual = finish(a, reduce_angle(a, x));
  return rare(a, is_huge_angle(a, x), usual, [&] {
    typename A::Value result;
    auto w = a.wide();
    if (is_f32(a)) {
      result = a.from_wide(finish(w, reduce_huge_f32(w, a.to_wide(x))));
    } else {
      result = a.from_wide(finish(w, reduce_huge_f64(w, a.to_wide(x))));
    }
    return a.select(is_inf(a, x), nan(a), result);
  });
}

template <class A>
typename A::Value sin(A& a, typename A::Value x) {
  const auto result = periodic(a, x, [](auto& algebra, auto angle) { return sin_of(algebra, angle); });
  return a.select(a.eq(x, a.lit(0)), x, result);
}
template <class A>
typename A::Value cos(A& a, typename A::Value x) {
  return periodic(a, x, [](auto& algebra, auto angle) { return cos_of(algebra, angle); });
}
template <class A>
typename A::Value tan(A& a, typename A::Value x) {
  const auto result = periodic(a, x, [](auto& algebra, auto angle) { return tan_of(algebra, angle); });
  return a.select(a.eq(x, a.lit(0)), x, result);
}

}  // namespace tailor::ir::math
