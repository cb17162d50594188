#include "conform/bindings.h"
#include "tailor/nn/functional.h"

namespace tailor::conform {
namespace {

namespace F = nn::functional;

/// The word of the case, which outlives the call.
Keyword reduction(Args& a, size_t i) { return a.has(i) ? Keyword(std::string_view(a.at(i).text)) : kMean; }

const Binding table[] = {
    {"mse_loss", "input target reduction", [](Args& a) -> Results { return F::mse_loss(a.tensor(0), a.tensor(1), reduction(a, 2)); }},
    {"l1_loss", "input target reduction", [](Args& a) -> Results { return F::l1_loss(a.tensor(0), a.tensor(1), reduction(a, 2)); }},
    {"smooth_l1_loss", "input target reduction beta",
     [](Args& a) -> Results {
       return F::smooth_l1_loss(a.tensor(0), a.tensor(1), F::SmoothL1LossFuncOptions(reduction(a, 2)).beta(a.optional_number(3)));
     }},
    {"huber_loss", "input target reduction delta",
     [](Args& a) -> Results {
       return F::huber_loss(a.tensor(0), a.tensor(1), F::HuberLossFuncOptions(reduction(a, 2)).delta(a.number(3, 1)));
     }},
    {"cross_entropy", "input target weight ignore_index reduction label_smoothing",
     [](Args& a) -> Results {
       return F::cross_entropy(a.tensor(0), a.tensor(1),
                               F::CrossEntropyFuncOptions()
                                   .weight(a.tensor_or_none(2))
                                   .ignore_index(a.integer(3, -100))
                                   .reduction(reduction(a, 4))
                                   .label_smoothing(a.number(5, 0)));
     }},
    {"nll_loss", "input target weight ignore_index reduction",
     [](Args& a) -> Results {
       return F::nll_loss(a.tensor(0), a.tensor(1),
                          F::NLLLossFuncOptions().weight(a.tensor_or_none(2)).ignore_index(a.integer(3, -100)).reduction(reduction(a, 4)));
     }},
    {"binary_cross_entropy", "input target weight reduction",
     [](Args& a) -> Results {
       return F::binary_cross_entropy(a.tensor(0), a.tensor(1),
                                      F::BinaryCrossEntropyFuncOptions().weight(a.tensor_or_none(2)).reduction(reduction(a, 3)));
     }},
    {"binary_cross_entropy_with_logits", "input target weight reduction pos_weight",
     [](Args& a) -> Results {
       return F::binary_cross_entropy_with_logits(a.tensor(0), a.tensor(1),
                                                  F::BinaryCrossEntropyWithLogitsFuncOptions()
                                                      .weight(a.tensor_or_none(2))
                                                      .reduction(reduction(a, 3))
                                                      .pos_weight(a.tensor_or_none(4)));
     }},
    {"kl_div", "input target reduction log_target",
     [](Args& a) -> Results {
       return F::kl_div(a.tensor(0), a.tensor(1), F::KLDivFuncOptions(reduction(a, 2)).log_target(a.flag(3, false)));
     }},
    {"cosine_embedding_loss", "input1 input2 target margin reduction",
     [](Args& a) -> Results {
       return F::cosine_embedding_loss(a.tensor(0), a.tensor(1), a.tensor(2),
                                       F::CosineEmbeddingLossFuncOptions().margin(a.number(3, 0)).reduction(reduction(a, 4)));
     }},
};

}  // namespace

std::span<const Binding> loss_bindings() { return table; }

}  // namespace tailor::conform
