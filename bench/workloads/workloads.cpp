#include "workloads/contraction.h"
#include "workloads/fusion.h"
#include "workloads/language.h"
#include "workloads/overhead.h"
#include "workloads/sequences.h"
#include "workloads/vision.h"

namespace tailor::bench {

std::span<const Workload> workloads() {
  static constexpr Workload all[] = {
      {"add_8", "sum of two vectors of 8", add_8},
      {"chain10_64", "ten pointwise ops on 64 numbers", chain10_64},
      {"module_1000_params", "500 linear layers of 4 to 4, batch 1", module_1000_params},
      {"pointwise_4m", "sigmoid, tanh and exp of 4 M numbers", pointwise_4m},
      {"cheap_pointwise_4m", "relu and products of 4 M numbers", cheap_pointwise_4m},
      {"black_scholes_1m", "prices of 1 M options", black_scholes_1m},
      {"softmax_1024x4096", "softmax of 1,024 rows", softmax_1024x4096},
      {"layernorm_gelu_4096x1024", "layer norm and gelu of 4,096 rows", layernorm_gelu_4096x1024},
      {"reduce_both_4096", "sums along either dimension of 4,096 x 4,096", reduce_both_4096},
      {"nbody_1024", "gravity among 1,024 bodies", nbody_1024},
      {"transpose_add_2048", "sum with a transpose, 2,048 x 2,048", transpose_add_2048},
      {"matmul_bias_gelu_1024", "matrix product, bias, gelu", matmul_bias_gelu_1024},
      {"matmul_odd_173", "matrix product of odd sizes, relu", matmul_odd_173},
      {"mlp_b1", "784-512-512-10 network, batch 1", mlp<1>},
      {"mlp_b64", "784-512-512-10 network, batch 64", mlp<64>},
      {"mlp_b1024", "784-512-512-10 network, batch 1,024", mlp<1024>},
      {"digits_cnn_b64", "two convolutions, batch norm, pooling", digits_cnn_b64},
      {"resnet14_b16", "residual network on 32 x 32 images", resnet14_b16},
      {"minilm_b1_s32", "6-layer encoder, one sentence of 32", minilm<1, 32>},
      {"minilm_b8_s128", "6-layer encoder, 8 sentences of 128", minilm<8, 128>},
      {"gpt_decode_128", "6-layer decoder, one token after 128", gpt_decode_128},
      {"lstm_s64_b16_h256", "LSTM over 64 steps", lstm_s64_b16_h256},
  };
  return all;
}

std::span<const Sequence> sequences() {
  static constexpr Sequence all[] = {
      {"varying_batch_mlp", "400 calls of the 784-512-512-10 network, batch 1 to 64", varying_batch_mlp},
      {"varying_image_cnn", "400 calls of a small residual network, square pictures of 16 to 64 pixels", varying_image_cnn},
      {"varying_aspect_cnn", "400 calls of it, height and width from 16 to 64", varying_aspect_cnn},
      {"growing_decode", "256 tokens of a 6-layer decoder, its cache growing from 16 to 271", growing_decode},
  };
  return all;
}

}  // namespace tailor::bench
