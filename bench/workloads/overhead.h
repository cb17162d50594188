#pragma once
// The arithmetic is nothing, the call is everything.

#include "workloads/workload.h"

namespace tailor::bench {

inline Prepared add_8() {
  return prepare([](const Tensor& x, const Tensor& y) { return x + y; }, randn({8}), randn({8}));
}

inline Prepared chain10_64() {
  const auto f = [](Tensor x, const Tensor& y) {
    for (int i = 0; i < 5; ++i) x = relu(x * y + 0.5);
    return x;
  };
  return prepare(f, randn({64}), randn({64}));
}

/// 500 layers of 4 to 4: 1,000 parameters for the guards to look after.
struct ManyLinear : nn::Module {
  std::vector<nn::Linear> layers;
  ManyLinear() {
    for (int i = 0; i < 500; ++i) layers.push_back(register_module("fc" + std::to_string(i), nn::Linear(4, 4)));
  }
  Tensor forward(Tensor x) {
    for (auto& layer : layers) x = layer(x);
    return x;
  }
};

inline Prepared module_1000_params() { return prepare_module(std::make_shared<ManyLinear>(), randn({1, 4})); }

}  // namespace tailor::bench
