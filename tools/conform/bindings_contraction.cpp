#include "conform/bindings.h"
#include "tailor/ops/contraction.h"
#include "tailor/ops/nn.h"

namespace tailor::conform {
namespace {

/// One of conv1d, conv2d and conv3d: with padding by numbers, or by "same" and "valid".
template <Tensor (*ByNumbers)(const Tensor&, const Tensor&, const std::optional<Tensor>&, IntArrayRef, IntArrayRef, IntArrayRef, int64_t,
                              Where),
          Tensor (*ByWord)(const Tensor&, const Tensor&, const std::optional<Tensor>&, IntArrayRef, std::string_view, IntArrayRef, int64_t,
                           Where)>
Results convolution(Args& a) {
  const auto& stride = a.ints_or(3, 1);
  const auto& dilation = a.ints_or(5, 1);
  if (a.has(4) && a.at(4).kind == Value::Kind::Text) {
    return ByWord(a.tensor(0), a.tensor(1), a.optional_tensor(2), stride, a.at(4).text, dilation, a.integer(6, 1), Where::current());
  }
  return ByNumbers(a.tensor(0), a.tensor(1), a.optional_tensor(2), stride, a.ints_or(4, 0), dilation, a.integer(6, 1), Where::current());
}

const Binding table[] = {
    {"matmul", "self other", [](Args& a) -> Results { return matmul(a.tensor(0), a.tensor(1)); }},
    {"mm", "self mat2", [](Args& a) -> Results { return mm(a.tensor(0), a.tensor(1)); }},
    {"bmm", "self mat2", [](Args& a) -> Results { return bmm(a.tensor(0), a.tensor(1)); }},
    {"mv", "self vec", [](Args& a) -> Results { return mv(a.tensor(0), a.tensor(1)); }},
    {"dot", "self other", [](Args& a) -> Results { return dot(a.tensor(0), a.tensor(1)); }},
    {"outer", "self vec2", [](Args& a) -> Results { return outer(a.tensor(0), a.tensor(1)); }},
    {"addmm", "self mat1 mat2 beta alpha",
     [](Args& a) -> Results { return addmm(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3, 1), a.scalar(4, 1)); }},
    {"baddbmm", "self batch1 batch2 beta alpha",
     [](Args& a) -> Results { return baddbmm(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3, 1), a.scalar(4, 1)); }},
    {"linear", "input weight bias",
     [](Args& a) -> Results {
       if (a.has(2)) return linear(a.tensor(0), a.tensor(1), a.tensor(2));
       return linear(a.tensor(0), a.tensor(1));
     }},
    {"conv1d", "input weight bias stride padding dilation groups", convolution<conv1d, conv1d>},
    {"conv2d", "input weight bias stride padding dilation groups", convolution<conv2d, conv2d>},
    {"conv3d", "input weight bias stride padding dilation groups", convolution<conv3d, conv3d>},
    {"conv_transpose2d", "input weight bias stride padding output_padding groups dilation",
     [](Args& a) -> Results {
       return conv_transpose2d(a.tensor(0), a.tensor(1), a.optional_tensor(2), a.ints_or(3, 1), a.ints_or(4, 0), a.ints_or(5, 0),
                               a.integer(6, 1), a.ints_or(7, 1));
     }},
    {"scaled_dot_product_attention", "query key value attn_mask dropout_p is_causal scale enable_gqa",
     [](Args& a) -> Results {
       return scaled_dot_product_attention(a.tensor(0), a.tensor(1), a.tensor(2), a.optional_tensor(3), a.number(4, 0), a.flag(5, false),
                                           a.optional_number(6), a.flag(7, false));
     }},
    {"einsum", "equation tensors", [](Args& a) -> Results { return einsum(a.text(0, ""), a.tensors(1)); }},
};

}  // namespace

std::span<const Binding> contraction_bindings() { return table; }

}  // namespace tailor::conform
