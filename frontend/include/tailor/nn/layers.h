#pragma once
// Layers with parameters, and shape layers. Options and initial values are libtorch's; weights are shared handles, public as there.
//
//   nn::Conv2d conv(nn::Conv2dOptions(3, 8, 5).stride(2).padding(2));   Tensor y = conv(x);   // [n, 3, 32, 32] -> [n, 8, 16, 16]

#include "tailor/nn/module.h"
#include "tailor/nn/options.h"

namespace tailor::nn {

/// y = x W^T + b.   x [*, in] -> [*, out]
class LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features) : LinearImpl(LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const LinearOptions& options) : options(options) { LinearImpl::reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  LinearOptions options;
  Tensor weight, bias;
};
TAILOR_MODULE(Linear);

/// What it is given.
class IdentityImpl : public Cloneable<IdentityImpl> {
 public:
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input) { return input; }
};
TAILOR_MODULE(Identity);

/// Merges dimensions start_dim (1) to end_dim (the last).
class FlattenImpl : public Cloneable<FlattenImpl> {
 public:
  explicit FlattenImpl(const FlattenOptions& options = {}) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current()) {
    return input.flatten(options.start_dim(), options.end_dim(), where);
  }
  FlattenOptions options;
};
TAILOR_MODULE(Flatten);

/// Rows of a table: indices [*] -> [*, embedding_dim].
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim) : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(const EmbeddingOptions& options) : options(options) { EmbeddingImpl::reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& indices, Where where = Where::current());
  EmbeddingOptions options;
  Tensor weight;
};
TAILOR_MODULE(Embedding);

// ---- convolution --------------------------------------------------------------------------------------------------

/// Conv1d to Conv3d: [N, in, ...] or [in, ...] -> [N, out, ...]; weight [out, in / groups, kernel ...].
template <size_t D, class Derived>
class ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(const ConvOptions<D>& options) : options(options) { ConvNdImpl::reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  ConvOptions<D> options;
  Tensor weight, bias;
};
#define TAILOR_CONV(D)                                                                       \
  class Conv##D##dImpl : public ConvNdImpl<D, Conv##D##dImpl> {                              \
   public:                                                                                   \
    Conv##D##dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size) \
        : ConvNdImpl(ConvOptions<D>(in_channels, out_channels, kernel_size)) {}              \
    using ConvNdImpl::ConvNdImpl;                                                            \
  };                                                                                         \
  extern template class ConvNdImpl<D, Conv##D##dImpl>;                                       \
  TAILOR_MODULE(Conv##D##d);
TAILOR_CONV(1)
TAILOR_CONV(2)
TAILOR_CONV(3)
#undef TAILOR_CONV

/// [N, in, h, w] -> [N, out, ...]; weight [in, out / groups, kernel ...].
class ConvTranspose2dImpl : public Cloneable<ConvTranspose2dImpl> {
 public:
  ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : ConvTranspose2dImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose2dImpl(const ConvTranspose2dOptions& options) : options(options) { ConvTranspose2dImpl::reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  ConvTranspose2dOptions options;
  Tensor weight, bias;
};
TAILOR_MODULE(ConvTranspose2d);

// ---- normalisation ------------------------------------------------------------------------------------------------

/// BatchNorm1d to BatchNorm3d: channels are dimension 1. In training by the statistics of the batch, which the running ones follow; after
/// eval() by those.
template <size_t D, class Derived>
class BatchNormNdImpl : public Cloneable<Derived> {
 public:
  explicit BatchNormNdImpl(const BatchNormOptions& options) : options(options) { BatchNormNdImpl::reset(); }
  explicit BatchNormNdImpl(int64_t num_features) : BatchNormNdImpl(BatchNormOptions(num_features)) {}
  void reset() override;
  void reset_parameters();
  void reset_running_stats();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  BatchNormOptions options;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;
};
#define TAILOR_BATCH_NORM(D)                                                   \
  class BatchNorm##D##dImpl : public BatchNormNdImpl<D, BatchNorm##D##dImpl> { \
   public:                                                                     \
    using BatchNormNdImpl::BatchNormNdImpl;                                    \
  };                                                                           \
  extern template class BatchNormNdImpl<D, BatchNorm##D##dImpl>;               \
  TAILOR_MODULE(BatchNorm##D##d);
TAILOR_BATCH_NORM(1)
TAILOR_BATCH_NORM(2)
TAILOR_BATCH_NORM(3)
#undef TAILOR_BATCH_NORM

/// Over the last dimensions, which must be normalized_shape.
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  explicit LayerNormImpl(std::vector<int64_t> normalized_shape) : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(const LayerNormOptions& options) : options(options) { LayerNormImpl::reset(); }
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  LayerNormOptions options;
  Tensor weight, bias;
};
TAILOR_MODULE(LayerNorm);

/// x / sqrt(mean(x^2) + eps) * weight over the last dimensions.
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  explicit RMSNormImpl(std::vector<int64_t> normalized_shape) : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
  explicit RMSNormImpl(const RMSNormOptions& options) : options(options) { RMSNormImpl::reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  RMSNormOptions options;
  Tensor weight;
};
TAILOR_MODULE(RMSNorm);

/// Over groups of channels (dimension 1).
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels) : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options) : options(options) { GroupNormImpl::reset(); }
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input, Where where = Where::current());
  GroupNormOptions options;
  Tensor weight, bias;
};
TAILOR_MODULE(GroupNorm);

// ---- pooling and resampling ---------------------------------------------------------------------------------------

/// A layer without parameters: options and a function of them.
#define TAILOR_FUNCTION_LAYER(Name, Options)                                                                                 \
  class Name##Impl : public Cloneable<Name##Impl> {                                                                          \
   public:                                                                                                                   \
    explicit Name##Impl(const Options& options) : options(options) {}                                                        \
    template <class A>                                                                                                       \
    requires(!std::convertible_to<A, Options> && std::constructible_from<Options, A>) explicit Name##Impl(const A& argument) \
        : options(argument) {}                                                                                               \
    void reset() override {}                                                                                                 \
    void pretty_print(std::ostream& out) const override;                                                                     \
    Tensor forward(const Tensor& input, Where where = Where::current());                                                     \
    Options options;                                                                                                         \
  };                                                                                                                         \
  TAILOR_MODULE(Name)
TAILOR_FUNCTION_LAYER(MaxPool1d, MaxPool1dOptions);
TAILOR_FUNCTION_LAYER(MaxPool2d, MaxPool2dOptions);
TAILOR_FUNCTION_LAYER(AvgPool1d, AvgPool1dOptions);
TAILOR_FUNCTION_LAYER(AvgPool2d, AvgPool2dOptions);
TAILOR_FUNCTION_LAYER(AdaptiveAvgPool2d, AdaptiveAvgPool2dOptions);
TAILOR_FUNCTION_LAYER(AdaptiveMaxPool2d, AdaptiveMaxPool2dOptions);
TAILOR_FUNCTION_LAYER(Upsample, UpsampleOptions);
#undef TAILOR_FUNCTION_LAYER

}  // namespace tailor::nn
