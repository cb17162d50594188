#pragma once
// Reductions, scans and sorting. `dim` may be one dimension, several, or (nullopt) all; negative ones count from the end. `keepdim` keeps
// reduced dimensions with size 1. Sums and products of integers and bool are int64. NaN propagates. IndexError for a dimension
// out of range.
//
//   Tensor m = sum(x, {0, 2}, true);
//   auto [values, indices] = max(x, 1);

#include "tailor/tensor.h"

namespace tailor {

Tensor sum(const Tensor& self, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current());
Tensor sum(const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt,
           Where where = Where::current());
/// Floating point only, unless `dtype` is; the mean of nothing is NaN.
Tensor mean(const Tensor& self, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current());
Tensor mean(const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt,
            Where where = Where::current());
Tensor prod(const Tensor& self, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current());
Tensor prod(const Tensor& self, int64_t dim, bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt,
            Where where = Where::current());
/// Largest and smallest; an Error for no elements.
Tensor amax(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false, Where where = Where::current());
Tensor amin(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false, Where where = Where::current());
Tensor max(const Tensor& self, Where where = Where::current());
Tensor max(const Tensor& self, const Tensor& other, Where where = Where::current());
/// Values and the (first) places where they are.
std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim = false, Where where = Where::current());
Tensor min(const Tensor& self, Where where = Where::current());
Tensor min(const Tensor& self, const Tensor& other, Where where = Where::current());
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim = false, Where where = Where::current());
/// int64; without dim, in the flattened tensor.
Tensor argmax(const Tensor& self, std::optional<int64_t> dim = std::nullopt, bool keepdim = false, Where where = Where::current());
Tensor argmin(const Tensor& self, std::optional<int64_t> dim = std::nullopt, bool keepdim = false, Where where = Where::current());
/// Whether some (each) element is not zero: bool.
Tensor any(const Tensor& self, Where where = Where::current());
Tensor any(const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false, Where where = Where::current());
Tensor all(const Tensor& self, Where where = Where::current());
Tensor all(const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false, Where where = Where::current());
/// Divided by n - correction; `true` and `false` are libtorch's `unbiased`: 1 and 0. Default 1.
inline Tensor var(const Tensor& self, Where where = Where::current()) { return self.var(where); }
template <std::same_as<bool> B>
Tensor var(const Tensor& self, B unbiased, Where where = Where::current()) {
  return self.var(unbiased, where);
}
Tensor var(const Tensor& self, OptionalIntArrayRef dim, std::optional<Scalar> correction = std::nullopt, bool keepdim = false,
           Where where = Where::current());
inline Tensor std(const Tensor& self, Where where = Where::current()) { return self.std(where); }
template <::std::same_as<bool> B>
Tensor std(const Tensor& self, B unbiased, Where where = Where::current()) {
  return self.std(unbiased, where);
}
Tensor std(const Tensor& self, OptionalIntArrayRef dim, ::std::optional<Scalar> correction = ::std::nullopt, bool keepdim = false,
           Where where = Where::current());
/// Variance and mean.
::std::tuple<Tensor, Tensor> var_mean(const Tensor& self, OptionalIntArrayRef dim = {}, ::std::optional<Scalar> correction = ::std::nullopt,
                                      bool keepdim = false, Where where = Where::current());
/// log(sum(exp(x))), without overflow.
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false, Where where = Where::current());
/// The p-norm; p may be 0, 1, 2, infinite ...
Tensor norm(const Tensor& self, const Scalar& p = 2, Where where = Where::current());
Tensor norm(const Tensor& self, const ::std::optional<Scalar>& p, IntArrayRef dim, bool keepdim = false, Where where = Where::current());
/// int64.
Tensor count_nonzero(const Tensor& self, OptionalIntArrayRef dim = {}, Where where = Where::current());
/// The lower of two middle values.
Tensor median(const Tensor& self, Where where = Where::current());
::std::tuple<Tensor, Tensor> median(const Tensor& self, int64_t dim, bool keepdim = false, Where where = Where::current());

// Along dim, of all elements up to each one.
Tensor cumsum(const Tensor& self, int64_t dim, ::std::optional<ScalarType> dtype = ::std::nullopt, Where where = Where::current());
Tensor cumprod(const Tensor& self, int64_t dim, ::std::optional<ScalarType> dtype = ::std::nullopt, Where where = Where::current());
/// Values, and where they are (the last place, of equal ones).
::std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim, Where where = Where::current());
::std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim, Where where = Where::current());
Tensor logcumsumexp(const Tensor& self, int64_t dim, Where where = Where::current());
/// Values and indices, int64. Always stable; NaN counts as the largest.
::std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim = -1, bool descending = false, Where where = Where::current());
::std::tuple<Tensor, Tensor> sort(const Tensor& self, ::std::optional<bool> stable, int64_t dim = -1, bool descending = false,
                                  Where where = Where::current());
/// The indices of sort().
Tensor argsort(const Tensor& self, int64_t dim = -1, bool descending = false, Where where = Where::current());
/// The k largest (smallest) and their indices.
::std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true,
                                  Where where = Where::current());

}  // namespace tailor
