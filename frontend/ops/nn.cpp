// Neural network ops. Operands and attributes as listed in ir/ops/{normalize,loss,conv,attention,random}.h.

#include "tailor/ops/nn.h"

#include "frontend/call.h"
#include "frontend/draw.h"
#include "ir/ops/conv.h"
#include "ir/ops/random.h"
#include "tailor/ops/contraction.h"

namespace tailor {

using MaybeTensor = std::optional<Tensor>;

// ---- normalising ----------------------------------------------------------------------------------------------------

Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, Where where) {
  return call<"softmax">(where, operands(where, self), dim, dtype);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype, Where where) {
  return call<"log_softmax">(where, operands(where, self), dim, dtype);
}
Tensor Tensor::softmax(int64_t dim, std::optional<ScalarType> dtype, Where where) const {
  return tailor::softmax(*this, dim, dtype, where);
}
Tensor Tensor::log_softmax(int64_t dim, std::optional<ScalarType> dtype, Where where) const {
  return tailor::log_softmax(*this, dim, dtype, where);
}

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const MaybeTensor& weight, const MaybeTensor& bias, double eps, bool,
                  Where where) {
  return call<"layer_norm">(where, operands(where, input, optional_operand(weight), optional_operand(bias)), normalized_shape, eps);
}
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const MaybeTensor& weight, std::optional<double> eps, Where where) {
  return call<"rms_norm">(where, operands(where, input, optional_operand(weight)), normalized_shape, eps);
}
Tensor group_norm(const Tensor& input, int64_t num_groups, const MaybeTensor& weight, const MaybeTensor& bias, double eps, bool,
                  Where where) {
  return call<"group_norm">(where, operands(where, input, optional_operand(weight), optional_operand(bias)), num_groups, eps);
}

namespace {

void update_running(const MaybeTensor& running, const Tensor& seen, double momentum, Where where) {
  if (!running || !running->defined()) return;
  NoGradGuard no_grad;
  running->mul_(1 - momentum, where)
      .add_(seen.scalar_type() == running->scalar_type() ? seen : seen.to(running->scalar_type()), momentum, where);
}

}  // namespace

Tensor batch_norm(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias, const MaybeTensor& running_mean,
                  const MaybeTensor& running_var, bool training, double momentum, double eps, bool, Where where) {
  if (!training) {
    check_at(where, running_mean && running_mean->defined() && running_var && running_var->defined(),
             "batch_norm: running_mean and running_var must be defined in evaluation mode");
    return call<"batch_norm">(where, operands(where, input, optional_operand(weight), optional_operand(bias), *running_mean, *running_var),
                              eps);
  }
  std::vector<Tensor> out =
      call_many<"batch_norm_train">(where, operands(where, input, optional_operand(weight), optional_operand(bias)), eps);
  update_running(running_mean, out.at(1), momentum, where);
  update_running(running_var, out.at(2), momentum, where);
  return out[0];
}

Tensor instance_norm(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias, const MaybeTensor& running_mean,
                     const MaybeTensor& running_var, bool use_input_stats, double momentum, double eps, bool, Where where) {
  if (!use_input_stats) return batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps, true, where);
  std::vector<Tensor> out =
      call_many<"instance_norm">(where, operands(where, input, optional_operand(weight), optional_operand(bias)), eps);
  update_running(running_mean, out.at(1), momentum, where);
  update_running(running_var, out.at(2), momentum, where);
  return out[0];
}

Tensor normalize(const Tensor& self, double p, int64_t dim, double eps, Where where) {
  return call<"normalize">(where, operands(where, self), p, dim, eps);
}

// ---- dropout --------------------------------------------------------------------------------------------------------

Tensor dropout(const Tensor& input, double p, bool train, Where where) {
  check_at(where, p >= 0 && p <= 1, "dropout: dropout probability has to be between 0 and 1, but got ", p);
  if (!train || p == 0 || input.numel() == 0) return input;
  const PhiloxState draw = draw_numbers(input.numel());
  return call<"dropout">(where, operands(where, input, Scalar(p), Scalar(ir::dropout_scale(p)), Scalar(draw.seed), Scalar(draw.offset)));
}

// ---- convolution ----------------------------------------------------------------------------------------------------

#define CONVOLUTION(name)                                                                                                       \
  Tensor name(const Tensor& input, const Tensor& weight, const MaybeTensor& bias, IntArrayRef stride, IntArrayRef padding,      \
              IntArrayRef dilation, int64_t groups, Where where) {                                                              \
    return call<#name>(where, operands(where, input, weight, optional_operand(bias)), stride, padding, dilation, groups);       \
  }                                                                                                                             \
  Tensor name(const Tensor& input, const Tensor& weight, const MaybeTensor& bias, IntArrayRef stride, std::string_view padding, \
              IntArrayRef dilation, int64_t groups, Where where) {                                                              \
    check_at(where, weight.dim() > 2, #name ": expected a weight with spatial dimensions, got ", weight.sizes());               \
    const IntArrayRef kernel(weight.sizes().data() + 2, weight.sizes().size() - 2);                                             \
    return name(input, weight, bias, stride, ir::conv_padding(padding, stride, kernel, dilation), dilation, groups, where);     \
  }
CONVOLUTION(conv1d)
CONVOLUTION(conv2d)
CONVOLUTION(conv3d)
#undef CONVOLUTION

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const MaybeTensor& bias, IntArrayRef stride, IntArrayRef padding,
                        IntArrayRef output_padding, int64_t groups, IntArrayRef dilation, Where where) {
  return call<"conv_transpose2d">(where, operands(where, input, weight, optional_operand(bias)), stride, padding, output_padding, groups,
                                  dilation);
}

// ---- attention ------------------------------------------------------------------------------------------------------

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& attn_mask,
                                    double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa, Where where) {
  if (dropout_p == 0)
    return call<"scaled_dot_product_attention">(where, operands(where, query, key, value, optional_operand(attn_mask)), is_causal, scale,
                                                enable_gqa);
  const Tensor weights =
      call<"attention_weights">(where, operands(where, query, key, optional_operand(attn_mask)), is_causal, scale, enable_gqa);
  const Tensor kept = dropout(weights, dropout_p, true, where);
  const int64_t repeat = enable_gqa ? query.size(-3) / value.size(-3) : 1;
  return matmul(kept, repeat == 1 ? value : value.repeat_interleave(repeat, value.dim() - 3, std::nullopt, where), where);
}

// ---- pooling --------------------------------------------------------------------------------------------------------

#define MAX_POOL(name)                                                                                                                    \
  Tensor name(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, \
              Where where) {                                                                                                              \
    return call<#name>(where, operands(where, self), kernel_size, stride, padding, dilation, ceil_mode);                                  \
  }                                                                                                                                       \
  std::tuple<Tensor, Tensor> name##_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,    \
                                                 IntArrayRef dilation, bool ceil_mode, Where where) {                                     \
    return call_pair<#name "_with_indices">(where, operands(where, self), kernel_size, stride, padding, dilation, ceil_mode);             \
  }
MAX_POOL(max_pool1d)
MAX_POOL(max_pool2d)
#undef MAX_POOL
Tensor avg_pool1d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad, Where where) {
  return call<"avg_pool1d">(where, operands(where, self), kernel_size, stride, padding, ceil_mode, count_include_pad);
}
Tensor avg_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override, Where where) {
  return call<"avg_pool2d">(where, operands(where, self), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}
Tensor adaptive_avg_pool2d(const Tensor& self, SymIntArrayRef output_size, Where where) {
  return call<"adaptive_avg_pool2d">(where, operands(where, self), output_size);
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& self, SymIntArrayRef output_size, Where where) {
  return call_pair<"adaptive_max_pool2d_with_indices">(where, operands(where, self), output_size);
}

// ---- losses ---------------------------------------------------------------------------------------------------------

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction, Where where) {
  return call<"mse_loss">(where, operands(where, self, target), reduction);
}
Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, Where where) {
  return call<"l1_loss">(where, operands(where, self, target), reduction);
}
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta, Where where) {
  return call<"smooth_l1_loss">(where, operands(where, self, target), reduction, beta);
}
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta, Where where) {
  return call<"huber_loss">(where, operands(where, self, target), reduction, delta);
}
Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const MaybeTensor& weight, int64_t reduction, int64_t ignore_index,
                          double label_smoothing, Where where) {
  return call<"cross_entropy">(where, operands(where, self, target, optional_operand(weight)), reduction, ignore_index, label_smoothing);
}
Tensor nll_loss(const Tensor& self, const Tensor& target, const MaybeTensor& weight, int64_t reduction, int64_t ignore_index, Where where) {
  return call<"nll_loss">(where, operands(where, self, target, optional_operand(weight)), reduction, ignore_index);
}
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const MaybeTensor& weight, int64_t reduction, Where where) {
  return call<"binary_cross_entropy">(where, operands(where, self, target, optional_operand(weight)), reduction);
}
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const MaybeTensor& weight, const MaybeTensor& pos_weight,
                                        int64_t reduction, Where where) {
  return call<"binary_cross_entropy_with_logits">(
      where, operands(where, self, target, optional_operand(weight), optional_operand(pos_weight)), reduction);
}
Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target, Where where) {
  return call<"kl_div">(where, operands(where, self, target), reduction, log_target);
}
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, int64_t reduction,
                             Where where) {
  return call<"cosine_embedding_loss">(where, operands(where, input1, input2, target), margin, reduction);
}

}  // namespace tailor
