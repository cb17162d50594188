#pragma once
// Transformers and a recurrent network, in inference.

#include "workloads/workload.h"

namespace tailor::bench {

/// [batch, length, width] -> [batch, heads, length, width / heads].
inline Tensor split_heads(const Tensor& x, int64_t heads) {
  const int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  return x.view({batch, length, heads, width / heads}).transpose(1, 2);
}
inline Tensor merge_heads(const Tensor& x) { return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)}); }

/// Post-norm BERT layer, as in MiniLM-L6: width 384, 12 heads, 1,536 hidden.
struct EncoderLayer : nn::Module {
  int64_t heads;
  nn::Linear q{nullptr}, k{nullptr}, v{nullptr}, o{nullptr}, f1{nullptr}, f2{nullptr};
  nn::LayerNorm n1{nullptr}, n2{nullptr};
  EncoderLayer(int64_t width, int64_t heads, int64_t hidden) : heads(heads) {
    q = register_module("q", nn::Linear(width, width));
    k = register_module("k", nn::Linear(width, width));
    v = register_module("v", nn::Linear(width, width));
    o = register_module("o", nn::Linear(width, width));
    n1 = register_module("n1", nn::LayerNorm(nn::LayerNormOptions({width}).eps(1e-12)));
    n2 = register_module("n2", nn::LayerNorm(nn::LayerNormOptions({width}).eps(1e-12)));
    f1 = register_module("f1", nn::Linear(width, hidden));
    f2 = register_module("f2", nn::Linear(hidden, width));
  }
  Tensor forward(Tensor x) {
    const Tensor a = scaled_dot_product_attention(split_heads(q(x), heads), split_heads(k(x), heads), split_heads(v(x), heads));
    x = n1(x + o(merge_heads(a)));
    return n2(x + f2(gelu(f1(x))));
  }
};

struct Encoder : nn::Module {
  std::vector<std::shared_ptr<EncoderLayer>> layers;
  Encoder() {
    for (int i = 0; i < 6; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), std::make_shared<EncoderLayer>(384, 12, 1536)));
  }
  Tensor forward(Tensor x) {
    for (auto& layer : layers) x = layer->forward(x);
    return x;
  }
};

template <int64_t Batch, int64_t Length>
Prepared minilm() {
  return prepare_module(std::make_shared<Encoder>(), randn({Batch, Length, 384}));
}

/// Pre-norm GPT-2 layer; keys and values of earlier positions come in and go out.
struct DecoderLayer : nn::Module {
  int64_t heads;
  nn::LayerNorm n1{nullptr}, n2{nullptr};
  nn::Linear qkv{nullptr}, o{nullptr}, f1{nullptr}, f2{nullptr};
  DecoderLayer(int64_t width, int64_t heads) : heads(heads) {
    n1 = register_module("n1", nn::LayerNorm(nn::LayerNormOptions({width})));
    n2 = register_module("n2", nn::LayerNorm(nn::LayerNormOptions({width})));
    qkv = register_module("qkv", nn::Linear(width, 3 * width));
    o = register_module("o", nn::Linear(width, width));
    f1 = register_module("f1", nn::Linear(width, 4 * width));
    f2 = register_module("f2", nn::Linear(4 * width, width));
  }
  std::tuple<Tensor, Tensor, Tensor> forward(Tensor x, const Tensor& keys, const Tensor& values) {
    const std::vector<Tensor> parts = qkv(n1(x)).chunk(3, -1);
    const Tensor k = cat({keys, split_heads(parts[1], heads)}, 2), v = cat({values, split_heads(parts[2], heads)}, 2);
    const Tensor a = scaled_dot_product_attention(split_heads(parts[0], heads), k, v);
    x = x + o(merge_heads(a));
    return {x + f2(gelu(f1(n2(x)), "tanh")), k, v};
  }
};

using KeyValueCaches = std::vector<std::tuple<Tensor, Tensor>>;

struct Decoder : nn::Module {
  nn::Embedding e{nullptr};
  std::vector<std::shared_ptr<DecoderLayer>> layers;
  nn::LayerNorm n{nullptr};
  nn::Linear head{nullptr};
  Decoder() {
    constexpr int64_t width = 512, vocabulary = 4096;
    e = register_module("e", nn::Embedding(vocabulary, width));
    for (int i = 0; i < 6; ++i) layers.push_back(register_module("layer" + std::to_string(i), std::make_shared<DecoderLayer>(width, 8)));
    n = register_module("n", nn::LayerNorm(nn::LayerNormOptions({width})));
    head = register_module("head", nn::Linear(nn::LinearOptions(width, vocabulary).bias(false)));
  }
  std::tuple<Tensor, KeyValueCaches> forward(const Tensor& tokens, const KeyValueCaches& caches) {
    Tensor x = e(tokens);
    KeyValueCaches out;
    for (size_t i = 0; i < layers.size(); ++i) {
      auto [y, keys, values] = layers[i]->forward(x, std::get<0>(caches[i]), std::get<1>(caches[i]));
      x = y;
      out.emplace_back(keys, values);
    }
    return {head(n(x)), out};
  }
};

inline Prepared gpt_decode_128() {
  KeyValueCaches caches;
  for (int i = 0; i < 6; ++i) caches.emplace_back(randn({1, 8, 128, 64}), randn({1, 8, 128, 64}));
  return prepare_module(std::make_shared<Decoder>(), randint(4096, {1, 1}), caches);
}

/// An LSTM written out over 64 steps.
struct Recurrent : nn::Module {
  nn::Linear ih{nullptr}, hh{nullptr};
  Recurrent() {
    ih = register_module("ih", nn::Linear(128, 1024));
    hh = register_module("hh", nn::Linear(256, 1024));
  }
  std::tuple<Tensor, Tensor> forward(const Tensor& x, Tensor h, Tensor c) {
    for (int64_t t = 0; t < x.size(0); ++t) {
      const std::vector<Tensor> gates = (ih(x[t]) + hh(h)).chunk(4, -1);
      c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
      h = sigmoid(gates[3]) * tanh(c);
    }
    return {h, c};
  }
};

inline Prepared lstm_s64_b16_h256() {
  return prepare_module(std::make_shared<Recurrent>(), randn({64, 16, 128}), zeros({16, 256}), zeros({16, 256}));
}

}  // namespace tailor::bench
