#pragma once
// The demo's models, written as for libtorch; names of parameters are those of the weight files.

#include <tailor/tailor.h>

#include <cmath>
#include <string>
#include <vector>

namespace demo {

namespace tl = tailor;

/// 64-128-128-10 with relu: [N, 64] -> logits [N, 10].
struct DigitsMlp : tl::nn::Module {
  tl::nn::Linear fc1{nullptr}, fc2{nullptr}, fc3{nullptr};
  DigitsMlp() {
    fc1 = register_module("fc1", tl::nn::Linear(64, 128));
    fc2 = register_module("fc2", tl::nn::Linear(128, 128));
    fc3 = register_module("fc3", tl::nn::Linear(128, 10));
  }
  tl::Tensor forward(tl::Tensor x) { return fc3(tl::relu(fc2(tl::relu(fc1(x))))); }
};

/// Two convolutions with batch norm and pooling: [N, 1, 8, 8] -> logits [N, 10].
struct DigitsCnn : tl::nn::Module {
  tl::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  tl::nn::BatchNorm2d bn1{nullptr}, bn2{nullptr};
  tl::nn::Linear fc{nullptr};
  DigitsCnn() {
    conv1 = register_module("conv1", tl::nn::Conv2d(tl::nn::Conv2dOptions(1, 16, 3).padding(1)));
    bn1 = register_module("bn1", tl::nn::BatchNorm2d(16));
    conv2 = register_module("conv2", tl::nn::Conv2d(tl::nn::Conv2dOptions(16, 32, 3).padding(1)));
    bn2 = register_module("bn2", tl::nn::BatchNorm2d(32));
    fc = register_module("fc", tl::nn::Linear(128, 10));
  }
  tl::Tensor forward(tl::Tensor x) {
    x = tl::max_pool2d(tl::relu(bn1(conv1(x))), 2);
    x = tl::max_pool2d(tl::relu(bn2(conv2(x))), 2);
    return fc(x.flatten(1));
  }
};

/// One position of a pre-norm GPT block over a key/value cache of fixed capacity.
struct GptBlock : tl::nn::Module {
  int64_t width, heads;
  tl::nn::LayerNorm ln_1{nullptr}, ln_2{nullptr};
  tl::nn::Linear c_attn{nullptr}, c_proj{nullptr}, c_fc{nullptr}, mlp_proj{nullptr};
  tl::Tensor keys, values;  // [heads, capacity, width / heads]

  GptBlock(int64_t width, int64_t heads, int64_t capacity) : width(width), heads(heads) {
    ln_1 = register_module("ln_1", tl::nn::LayerNorm(tl::nn::LayerNormOptions({width})));
    c_attn = register_module("attn_c_attn", tl::nn::Linear(width, 3 * width));
    c_proj = register_module("attn_c_proj", tl::nn::Linear(width, width));
    ln_2 = register_module("ln_2", tl::nn::LayerNorm(tl::nn::LayerNormOptions({width})));
    c_fc = register_module("mlp_c_fc", tl::nn::Linear(width, 4 * width));
    mlp_proj = register_module("mlp_c_proj", tl::nn::Linear(4 * width, width));
    keys = tl::zeros({heads, capacity, width / heads});
    values = tl::zeros({heads, capacity, width / heads});
  }

  /// x: [1, width]; `past`: bool [capacity], true up to and including `position`.
  tl::Tensor forward(tl::Tensor x, int64_t position, const tl::Tensor& past) {
    std::vector<tl::Tensor> qkv = c_attn(ln_1(x)).view({3, heads, 1, width / heads}).unbind(0);
    keys.narrow(1, position, 1).copy_(qkv[1]);
    values.narrow(1, position, 1).copy_(qkv[2]);
    tl::Tensor scores = tl::matmul(qkv[0], keys.transpose(1, 2)) * 0.25;
    tl::Tensor weights = tl::softmax(scores.masked_fill(past.logical_not(), -INFINITY), -1);
    x = x + c_proj(tl::matmul(weights, values).view({1, width}));
    return x + mlp_proj(tl::gelu(c_fc(ln_2(x)), "tanh"));
  }
};

/// The character GPT, decoding one character a call.
struct CharGpt : tl::nn::Module {
  static constexpr int64_t kWidth = 64, kHeads = 4, kContext = 256, kVocabulary = 74;
  tl::nn::Embedding wte{nullptr}, wpe{nullptr};
  std::vector<std::shared_ptr<GptBlock>> blocks;
  tl::nn::LayerNorm ln_f{nullptr};
  tl::Tensor positions;

  CharGpt() {
    wte = register_module("wte", tl::nn::Embedding(kVocabulary, kWidth));
    wpe = register_module("wpe", tl::nn::Embedding(kContext, kWidth));
    for (int i = 0; i < 2; ++i)
      blocks.push_back(register_module("h" + std::to_string(i), std::make_shared<GptBlock>(kWidth, kHeads, kContext)));
    ln_f = register_module("ln_f", tl::nn::LayerNorm(tl::nn::LayerNormOptions({kWidth})));
    positions = tl::arange(kContext);
  }

  /// token: int64 [1]. Returns logits [74] for the character after it; the cache gets its keys and values.
  tl::Tensor forward(const tl::Tensor& token, int64_t position) {
    tl::Tensor x = wte(token) + wpe->weight.narrow(0, position, 1);
    tl::Tensor past = positions <= position;
    for (auto& block : blocks) x = block->forward(x, position, past);
    return tl::matmul(ln_f(x), wte->weight.t()).view({kVocabulary});
  }
};

/// Prices of European options (Black and Scholes, 1973): spot, strike, years, rate, volatility -> call and put.
inline std::vector<tl::Tensor> black_scholes(const tl::Tensor& s, const tl::Tensor& k, const tl::Tensor& t, const tl::Tensor& r,
                                             const tl::Tensor& v) {
  const auto normal_cdf = [](const tl::Tensor& z) { return 0.5 * (1 + tl::erf(z / std::sqrt(2.0))); };
  tl::Tensor deviation = v * tl::sqrt(t);
  tl::Tensor d1 = (tl::log(s / k) + (r + 0.5 * v * v) * t) / deviation;
  tl::Tensor d2 = d1 - deviation;
  tl::Tensor discounted = k * tl::exp(-r * t);
  tl::Tensor call = s * normal_cdf(d1) - discounted * normal_cdf(d2);
  return {call, call - s + discounted};
}

}  // namespace demo
