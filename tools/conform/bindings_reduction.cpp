#include "conform/bindings.h"
#include "tailor/ops/nn.h"
#include "tailor/ops/reduction.h"

namespace tailor::conform {
namespace {

template <Tensor (*Whole)(const Tensor&, Where), Tensor (*Along)(const Tensor&, OptionalIntArrayRef, bool, Where)>
Results logical(Args& a) {
  if (!a.has(1)) return Whole(a.tensor(0), Where::current());
  return Along(a.tensor(0), a.optional_ints(1), a.flag(2, false), Where::current());
}

/// max, min, median: of everything, along a dimension (with places), or (max and min) of two tensors.
template <Tensor (*Whole)(const Tensor&, Where), std::tuple<Tensor, Tensor> (*Along)(const Tensor&, int64_t, bool, Where)>
Results selecting(Args& a) {
  if (!a.has(1)) return Whole(a.tensor(0), Where::current());
  return Along(a.tensor(0), a.integer(1), a.flag(2, false), Where::current());
}

/// The correction of var and std, given as such or by `unbiased`; positional booleans are `unbiased`.
std::optional<Scalar> correction_of(Args& a) {
  if (a.is_bool(2)) return Scalar(a.flag(2, true) ? 1 : 0);
  if (a.has(3)) return a.scalar(3);
  if (a.has(4)) return Scalar(a.flag(4, true) ? 1 : 0);
  return std::nullopt;
}
template <Tensor (*F)(const Tensor&, OptionalIntArrayRef, std::optional<Scalar>, bool, Where)>
Results spread(Args& a) {
  if (a.is_bool(1)) return F(a.tensor(0), std::nullopt, Scalar(a.flag(1, true) ? 1 : 0), false, Where::current());
  return F(a.tensor(0), a.optional_ints(1), correction_of(a), a.flag(5, false), Where::current());
}

const Binding table[] = {
    {"sum", "self dim keepdim dtype",
     [](Args& a) -> Results {
       if (!a.has(1)) return sum(a.tensor(0), a.dtype(3));
       return sum(a.tensor(0), a.optional_ints(1), a.flag(2, false), a.dtype(3));
     }},
    {"mean", "self dim keepdim dtype",
     [](Args& a) -> Results {
       if (!a.has(1)) return mean(a.tensor(0), a.dtype(3));
       return mean(a.tensor(0), a.optional_ints(1), a.flag(2, false), a.dtype(3));
     }},
    {"prod", "self dim keepdim dtype",
     [](Args& a) -> Results {
       if (!a.has(1)) return prod(a.tensor(0), a.dtype(3));
       return prod(a.tensor(0), a.integer(1), a.flag(2, false), a.dtype(3));
     }},
    {"amax", "self dim keepdim", [](Args& a) -> Results { return amax(a.tensor(0), a.ints(1), a.flag(2, false)); }},
    {"amin", "self dim keepdim", [](Args& a) -> Results { return amin(a.tensor(0), a.ints(1), a.flag(2, false)); }},
    {"max", "self dim keepdim",
     [](Args& a) -> Results { return a.is_tensor(1) ? Results(max(a.tensor(0), a.tensor(1))) : selecting<max, max>(a); }},
    {"min", "self dim keepdim",
     [](Args& a) -> Results { return a.is_tensor(1) ? Results(min(a.tensor(0), a.tensor(1))) : selecting<min, min>(a); }},
    {"median", "self dim keepdim", selecting<median, median>},
    {"argmax", "self dim keepdim", [](Args& a) -> Results { return argmax(a.tensor(0), a.optional_integer(1), a.flag(2, false)); }},
    {"argmin", "self dim keepdim", [](Args& a) -> Results { return argmin(a.tensor(0), a.optional_integer(1), a.flag(2, false)); }},
    {"any", "self dim keepdim", logical<any, any>},
    {"all", "self dim keepdim", logical<all, all>},
    {"var", "self dim - correction unbiased keepdim", spread<var>},
    {"std", "self dim - correction unbiased keepdim", spread<tailor::std>},
    {"var_mean", "self dim - correction unbiased keepdim",
     [](Args& a) -> Results {
       if (a.is_bool(1)) return var_mean(a.tensor(0), ::std::nullopt, Scalar(a.flag(1, true) ? 1 : 0));
       return var_mean(a.tensor(0), a.optional_ints(1), correction_of(a), a.flag(5, false));
     }},
    {"logsumexp", "self dim keepdim", [](Args& a) -> Results { return logsumexp(a.tensor(0), a.ints(1), a.flag(2, false)); }},
    {"norm", "self p dim keepdim",
     [](Args& a) -> Results {
       if (!a.has(2)) return norm(a.tensor(0), a.scalar(1, 2));
       return norm(a.tensor(0), ::std::optional<Scalar>(a.scalar(1, 2)), a.ints(2), a.flag(3, false));
     }},
    {"count_nonzero", "self dim", [](Args& a) -> Results { return count_nonzero(a.tensor(0), a.optional_ints(1)); }},
    {"cumsum", "self dim dtype", [](Args& a) -> Results { return cumsum(a.tensor(0), a.integer(1), a.dtype(2)); }},
    {"cumsum_", "self dim dtype", [](Args& a) -> Results { return a.tensor(0).cumsum_(a.integer(1), a.dtype(2)); }},
    {"cumprod", "self dim dtype", [](Args& a) -> Results { return cumprod(a.tensor(0), a.integer(1), a.dtype(2)); }},
    {"cumprod_", "self dim dtype", [](Args& a) -> Results { return a.tensor(0).cumprod_(a.integer(1), a.dtype(2)); }},
    {"cummax", "self dim", [](Args& a) -> Results { return cummax(a.tensor(0), a.integer(1)); }},
    {"cummin", "self dim", [](Args& a) -> Results { return cummin(a.tensor(0), a.integer(1)); }},
    {"logcumsumexp", "self dim", [](Args& a) -> Results { return logcumsumexp(a.tensor(0), a.integer(1)); }},
    {"sort", "self dim descending stable",
     [](Args& a) -> Results {
       if (a.has(3)) return sort(a.tensor(0), a.optional_flag(3), a.integer(1, -1), a.flag(2, false));
       return sort(a.tensor(0), a.integer(1, -1), a.flag(2, false));
     }},
    {"argsort", "self dim descending stable",
     [](Args& a) -> Results {
       if (a.has(3)) return a.tensor(0).argsort(a.flag(3, false), a.integer(1, -1), a.flag(2, false));
       return argsort(a.tensor(0), a.integer(1, -1), a.flag(2, false));
     }},
    {"topk", "self k dim largest sorted",
     [](Args& a) -> Results { return topk(a.tensor(0), a.integer(1), a.integer(2, -1), a.flag(3, true), a.flag(4, true)); }},
    {"softmax", "self dim dtype", [](Args& a) -> Results { return softmax(a.tensor(0), a.integer(1), a.dtype(2)); }},
    {"log_softmax", "self dim dtype", [](Args& a) -> Results { return log_softmax(a.tensor(0), a.integer(1), a.dtype(2)); }},
};

}  // namespace

std::span<const Binding> reduction_bindings() { return table; }

}  // namespace tailor::conform
