#include "conform/modules.h"

#include <unordered_map>

#include "tailor/nn.h"

namespace tailor::conform {
namespace {

template <class Holder>
BuiltModule of_input(Holder holder) {
  auto module = holder.ptr();
  return {module, [module](Args& a) -> Results { return module->forward(a.tensor(0)); }};
}
template <class Holder>
BuiltModule of_input_and_target(Holder holder) {
  auto module = holder.ptr();
  return {module, [module](Args& a) -> Results { return module->forward(a.tensor(0), a.tensor(1)); }};
}
template <class Holder>
BuiltModule plain(Args&) {
  return of_input(Holder());
}

Keyword word(Args& a, size_t i, Keyword otherwise) { return a.has(i) ? Keyword(std::string_view(a.at(i).text)) : otherwise; }

template <size_t D>
ExpandingArray<D> sizes(Args& a, size_t i, int64_t otherwise) {
  const auto& list = a.ints_or(i, otherwise);
  return list.size() == 1 ? ExpandingArray<D>(list[0]) : ExpandingArray<D>(list);
}

/// "input channels, output channels, kernel, stride, padding, dilation, groups, bias, padding mode".
template <class Holder, size_t D>
BuiltModule convolution(Args& a) {
  nn::ConvOptions<D> options(a.integer(0), a.integer(1), sizes<D>(a, 2, 1));
  options.stride(sizes<D>(a, 3, 1))
      .dilation(sizes<D>(a, 5, 1))
      .groups(a.integer(6, 1))
      .bias(a.flag(7, true))
      .padding_mode(word(a, 8, kZeros));
  if (a.has(4) && a.at(4).kind == Value::Kind::Text)
    options.padding(word(a, 4, kSame));
  else
    options.padding(sizes<D>(a, 4, 0));
  return of_input(Holder(options));
}

/// An absent momentum is 0.1, null the average over all batches.
template <class Holder>
BuiltModule batch_norm(Args& a) {
  nn::BatchNormOptions options(a.integer(0));
  options.eps(a.number(1, 1e-5));
  if (a.given(2)) options.momentum(a.optional_number(2));
  return of_input(Holder(options));
}

struct Row {
  std::string_view name, options;
  BuiltModule (*build)(Args&);
};

const Row table[] = {
    {"Linear", "in_features out_features bias",
     [](Args& a) { return of_input(nn::Linear(nn::LinearOptions(a.integer(0), a.integer(1)).bias(a.flag(2, true)))); }},
    {"Embedding", "num_embeddings embedding_dim padding_idx",
     [](Args& a) { return of_input(nn::Embedding(nn::EmbeddingOptions(a.integer(0), a.integer(1)).padding_idx(a.optional_integer(2)))); }},
    {"Conv1d", "in_channels out_channels kernel_size stride padding dilation groups bias padding_mode", convolution<nn::Conv1d, 1>},
    {"Conv2d", "in_channels out_channels kernel_size stride padding dilation groups bias padding_mode", convolution<nn::Conv2d, 2>},
    {"ConvTranspose2d", "in_channels out_channels kernel_size stride padding output_padding groups bias",
     [](Args& a) {
       nn::ConvTranspose2dOptions options(a.integer(0), a.integer(1), sizes<2>(a, 2, 1));
       options.stride(sizes<2>(a, 3, 1)).padding(sizes<2>(a, 4, 0)).output_padding(sizes<2>(a, 5, 0));
       return of_input(nn::ConvTranspose2d(options.groups(a.integer(6, 1)).bias(a.flag(7, true))));
     }},
    {"BatchNorm1d", "num_features eps momentum", batch_norm<nn::BatchNorm1d>},
    {"BatchNorm2d", "num_features eps momentum", batch_norm<nn::BatchNorm2d>},
    {"LayerNorm", "normalized_shape eps",
     [](Args& a) { return of_input(nn::LayerNorm(nn::LayerNormOptions(a.ints(0)).eps(a.number(1, 1e-5)))); }},
    {"RMSNorm", "normalized_shape eps",
     [](Args& a) { return of_input(nn::RMSNorm(nn::RMSNormOptions(a.ints(0)).eps(a.optional_number(1)))); }},
    {"GroupNorm", "num_groups num_channels",
     [](Args& a) { return of_input(nn::GroupNorm(nn::GroupNormOptions(a.integer(0), a.integer(1)))); }},
    {"Dropout", "p", [](Args& a) { return of_input(nn::Dropout(nn::DropoutOptions(a.number(0, 0.5)))); }},
    {"CELU", "alpha", [](Args& a) { return of_input(nn::CELU(nn::CELUOptions().alpha(a.number(0, 1)))); }},
    {"ELU", "alpha", [](Args& a) { return of_input(nn::ELU(nn::ELUOptions().alpha(a.number(0, 1)))); }},
    {"GELU", "approximate", [](Args& a) { return of_input(nn::GELU(nn::GELUOptions().approximate(a.text(0, "none")))); }},
    {"LeakyReLU", "negative_slope",
     [](Args& a) { return of_input(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(a.number(0, 0.01)))); }},
    {"Softmax", "dim", [](Args& a) { return of_input(nn::Softmax(nn::SoftmaxOptions(a.integer(0)))); }},
    {"LogSoftmax", "dim", [](Args& a) { return of_input(nn::LogSoftmax(nn::LogSoftmaxOptions(a.integer(0)))); }},
    {"Hardsigmoid", "", plain<nn::Hardsigmoid>},
    {"Hardswish", "", plain<nn::Hardswish>},
    {"Hardtanh", "", plain<nn::Hardtanh>},
    {"Mish", "", plain<nn::Mish>},
    {"PReLU", "", plain<nn::PReLU>},
    {"ReLU", "", plain<nn::ReLU>},
    {"ReLU6", "", plain<nn::ReLU6>},
    {"SELU", "", plain<nn::SELU>},
    {"SiLU", "", plain<nn::SiLU>},
    {"Sigmoid", "", plain<nn::Sigmoid>},
    {"Softplus", "", plain<nn::Softplus>},
    {"Softsign", "", plain<nn::Softsign>},
    {"Tanh", "", plain<nn::Tanh>},
    {"BCELoss", "", [](Args&) { return of_input_and_target(nn::BCELoss()); }},
    {"BCEWithLogitsLoss", "", [](Args&) { return of_input_and_target(nn::BCEWithLogitsLoss()); }},
    {"CrossEntropyLoss", "label_smoothing",
     [](Args& a) { return of_input_and_target(nn::CrossEntropyLoss(nn::CrossEntropyLossOptions().label_smoothing(a.number(0, 0)))); }},
    {"HuberLoss", "delta", [](Args& a) { return of_input_and_target(nn::HuberLoss(nn::HuberLossOptions().delta(a.number(0, 1)))); }},
    {"KLDivLoss", "reduction", [](Args& a) { return of_input_and_target(nn::KLDivLoss(nn::KLDivLossOptions(word(a, 0, kMean)))); }},
    {"L1Loss", "reduction", [](Args& a) { return of_input_and_target(nn::L1Loss(nn::L1LossOptions(word(a, 0, kMean)))); }},
    {"MSELoss", "", [](Args&) { return of_input_and_target(nn::MSELoss()); }},
    {"NLLLoss", "", [](Args&) { return of_input_and_target(nn::NLLLoss()); }},
    {"SmoothL1Loss", "beta",
     [](Args& a) { return of_input_and_target(nn::SmoothL1Loss(nn::SmoothL1LossOptions().beta(a.optional_number(0)))); }},
};

}  // namespace

BuiltModule build_module(const std::string& name, const Arguments& options) {
  for (const Row& row : table) {
    if (row.name != name) continue;
    Args args(options, row.options);
    return row.build(args);
  }
  throw Unsupported("module " + name);
}

}  // namespace tailor::conform
