#pragma once
// torch::nn::functional: the ops of networks with their rarer arguments in option structs.
//
//   namespace F = tailor::nn::functional;
//   auto loss = F::cross_entropy(logits, target, F::CrossEntropyFuncOptions().label_smoothing(0.1));

#include "tailor/nn/functional_options.h"
#include "tailor/ops/contraction.h"
#include "tailor/ops/creation.h"
#include "tailor/ops/nn.h"
#include "tailor/ops/pointwise.h"

namespace tailor::nn::functional {

// Ops without options, under their own names here as well.
using tailor::hardsigmoid;
using tailor::hardswish;
using tailor::linear;
using tailor::logsigmoid;
using tailor::mish;
using tailor::one_hot;
using tailor::prelu;
using tailor::scaled_dot_product_attention;
using tailor::silu;
using tailor::softsign;
using tailor::tanh;

Tensor relu(const Tensor& input, const ReLUFuncOptions& options = {}, Where where = Where::current());
Tensor relu6(const Tensor& input, const ReLU6FuncOptions& options = {}, Where where = Where::current());
Tensor selu(const Tensor& input, const SELUFuncOptions& options = {}, Where where = Where::current());
Tensor leaky_relu(const Tensor& input, const LeakyReLUFuncOptions& options = {}, Where where = Where::current());
Tensor elu(const Tensor& input, const ELUFuncOptions& options = {}, Where where = Where::current());
Tensor celu(const Tensor& input, const CELUFuncOptions& options = {}, Where where = Where::current());
Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {}, Where where = Where::current());
Tensor hardtanh(const Tensor& input, const HardtanhFuncOptions& options = {}, Where where = Where::current());
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {}, Where where = Where::current());
Tensor threshold(const Tensor& input, const ThresholdFuncOptions& options, Where where = Where::current());
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options, Where where = Where::current());
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options, Where where = Where::current());
Tensor dropout(const Tensor& input, const DropoutFuncOptions& options = {}, Where where = Where::current());
/// Drops whole channels.
Tensor dropout2d(const Tensor& input, const DropoutFuncOptions& options = {}, Where where = Where::current());

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const BatchNormFuncOptions& options = {},
                  Where where = Where::current());
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {}, Where where = Where::current());
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options, Where where = Where::current());
Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options, Where where = Where::current());
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options, Where where = Where::current());
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options = {}, Where where = Where::current());
Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options = {}, Where where = Where::current());

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options = {}, Where where = Where::current());
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options = {}, Where where = Where::current());
Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& options = {}, Where where = Where::current());
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const ConvTranspose2dFuncOptions& options = {},
                        Where where = Where::current());

Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options, Where where = Where::current());
Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options, Where where = Where::current());
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& options,
                                                   Where where = Where::current());
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& options,
                                                   Where where = Where::current());
Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options, Where where = Where::current());
Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options, Where where = Where::current());
Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options, Where where = Where::current());
Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options, Where where = Where::current());
std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options,
                                                            Where where = Where::current());

Tensor pad(const Tensor& input, const PadFuncOptions& options, Where where = Where::current());
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options, Where where = Where::current());
/// Resamples the spatial dimensions of [N, C, ...]: mode kNearest (1 to 3 of them) or kBilinear (2).
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {}, Where where = Where::current());

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options = {}, Where where = Where::current());
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options = {}, Where where = Where::current());
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options = {},
                      Where where = Where::current());
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options = {}, Where where = Where::current());
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options = {},
                     Where where = Where::current());
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options = {}, Where where = Where::current());
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& options = {},
                            Where where = Where::current());
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options = {}, Where where = Where::current());
Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options = {}, Where where = Where::current());
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options = {}, Where where = Where::current());

}  // namespace tailor::nn::functional
