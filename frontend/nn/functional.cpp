#include "tailor/nn/functional.h"

#include "frontend/check_at.h"
#include "tailor/ops/indexing.h"
#include "tailor/ops/view.h"

namespace tailor::nn::functional {
namespace {

int64_t reduction_of(Keyword reduction) {
  if (reduction == kNone) return Reduction::None;
  if (reduction == kMean) return Reduction::Mean;
  if (reduction == kSum) return Reduction::Sum;
  check(reduction == kBatchMean, reduction.text(), " is not a valid reduction");
  return 3;
}

/// A function's in-place form writes its result over the input.
Tensor placed(bool inplace, const Tensor& input, Tensor result, Where where) {
  return inplace ? input.copy_(result, false, where) : result;
}

}  // namespace

Tensor relu(const Tensor& input, const ReLUFuncOptions& options, Where where) {
  return options.inplace() ? input.relu_(where) : input.relu(where);
}
Tensor relu6(const Tensor& input, const ReLU6FuncOptions& options, Where where) {
  return placed(options.inplace(), input, tailor::relu6(input, where), where);
}
Tensor selu(const Tensor& input, const SELUFuncOptions& options, Where where) {
  return placed(options.inplace(), input, tailor::selu(input, where), where);
}
Tensor leaky_relu(const Tensor& input, const LeakyReLUFuncOptions& options, Where where) {
  return placed(options.inplace(), input, tailor::leaky_relu(input, options.negative_slope(), where), where);
}
Tensor elu(const Tensor& input, const ELUFuncOptions& options, Where where) {
  return placed(options.inplace(), input, tailor::elu(input, options.alpha(), 1.0, 1.0, where), where);
}
Tensor celu(const Tensor& input, const CELUFuncOptions& options, Where where) {
  return placed(options.inplace(), input, tailor::celu(input, options.alpha(), where), where);
}
Tensor gelu(const Tensor& input, const GELUFuncOptions& options, Where where) { return tailor::gelu(input, options.approximate(), where); }
Tensor hardtanh(const Tensor& input, const HardtanhFuncOptions& options, Where where) {
  return placed(options.inplace(), input, tailor::hardtanh(input, options.min_val(), options.max_val(), where), where);
}
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options, Where where) {
  return tailor::softplus(input, options.beta(), options.threshold(), where);
}
Tensor threshold(const Tensor& input, const ThresholdFuncOptions& options, Where where) {
  return placed(options.inplace(), input, tailor::threshold(input, options.threshold(), options.value(), where), where);
}
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options, Where where) {
  return tailor::softmax(input, options.dim(), options.dtype(), where);
}
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options, Where where) {
  return tailor::log_softmax(input, options.dim(), options.dtype(), where);
}
Tensor dropout(const Tensor& input, const DropoutFuncOptions& options, Where where) {
  return placed(options.inplace(), input, tailor::dropout(input, options.p(), options.training(), where), where);
}
Tensor dropout2d(const Tensor& input, const DropoutFuncOptions& options, Where where) {
  check_at(where, input.dim() == 3 || input.dim() == 4, "dropout2d: expected 3D or 4D input, got ", input.dim(), "D");
  if (!options.training() || options.p() == 0) return input;
  Dims sizes(input.sizes());
  sizes[sizes.size() - 1] = sizes[sizes.size() - 2] = 1;
  const Tensor kept = tailor::dropout(ones(sizes, TensorOptions(input.scalar_type()), where), options.p(), true, where);
  return placed(options.inplace(), input, input.mul(kept, where), where);
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const BatchNormFuncOptions& options,
                  Where where) {
  return tailor::batch_norm(input, options.weight(), options.bias(), running_mean, running_var, options.training(),
                            options.momentum().value_or(0.0), options.eps(), true, where);
}
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options, Where where) {
  return tailor::instance_norm(input, options.weight(), options.bias(), options.running_mean(), options.running_var(),
                               options.use_input_stats(), options.momentum(), options.eps(), true, where);
}
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options, Where where) {
  return tailor::layer_norm(input, options.normalized_shape(), options.weight(), options.bias(), options.eps(), true, where);
}
Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options, Where where) {
  return tailor::rms_norm(input, options.normalized_shape(), options.weight(), options.eps(), where);
}
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options, Where where) {
  return tailor::group_norm(input, options.num_groups(), options.weight(), options.bias(), options.eps(), true, where);
}
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options, Where where) {
  return tailor::normalize(input, options.p(), options.dim(), options.eps(), where);
}
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options, Where where) {
  check_at<NotImplementedError>(where, !options.max_norm(), "embedding: max_norm is not supported");
  if (options.padding_idx()) {
    const int64_t rows = weight.size(0);
    check_at(where, *options.padding_idx() < rows && *options.padding_idx() >= -rows,
             "embedding: Padding_idx must be within num_embeddings");
  }
  return tailor::embedding(weight, input, options.padding_idx().value_or(-1), options.scale_grad_by_freq(), options.sparse(), where);
}

#define CONVOLUTION(name, Options)                                                                                                         \
  Tensor name(const Tensor& input, const Tensor& weight, const Options& options, Where where) {                                            \
    const IntArrayRef stride = options.stride(), dilation = options.dilation();                                                            \
    if (options.padding().mode())                                                                                                          \
      return tailor::name(input, weight, options.bias(), stride, options.padding().mode()->text(), dilation, options.groups(), where);     \
    return tailor::name(input, weight, options.bias(), stride, IntArrayRef(options.padding().sizes()), dilation, options.groups(), where); \
  }
CONVOLUTION(conv1d, Conv1dFuncOptions)
CONVOLUTION(conv2d, Conv2dFuncOptions)
CONVOLUTION(conv3d, Conv3dFuncOptions)
#undef CONVOLUTION
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const ConvTranspose2dFuncOptions& options, Where where) {
  return tailor::conv_transpose2d(input, weight, options.bias(), options.stride(), options.padding(), options.output_padding(),
                                  options.groups(), options.dilation(), where);
}

Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& o, Where where) {
  return tailor::max_pool1d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode(), where);
}
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& o, Where where) {
  return tailor::max_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode(), where);
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& o, Where where) {
  return tailor::max_pool1d_with_indices(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode(), where);
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& o, Where where) {
  return tailor::max_pool2d_with_indices(input, o.kernel_size(), o.stride(), o.padding(), o.dilation(), o.ceil_mode(), where);
}
Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& o, Where where) {
  return tailor::avg_pool1d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(), where);
}
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& o, Where where) {
  return tailor::avg_pool2d(input, o.kernel_size(), o.stride(), o.padding(), o.ceil_mode(), o.count_include_pad(), o.divisor_override(),
                            where);
}

namespace {

/// A size that was left out is the input's own.
std::array<SymInt, 2> output_size(const Tensor& input, const AdaptivePool2dOptions& options) {
  const auto& size = options.output_size();
  return {size[0] ? SymInt(*size[0]) : input.sym_size(-2), size[1] ? SymInt(*size[1]) : input.sym_size(-1)};
}

}  // namespace

Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options, Where where) {
  return tailor::adaptive_avg_pool2d(input, output_size(input, options), where);
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options, Where where) {
  return tailor::adaptive_max_pool2d(input, output_size(input, options), where);
}
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options, Where where) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, options, where));
}

Tensor pad(const Tensor& input, const PadFuncOptions& options, Where where) {
  return tailor::pad(input, options.pad(), options.mode().text(),
                     options.mode() == kConstant ? std::optional(options.value()) : std::nullopt, where);
}
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options, Where where) {
  return tailor::pixel_shuffle(input, options.upscale_factor(), where);
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options, Where where) {
  return tailor::mse_loss(input, target, reduction_of(options.reduction()), where);
}
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options, Where where) {
  return tailor::l1_loss(input, target, reduction_of(options.reduction()), where);
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options, Where where) {
  return tailor::smooth_l1_loss(input, target, reduction_of(options.reduction()), options.beta().value_or(1.0), where);
}
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options, Where where) {
  return tailor::huber_loss(input, target, reduction_of(options.reduction()), options.delta(), where);
}
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options, Where where) {
  return cross_entropy_loss(input, target, options.weight(), reduction_of(options.reduction()), options.ignore_index(),
                            options.label_smoothing(), where);
}
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options, Where where) {
  return tailor::nll_loss(input, target, options.weight(), reduction_of(options.reduction()), options.ignore_index(), where);
}
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& options, Where where) {
  return tailor::binary_cross_entropy(input, target, options.weight(), reduction_of(options.reduction()), where);
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const BinaryCrossEntropyWithLogitsFuncOptions& options,
                                        Where where) {
  return tailor::binary_cross_entropy_with_logits(input, target, options.weight(), options.pos_weight(), reduction_of(options.reduction()),
                                                  where);
}
Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options, Where where) {
  return tailor::kl_div(input, target, reduction_of(options.reduction()), options.log_target(), where);
}
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options, Where where) {
  return tailor::cosine_embedding_loss(input1, input2, target, options.margin(), reduction_of(options.reduction()), where);
}

}  // namespace tailor::nn::functional
