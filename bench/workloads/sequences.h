#pragma once
// Calls whose shapes change: what counts is a whole sequence of them, compiling included.

#include <random>

#include "workloads/contraction.h"
#include "workloads/language.h"

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
