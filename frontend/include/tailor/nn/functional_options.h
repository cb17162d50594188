#pragma once
// Options of torch::nn::functional: as the modules', with weights in place of sizes.

#include "tailor/nn/options.h"

namespace tailor::nn::functional {

using MSELossFuncOptions = MSELossOptions;
using L1LossFuncOptions = L1LossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using SELUFuncOptions = SELUOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using ELUFuncOptions = ELUOptions;
using CELUFuncOptions = CELUOptions;
using GELUFuncOptions = GELUOptions;
using HardtanhFuncOptions = HardtanhOptions;
using SoftplusFuncOptions = SoftplusOptions;
using ThresholdFuncOptions = ThresholdOptions;
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptivePool2dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptivePool2dOptions;

struct DropoutFuncOptions {
  TAILOR_ARG(double, p) = 0.5;
  TAILOR_ARG(bool, training) = true;
  TAILOR_ARG(bool, inplace) = false;
};

struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TAILOR_ARG(int64_t, dim);
  TAILOR_ARG(std::optional<ScalarType>, dtype) = std::nullopt;
};
using LogSoftmaxFuncOptions = SoftmaxFuncOptions;

struct BatchNormFuncOptions {
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(Tensor, bias) = Tensor();
  TAILOR_ARG(bool, training) = false;
  TAILOR_ARG(std::optional<double>, momentum) = 0.1;
  TAILOR_ARG(double, eps) = 1e-5;
};

struct InstanceNormFuncOptions {
  TAILOR_ARG(Tensor, running_mean) = Tensor();
  TAILOR_ARG(Tensor, running_var) = Tensor();
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(Tensor, bias) = Tensor();
  TAILOR_ARG(bool, use_input_stats) = true;
  TAILOR_ARG(double, momentum) = 0.1;
  TAILOR_ARG(double, eps) = 1e-5;
};

struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TAILOR_ARG(std::vector<int64_t>, normalized_shape);
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(Tensor, bias) = Tensor();
  TAILOR_ARG(double, eps) = 1e-5;
};

struct RMSNormFuncOptions {
  RMSNormFuncOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TAILOR_ARG(std::vector<int64_t>, normalized_shape);
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(std::optional<double>, eps) = std::nullopt;
};

struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  TAILOR_ARG(int64_t, num_groups);
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(Tensor, bias) = Tensor();
  TAILOR_ARG(double, eps) = 1e-5;
};

struct NormalizeFuncOptions {
  TAILOR_ARG(double, p) = 2.0;
  TAILOR_ARG(int64_t, dim) = 1;
  TAILOR_ARG(double, eps) = 1e-12;
};

struct EmbeddingFuncOptions {
  TAILOR_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TAILOR_ARG(std::optional<double>, max_norm) = std::nullopt;
  TAILOR_ARG(double, norm_type) = 2.;
  TAILOR_ARG(bool, scale_grad_by_freq) = false;
  TAILOR_ARG(bool, sparse) = false;
};

template <size_t D>
struct ConvFuncOptions {
  TAILOR_ARG(Tensor, bias) = Tensor();
  TAILOR_ARG(ExpandingArray<D>, stride) = 1;
  TAILOR_ARG(ConvPadding<D>, padding) = 0;
  TAILOR_ARG(ExpandingArray<D>, dilation) = 1;
  TAILOR_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

struct ConvTranspose2dFuncOptions {
  TAILOR_ARG(Tensor, bias) = Tensor();
  TAILOR_ARG(ExpandingArray<2>, stride) = 1;
  TAILOR_ARG(ExpandingArray<2>, padding) = 0;
  TAILOR_ARG(ExpandingArray<2>, output_padding) = 0;
  TAILOR_ARG(int64_t, groups) = 1;
  TAILOR_ARG(ExpandingArray<2>, dilation) = 1;
};

struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}
  TAILOR_ARG(std::vector<int64_t>, pad);
  TAILOR_ARG(Keyword, mode) = kConstant;
  TAILOR_ARG(double, value) = 0;
};

struct PixelShuffleFuncOptions {
  PixelShuffleFuncOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  TAILOR_ARG(int64_t, upscale_factor);
};

struct InterpolateFuncOptions {
  TAILOR_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TAILOR_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TAILOR_ARG(Keyword, mode) = kNearest;
  TAILOR_ARG(std::optional<bool>, align_corners) = std::nullopt;
  TAILOR_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
};

}  // namespace tailor::nn::functional
