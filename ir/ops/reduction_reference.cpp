// The obvious computation of each reduction primitive: walk the elements that fold together, accumulate in float64 or int64.
#include <algorithm>
#include <cmath>

#include "ir/host_tensor.h"
#include "ir/ops/reduction.h"

namespace tailor::ir {
namespace {

/// Calls `f(output element, flat indices of the input elements that fold into it, in logical order)`.
template <class F>
void for_each_fold(IntArrayRef sizes, DimMask mask, F&& f) {
  const Dims strides = contiguous_strides(sizes);
  Dims kept_sizes, kept_strides, folded_sizes, folded_strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool folded = mask >> d & 1;
    (folded ? folded_sizes : kept_sizes).push_back(sizes[d]);
    (folded ? folded_strides : kept_strides).push_back(strides[d]);
  }
  const auto offset = [](int64_t i, const Dims& size, const Dims& stride) {
    int64_t at = 0;
    for (size_t d = size.size(); d-- > 0; i /= size[d]) at += i % size[d] * stride[d];
    return at;
  };
  std::vector<int64_t> fold(static_cast<size_t>(product(folded_sizes)));
  for (int64_t o = 0; o < product(kept_sizes); ++o) {
    for (size_t i = 0; i < fold.size(); ++i)
      fold[i] = offset(o, kept_sizes, kept_strides) + offset(static_cast<int64_t>(i), folded_sizes, folded_strides);
    f(o, fold);
  }
}

DimMask mask_of(const ReferenceCall& call) { return reduced_dims_of(call.op, call.attrs[0], call.tensor(0).spec.rank()); }

std::vector<HostTensor> fold_arithmetic(const ReferenceCall& call) {
  const bool product = call.op.name == "prod";
  HostTensor result(call.output_specs[0]);
  const HostTensor& self = call.tensor(0);
  const ScalarType type = result.spec.dtype;
  const HostTensor converted = self.spec.dtype == type ? HostTensor() : ir::cast(self, type);
  const HostTensor& x = self.spec.dtype == type ? self : converted;
  for_each_fold(x.spec.sizes, mask_of(call), [&](int64_t o, const std::vector<int64_t>& fold) {
    if (is_floating_point(type)) {
      double total = product ? 1 : 0;
      for (int64_t i : fold) total = product ? total * x.get(i) : total + x.get(i);
      result.set(o, total);
    } else {
      uint64_t total = product ? 1 : 0;  // wraps
      for (int64_t i : fold) total = product ? total * static_cast<uint64_t>(x.get_int(i)) : total + static_cast<uint64_t>(x.get_int(i));
      result.set_int(o, static_cast<int64_t>(total));
    }
  });
  return {std::move(result)};
}

/// Whether element `a` takes the place of the current extremum `b`: strictly beyond it, or the first NaN.
bool replaces(const HostTensor& x, int64_t a, int64_t b, bool max) {
  if (is_floating_point(x.spec.dtype)) {
    const double va = x.get(a), vb = x.get(b);
    if (std::isnan(vb)) return false;
    return std::isnan(va) || (max ? va > vb : va < vb);
  }
  return max ? x.get_int(a) > x.get_int(b) : x.get_int(a) < x.get_int(b);
}

void copy_element(HostTensor& to, int64_t o, const HostTensor& from, int64_t i) {
  const auto size = static_cast<size_t>(element_size(from.spec.dtype));
  std::copy_n(from.bytes.data() + static_cast<size_t>(i) * size, size, to.bytes.data() + static_cast<size_t>(o) * size);
}

/// amax amin argmax argmin max_dim min_dim: values, indices, or both.
std::vector<HostTensor> fold_extremum(const ReferenceCall& call) {
  const HostTensor& x = call.tensor(0);
  const bool max = call.op.name.find("max") != std::string_view::npos;
  std::vector<HostTensor> results;
  for (const TensorSpec& spec : call.output_specs) results.emplace_back(spec);
  const bool arg = call.op.name.starts_with("arg");
  for_each_fold(x.spec.sizes, mask_of(call), [&](int64_t o, const std::vector<int64_t>& fold) {
    size_t best = 0;
    for (size_t i = 1; i < fold.size(); ++i)
      if (replaces(x, fold[i], fold[best], max)) best = i;
    if (!arg) copy_element(results[0], o, x, fold[best]);
    if (arg || results.size() == 2) results.back().set_int(o, static_cast<int64_t>(best));
  });
  return results;
}

std::vector<HostTensor> fold_truth(const ReferenceCall& call) {
  const HostTensor& x = call.tensor(0);
  const bool any = call.op.name == "any";
  HostTensor result(call.output_specs[0]);
  for_each_fold(x.spec.sizes, mask_of(call), [&](int64_t o, const std::vector<int64_t>& fold) {
    const auto is_true = [&](int64_t i) { return is_floating_point(x.spec.dtype) ? x.get(i) != 0 : x.get_int(i) != 0; };
    result.set_int(o, any ? std::any_of(fold.begin(), fold.end(), is_true) : std::all_of(fold.begin(), fold.end(), is_true));
  });
  return {std::move(result)};
}

/// The lower of the two middle elements; a NaN, the first one, if there is any; of equal elements the first.
std::vector<HostTensor> fold_median(const ReferenceCall& call) {
  const HostTensor& x = call.tensor(0);
  const bool whole = call.op.name == "median";
  const DimMask mask = whole ? ~DimMask{0} : mask_of(call);
  std::vector<HostTensor> results;
  for (const TensorSpec& spec : call.output_specs) results.emplace_back(spec);
  const bool real = is_floating_point(x.spec.dtype);
  for_each_fold(x.spec.sizes, mask, [&](int64_t o, const std::vector<int64_t>& fold) {
    if (fold.empty()) {
      if (real)
        results[0].set(o, NAN);
      else
        results[0].set_int(o, empty_median(x.spec.dtype).to_int());
      return;
    }
    std::vector<size_t> order(fold.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (!real) return x.get_int(fold[a]) < x.get_int(fold[b]);
      const double va = x.get(fold[a]), vb = x.get(fold[b]);
      return std::isnan(vb) ? !std::isnan(va) : va < vb;
    });
    size_t median = order[(order.size() - 1) / 2];
    for (size_t i = fold.size(); real && i-- > 0;)
      if (std::isnan(x.get(fold[i]))) median = i;
    copy_element(results[0], o, x, fold[median]);
    if (!whole) results[1].set_int(o, static_cast<int64_t>(median));
  });
  return results;
}

[[maybe_unused]] const bool registered = [] {
  for (std::string_view op : {"sum", "prod"}) register_reference(op, fold_arithmetic);
  for (std::string_view op : {"amax", "amin", "argmax", "argmin", "max_dim", "min_dim"}) register_reference(op, fold_extremum);
  for (std::string_view op : {"any", "all"}) register_reference(op, fold_truth);
  for (std::string_view op : {"median", "median_dim"}) register_reference(op, fold_median);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
