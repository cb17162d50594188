// gather, scatter, scatter_add, scatter_reduce: one index an element, along one dimension.

#include <cmath>

#include "kernels/copy.h"
#include "kernels/indexing/offsets.h"

namespace tailor::kernels {
namespace {

using ir::ScatterReduce;

size_t dim_of(const Call& call) { return static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), call.tensor(0).spec->rank())); }

/// The walk over the index tensor: (other side, index, indexed side); the indexed side stands still along `dim`.
Walk<3> walk_of(const Piece& other, const Piece& index, const Piece& indexed, size_t dim) {
  Walk<3> walk;
  for (size_t d = 0; d < index.spec.sizes.size(); ++d)
    walk.push(index.spec.sizes[d], {other.stride_bytes(d), index.stride_bytes(d), d == dim ? 0 : indexed.stride_bytes(d)});
  return walk;
}

void gather(const Call& call) {
  const Piece self = Piece(call.tensor(0)).at_least_1d(), index = Piece(call.tensor(1)).at_least_1d();
  const Piece out = Piece(call.outputs[0]).at_least_1d();
  if (index.spec.numel() == 0) return;
  const size_t dim = dim_of(call);
  check_indices(call.tensor(1), dim, self.spec.sizes[dim]);
  const Walk<3> walk = walk_of(out, index, self, dim).merged();
  const int64_t step = self.stride_bytes(dim);
  const int64_t to_stride = walk.inner_stride(0), index_stride = walk.inner_stride(1), from_stride = walk.inner_stride(2);
  visit_index(index.spec.dtype, [&]<class I>() {
    visit_size(element_size(self.spec.dtype), [&]<class U>() {
      walk_rows(walk, [&](const std::array<int64_t, 3>& at, int64_t n) {
        std::byte* to = out.data + at[0];
        const std::byte *chosen = index.data + at[1], *from = self.data + at[2];
        if (to_stride == sizeof(U) && index_stride == sizeof(I) && step == sizeof(U) && from_stride == 0) {
          for (int64_t i = 0; i < n; ++i)
            std::memcpy(to + i * int64_t{sizeof(U)}, from + int64_t{reinterpret_cast<const I*>(chosen)[i]} * int64_t{sizeof(U)}, sizeof(U));
          return;
        }
        for (int64_t i = 0; i < n; ++i)
          std::memcpy(to + i * to_stride, from + i * from_stride + *reinterpret_cast<const I*>(chosen + i * index_stride) * step,
                      sizeof(U));
      });
    });
  });
}

/// Operands of a scatter, ready: indices checked, sources that overlap the result copied.
struct Scatter {
  Piece out, index, source;
  ReadOperand index_memory, source_memory;
  size_t dim;
  Walk<3> walk;
  std::array<bool, Dims::kMaxDims> serial{};

  Scatter(const Call& call, const TensorArg& source_arg)
      : out(Piece(call.outputs[0]).at_least_1d()),
        index(call.tensor(1)),
        source(source_arg),
        index_memory(call.tensor(1), call.outputs[0]),
        source_memory(source_arg, call.outputs[0]),
        dim(dim_of(call)) {
    index = index_memory.piece().at_least_1d();
    source = source_memory.piece();
    // A scalar repeats; a tensor of more elements than the index has is read from its start.
    if (source.spec.rank() == 0) source = source.reshaped(Dims(index.spec.sizes.size(), 1), Dims(index.spec.sizes.size(), 0));
    if (index.spec.numel() == 0) return;
    check_indices(call.tensor(1), dim, out.spec.sizes[dim]);
    walk = walk_of(source, index, out, dim);
    serial[dim] = true;
  }

  /// Calls f(place in out, element of source) in the order of the index.
  template <class T, class F>
  void for_each(std::byte* target, int64_t target_step, const Walk<3>& steps, F f) const {
    if (index.spec.numel() == 0) return;
    visit_index(index.spec.dtype, [&]<class I>() {
      walk_rows_in_order(steps, serial, [&](const Walk<3>& part, const std::array<int64_t, 3>& at, int64_t n) {
        const int64_t from_stride = part.inner_stride(0), index_stride = part.inner_stride(1), to_stride = part.inner_stride(2);
        for (int64_t i = 0; i < n; ++i) {
          const int64_t chosen = *reinterpret_cast<const I*>(index.data + at[1] + i * index_stride);
          f(target + at[2] + i * to_stride + chosen * target_step, *reinterpret_cast<const T*>(source.data + at[0] + i * from_stride));
        }
      });
    });
  }
};

/// A scalar source as memory.
struct Source {
  alignas(8) std::byte bytes[8] = {};
  ir::TensorSpec spec;
  TensorArg arg;
  explicit Source(const Call& call) : spec(call.outputs[0].spec->dtype, {}) {
    if (call.has_tensor(2)) {
      arg = call.tensor(2);
      return;
    }
    arg = {bytes, &spec};
    fill(arg, call.operands[2].scalar);
  }
};

void scatter(const Call& call) {
  const Source source(call);
  const Scatter plan(call, source.arg);
  start_from(call.outputs[0], call.tensor(0));
  visit_size(element_size(plan.out.spec.dtype), [&]<class U>() {
    plan.for_each<U>(plan.out.data, plan.out.stride_bytes(plan.dim), plan.walk,
                     [](std::byte* to, U value) { std::memcpy(to, &value, sizeof(U)); });
  });
}

/// One step of a reduction in the type it is computed in.
template <class C>
C combine(ScatterReduce reduce, C a, C b) {
  switch (reduce) {
    case ScatterReduce::Sum:
    case ScatterReduce::Mean: return add_elements<C>(a, b);
    case ScatterReduce::Prod:
      if constexpr (std::is_same_v<C, bool>)
        return a && b;
      else if constexpr (std::is_integral_v<C>)
        return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      else
        return a * b;
    case ScatterReduce::Amax: return b != b || b > a ? b : a;
    case ScatterReduce::Amin: return b != b || b < a ? b : a;
  }
  return a;
}

/// `C` is the type of the sums: float for the half types, which are rounded once at the end.
template <class T, class C>
void reduce_into(const Call& call, ScatterReduce reduce, bool include_self) {
  const Source source(call);
  const Scatter plan(call, source.arg);
  start_from(call.outputs[0], call.tensor(0));
  const Piece& out = plan.out;
  const bool counts_needed = reduce == ScatterReduce::Mean || !include_self;
  if (std::is_same_v<T, C> && !counts_needed) {
    plan.for_each<T>(out.data, out.stride_bytes(plan.dim), plan.walk, [&](std::byte* to, T value) {
      C& place = *reinterpret_cast<C*>(to);
      place = combine<C>(reduce, place, static_cast<C>(value));
    });
    return;
  }
  // Dense memory of its own beside the result: the value so far and how many went into it.
  struct Place {
    C value;
    int64_t count;
    bool touched;
  };
  const int64_t n = out.spec.numel();
  const auto places = std::make_unique<Place[]>(static_cast<size_t>(n));
  const Dims dense = contiguous_strides(out.spec.sizes);
  Walk<2> all;
  for (size_t d = 0; d < out.spec.sizes.size(); ++d) all.push(out.spec.sizes[d], {dense[d], out.stride_bytes(d)});
  const auto each_place = [&](auto f) {
    const Walk<2> merged = all.merged();
    walk_rows(all, [&](const std::array<int64_t, 2>& at, int64_t m) {
      for (int64_t i = 0; i < m; ++i)
        f(places[static_cast<size_t>(at[0] + i * merged.inner_stride(0))],
          *reinterpret_cast<T*>(out.data + at[1] + i * merged.inner_stride(1)));
    });
  };
  each_place([&](Place& place, T& value) { place = {static_cast<C>(value), include_self ? 1 : 0, false}; });
  Walk<3> steps = plan.walk;
  for (size_t d = 0; d < steps.sizes.size(); ++d) steps.strides[2][d] = d == plan.dim ? 0 : dense[d] * static_cast<int64_t>(sizeof(Place));
  plan.for_each<T>(reinterpret_cast<std::byte*>(places.get()), dense[plan.dim] * static_cast<int64_t>(sizeof(Place)), steps,
                   [&](std::byte* to, T value) {
                     Place& place = *reinterpret_cast<Place*>(to);
                     place.value = place.count++ == 0 ? static_cast<C>(value) : combine<C>(reduce, place.value, static_cast<C>(value));
                     place.touched = true;
                   });
  each_place([&](Place& place, T& value) {
    if (!place.touched) return;
    if (reduce == ScatterReduce::Mean) {
      if constexpr (std::is_floating_point_v<C>)
        place.value = place.value / static_cast<C>(place.count);
      else if constexpr (!std::is_same_v<C, bool>)
        place.value = static_cast<C>(std::floor(static_cast<double>(place.value) / static_cast<double>(place.count)));
    }
    value = static_cast<T>(place.value);
  });
}

void reduce_by(const Call& call, ScatterReduce reduce, bool include_self) {
  visit_dtype(call.outputs[0].spec->dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      reduce_into<T, float>(call, reduce, include_self);
    else
      reduce_into<T, T>(call, reduce, include_self);
  });
}

void scatter_add(const Call& call) { reduce_by(call, ScatterReduce::Sum, true); }

void scatter_reduce(const Call& call) {
  reduce_by(call, static_cast<ScatterReduce>(call.attrs[1].as_int()), call.attrs[2].is_none() || call.attrs[2].as_bool());
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("gather", gather);
  register_kernel("scatter", scatter);
  register_kernel("scatter_add", scatter_add);
  register_kernel("scatter_reduce", scatter_reduce);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
