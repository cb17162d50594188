#pragma once
// Bound by memory, or by the arithmetic of pointwise functions: what fusion is for.

#include <cmath>

#include "workloads/workload.h"

namespace tailor::bench {

inline Prepared pointwise_4m() {
  return prepare([](const Tensor& x, const Tensor& y) { return sigmoid(x * 1.5 + y) * tanh(y) + exp(-x * x); }, randn({4 << 20}),
                 randn({4 << 20}));
}

inline Prepared cheap_pointwise_4m() {
  return prepare([](const Tensor& x, const Tensor& y) { return relu(x * 1.5 + y) - 0.25 * y; }, randn({4 << 20}), randn({4 << 20}));
}

/// Prices of European options: spot, strike, years, rate, volatility.
inline Prepared black_scholes_1m() {
  const auto f = [](const Tensor& s, const Tensor& k, const Tensor& t, const Tensor& r, const Tensor& v) {
    const auto cdf = [](const Tensor& z) { return 0.5 * (1 + erf(z / std::sqrt(2.0))); };
    const Tensor sq = v * sqrt(t);
    const Tensor d1 = (log(s / k) + (r + 0.5 * v * v) * t) / sq;
    const Tensor d2 = d1 - sq;
    const Tensor call = s * cdf(d1) - k * exp(-r * t) * cdf(d2);
    return std::tuple<Tensor, Tensor>(call, call - s + k * exp(-r * t));
  };
  constexpr int64_t n = 1 << 20;
  return prepare(f, rand({n}) * 90 + 10, rand({n}) * 90 + 10, rand({n}) * 2 + 0.1, full({n}, 0.03), rand({n}) * 0.4 + 0.1);
}

inline Prepared softmax_1024x4096() {
  return prepare([](const Tensor& x) { return softmax(x, -1); }, randn({1024, 4096}));
}

inline Prepared layernorm_gelu_4096x1024() {
  const auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) { return gelu(layer_norm(x, {1024}, w, b)); };
  return prepare(f, randn({4096, 1024}), randn({1024}), randn({1024}));
}

inline Prepared reduce_both_4096() {
  const auto f = [](const Tensor& x) { return std::tuple<Tensor, Tensor>((x * x).sum(0), (x - 1).abs().mean(1)); };
  return prepare(f, randn({4096, 4096}));
}

/// One step of gravity among 1,024 bodies: positions, velocities, masses.
inline Prepared nbody_1024() {
  const auto f = [](const Tensor& p, const Tensor& v, const Tensor& m) {
    const Tensor d = p.unsqueeze(0) - p.unsqueeze(1);
    const Tensor r2 = (d * d).sum(-1) + 1e-2;
    const Tensor a = (d * (m * r2.rsqrt() / r2).unsqueeze(-1)).sum(1);
    const Tensor moved = v + 0.01 * a;
    return std::tuple<Tensor, Tensor>(p + 0.01 * moved, moved);
  };
  return prepare(f, randn({1024, 3}), randn({1024, 3}), rand({1024}));
}

inline Prepared transpose_add_2048() {
  return prepare([](const Tensor& x, const Tensor& y) { return (x.t() + y) * 2; }, randn({2048, 2048}), randn({2048, 2048}));
}

}  // namespace tailor::bench
