#pragma once
// Losses as modules: forward(input, target). See ops/nn.h for what they compute.
//
//   nn::CrossEntropyLoss loss(nn::CrossEntropyLossOptions().label_smoothing(0.1));
//   Tensor l = loss(logits, classes);

#include "tailor/nn/module.h"
#include "tailor/nn/options.h"

namespace tailor::nn {

#define TAILOR_LOSS(Name, Options)                                                               \
  class Name##Impl : public Cloneable<Name##Impl> {                                              \
   public:                                                                                       \
    explicit Name##Impl(const Options& options = {}) : options(options) { Name##Impl::reset(); } \
    void reset() override;                                                                       \
    void pretty_print(std::ostream& out) const override;                                         \
    Tensor forward(const Tensor& input, const Tensor& target, Where where = Where::current());   \
    Options options;                                                                             \
  };                                                                                             \
  TAILOR_MODULE(Name)
TAILOR_LOSS(MSELoss, MSELossOptions);
TAILOR_LOSS(L1Loss, L1LossOptions);
TAILOR_LOSS(SmoothL1Loss, SmoothL1LossOptions);
TAILOR_LOSS(HuberLoss, HuberLossOptions);
TAILOR_LOSS(CrossEntropyLoss, CrossEntropyLossOptions);
TAILOR_LOSS(NLLLoss, NLLLossOptions);
TAILOR_LOSS(BCELoss, BCELossOptions);
TAILOR_LOSS(BCEWithLogitsLoss, BCEWithLogitsLossOptions);
TAILOR_LOSS(KLDivLoss, KLDivLossOptions);
#undef TAILOR_LOSS

class CosineEmbeddingLossImpl : public Cloneable<CosineEmbeddingLossImpl> {
 public:
  explicit CosineEmbeddingLossImpl(const CosineEmbeddingLossOptions& options = {}) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& out) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target, Where where = Where::current());
  CosineEmbeddingLossOptions options;
};
TAILOR_MODULE(CosineEmbeddingLoss);

}  // namespace tailor::nn
