#pragma once
// Convolutional networks, in inference.

#include "workloads/workload.h"

namespace tailor::bench {

struct DigitsCnn : nn::Module {
  nn::Conv2d c1{nullptr}, c2{nullptr};
  nn::BatchNorm2d b1{nullptr}, b2{nullptr};
  nn::Linear fc{nullptr};
  DigitsCnn() {
    c1 = register_module("c1", nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)));
    b1 = register_module("b1", nn::BatchNorm2d(16));
    c2 = register_module("c2", nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)));
    b2 = register_module("b2", nn::BatchNorm2d(32));
    fc = register_module("fc", nn::Linear(128, 10));
  }
  Tensor forward(Tensor x) {
    x = max_pool2d(relu(b1(c1(x))), 2);
    x = max_pool2d(relu(b2(c2(x))), 2);
    return fc(x.flatten(1));
  }
};

inline Prepared digits_cnn_b64() { return prepare_module(std::make_shared<DigitsCnn>(), randn({64, 1, 8, 8})); }

struct ResidualBlock : nn::Module {
  nn::Conv2d c1{nullptr}, c2{nullptr}, shortcut{nullptr};
  nn::BatchNorm2d n1{nullptr}, n2{nullptr};
  ResidualBlock(int64_t in, int64_t out, int64_t stride) {
    c1 = register_module("c1", nn::Conv2d(nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false)));
    n1 = register_module("n1", nn::BatchNorm2d(out));
    c2 = register_module("c2", nn::Conv2d(nn::Conv2dOptions(out, out, 3).padding(1).bias(false)));
    n2 = register_module("n2", nn::BatchNorm2d(out));
    if (stride != 1 || in != out)
      shortcut = register_module("shortcut", nn::Conv2d(nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)));
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = n2(c2(relu(n1(c1(x)))));
    return relu(y + (shortcut.is_empty() ? x : shortcut(x)));
  }
};

struct ResNet14 : nn::Module {
  nn::Conv2d c{nullptr};
  nn::BatchNorm2d n{nullptr};
  std::vector<std::shared_ptr<ResidualBlock>> body;
  nn::Linear fc{nullptr};
  ResNet14() {
    c = register_module("c", nn::Conv2d(nn::Conv2dOptions(3, 16, 3).padding(1).bias(false)));
    n = register_module("n", nn::BatchNorm2d(16));
    const int64_t shapes[][3] = {{16, 16, 1}, {16, 16, 1}, {16, 32, 2}, {32, 32, 1}, {32, 64, 2}, {64, 64, 1}};
    for (const auto& [in, out, stride] : shapes) {
      body.push_back(register_module("block" + std::to_string(body.size()), std::make_shared<ResidualBlock>(in, out, stride)));
    }
    fc = register_module("fc", nn::Linear(64, 10));
  }
  Tensor forward(Tensor x) {
    x = relu(n(c(x)));
    for (auto& block : body) x = block->forward(x);
    return fc(x.mean({2, 3}));
  }
};

inline Prepared resnet14_b16() { return prepare_module(std::make_shared<ResNet14>(), randn({16, 3, 32, 32})); }

}  // namespace tailor::bench
