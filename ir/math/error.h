#pragma once
// erf, erfc, erfinv.

#include "ir/math/exp.h"
#include "ir/math/hyperbolic.h"
#include "ir/math/log.h"
#include "ir/math/tables.h"

namespace tailor::ir::math {

/// erfc(t) for t >= 0 in float64: G(q) e^(-t^2) / (1 + 2t) with q = (t - 4) / (t + 4); relative accuracy down to the denormals.
template <class W>
typename W::Value erfc_core(W& w, typename W::Value t) {
  t = at_most(w, t, 28);
  const auto four = w.lit(4);
  const auto q = w.div(w.sub(t, four), w.add(t, four));
  const auto g = poly(w, q, 1.2329951186255526, -0.13962111684056328, 0.015379652102605041, 0.068097054254773567, -0.1010390660355085,
                      0.093732834995914144, -0.066330365829238597, 0.037167515569596216, -0.016197733869299218, 0.005031969760337404,
                      -0.00075777451215921848, -0.00019925591015006302, 0.00015062661893538467, -2.4400497600692771e-05,
                      -1.1234727891951238e-05, 5.7093184305042835e-06, 3.1431659240626617e-07, -8.2009060344630483e-07,
                      5.4884350700590363e-08, 1.0138923578053256e-07, -7.9594868911927285e-09, -8.3349187580405343e-09);
  const auto square = two_product(w, t, t);
  const auto e = scaled_exp(w, w.neg(square.high));
  const auto factor = w.div(g, w.fma(w.lit(2), t, w.lit(1)));
  const auto product = w.mul(e.value, factor);
  return scale(w, w.fma(w.neg(product), square.low, product), e.k);
}

/// By tables in float32; in float64 x + x P(x^2) around 0, 1 - erfc(|x|) beyond.
template <class A>
typename A::Value erf(A& a, typename A::Value x) {
  if (is_f32(a)) return erf_by_tables(a, x);
  const auto t = a.abs(x), s = a.mul(x, x);
  const auto q =
      poly(a, s, 0.12837916709551259, -0.37612638903184165, 0.11283791670977758, -0.026866170650024428, 0.005223977680509524,
           -0.00085483307170800828, 0.00012055492191637465, -1.4930252859152131e-05, 1.6553239274780096e-06, -1.7605017161006291e-07,
           2.6187018576807865e-08, -7.9716620313598067e-09, 2.4201192287725287e-09, -3.6079960864241722e-10);
  const auto small = a.fma(q, t, t), large = a.sub(a.lit(1), erfc_core(a, t));
  return copysign(a, a.select(a.gt(t, a.lit(1)), large, small), x);
}

template <class A>
typename A::Value erfc(A& a, typename A::Value x) {
  return in_wide(
      a,
      [](auto& w, auto v) {
        const auto t = w.abs(v), complement = erfc_core(w, t);
        // Below 1/2 the complement of erf loses nothing and is exact at 0.
        const auto near = w.sub(w.lit(1), erf(w, v));
        const auto far = w.select(w.lt(v, w.lit(0)), w.sub(w.lit(2), complement), complement);
        return w.select(w.lt(t, w.lit(0.25)), near, far);
      },
      x);
}

/// Giles' method in float64: erfinv(x) = x P(w), w = -log(1 - x^2), in three intervals of w.
template <class A>
typename A::Value erfinv(A& a, typename A::Value x) {
  return in_wide(
      a,
      [](auto& w, auto v) {
        const auto one = w.lit(1);
        const auto depth = w.neg(log(w, w.mul(w.sub(one, v), w.add(one, v))));
        const auto root = w.sqrt(depth);
        const auto central =
            poly(w, w.sub(depth, w.lit(3.125)), 1.6536545626831027, 0.24015818242558765, -0.0060336708714275808, -0.00074070253415235222,
                 0.00018673420802497369, -1.3882523394531998e-05, -1.3654691874010307e-06, 4.2347881320331259e-07, -2.9070379196729384e-08,
                 -4.1126558707909023e-09, 1.0512162575592968e-09, -5.4145600857025271e-11, -1.2976217267336108e-11, 2.6313557722264018e-12,
                 -8.1328072967719236e-14, -4.018587828037724e-14, 6.6157817001955106e-15, -1.8465984027012507e-17, -1.3175564850356206e-16,
                 1.3886107722032202e-17, 1.2224303812344956e-18, -2.7652518226394471e-19, -2.526495297631639e-21, 1.865860434835282e-21);
        const auto middle =
            poly(w, w.sub(root, w.lit(3.25)), 3.0838856104922203, 1.0052589676941586, 0.0053709145536630703, -0.0037512085075002582,
                 0.0024914420925592055, -0.0016882755579630071, 0.00095328944596832982, -0.0003550374964012929, 2.4030492574441632e-05,
                 6.8284696911882883e-05, -4.7314998023406161e-05, 1.2475863225465899e-05, 2.913536111475016e-06, -4.0150072195305058e-06,
                 1.5204247594844974e-06, 1.94637984487054e-08, -2.921716824055127e-07, 9.0218496127725481e-08, 9.0131874614417843e-09);
        const auto tail =
            poly(w, w.sub(root, w.lit(5)), 4.8499064014085844, 1.0103004648645253, -0.00013871931839388131, -0.00021503011894769103,
                 7.5995278384464725e-05, -1.9681782018924799e-05, 4.5260508696236485e-06, -9.9296365519401781e-07, 2.2905357687919662e-07,
                 -6.7759886514701955e-08, 2.9039636909655649e-08, -1.489467619352303e-08, 7.7474606375457291e-09, -3.8368303890529052e-09,
                 1.4249258864913714e-09, -2.3963927971255097e-10, -6.1455517654942597e-12, -1.5262763930414459e-12);
        const auto factor = w.select(w.lt(depth, w.lit(6.25)), central, w.select(w.lt(depth, w.lit(16)), middle, tail));
        const auto result = w.mul(v, factor);
        return w.select(w.eq(w.abs(v), one), copysign(w, infinity(w), v), w.select(w.gt(w.abs(v), one), nan(w), result));
      },
      x);
}

}  // namespace tailor::ir::math
