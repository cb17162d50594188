// The oracle of the indexing ops.

#include <algorithm>
#include <cmath>

#include "ir/ops/host_elements.h"
#include "ir/ops/indexing.h"

namespace tailor::ir {
namespace {

using Results = std::vector<HostTensor>;

/// A tensor without dimensions is treated as one of one dimension and one element.
Dims sizes_of(const HostTensor& t) { return t.spec.rank() == 0 ? Dims{1} : t.spec.sizes; }

size_t dim_of(const ReferenceCall& call) { return static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), call.tensor(0).spec.rank())); }

/// An index that may count from the end.
int64_t wrapped_index(int64_t index, int64_t dim, int64_t size) {
  check<IndexError>(index >= -size && index < size, "index ", index, " is out of bounds for dimension ", dim, " with size ", size);
  return index < 0 ? index + size : index;
}

int64_t checked_index(int64_t index, size_t dim, int64_t size) {
  check<IndexError>(index >= 0 && index < size, "index ", index, " is out of bounds for dimension ", dim, " with size ", size);
  return index;
}

/// out += value in the arithmetic of the dtype.
void add_to(HostTensor& out, int64_t i, const HostTensor& source, int64_t from) {
  if (is_floating_point(out.spec.dtype))
    out.set(i, out.spec.dtype == kFloat64 ? out.get(i) + source.get(from)
                                          : static_cast<double>(static_cast<float>(out.get(i)) + static_cast<float>(source.get(from))));
  else if (out.spec.dtype == kBool)
    out.set_int(i, out.get_int(i) | source.get_int(from));
  else
    out.set_int(i, static_cast<int64_t>(static_cast<uint64_t>(out.get_int(i)) + static_cast<uint64_t>(source.get_int(from))));
}

// ---- index, index_put ---------------------------------------------------------------------------------------------

/// Calls f(element of the result, element of self).
template <class F>
void for_each_indexed(const ReferenceCall& call, size_t first, F f) {
  const HostTensor& self = call.tensor(0);
  std::vector<const TensorSpec*> specs;
  for (size_t i = first; i < call.operands.size(); ++i) specs.push_back(call.has_tensor(i) ? &call.tensor(i).spec : nullptr);
  const IndexPlan plan = plan_index(self.spec, specs);
  for (int64_t i = 0; i < product(plan.result_sizes); ++i) {
    const Dims at = coordinates(i, plan.result_sizes);
    const Dims index_at(IntArrayRef(at.begin() + plan.before.size(), plan.index_sizes.size()));
    Dims from(self.spec.sizes.size(), 0);
    size_t next = 0;
    for (int64_t d : plan.before) from[static_cast<size_t>(d)] = at[next++];
    next += plan.index_sizes.size();
    for (int64_t d : plan.after) from[static_cast<size_t>(d)] = at[next++];
    for (int64_t d : plan.indexed) {
      const HostTensor& index = call.tensor(first + static_cast<size_t>(d));
      from[static_cast<size_t>(d)] =
          wrapped_index(index.get_int(element_at(index_at, index.spec.sizes)), d, self.spec.sizes[static_cast<size_t>(d)]);
    }
    f(i, at, element_at(from, self.spec.sizes));
  }
}

Results reference_index(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  for_each_indexed(call, 1, [&](int64_t i, const Dims&, int64_t from) { move_element(out, i, call.tensor(0), from); });
  return {out};
}

Results reference_index_put(const ReferenceCall& call) {
  HostTensor out = call.tensor(0);
  const bool accumulate = !call.attrs[0].is_none() && call.attrs[0].as_bool();
  HostTensor value(TensorSpec(out.spec.dtype, {}));
  Dims sizes;
  if (call.has_tensor(1)) {
    value = call.tensor(1);
    sizes = value.spec.sizes;
  } else {
    set_scalar(value, 0, call.operands[1].scalar);
  }
  for_each_indexed(call, 2, [&](int64_t, const Dims& at, int64_t to) {
    Dims own = sizes;
    while (own.size() > at.size()) own.erase(0);
    const int64_t from = element_at(at, own);
    accumulate ? add_to(out, to, value, from) : move_element(out, to, value, from);
  });
  return {out};
}

// ---- along one dimension ------------------------------------------------------------------------------------------

Results reference_index_select(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor &self = call.tensor(0), &index = call.tensor(1);
  const size_t dim = dim_of(call);
  const Dims sizes = sizes_of(self), out_sizes = sizes_of(out);
  for (int64_t k = 0; k < index.spec.numel(); ++k)
    check<IndexError>(index.get_int(k) >= 0 && index.get_int(k) < sizes[dim], "index out of range in self");
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    Dims at = coordinates(i, out_sizes);
    at[dim] = index.get_int(at[dim]);
    move_element(out, i, self, element_at(at, sizes));
  }
  return {out};
}

/// index_add, index_copy, index_fill: calls f(out, element, element of the source).
template <class F>
Results written_at_index(const ReferenceCall& call, Dims source_sizes, F f) {
  HostTensor out = call.tensor(0);
  const HostTensor& index = call.tensor(1);
  const size_t dim = dim_of(call);
  const Dims sizes = sizes_of(out);
  for (int64_t k = 0; k < index.spec.numel(); ++k) {
    const int64_t value = index.get_int(k);
    if (call.op.name == "index_fill")
      wrapped_index(value, static_cast<int64_t>(dim), sizes[dim]);
    else
      check<IndexError>(value >= 0 && value < sizes[dim], "index out of range in self");
  }
  for (int64_t i = 0; i < product(source_sizes); ++i) {
    Dims at = coordinates(i, source_sizes);
    const int64_t value = index.get_int(at[dim]);
    at[dim] = value < 0 ? value + sizes[dim] : value;
    f(out, element_at(at, sizes), i);
  }
  return {out};
}

Results reference_index_add(const ReferenceCall& call) {
  const HostTensor& source = call.tensor(2);
  const Scalar alpha = call.operands.size() > 3 && call.operands[3].is_scalar() ? call.operands[3].scalar : Scalar(1);
  HostTensor scaled = source;
  for (int64_t i = 0; i < scaled.spec.numel(); ++i) {
    if (source.spec.dtype == kFloat64)
      scaled.set(i, source.get(i) * alpha.to_double());
    else if (is_floating_point(source.spec.dtype))
      scaled.set(i, static_cast<float>(source.get(i)) * static_cast<float>(alpha.to_double()));
    else
      scaled.set_int(i, static_cast<int64_t>(static_cast<uint64_t>(source.get_int(i)) * static_cast<uint64_t>(alpha.to_int())));
  }
  return written_at_index(call, sizes_of(source), [&](HostTensor& out, int64_t to, int64_t from) { add_to(out, to, scaled, from); });
}

Results reference_index_copy(const ReferenceCall& call) {
  return written_at_index(call, sizes_of(call.tensor(2)),
                          [&](HostTensor& out, int64_t to, int64_t from) { move_element(out, to, call.tensor(2), from); });
}

Results reference_index_fill(const ReferenceCall& call) {
  Dims sizes = sizes_of(call.tensor(0));
  sizes[dim_of(call)] = call.tensor(1).spec.numel();
  return written_at_index(call, sizes, [&](HostTensor& out, int64_t to, int64_t) {
    if (call.has_tensor(2))
      move_element(out, to, call.tensor(2), 0);
    else
      set_scalar(out, to, call.operands[2].scalar);
  });
}

// ---- gather, scatter ----------------------------------------------------------------------------------------------

Results reference_gather(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor &self = call.tensor(0), &index = call.tensor(1);
  const size_t dim = dim_of(call);
  const Dims sizes = sizes_of(self);
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    Dims at = coordinates(i, sizes_of(index));
    at[dim] = checked_index(index.get_int(i), dim, sizes[dim]);
    int64_t from = 0;
    for (size_t d = 0; d < sizes.size(); ++d) from = from * sizes[d] + at[d];
    move_element(out, i, self, from);
  }
  return {out};
}

/// Calls f(element of self, element of src) in the order of the index tensor.
template <class F>
void for_each_scattered(const ReferenceCall& call, F f) {
  const HostTensor &self = call.tensor(0), &index = call.tensor(1);
  const size_t dim = dim_of(call);
  const Dims sizes = sizes_of(self), source_sizes = call.has_tensor(2) ? sizes_of(call.tensor(2)) : Dims(sizes.size(), 1);
  for (int64_t i = 0; i < index.spec.numel(); ++i) checked_index(index.get_int(i), dim, sizes[dim]);
  for (int64_t i = 0; i < index.spec.numel(); ++i) {
    Dims at = coordinates(i, sizes_of(index));
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < sizes.size(); ++d) from = from * source_sizes[d] + at[d];
    at[dim] = index.get_int(i);
    for (size_t d = 0; d < sizes.size(); ++d) to = to * sizes[d] + at[d];
    f(to, call.has_tensor(2) ? from : 0);
  }
}

/// src as a tensor, whatever it is.
HostTensor source_of(const ReferenceCall& call) {
  if (call.has_tensor(2)) return call.tensor(2);
  HostTensor value(TensorSpec(call.tensor(0).spec.dtype, {}));
  set_scalar(value, 0, call.operands[2].scalar);
  return value;
}

Results reference_scatter(const ReferenceCall& call) {
  HostTensor out = call.tensor(0);
  const HostTensor source = source_of(call);
  for_each_scattered(call, [&](int64_t to, int64_t from) { move_element(out, to, source, from); });
  return {out};
}

/// The half types are summed in float32 and rounded once.
template <class T, class Acc>
Results reduced(const ReferenceCall& call, ScatterReduce reduce, bool include_self) {
  HostTensor out = call.tensor(0);
  const HostTensor source = source_of(call);
  const auto n = static_cast<size_t>(out.spec.numel());
  const auto value = std::make_unique<Acc[]>(n);
  std::vector<int64_t> count(n, include_self ? 1 : 0);
  std::vector<bool> touched(n, false);
  for (size_t i = 0; i < n; ++i) value[i] = static_cast<Acc>(out.data<T>()[i]);
  for_each_scattered(call, [&](int64_t to_signed, int64_t from) {
    const auto to = static_cast<size_t>(to_signed);
    const Acc x = static_cast<Acc>(source.data<T>()[from]);
    Acc& v = value[to];
    if (count[to]++ == 0) {
      v = x;
    } else {
      switch (reduce) {
        case ScatterReduce::Sum:
        case ScatterReduce::Mean:
          if constexpr (std::is_same_v<Acc, bool>)
            v = v || x;
          else if constexpr (std::is_integral_v<Acc>)
            v = static_cast<Acc>(static_cast<uint64_t>(v) + static_cast<uint64_t>(x));
          else
            v = v + x;
          break;
        case ScatterReduce::Prod:
          if constexpr (std::is_same_v<Acc, bool>)
            v = v && x;
          else if constexpr (std::is_integral_v<Acc>)
            v = static_cast<Acc>(static_cast<uint64_t>(v) * static_cast<uint64_t>(x));
          else
            v = v * x;
          break;
        case ScatterReduce::Amax: v = x != x || x > v ? x : v; break;
        case ScatterReduce::Amin: v = x != x || x < v ? x : v; break;
      }
    }
    touched[to] = true;
  });
  for (size_t i = 0; i < n; ++i) {
    if (!touched[i]) continue;
    if (reduce == ScatterReduce::Mean) {
      if constexpr (std::is_floating_point_v<Acc>)
        value[i] = value[i] / static_cast<Acc>(count[i]);
      else if constexpr (!std::is_same_v<Acc, bool>)
        value[i] = static_cast<Acc>(std::floor(static_cast<double>(value[i]) / static_cast<double>(count[i])));
    }
    out.data<T>()[i] = static_cast<T>(value[i]);
  }
  return {out};
}

Results scattered_reduction(const ReferenceCall& call, ScatterReduce reduce, bool include_self) {
  return visit_dtype(call.tensor(0).spec.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return reduced<T, float>(call, reduce, include_self);
    else
      return reduced<T, T>(call, reduce, include_self);
  });
}

Results reference_scatter_add(const ReferenceCall& call) { return scattered_reduction(call, ScatterReduce::Sum, true); }

Results reference_scatter_reduce(const ReferenceCall& call) {
  const bool include_self = call.attrs[2].is_none() || call.attrs[2].as_bool();
  return scattered_reduction(call, static_cast<ScatterReduce>(call.attrs[1].as_int()), include_self);
}

// ---- the others ---------------------------------------------------------------------------------------------------

Results reference_take(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor &self = call.tensor(0), &index = call.tensor(1);
  const int64_t n = self.spec.numel();
  for (int64_t i = 0; i < out.spec.numel(); ++i) {
    const int64_t at = index.get_int(i);
    check<IndexError>(at >= -n && at < n, "out of range: tried to access index ", at, " on a tensor of ", n, " elements.");
    move_element(out, i, self, at < 0 ? at + n : at);
  }
  return {out};
}

Results reference_embedding(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor &weight = call.tensor(0), &indices = call.tensor(1);
  const int64_t rows = weight.spec.sizes[0], width = weight.spec.sizes[1];
  for (int64_t i = 0; i < indices.spec.numel(); ++i) {
    const int64_t row = indices.get_int(i);
    check<IndexError>(row >= 0 && row < rows, "index out of range in self");
    for (int64_t k = 0; k < width; ++k) move_element(out, i * width + k, weight, row * width + k);
  }
  return {out};
}

bool is_nonzero(const HostTensor& t, int64_t i) { return is_floating_point(t.spec.dtype) ? t.get(i) != 0 : t.get_int(i) != 0; }

Results reference_nonzero(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor& self = call.tensor(0);
  const int64_t rank = self.spec.rank(), count = call.attrs[0].as_int();
  int64_t found = 0;
  for (int64_t i = 0; i < self.spec.numel(); ++i) {
    if (!is_nonzero(self, i)) continue;
    check(found < count, "nonzero: more than ", count, " elements are not zero");
    const Dims at = coordinates(i, self.spec.sizes);
    for (int64_t d = 0; d < rank; ++d) out.set_int(found * rank + d, at[static_cast<size_t>(d)]);
    ++found;
  }
  check(found == count, "nonzero: only ", found, " of ", count, " elements are not zero");
  return {out};
}

Results reference_masked_select(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor &self = call.tensor(0), &mask = call.tensor(1);
  const Dims sizes = broadcast_shapes(self.spec.sizes, mask.spec.sizes);
  int64_t found = 0;
  for (int64_t i = 0; i < product(sizes); ++i) {
    const Dims at = coordinates(i, sizes);
    if (!is_nonzero(mask, element_at(at, mask.spec.sizes))) continue;
    check(found < out.spec.numel(), "masked_select: more than ", out.spec.numel(), " elements of the mask are true");
    move_element(out, found++, self, element_at(at, self.spec.sizes));
  }
  check(found == out.spec.numel(), "masked_select: only ", found, " of ", out.spec.numel(), " elements of the mask are true");
  return {out};
}

Results reference_one_hot(const ReferenceCall& call) {
  HostTensor out(call.output_specs[0]);
  const HostTensor& self = call.tensor(0);
  const int64_t classes = call.attrs[0].as_int();
  for (int64_t i = 0; i < self.spec.numel(); ++i) {
    const int64_t value = self.get_int(i);
    check(value >= 0, "Class values must be non-negative.");
    check(value < classes, "Class values must be smaller than num_classes.");
    out.set_int(i * classes + value, 1);
  }
  return {out};
}

[[maybe_unused]] const bool registered = [] {
  register_reference("index", reference_index);
  register_reference("index_put", reference_index_put);
  register_reference("index_select", reference_index_select);
  register_reference("index_add", reference_index_add);
  register_reference("index_copy", reference_index_copy);
  register_reference("index_fill", reference_index_fill);
  register_reference("gather", reference_gather);
  register_reference("scatter", reference_scatter);
  register_reference("scatter_add", reference_scatter_add);
  register_reference("scatter_reduce", reference_scatter_reduce);
  register_reference("take", reference_take);
  register_reference("embedding", reference_embedding);
  register_reference("nonzero", reference_nonzero);
  register_reference("masked_select", reference_masked_select);
  register_reference("one_hot", reference_one_hot);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
