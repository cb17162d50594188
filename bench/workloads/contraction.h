#pragma once
// Matrix products with what follows them, and plain networks.

#include "workloads/workload.h"

namespace tailor::bench {

inline Prepared matmul_bias_gelu_1024() {
  const auto f = [](const Tensor& x, const Tensor& w, const Tensor& b) { return gelu(matmul(x, w) + b); };
  return prepare(f, randn({1024, 1024}), randn({1024, 1024}), randn({1024}));
}

inline Prepared matmul_odd_173() {
  return prepare([](const Tensor& x, const Tensor& w) { return relu(matmul(x, w)); }, randn({173, 211}), randn({211, 97}));
}

/// 784-512-512-10 with relu.
struct Mlp : nn::Module {
  nn::Linear fc1{nullptr}, fc2{nullptr}, fc3{nullptr};
  Mlp() {
    fc1 = register_module("fc1", nn::Linear(784, 512));
    fc2 = register_module("fc2", nn::Linear(512, 512));
    fc3 = register_module("fc3", nn::Linear(512, 10));
  }
  Tensor forward(Tensor x) { return fc3(relu(fc2(relu(fc1(x))))); }
};

template <int64_t Batch>
Prepared mlp() {
  return prepare_module(std::make_shared<Mlp>(), randn({Batch, 784}));
}

}  // namespace tailor::bench
