#pragma once
// Neural network ops as free functions, under libtorch's `torch::` names and argument orders; tailor/nn/functional.h has the forms with
// option structs.

#include "tailor/tensor.h"

namespace tailor {

/// How a loss folds its elements: libtorch's at::Reduction.
namespace Reduction {
enum Reduction : int64_t { None, Mean, Sum };
}

// ---- normalising --------------------------------------------------------------------------------------------------
/// exp(x) / sum(exp(x)) along dim, without overflow. `dtype`: converted to before.
Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current());
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current());
/// Normalises over the last dimensions, which must be normalized_shape.
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight = {},
                  const std::optional<Tensor>& bias = {}, double eps = 1e-5, bool cudnn_enable = true, Where where = Where::current());
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight = {}, std::optional<double> eps = {},
                Where where = Where::current());
Tensor group_norm(const Tensor& input, int64_t num_groups, const std::optional<Tensor>& weight = {}, const std::optional<Tensor>& bias = {},
                  double eps = 1e-5, bool cudnn_enabled = true, Where where = Where::current());
/// Channels are dimension 1. In training, statistics of the batch are used, and the running ones (if given) updated in place.
Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, bool training, double momentum,
                  double eps, bool cudnn_enabled = true, Where where = Where::current());
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
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0, bool ceil_mode = false,
                  bool count_include_pad = true, Where where = Where::current());
Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {}, IntArrayRef padding = 0, bool ceil_mode = false,
                  bool count_include_pad = true, std::optional<int64_t> divisor_override = {}, Where where = Where::current());
Tensor adaptive_avg_pool2d(const Tensor& self, SymIntArrayRef output_size, Where where = Where::current());
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, SymIntArrayRef output_size, Where where = Where::current());

// ---- losses -------------------------------------------------------------------------------------------------------
Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, Where where = Where::current());
Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, Where where = Where::current());
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, double beta = 1.0,
                      Where where = Where::current());
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, double delta = 1.0,
                  Where where = Where::current());
Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight = {},
                          int64_t reduction = Reduction::Mean, int64_t ignore_index = -100, double label_smoothing = 0.0,
                          Where where = Where::current());
Tensor nll_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight = {}, int64_t reduction = Reduction::Mean,
                int64_t ignore_index = -100, Where where = Where::current());
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight = {},
                            int64_t reduction = Reduction::Mean, Where where = Where::current());
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight = {},
                                        const std::optional<Tensor>& pos_weight = {}, int64_t reduction = Reduction::Mean,
                                        Where where = Where::current());
Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction = Reduction::Mean, bool log_target = false,
              Where where = Where::current());
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0.0,
                             int64_t reduction = Reduction::Mean, Where where = Where::current());

}  // namespace tailor
