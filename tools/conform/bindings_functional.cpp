// Contractions, and what libtorch has under nn::functional.

#include "conform/bindings.h"
#include "tailor/ops/contraction.h"

namespace tailor::conform {
namespace {

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
    {"einsum", "equation tensors", [](Args& a) -> Results { return einsum(a.text(0, ""), a.tensors(1)); }},
};

}  // namespace

std::span<const Binding> functional_bindings() { return table; }

}  // namespace tailor::conform
