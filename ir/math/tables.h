#pragma once
// Odd functions of float32 that rise to 1, from tables of sixteen entries: around equally spaced points a polynomial of the distance from
// the nearest one. The points are moved a little, to where the function's value is close to a float.

#include "ir/math/basic.h"

namespace tailor::ir::math {

/// c0 + d (c1 + d (c2 + ...)), with the coefficients of point `nearest`.
template <const Table& c0, const Table&... rest, class A>
typename A::Value table_poly(A& a, typename A::Int nearest, typename A::Value d) {
  const auto c = a.template lookup<c0>(nearest);
  if constexpr (sizeof...(rest) == 0)
    return c;
  else
    return a.fma(table_poly<rest...>(a, nearest, d), d, c);
}

/// f(x) for points `step` apart: f(point) + d (s0 + d (s1 + ...)) with d = |x| - point; around 0 the polynomial gives f - |x|, which keeps
/// small results accurate. From `top` on (at most 15.5 steps) f is 1.
template <const Table& points, const Table& values, const Table&... slopes, class A>
typename A::Value odd_by_tables(A& a, typename A::Value x, double step, double top) {
  const auto t = at_most(a, a.abs(x), top), magic = rounding_magic(a);
  const auto shifted = a.fma(t, a.lit(1 / step), magic);
  const auto nearest = a.bits(shifted);
  const auto d = a.sub(t, a.template lookup<points>(nearest));
  const auto value = a.select(a.eq(shifted, magic), t, a.template lookup<values>(nearest));
  return copysign(a, a.fma(table_poly<slopes...>(a, nearest, d), d, value), x);
}

namespace erf_tables {
inline constexpr Table points = {{0, 0.251875252, 0.514403522, 0.766506732, 1.01826501, 1.27299631, 1.52718449, 1.76846969, 2.02324891,
                                  2.27790236, 2.54287553, 2.78637767, 3.04700089, 3.29525828, 3.56057048, 3.81759381}};
inline constexpr Table values = {{0, 0.278313249, 0.533065856, 0.72163707, 0.850145102, 0.928184927, 0.969209135, 0.987615466, 0.995781004,
                                  0.99872452, 0.999677062, 0.999918699, 0.999983609, 0.999996841, 0.999999523, 0.99999994}};
inline constexpr Table first = {{0.128379166, 1.05901706, 0.866036177, 0.627036691, 0.40008375, 0.223188758, 0.109535083, 0.0494544841,
                                 0.0188215263, 0.00629463419, 0.00175474409, 0.000479329639, 0.000104802799, 2.17053075e-05, 3.52071334e-06,
                                 5.28494013e-07}};
inline constexpr Table second = {{3.2925044e-07, -0.266735673, -0.445486873, -0.480625272, -0.407391965, -0.284120858, -0.167282328,
                                  -0.0874595717, -0.0380806364, -0.0143382549, -0.00446179928, -0.00133543718, -0.000319265993,
                                  -7.14997514e-05, -1.25283968e-05, -6.0649927e-06}};
inline constexpr Table third = {{-0.37614426, -0.308233619, -0.135948494, 0.0365685374, 0.143191263, 0.166730985, 0.133807987, 0.0866224617,
                                 0.0450915545, 0.0196783934, 0.00697838329, 0.00232190988, 0.000613637443, 0.000149961037, 2.85372626e-05,
                                 -7.52446908e-07}};
inline constexpr Table fourth = {{0.000324527064, 0.126818731, 0.182392344, 0.14565295, 0.0630342141, -0.0109319221, -0.0460006595,
                                  -0.0472713374, -0.0329218134, -0.0176961068, -0.007444961, -0.0028214606, -0.00084241241, -0.000227979748,
                                  -4.79947703e-05, 0.000273037818}};
inline constexpr Table fifth = {{0.110798649, 0.0801195428, 0.00590557698, -0.0542058758, -0.0682407469, -0.0445893295, -0.012374837,
                                 0.00782270916, 0.0130128339, 0.0100185499, 0.00549819786, 0.00237227534, 0.000836825522, 0.000246534793,
                                 6.13891607e-05, 0.000790194492}};
}  // namespace erf_tables

template <class A>
typename A::Value erf_by_tables(A& a, typename A::Value x) {
  namespace t = erf_tables;
  return odd_by_tables<t::points, t::values, t::first, t::second, t::third, t::fourth, t::fifth>(a, x, 65.0 / 256, 3.93);
}

namespace tanh_tables {
inline constexpr Table points = {{0, 0.571711242, 1.15594256, 1.73767769, 2.3105731, 2.89138031, 3.49661946, 4.09655476, 4.65333796,
                                  5.26146507, 5.83984852, 6.38739967, 6.99823904, 7.56572628, 8.12443733, 8.70646858}};
inline constexpr Table values = {{0, 0.516614914, 0.819713175, 0.939956725, 0.980508804, 0.993858516, 0.998165548, 0.999447048, 0.999818385,
                                  0.999946177, 0.999983072, 0.999994338, 0.999998331, 0.999999464, 0.999999821, 0.99999994}};
inline constexpr Table first = {{4.79231654e-10, 0.733109057, 0.328070313, 0.116481356, 0.0386024863, 0.0122452499, 0.0036655392,
                                 0.00110559876, 0.000363197731, 0.000107643078, 3.38551436e-05, 1.13248552e-05, 3.33784419e-06,
                                 1.07288554e-06, 3.50965536e-07, 1.09577833e-07}};
inline constexpr Table second = {{-1.56117821e-07, -0.378735036, -0.268923819, -0.109487347, -0.0378500707, -0.0121700484, -0.00365881738,
                                  -0.00110498641, -0.000363132334, -0.000107636166, -3.38537538e-05, -1.13253354e-05, -3.33644402e-06,
                                  -1.07312235e-06, 3.89736499e-07, 9.61875458e-07}};
inline constexpr Table third = {{-0.333325058, -0.0487132519, 0.111083575, 0.0640863925, 0.0242447574, 0.00801353622, 0.00243024714,
                                 0.000735848793, 0.000241999514, 7.17513321e-05, 2.2569362e-05, 7.54997291e-06, 2.22566428e-06,
                                 7.15262843e-07, -1.3941515e-07, -4.63631523e-07}};
inline constexpr Table fourth = {{-0.000163223973, 0.151406482, -0.00139487151, -0.0237491783, -0.0111562293, -0.00390752824, -0.001206071,
                                  -0.000367129483, -0.00012088869, -3.59035148e-05, -1.13100359e-05, -3.75708464e-06, -1.15734576e-06,
                                  -3.50162537e-07, -2.49709556e-05, -3.60066515e-05}};
inline constexpr Table fifth = {{0.134836897, -0.0455459543, -0.0285925996, 0.00354071753, 0.00371538242, 0.00148501643, 0.000475568813,
                                 0.00014603624, 4.83008334e-05, 1.42951358e-05, 4.48808169e-06, 1.49796983e-06, 4.168121e-07,
                                 1.42745151e-07, 2.47383723e-05, 3.55293378e-05}};
inline constexpr Table sixth = {{-0.00677351234, -0.0352251902, 0.0174882356, 0.00229062745, -0.000747983227, -0.000445410726,
                                 -0.000155606162, -4.84163902e-05, -1.63501663e-05, -4.50262996e-06, -1.29551358e-06, -6.50869481e-07,
                                 2.12659884e-07, -1.06686194e-07, 0.00021199738, 0.000306923874}};
inline constexpr Table seventh = {{-0.041113656, 0.0286609549, -0.0030364159, -0.00201490568, -3.8358372e-05, 9.47890876e-05,
                                   3.99277706e-05, 1.49595371e-05, 4.55426607e-06, 1.89613445e-06, 7.2656627e-07, 2.85284045e-07,
                                   3.80135873e-07, 1.69145054e-08, -0.000306323636, -0.00044091887}};
}  // namespace tanh_tables

template <class A>
typename A::Value tanh_by_tables(A& a, typename A::Value x) {
  namespace t = tanh_tables;
  return odd_by_tables<t::points, t::values, t::first, t::second, t::third, t::fourth, t::fifth, t::sixth, t::seventh>(a, x, 149.0 / 256,
                                                                                                                       9.021);
}

}  // namespace tailor::ir::math
