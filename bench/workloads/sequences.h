#pragma once
// Calls whose shapes change: what counts is a whole sequence of them, compiling included.

#include <random>

#include "workloads/contraction.h"
#include "workloads/language.h"
#include "workloads/vision.h"

namespace tailor::bench {

namespace detail {

template <class Eager, class Compiled, class... Args>
PreparedSequence prepared_sequence(Eager eager, Compiled compiled, std::vector<std::tuple<Args...>> calls) {
  const auto arguments = std::make_shared<std::vector<std::tuple<Args...>>>(std::move(calls));
  const auto calling = [arguments](auto f) {
    return [f, arguments](size_t call) {
      NoGradGuard no_grad;
      (void)std::apply(f, (*arguments)[call]);
    };
  };
  return {arguments->size(), calling(std::move(eager)), calling(compiled), [compiled] { return compiled.stats(); },
          [compiled] { return compiled.report(); }};
}

}  // namespace detail

/// 400 requests to the 784-512-512-10 network with batches of 1 to 64 in a fixed random order, that of the other systems' sequence.
inline PreparedSequence varying_batch_mlp() {
  auto net = std::make_shared<Mlp>();
  net->eval();
  std::mt19937 random(7);
  std::vector<std::tuple<Tensor>> calls;
  for (int i = 0; i < 400; ++i) calls.emplace_back(randn({static_cast<int64_t>(random() % 64) + 1, 784}));
  return detail::prepared_sequence([net](const Tensor& x) { return net->forward(x); }, compile(net), std::move(calls));
}

/// A residual network with two strides of 2 and batch norms, on pictures of varying size: the small network of vision.h, a third as deep.
struct SmallResNet : nn::Module {
  nn::Conv2d c{nullptr};
  nn::BatchNorm2d n{nullptr};
  std::vector<std::shared_ptr<ResidualBlock>> body;
  nn::Linear fc{nullptr};
  SmallResNet() {
    c = register_module("c", nn::Conv2d(nn::Conv2dOptions(3, 16, 3).padding(1).bias(false)));
    n = register_module("n", nn::BatchNorm2d(16));
    body.push_back(register_module("block0", std::make_shared<ResidualBlock>(16, 32, 2)));
    body.push_back(register_module("block1", std::make_shared<ResidualBlock>(32, 64, 2)));
    fc = register_module("fc", nn::Linear(64, 10));
  }
  Tensor forward(Tensor x) {
    x = relu(n(c(x)));
    for (auto& block : body) x = block->forward(x);
    return fc(x.mean({2, 3}));
  }
};

/// 400 calls with two pictures each, square ones of 16 to 64 pixels a side in a fixed random order.
inline PreparedSequence varying_image_cnn() {
  auto net = std::make_shared<SmallResNet>();
  net->eval();
  std::mt19937 random(7);
  std::vector<std::tuple<Tensor>> calls;
  for (int i = 0; i < 400; ++i) {
    const int64_t side = 16 + static_cast<int64_t>(random() % 49);
    calls.emplace_back(randn({2, 3, side, side}));
  }
  return detail::prepared_sequence([net](const Tensor& x) { return net->forward(x); }, compile(net), std::move(calls));
}

/// The same with sides that vary by themselves.
inline PreparedSequence varying_aspect_cnn() {
  auto net = std::make_shared<SmallResNet>();
  net->eval();
  std::mt19937 random(11);
  std::vector<std::tuple<Tensor>> calls;
  for (int i = 0; i < 400; ++i) {
    const int64_t height = 16 + static_cast<int64_t>(random() % 49), width = 16 + static_cast<int64_t>(random() % 49);
    calls.emplace_back(randn({2, 3, height, width}));
  }
  return detail::prepared_sequence([net](const Tensor& x) { return net->forward(x); }, compile(net), std::move(calls));
}

/// Decoding from length 16 to 271: every call sees a longer cache.
inline PreparedSequence growing_decode() {
  auto net = std::make_shared<Decoder>();
  net->eval();
  std::vector<std::tuple<Tensor, KeyValueCaches>> calls;
  for (int64_t length = 16; length < 272; ++length) {
    KeyValueCaches caches;
    for (int i = 0; i < 6; ++i) caches.emplace_back(randn({1, 8, length, 64}), randn({1, 8, length, 64}));
    calls.emplace_back(randint(4096, {1, 1}), std::move(caches));
  }
  return detail::prepared_sequence([net](const Tensor& t, const KeyValueCaches& c) { return net->forward(t, c); }, compile(net),
                                   std::move(calls));
}

}  // namespace tailor::bench
