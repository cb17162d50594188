#pragma once
// Neural network ops as free functions, under libtorch's `torch::` names and argument orders; tailor/nn/functional.h has the forms with
// option structs. Floating point only unless said otherwise; Error where shapes do not fit each other.
//
//   Tensor y = layer_norm(x, {64}, weight, bias);
//   Tensor loss = cross_entropy_loss(logits, classes);   // [n, c], int64 [n] -> []

#include "tailor/tensor.h"

namespace tailor {

/// How a loss folds its elements: libtorch's at::Reduction.
namespace Reduction {
enum Reduction : int64_t { None, Mean, Sum };
}

// ---- normalising --------------------------------------------------------------------------------------------------
/// exp(x) / sum(exp(x)) along dim, without overflow. `dtype`: converted to before.
Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current());
/// log(softmax(x)), without its rounding.
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current());
/// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, which must be normalized_shape; weight and bias have that shape.
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight = {},
                  const std::optional<Tensor>& bias = {}, double eps = 1e-5, bool cudnn_enable = true, Where where = Where::current());
/// x / sqrt(mean(x^2) + eps) * weight over the last dimensions. eps: else the dtype's epsilon.
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight = {}, std::optional<double> eps = {},
                Where where = Where::current());
/// As layer_norm over groups of channels (dimension 1) and all that follows them; weight and bias are per channel.
Tensor group_norm(const Tensor& input, int64_t num_groups, const std::optional<Tensor>& weight = {}, const std::optional<Tensor>& bias = {},
                  double eps = 1e-5, bool cudnn_enabled = true, Where where = Where::current());
/// Channels are dimension 1. In training, statistics of the batch are used, and the running ones (if given) updated in place.
Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, bool training, double momentum,
                  double eps, bool cudnn_enabled = true, Where where = Where::current());
/// As batch_norm for each element of the batch by itself.
Tensor instance_norm(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                     const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, bool use_input_stats,
                     double momentum, double eps, bool cudnn_enabled = true, Where where = Where::current());
/// x / max(|x|_p, eps) along dim.
Tensor normalize(const Tensor& self, double p = 2, int64_t dim = 1, double eps = 1e-12, Where where = Where::current());

// ---- dropout ------------------------------------------------------------------------------------------------------
/// Zeroes elements with probability p and scales the others by 1 / (1 - p); the identity outside of training.
Tensor dropout(const Tensor& input, double p, bool train, Where where = Where::current());

// ---- convolution: input [N, C, ...] or [C, ...], weight [out, in / groups, ...] -------------------------------------
Tensor conv1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = {}, IntArrayRef stride = 1,
              IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1, Where where = Where::current());
Tensor conv2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = {}, IntArrayRef stride = 1,
              IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1, Where where = Where::current());
Tensor conv3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = {}, IntArrayRef stride = 1,
              IntArrayRef padding = 0, IntArrayRef dilation = 1, int64_t groups = 1, Where where = Where::current());
/// padding: "valid" or "same".
Tensor conv1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, std::string_view padding,
              IntArrayRef dilation = 1, int64_t groups = 1, Where where = Where::current());
Tensor conv2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, std::string_view padding,
              IntArrayRef dilation = 1, int64_t groups = 1, Where where = Where::current());
Tensor conv3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, std::string_view padding,
              IntArrayRef dilation = 1, int64_t groups = 1, Where where = Where::current());
/// weight [in, out / groups, kh, kw].
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1, IntArrayRef dilation = 1,
                        Where where = Where::current());

// ---- attention ----------------------------------------------------------------------------------------------------
/// softmax(query @ key.T * scale + mask) @ value. A bool mask says what takes part; another is added.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask = {}, double dropout_p = 0, bool is_causal = false,
                                    std::optional<double> scale = {}, bool enable_gqa = false, Where where = Where::current());

// ---- pooling and resampling: an empty stride is the kernel's size --------------------------------------------------
/// [N, C, ...] or [C, ...]; padding counts as less than every number.
Tensor max_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0, IntArrayRef dilation = 1,
                  bool ceil_mode = false, Where where = Where::current());
Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0, IntArrayRef dilation = 1,
                  bool ceil_mode = false, Where where = Where::current());
/// Values, and where they are in each plane.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                                                   IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false,
                                                   Where where = Where::current());
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                                                   IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false,
                                                   Where where = Where::current());
/// count_include_pad: padding counts as zeros; divisor_override: what sums are divided by.
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0, bool ceil_mode = false,
                  bool count_include_pad = true, Where where = Where::current());
Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0, bool ceil_mode = false,
                  bool count_include_pad = true, std::optional<int64_t> divisor_override = {}, Where where = Where::current());
/// Windows such that the result has these spatial sizes.
Tensor adaptive_avg_pool2d(const Tensor& self, SymIntArrayRef output_size, Where where = Where::current());
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, SymIntArrayRef output_size, Where where = Where::current());

// ---- losses: `reduction` gives one number, or with Reduction::None one for each element -----------------------------
/// (self - target)^2.
Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, Where where = Where::current());
/// |self - target|.
Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, Where where = Where::current());
/// With d = |self - target|: d^2 / (2 beta) below beta, d - beta / 2 from there on.
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, double beta = 1.0,
                      Where where = Where::current());
/// beta times smooth_l1_loss with beta = delta.
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, double delta = 1.0,
                  Where where = Where::current());
/// -log_softmax(self, 1) at the target: class indices (int64, self's sizes without dimension 1; those equal to ignore_index do not count),
/// or probabilities of self's sizes. `weight` is per class and also weighs the mean. IndexError for a class out of range.
Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight = {},
                          int64_t reduction = Reduction::Mean, int64_t ignore_index = -100, double label_smoothing = 0.0,
                          Where where = Where::current());
/// The same of logarithms of probabilities: -self at the target.
Tensor nll_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight = {}, int64_t reduction = Reduction::Mean,
                int64_t ignore_index = -100, Where where = Where::current());
/// -(target * log(self) + (1 - target) * log(1 - self)), logarithms no less than -100; self within [0, 1] (NaN outside of it,
/// where torch throws).
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight = {},
                            int64_t reduction = Reduction::Mean, Where where = Where::current());
/// The same of sigmoid(self), without overflow; pos_weight multiplies the first term.
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight = {},
                                        const std::optional<Tensor>& pos_weight = {}, int64_t reduction = Reduction::Mean,
                                        Where where = Where::current());
/// target * (log(target) - self); log_target: the target is a logarithm already.
Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, bool log_target = false,
              Where where = Where::current());
/// Of vectors: 1 - cos(input1, input2) where the target is 1, max(0, cos - margin) where it is -1.
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0.0,
                             int64_t reduction = Reduction::Mean, Where where = Where::current());

}  // namespace tailor
