// Reductions, scans, sorts. Attributes as listed in ir/ops/reduction.h and ir/ops/scan.h.

#include "tailor/ops/reduction.h"

#include "frontend/call.h"

namespace tailor {
namespace {

using MaybeType = std::optional<ScalarType>;
using Pair = std::tuple<Tensor, Tensor>;

double correction_of(const std::optional<Scalar>& correction) { return correction ? correction->to_double() : 1.0; }

}  // namespace

#define SUMS(name)                                                                                       \
  Tensor name(const Tensor& self, MaybeType dtype, Where where) {                                        \
    return call<#name>(where, operands(where, self), std::nullopt, false, dtype);                        \
  }                                                                                                      \
  Tensor name(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, MaybeType dtype, Where where) { \
    return call<#name>(where, operands(where, self), dim.optional(), keepdim, dtype);                    \
  }                                                                                                      \
  Tensor Tensor::name(MaybeType dtype, Where where) const { return tailor::name(*this, dtype, where); }  \
  Tensor Tensor::name(OptionalIntArrayRef dim, bool keepdim, MaybeType dtype, Where where) const {       \
    return tailor::name(*this, dim, keepdim, dtype, where);                                              \
  }
SUMS(sum)
SUMS(mean)
#undef SUMS

Tensor prod(const Tensor& self, MaybeType dtype, Where where) {
  return call<"prod">(where, operands(where, self), std::nullopt, false, dtype);
}
Tensor prod(const Tensor& self, int64_t dim, bool keepdim, MaybeType dtype, Where where) {
  return call<"prod">(where, operands(where, self), IntArrayRef(dim), keepdim, dtype);
}
Tensor Tensor::prod(MaybeType dtype, Where where) const { return tailor::prod(*this, dtype, where); }
Tensor Tensor::prod(int64_t dim, bool keepdim, MaybeType dtype, Where where) const {
  return tailor::prod(*this, dim, keepdim, dtype, where);
}

#define EXTREMES(amax, max, max_dim, maximum, argmax)                                                                              \
  Tensor amax(const Tensor& self, IntArrayRef dim, bool keepdim, Where where) {                                                    \
    return call<#amax>(where, operands(where, self), dim, keepdim);                                                                \
  }                                                                                                                                \
  Tensor Tensor::amax(IntArrayRef dim, bool keepdim, Where where) const { return tailor::amax(*this, dim, keepdim, where); }       \
  Tensor max(const Tensor& self, Where where) { return call<#max>(where, operands(where, self)); }                                 \
  Tensor max(const Tensor& self, const Tensor& other, Where where) { return call<#maximum>(where, operands(where, self, other)); } \
  Pair max(const Tensor& self, int64_t dim, bool keepdim, Where where) {                                                           \
    return call_pair<#max_dim>(where, operands(where, self), dim, keepdim);                                                        \
  }                                                                                                                                \
  Tensor Tensor::max(Where where) const { return tailor::max(*this, where); }                                                      \
  Tensor Tensor::max(const Tensor& other, Where where) const { return tailor::max(*this, other, where); }                          \
  Pair Tensor::max(int64_t dim, bool keepdim, Where where) const { return tailor::max(*this, dim, keepdim, where); }               \
  Tensor argmax(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Where where) {                                       \
    return call<#argmax>(where, operands(where, self), dim, keepdim);                                                              \
  }                                                                                                                                \
  Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim, Where where) const { return tailor::argmax(*this, dim, keepdim, where); }
EXTREMES(amax, max, max_dim, maximum, argmax)
EXTREMES(amin, min, min_dim, minimum, argmin)
#undef EXTREMES

#define TESTS(name)                                                                                                       \
  Tensor name(const Tensor& self, Where where) { return call<#name>(where, operands(where, self), std::nullopt, false); } \
  Tensor name(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, Where where) {                                   \
    return call<#name>(where, operands(where, self), dim.optional(), keepdim);                                            \
  }                                                                                                                       \
  Tensor Tensor::name(Where where) const { return tailor::name(*this, where); }                                           \
  Tensor Tensor::name(OptionalIntArrayRef dim, bool keepdim, Where where) const { return tailor::name(*this, dim, keepdim, where); }
TESTS(any)
TESTS(all)
#undef TESTS

Tensor var(const Tensor& self, OptionalIntArrayRef dim, std::optional<Scalar> correction, bool keepdim, Where where) {
  return call<"var">(where, operands(where, self), dim.optional(), correction_of(correction), keepdim);
}
Tensor std(const Tensor& self, OptionalIntArrayRef dim, ::std::optional<Scalar> correction, bool keepdim, Where where) {
  return call<"std">(where, operands(where, self), dim.optional(), correction_of(correction), keepdim);
}
Pair var_mean(const Tensor& self, OptionalIntArrayRef dim, ::std::optional<Scalar> correction, bool keepdim, Where where) {
  return call_pair<"var_mean">(where, operands(where, self), dim.optional(), correction_of(correction), keepdim);
}
Tensor Tensor::var(OptionalIntArrayRef dim, ::std::optional<Scalar> correction, bool keepdim, Where where) const {
  return tailor::var(*this, dim, correction, keepdim, where);
}
Tensor Tensor::std(OptionalIntArrayRef dim, ::std::optional<Scalar> correction, bool keepdim, Where where) const {
  return tailor::std(*this, dim, correction, keepdim, where);
}

Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim, Where where) {
  return call<"logsumexp">(where, operands(where, self), dim, keepdim);
}
Tensor Tensor::logsumexp(IntArrayRef dim, bool keepdim, Where where) const { return tailor::logsumexp(*this, dim, keepdim, where); }
Tensor norm(const Tensor& self, const Scalar& p, Where where) {
  return call<"norm">(where, operands(where, self), p.to_double(), ::std::nullopt, false, ::std::nullopt);
}
Tensor norm(const Tensor& self, const ::std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, Where where) {
  return call<"norm">(where, operands(where, self), p.value_or(Scalar(2)).to_double(), dim, keepdim, ::std::nullopt);
}
Tensor Tensor::norm(const Scalar& p, Where where) const { return tailor::norm(*this, p, where); }
Tensor Tensor::norm(const ::std::optional<Scalar>& p, IntArrayRef dim, bool keepdim, Where where) const {
  return tailor::norm(*this, p, dim, keepdim, where);
}
Tensor count_nonzero(const Tensor& self, OptionalIntArrayRef dim, Where where) {
  return call<"count_nonzero">(where, operands(where, self), dim.optional());
}
Tensor Tensor::count_nonzero(OptionalIntArrayRef dim, Where where) const { return tailor::count_nonzero(*this, dim, where); }
Tensor median(const Tensor& self, Where where) { return call<"median">(where, operands(where, self)); }
Pair median(const Tensor& self, int64_t dim, bool keepdim, Where where) {
  return call_pair<"median_dim">(where, operands(where, self), dim, keepdim);
}
Tensor Tensor::median(Where where) const { return tailor::median(*this, where); }
Pair Tensor::median(int64_t dim, bool keepdim, Where where) const { return tailor::median(*this, dim, keepdim, where); }

// ---- scans and sorts ------------------------------------------------------------------------------------------------

#define SCAN(name)                                                                                                        \
  Tensor name(const Tensor& self, int64_t dim, MaybeType dtype, Where where) {                                            \
    return call<#name>(where, operands(where, self), dim, dtype);                                                         \
  }                                                                                                                       \
  Tensor Tensor::name(int64_t dim, MaybeType dtype, Where where) const { return tailor::name(*this, dim, dtype, where); } \
  Tensor& Tensor::name##_(int64_t dim, MaybeType dtype, Where where) const {                                              \
    return call_inplace<#name>(where, *this, operands(where, *this), dim, dtype ? dtype : MaybeType(scalar_type()));      \
  }
SCAN(cumsum)
SCAN(cumprod)
#undef SCAN
#define SCAN_PAIR(name)                                                                                                   \
  Pair name(const Tensor& self, int64_t dim, Where where) { return call_pair<#name>(where, operands(where, self), dim); } \
  Pair Tensor::name(int64_t dim, Where where) const { return tailor::name(*this, dim, where); }
SCAN_PAIR(cummax)
SCAN_PAIR(cummin)
#undef SCAN_PAIR
Tensor logcumsumexp(const Tensor& self, int64_t dim, Where where) { return call<"logcumsumexp">(where, operands(where, self), dim); }
Tensor Tensor::logcumsumexp(int64_t dim, Where where) const { return tailor::logcumsumexp(*this, dim, where); }

Pair sort(const Tensor& self, int64_t dim, bool descending, Where where) {
  return call_pair<"sort">(where, operands(where, self), dim, descending, false);
}
Pair sort(const Tensor& self, ::std::optional<bool> stable, int64_t dim, bool descending, Where where) {
  return call_pair<"sort">(where, operands(where, self), dim, descending, stable.value_or(false));
}
Tensor argsort(const Tensor& self, int64_t dim, bool descending, Where where) {
  return call<"argsort">(where, operands(where, self), dim, descending, false);
}
Pair topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, Where where) {
  return call_pair<"topk">(where, operands(where, self), k, dim, largest, sorted);
}
Pair Tensor::sort(int64_t dim, bool descending, Where where) const { return tailor::sort(*this, dim, descending, where); }
Pair Tensor::sort(::std::optional<bool> stable, int64_t dim, bool descending, Where where) const {
  return tailor::sort(*this, stable, dim, descending, where);
}
Tensor Tensor::argsort(int64_t dim, bool descending, Where where) const { return tailor::argsort(*this, dim, descending, where); }
Pair Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted, Where where) const {
  return tailor::topk(*this, k, dim, largest, sorted, where);
}

}  // namespace tailor
