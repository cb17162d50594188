#include "tailor/nn/layers.h"

#include <cmath>
#include <ostream>

#include "frontend/check_at.h"
#include "tailor/nn/functional.h"
#include "tailor/nn/init.h"
#include "tailor/ops/creation.h"
#include "tailor/ops/indexing.h"
#include "tailor/ops/view.h"

namespace tailor::nn {
namespace {

namespace F = functional;

std::ostream& print_bool(std::ostream& out, bool b) { return out << (b ? "true" : "false"); }

/// "[3, 3]".
template <size_t D>
std::string bracketed(const ExpandingArray<D>& values) {
  std::ostringstream text;
  text << IntArrayRef(values.data(), D);
  return text.str();
}

/// libtorch's initial values of a layer's weight and bias.
void reset_affine(const Tensor& weight, const Tensor& bias) {
  init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  const double bound = 1 / std::sqrt(static_cast<double>(std::get<0>(init::_calculate_fan_in_and_fan_out(weight))));
  init::uniform_(bias, -bound, bound);
}

Dims joined(std::initializer_list<int64_t> first, IntArrayRef rest) {
  Dims sizes(first);
  for (int64_t n : rest) sizes.push_back(n);
  return sizes;
}

}  // namespace

// ---- linear, embedding ----------------------------------------------------------------------------------------------

void LinearImpl::reset() {
  weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  bias = register_parameter("bias", options.bias() ? empty({options.out_features()}) : Tensor());
  reset_parameters();
}
void LinearImpl::reset_parameters() { reset_affine(weight, bias); }
void LinearImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Linear(in_features=" << options.in_features() << ", out_features=" << options.out_features() << ", bias=";
  print_bool(out, options.bias()) << ")";
}
Tensor LinearImpl::forward(const Tensor& input, Where where) { return linear(input, weight, bias, where); }

void IdentityImpl::pretty_print(std::ostream& out) const { out << "torch::nn::Identity()"; }
void FlattenImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Flatten(start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim() << ")";
}

void EmbeddingImpl::reset() {
  if (options.padding_idx()) {
    int64_t& row = *options.padding_idx();
    check(row < options.num_embeddings() && row >= -options.num_embeddings(), "Padding_idx must be within num_embeddings");
    if (row < 0) row += options.num_embeddings();
  }
  if (options._weight().defined()) {
    check(options._weight().sizes() == IntArrayRef({options.num_embeddings(), options.embedding_dim()}),
          "Shape of _weight does not match num_embeddings and embedding_dim");
    weight = register_parameter("weight", options._weight());
    return;
  }
  weight = register_parameter("weight", empty({options.num_embeddings(), options.embedding_dim()}));
  reset_parameters();
}
void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  NoGradGuard no_grad;
  weight.select(0, *options.padding_idx()).fill_(0);
}
void EmbeddingImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Embedding(num_embeddings=" << options.num_embeddings() << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) out << ", padding_idx=" << *options.padding_idx();
  out << ")";
}
Tensor EmbeddingImpl::forward(const Tensor& indices, Where where) {
  return F::embedding(indices, weight, F::EmbeddingFuncOptions().padding_idx(options.padding_idx()).max_norm(options.max_norm()), where);
}

// ---- convolution ----------------------------------------------------------------------------------------------------

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset() {
  const int64_t groups = options.groups();
  check(groups > 0 && options.in_channels() > 0 && options.out_channels() > 0,
        "in_channels, groups and out_channels must be a positive integer.");
  check(options.in_channels() % groups == 0, "in_channels must be divisible by groups");
  check(options.out_channels() % groups == 0, "out_channels must be divisible by groups");
  weight = this->register_parameter(
      "weight", empty(joined({options.out_channels(), options.in_channels() / groups}, IntArrayRef(options.kernel_size().data(), D))));
  bias = this->register_parameter("bias", options.bias() ? empty({options.out_channels()}) : Tensor());
  reset_parameters();
}
template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset_parameters() {
  reset_affine(weight, bias);
}
template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::pretty_print(std::ostream& out) const {
  const auto uniform = [](const ExpandingArray<D>& a, int64_t n) {
    return std::all_of(a.begin(), a.end(), [n](int64_t v) { return v == n; });
  };
  out << "torch::nn::Conv" << D << "d(" << options.in_channels() << ", " << options.out_channels()
      << ", kernel_size=" << bracketed(options.kernel_size()) << ", stride=" << bracketed(options.stride());
  if (options.padding().mode())
    out << ", padding='" << options.padding().mode()->text() << "'";
  else if (!uniform(options.padding().sizes(), 0))
    out << ", padding=" << bracketed(options.padding().sizes());
  if (!uniform(options.dilation(), 1)) out << ", dilation=" << bracketed(options.dilation());
  if (options.groups() != 1) out << ", groups=" << options.groups();
  if (!options.bias()) out << ", bias=false";
  if (options.padding_mode() != kZeros) out << ", padding_mode=" << options.padding_mode().text();
  out << ")";
}
template <size_t D, class Derived>
Tensor ConvNdImpl<D, Derived>::forward(const Tensor& input, Where where) {
  Tensor x = input;
  F::ConvFuncOptions<D> o;
  o.bias(bias).stride(options.stride()).padding(options.padding()).dilation(options.dilation()).groups(options.groups());
  if (options.padding_mode() != kZeros) {
    check_at(where, !options.padding().mode(), "Conv: padding_mode ", options.padding_mode().text(), " needs padding given by numbers");
    std::vector<int64_t> around;
    for (size_t d = D; d-- > 0;) around.insert(around.end(), {options.padding().sizes()[d], options.padding().sizes()[d]});
    x = tailor::pad(input, around, options.padding_mode().text(), std::nullopt, where);
    o.padding(0);
  }
  if constexpr (D == 1)
    return F::conv1d(x, weight, o, where);
  else if constexpr (D == 2)
    return F::conv2d(x, weight, o, where);
  else
    return F::conv3d(x, weight, o, where);
}
template class ConvNdImpl<1, Conv1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;
template class ConvNdImpl<3, Conv3dImpl>;

void ConvTranspose2dImpl::reset() {
  check(options.groups() > 0 && options.in_channels() % options.groups() == 0, "in_channels must be divisible by groups");
  check(options.out_channels() % options.groups() == 0, "out_channels must be divisible by groups");
  weight = register_parameter("weight", empty(joined({options.in_channels(), options.out_channels() / options.groups()},
                                                     IntArrayRef(options.kernel_size().data(), 2))));
  bias = register_parameter("bias", options.bias() ? empty({options.out_channels()}) : Tensor());
  reset_parameters();
}
void ConvTranspose2dImpl::reset_parameters() { reset_affine(weight, bias); }
void ConvTranspose2dImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::ConvTranspose2d(" << options.in_channels() << ", " << options.out_channels()
      << ", kernel_size=" << bracketed(options.kernel_size()) << ", stride=" << bracketed(options.stride()) << ")";
}
Tensor ConvTranspose2dImpl::forward(const Tensor& input, Where where) {
  return conv_transpose2d(input, weight, bias, options.stride(), options.padding(), options.output_padding(), options.groups(),
                          options.dilation(), where);
}

// ---- normalisation --------------------------------------------------------------------------------------------------

template <size_t D, class Derived>
void BatchNormNdImpl<D, Derived>::reset() {
  const int64_t n = options.num_features();
  weight = this->register_parameter("weight", options.affine() ? empty({n}) : Tensor());
  bias = this->register_parameter("bias", options.affine() ? empty({n}) : Tensor());
  running_mean = this->register_buffer("running_mean", options.track_running_stats() ? zeros({n}) : Tensor());
  running_var = this->register_buffer("running_var", options.track_running_stats() ? ones({n}) : Tensor());
  num_batches_tracked = this->register_buffer("num_batches_tracked", options.track_running_stats() ? zeros({}, kInt64) : Tensor());
  reset_parameters();
}
template <size_t D, class Derived>
void BatchNormNdImpl<D, Derived>::reset_parameters() {
  reset_running_stats();
  if (!options.affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}
template <size_t D, class Derived>
void BatchNormNdImpl<D, Derived>::reset_running_stats() {
  if (!options.track_running_stats()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}
template <size_t D, class Derived>
void BatchNormNdImpl<D, Derived>::pretty_print(std::ostream& out) const {
  out << "torch::nn::BatchNorm" << D << "d(" << options.num_features() << ", eps=" << options.eps() << ", momentum=";
  if (options.momentum())
    out << *options.momentum();
  else
    out << "None";
  print_bool(out << ", affine=", options.affine());
  print_bool(out << ", track_running_stats=", options.track_running_stats()) << ")";
}
template <size_t D, class Derived>
Tensor BatchNormNdImpl<D, Derived>::forward(const Tensor& input, Where where) {
  if constexpr (D == 1)
    check_at(where, input.dim() == 2 || input.dim() == 3, "expected 2D or 3D input (got ", input.dim(), "D input)");
  else
    check_at(where, input.dim() == D + 2, "expected ", D + 2, "D input (got ", input.dim(), "D input)");
  const bool track = this->is_training() && options.track_running_stats();
  double factor = options.momentum().value_or(0.0);
  if (track) {
    NoGradGuard no_grad;
    num_batches_tracked.add_(1, 1, where);
    if (!options.momentum()) factor = 1.0 / static_cast<double>(num_batches_tracked.template item<int64_t>(where));
  }
  return batch_norm(input, weight, bias, running_mean, running_var, this->is_training() || !running_mean.defined(), factor, options.eps(),
                    true, where);
}
template class BatchNormNdImpl<1, BatchNorm1dImpl>;
template class BatchNormNdImpl<2, BatchNorm2dImpl>;
template class BatchNormNdImpl<3, BatchNorm3dImpl>;

void LayerNormImpl::reset() {
  weight = register_parameter("weight", options.elementwise_affine() ? tailor::empty(options.normalized_shape()) : Tensor());
  bias = register_parameter("bias", options.elementwise_affine() ? tailor::empty(options.normalized_shape()) : Tensor());
  reset_parameters();
}
void LayerNormImpl::reset_parameters() {
  if (!options.elementwise_affine()) return;
  init::ones_(weight);
  init::zeros_(bias);
}
void LayerNormImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::LayerNorm(" << IntArrayRef(options.normalized_shape()) << ", eps=" << options.eps() << ", elementwise_affine=";
  print_bool(out, options.elementwise_affine()) << ")";
}
Tensor LayerNormImpl::forward(const Tensor& input, Where where) {
  return layer_norm(input, options.normalized_shape(), weight, bias, options.eps(), true, where);
}

void RMSNormImpl::reset() {
  weight = register_parameter("weight", options.elementwise_affine() ? ones(options.normalized_shape()) : Tensor());
}
void RMSNormImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::RMSNorm(" << IntArrayRef(options.normalized_shape()) << ", eps=";
  if (options.eps())
    out << *options.eps();
  else
    out << "None";
  print_bool(out << ", elementwise_affine=", options.elementwise_affine()) << ")";
}
Tensor RMSNormImpl::forward(const Tensor& input, Where where) {
  return rms_norm(input, options.normalized_shape(), weight, options.eps(), where);
}

void GroupNormImpl::reset() {
  weight = register_parameter("weight", options.affine() ? ones({options.num_channels()}) : Tensor());
  bias = register_parameter("bias", options.affine() ? zeros({options.num_channels()}) : Tensor());
}
void GroupNormImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::GroupNorm(" << options.num_groups() << ", " << options.num_channels() << ", eps=" << options.eps() << ", affine=";
  print_bool(out, options.affine()) << ")";
}
Tensor GroupNormImpl::forward(const Tensor& input, Where where) {
  return group_norm(input, options.num_groups(), weight, bias, options.eps(), true, where);
}

// ---- pooling and resampling -----------------------------------------------------------------------------------------

namespace {

template <size_t D>
void print_max_pool(std::ostream& out, const MaxPoolOptions<D>& o) {
  out << "torch::nn::MaxPool" << D << "d(kernel_size=" << bracketed(o.kernel_size()) << ", stride=" << bracketed(o.stride())
      << ", padding=" << bracketed(o.padding()) << ", dilation=" << bracketed(o.dilation()) << ", ceil_mode=";
  print_bool(out, o.ceil_mode()) << ")";
}
template <size_t D>
void print_avg_pool(std::ostream& out, const AvgPoolOptions<D>& o) {
  out << "torch::nn::AvgPool" << D << "d(kernel_size=" << bracketed(o.kernel_size()) << ", stride=" << bracketed(o.stride())
      << ", padding=" << bracketed(o.padding()) << ")";
}
void print_adaptive(std::ostream& out, const char* name, const AdaptivePool2dOptions& o) {
  out << "torch::nn::" << name << "(output_size=[";
  for (size_t d = 0; d < 2; ++d) {
    if (d > 0) out << ", ";
    if (o.output_size()[d])
      out << *o.output_size()[d];
    else
      out << "None";
  }
  out << "])";
}

}  // namespace

void MaxPool1dImpl::pretty_print(std::ostream& out) const { print_max_pool(out, options); }
void MaxPool2dImpl::pretty_print(std::ostream& out) const { print_max_pool(out, options); }
void AvgPool1dImpl::pretty_print(std::ostream& out) const { print_avg_pool(out, options); }
void AvgPool2dImpl::pretty_print(std::ostream& out) const { print_avg_pool(out, options); }
void AdaptiveAvgPool2dImpl::pretty_print(std::ostream& out) const { print_adaptive(out, "AdaptiveAvgPool2d", options); }
void AdaptiveMaxPool2dImpl::pretty_print(std::ostream& out) const { print_adaptive(out, "AdaptiveMaxPool2d", options); }
void UpsampleImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::Upsample(";
  if (options.scale_factor()) {
    out << "scale_factor=[";
    for (size_t i = 0; i < options.scale_factor()->size(); ++i) out << (i > 0 ? ", " : "") << (*options.scale_factor())[i];
    out << "]";
  } else if (options.size()) {
    out << "size=" << IntArrayRef(*options.size());
  }
  out << ", mode=" << options.mode().text() << ")";
}
Tensor MaxPool1dImpl::forward(const Tensor& input, Where where) { return F::max_pool1d(input, options, where); }
Tensor MaxPool2dImpl::forward(const Tensor& input, Where where) { return F::max_pool2d(input, options, where); }
Tensor AvgPool1dImpl::forward(const Tensor& input, Where where) { return F::avg_pool1d(input, options, where); }
Tensor AvgPool2dImpl::forward(const Tensor& input, Where where) { return F::avg_pool2d(input, options, where); }
Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input, Where where) { return F::adaptive_avg_pool2d(input, options, where); }
Tensor AdaptiveMaxPool2dImpl::forward(const Tensor& input, Where where) { return F::adaptive_max_pool2d(input, options, where); }
Tensor UpsampleImpl::forward(const Tensor& input, Where where) {
  return F::interpolate(input,
                        F::InterpolateFuncOptions()
                            .size(options.size())
                            .scale_factor(options.scale_factor())
                            .mode(options.mode())
                            .align_corners(options.align_corners()),
                        where);
}

}  // namespace tailor::nn
