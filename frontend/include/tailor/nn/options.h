#pragma once
// Options of modules, named and defaulted as libtorch's.

#include "tailor/nn/arg.h"
#include "tailor/tensor.h"

namespace tailor::nn {

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features) : in_features_(in_features), out_features_(out_features) {}
  TAILOR_ARG(int64_t, in_features);
  TAILOR_ARG(int64_t, out_features);
  TAILOR_ARG(bool, bias) = true;
};

struct FlattenOptions {
  FlattenOptions(int64_t start_dim = 1, int64_t end_dim = -1) : start_dim_(start_dim), end_dim_(end_dim) {}
  TAILOR_ARG(int64_t, start_dim);
  TAILOR_ARG(int64_t, end_dim);
};

struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim) : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TAILOR_ARG(int64_t, num_embeddings);
  TAILOR_ARG(int64_t, embedding_dim);
  /// Its row is zero at first and gets no gradient.
  TAILOR_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TAILOR_ARG(std::optional<double>, max_norm) = std::nullopt;
  TAILOR_ARG(double, norm_type) = 2.;
  TAILOR_ARG(bool, scale_grad_by_freq) = false;
  TAILOR_ARG(bool, sparse) = false;
  TAILOR_ARG(Tensor, _weight) = Tensor();
};

struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  TAILOR_ARG(double, p);
  TAILOR_ARG(bool, inplace) = false;
};
using Dropout2dOptions = DropoutOptions;

// ---- convolution --------------------------------------------------------------------------------------------------

/// Either numbers or kSame or kValid.
template <size_t D>
class ConvPadding {
 public:
  ConvPadding(ExpandingArray<D> sizes) : sizes_(sizes) {}
  ConvPadding(int64_t one) : sizes_(one) {}
  ConvPadding(int one) : sizes_(int64_t{one}) {}
  ConvPadding(std::initializer_list<int64_t> list) : sizes_(list) {}
  ConvPadding(Keyword mode) : sizes_(0), mode_(mode) {}
  const ExpandingArray<D>& sizes() const { return sizes_; }
  const std::optional<Keyword>& mode() const { return mode_; }

 private:
  ExpandingArray<D> sizes_;
  std::optional<Keyword> mode_;
};

template <size_t D>
struct ConvOptions {
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TAILOR_ARG(int64_t, in_channels);
  TAILOR_ARG(int64_t, out_channels);
  TAILOR_ARG(ExpandingArray<D>, kernel_size);
  TAILOR_ARG(ExpandingArray<D>, stride) = 1;
  TAILOR_ARG(ConvPadding<D>, padding) = 0;
  TAILOR_ARG(ExpandingArray<D>, dilation) = 1;
  TAILOR_ARG(int64_t, groups) = 1;
  TAILOR_ARG(bool, bias) = true;
  TAILOR_ARG(Keyword, padding_mode) = kZeros;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

template <size_t D>
struct ConvTransposeOptions {
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TAILOR_ARG(int64_t, in_channels);
  TAILOR_ARG(int64_t, out_channels);
  TAILOR_ARG(ExpandingArray<D>, kernel_size);
  TAILOR_ARG(ExpandingArray<D>, stride) = 1;
  TAILOR_ARG(ExpandingArray<D>, padding) = 0;
  TAILOR_ARG(ExpandingArray<D>, output_padding) = 0;
  TAILOR_ARG(int64_t, groups) = 1;
  TAILOR_ARG(bool, bias) = true;
  TAILOR_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose2dOptions = ConvTransposeOptions<2>;

// ---- normalisation ------------------------------------------------------------------------------------------------

struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  TAILOR_ARG(int64_t, num_features);
  TAILOR_ARG(double, eps) = 1e-5;
  /// None: the average over all batches so far.
  TAILOR_ARG(std::optional<double>, momentum) = 0.1;
  TAILOR_ARG(bool, affine) = true;
  TAILOR_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TAILOR_ARG(std::vector<int64_t>, normalized_shape);
  TAILOR_ARG(double, eps) = 1e-5;
  TAILOR_ARG(bool, elementwise_affine) = true;
};

struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> normalized_shape) : normalized_shape_(std::move(normalized_shape)) {}
  TAILOR_ARG(std::vector<int64_t>, normalized_shape);
  TAILOR_ARG(std::optional<double>, eps) = std::nullopt;
  TAILOR_ARG(bool, elementwise_affine) = true;
};

struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels) : num_groups_(num_groups), num_channels_(num_channels) {}
  TAILOR_ARG(int64_t, num_groups);
  TAILOR_ARG(int64_t, num_channels);
  TAILOR_ARG(double, eps) = 1e-5;
  TAILOR_ARG(bool, affine) = true;
};

// ---- pooling and resampling ---------------------------------------------------------------------------------------

template <size_t D>
struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TAILOR_ARG(ExpandingArray<D>, kernel_size);
  TAILOR_ARG(ExpandingArray<D>, stride);
  TAILOR_ARG(ExpandingArray<D>, padding) = 0;
  TAILOR_ARG(ExpandingArray<D>, dilation) = 1;
  TAILOR_ARG(bool, ceil_mode) = false;
};
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;

template <size_t D>
struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  TAILOR_ARG(ExpandingArray<D>, kernel_size);
  TAILOR_ARG(ExpandingArray<D>, stride);
  TAILOR_ARG(ExpandingArray<D>, padding) = 0;
  TAILOR_ARG(bool, ceil_mode) = false;
  TAILOR_ARG(bool, count_include_pad) = true;
  TAILOR_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;

/// Sizes of the result; nullopt keeps the input's.
struct AdaptivePool2dOptions {
  using Sizes = ExpandingArray<2, std::optional<int64_t>>;
  AdaptivePool2dOptions(Sizes output_size) : output_size_(output_size) {}
  AdaptivePool2dOptions(std::initializer_list<std::optional<int64_t>> output_size) : output_size_(output_size) {}
  AdaptivePool2dOptions(int64_t output_size) : output_size_(std::optional<int64_t>(output_size)) {}
  TAILOR_ARG(Sizes, output_size);
};
using AdaptiveAvgPool2dOptions = AdaptivePool2dOptions;
using AdaptiveMaxPool2dOptions = AdaptivePool2dOptions;

struct UpsampleOptions {
  TAILOR_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TAILOR_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TAILOR_ARG(Keyword, mode) = kNearest;
  TAILOR_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

// ---- activations --------------------------------------------------------------------------------------------------

#define TAILOR_INPLACE_OPTIONS(Name)                  \
  struct Name {                                       \
    Name(bool inplace = false) : inplace_(inplace) {} \
    TAILOR_ARG(bool, inplace);                        \
  };
TAILOR_INPLACE_OPTIONS(ReLUOptions)
TAILOR_INPLACE_OPTIONS(ReLU6Options)
TAILOR_INPLACE_OPTIONS(SELUOptions)
#undef TAILOR_INPLACE_OPTIONS

struct LeakyReLUOptions {
  TAILOR_ARG(double, negative_slope) = 1e-2;
  TAILOR_ARG(bool, inplace) = false;
};
struct ELUOptions {
  TAILOR_ARG(double, alpha) = 1.0;
  TAILOR_ARG(bool, inplace) = false;
};
struct CELUOptions {
  TAILOR_ARG(double, alpha) = 1.0;
  TAILOR_ARG(bool, inplace) = false;
};
struct GELUOptions {
  /// "none" or "tanh".
  TAILOR_ARG(std::string, approximate) = "none";
};
struct HardtanhOptions {
  TAILOR_ARG(double, min_val) = -1.0;
  TAILOR_ARG(double, max_val) = 1.0;
  TAILOR_ARG(bool, inplace) = false;
};
struct SoftplusOptions {
  TAILOR_ARG(double, beta) = 1.0;
  TAILOR_ARG(double, threshold) = 20.0;
};
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  TAILOR_ARG(double, threshold);
  TAILOR_ARG(double, value);
  TAILOR_ARG(bool, inplace) = false;
};
struct PReLUOptions {
  TAILOR_ARG(int64_t, num_parameters) = 1;
  TAILOR_ARG(double, init) = 0.25;
};
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  TAILOR_ARG(int64_t, dim);
};
using LogSoftmaxOptions = SoftmaxOptions;

// ---- losses -------------------------------------------------------------------------------------------------------

struct LossOptions {
  LossOptions(Keyword reduction = kMean) : reduction_(reduction) {}
  TAILOR_ARG(Keyword, reduction);
};
using MSELossOptions = LossOptions;
using L1LossOptions = LossOptions;

struct SmoothL1LossOptions {
  SmoothL1LossOptions(Keyword reduction = kMean) : reduction_(reduction) {}
  TAILOR_ARG(Keyword, reduction);
  TAILOR_ARG(std::optional<double>, beta) = std::nullopt;
};
struct HuberLossOptions {
  HuberLossOptions(Keyword reduction = kMean) : reduction_(reduction) {}
  TAILOR_ARG(Keyword, reduction);
  TAILOR_ARG(double, delta) = 1.0;
};
struct CrossEntropyLossOptions {
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(int64_t, ignore_index) = -100;
  TAILOR_ARG(Keyword, reduction) = kMean;
  TAILOR_ARG(double, label_smoothing) = 0.0;
};
struct NLLLossOptions {
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(int64_t, ignore_index) = -100;
  TAILOR_ARG(Keyword, reduction) = kMean;
};
struct BCELossOptions {
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(Keyword, reduction) = kMean;
};
struct BCEWithLogitsLossOptions {
  TAILOR_ARG(Tensor, weight) = Tensor();
  TAILOR_ARG(Keyword, reduction) = kMean;
  TAILOR_ARG(Tensor, pos_weight) = Tensor();
};
struct KLDivLossOptions {
  KLDivLossOptions(Keyword reduction = kMean) : reduction_(reduction) {}
  TAILOR_ARG(Keyword, reduction);
  TAILOR_ARG(bool, log_target) = false;
};
struct CosineEmbeddingLossOptions {
  TAILOR_ARG(double, margin) = 0.0;
  TAILOR_ARG(Keyword, reduction) = kMean;
};

}  // namespace tailor::nn
