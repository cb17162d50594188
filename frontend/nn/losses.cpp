#include "tailor/nn/losses.h"

#include <ostream>

#include "tailor/nn/functional.h"

namespace tailor::nn {

namespace F = functional;

#define LOSS(Name, function)                                                                  \
  void Name##Impl::pretty_print(std::ostream& out) const { out << "torch::nn::" #Name "()"; } \
  Tensor Name##Impl::forward(const Tensor& input, const Tensor& target, Where where) { return F::function(input, target, options, where); }
LOSS(MSELoss, mse_loss)
LOSS(L1Loss, l1_loss)
LOSS(SmoothL1Loss, smooth_l1_loss)
LOSS(HuberLoss, huber_loss)
LOSS(CrossEntropyLoss, cross_entropy)
LOSS(NLLLoss, nll_loss)
LOSS(BCELoss, binary_cross_entropy)
LOSS(BCEWithLogitsLoss, binary_cross_entropy_with_logits)
LOSS(KLDivLoss, kl_div)
#undef LOSS

void MSELossImpl::reset() {}
void L1LossImpl::reset() {}
void SmoothL1LossImpl::reset() {}
void HuberLossImpl::reset() {}
void KLDivLossImpl::reset() {}
void CrossEntropyLossImpl::reset() { register_buffer("weight", options.weight()); }
void NLLLossImpl::reset() { register_buffer("weight", options.weight()); }
void BCELossImpl::reset() { register_buffer("weight", options.weight()); }
void BCEWithLogitsLossImpl::reset() {
  register_buffer("weight", options.weight());
  register_buffer("pos_weight", options.pos_weight());
}

void CosineEmbeddingLossImpl::pretty_print(std::ostream& out) const {
  out << "torch::nn::CosineEmbeddingLoss(margin=" << options.margin() << ")";
}
Tensor CosineEmbeddingLossImpl::forward(const Tensor& input1, const Tensor& input2, const Tensor& target, Where where) {
  return F::cosine_embedding_loss(input1, input2, target, options, where);
}

}  // namespace tailor::nn
