// index, index_put, index_select, embedding, take, index_add, index_copy, index_fill, repeat_interleave with a tensor.

#include "kernels/copy.h"
#include "kernels/indexing/offsets.h"
#include "kernels/sizes.h"

namespace tailor::kernels {
namespace {

[[noreturn]] void out_of_range_in_self(int64_t) { detail::raise<IndexError>("index out of range in self"); }

void index(const Call& call) {
  const Piece self(call.tensor(0)), out(call.outputs[0]);
  if (out.spec.numel() == 0) return;
  read_walk(plan_walk(self, call.operands.subspan(1), out), out.data, self.data, element_size(self.spec.dtype));
}

/// `values` with the result's sizes: strides of 0 where it repeats.
Piece broadcast_to(const Piece& values, IntArrayRef sizes) {
  Dims strides(sizes.size(), 0);
  const size_t rank = values.spec.sizes.size();
  for (size_t i = 0; i < std::min(rank, sizes.size()); ++i) {
    const size_t d = rank - 1 - i;
    if (values.spec.sizes[d] != 1) strides[sizes.size() - 1 - i] = values.spec.strides[d];
  }
  return values.reshaped(sizes, strides);
}

/// Scalar operands as a tensor of one element.
struct ScalarMemory {
  alignas(8) std::byte bytes[8];
  ir::TensorSpec spec;
  ScalarMemory(Scalar value, ScalarType dtype) : spec(dtype, {}) {
    visit_dtype(dtype, [&]<class T>() {
      const T converted = value.to<T>();
      std::memcpy(bytes, &converted, sizeof(T));
    });
  }
  TensorArg arg() { return {bytes, &spec}; }
};

template <class T>
void add_at(const IndexedWalk& plan, const std::byte* values, std::byte* self) {
  walk_rows_in_order(plan.walk, plan.is_index, [&](const Walk<3>& walk, const std::array<int64_t, 3>& at, int64_t n) {
    const int64_t value_stride = walk.inner_stride(0), self_stride = walk.inner_stride(1), offset_stride = walk.inner_stride(2) / 8;
    const int64_t* offset = plan.offsets.data() + at[2] / 8;
    if (offset_stride == 0 && self_stride == sizeof(T) && value_stride == sizeof(T)) {
      T* to = reinterpret_cast<T*>(self + at[1] + *offset);
      const T* from = reinterpret_cast<const T*>(values + at[0]);
      for (int64_t i = 0; i < n; ++i) to[i] = add_elements<T>(to[i], from[i]);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      T& to = *reinterpret_cast<T*>(self + at[1] + i * self_stride + offset[i * offset_stride]);
      to = add_elements<T>(to, *reinterpret_cast<const T*>(values + at[0] + i * value_stride));
    }
  });
}

void index_put(const Call& call) {
  const Piece out(call.outputs[0]);
  const std::span<const Operand> indices = call.operands.subspan(2);
  std::vector<const ir::TensorSpec*> specs;
  for (const Operand& o : indices) specs.push_back(o.is_tensor() ? o.tensor.spec : nullptr);
  const Dims sizes = ir::plan_index(out.spec, specs).result_sizes;
  ScalarMemory scalar(call.operands[1].is_scalar() ? call.operands[1].scalar : Scalar(0), out.spec.dtype);
  const ReadOperand read(call.has_tensor(1) ? call.tensor(1) : scalar.arg(), call.outputs[0]);
  const Piece values = broadcast_to(read.piece(), sizes);
  const IndexedWalk plan = plan_walk(out, indices, values);  // checks the indices
  start_from(call.outputs[0], call.tensor(0));
  const bool accumulate = !call.attrs[0].is_none() && call.attrs[0].as_bool();
  if (accumulate)
    visit_dtype(out.spec.dtype, [&]<class T>() { add_at<T>(plan, values.data, out.data); });
  else
    write_walk(plan, values.data, out.data, element_size(out.spec.dtype));
}

size_t dim_of(const Call& call) { return static_cast<size_t>(wrap_dim(call.attrs[0].as_int(), call.tensor(0).spec->rank())); }

std::vector<int64_t> flat_indices(const TensorArg& index) { return read_indices(index, index.spec->sizes); }

void index_select(const Call& call) {
  const Piece self = Piece(call.tensor(0)).at_least_1d(), out = Piece(call.outputs[0]).at_least_1d();
  const size_t dim = dim_of(call);
  std::vector<int64_t> offsets = flat_indices(call.tensor(1));
  to_offsets(offsets, self.spec.sizes[dim], self.stride_bytes(dim), out_of_range_in_self);
  if (out.spec.numel() == 0) return;
  read_walk(plan_walk_along(self, dim, std::move(offsets), out), out.data, self.data, element_size(self.spec.dtype));
}

void embedding(const Call& call) {
  const Piece weight(call.tensor(0)), out(call.outputs[0]);
  std::vector<int64_t> offsets = flat_indices(call.tensor(1));
  to_offsets(offsets, weight.spec.sizes[0], weight.stride_bytes(0), out_of_range_in_self);
  if (out.spec.numel() == 0) return;
  // The result is contiguous: its leading dimensions are one.
  const Piece rows = out.reshaped({static_cast<int64_t>(offsets.size()), weight.spec.sizes[1]}, {weight.spec.sizes[1], 1});
  if (!out.spec.is_contiguous()) {
    IndexedWalk plan;
    const Dims offset_strides = contiguous_strides(call.tensor(1).spec->sizes);
    const size_t last = out.spec.sizes.size() - 1;
    for (size_t d = 0; d < last; ++d) plan.walk.push(out.spec.sizes[d], {out.stride_bytes(d), 0, offset_strides[d] * 8});
    plan.walk.push(out.spec.sizes[last], {out.stride_bytes(last), weight.stride_bytes(1), 0});
    plan.offsets = std::move(offsets);
    return read_walk(plan, out.data, weight.data, element_size(out.spec.dtype));
  }
  read_walk(plan_walk_along(weight, 0, std::move(offsets), rows), out.data, weight.data, element_size(out.spec.dtype));
}

void take(const Call& call) {
  const Piece self(call.tensor(0)), out(call.outputs[0]);
  const int64_t n = self.spec.numel(), size = element_size(self.spec.dtype);
  std::vector<int64_t> offsets = flat_indices(call.tensor(1));
  const bool contiguous = self.spec.is_contiguous();
  for (int64_t& at : offsets) {
    check<IndexError>(at >= -n && at < n, "out of range: tried to access index ", at, " on a tensor of ", n, " elements.");
    if (at < 0) at += n;
    if (contiguous) {
      at *= size;
      continue;
    }
    int64_t rest = at;
    at = 0;
    for (size_t d = self.spec.sizes.size(); d-- > 0;) {
      at += rest % self.spec.sizes[d] * self.stride_bytes(d);
      rest /= self.spec.sizes[d];
    }
  }
  IndexedWalk plan;
  const Dims offset_strides = contiguous_strides(out.spec.sizes);
  for (size_t d = 0; d < out.spec.sizes.size(); ++d) plan.walk.push(out.spec.sizes[d], {out.stride_bytes(d), 0, offset_strides[d] * 8});
  plan.offsets = std::move(offsets);
  if (out.spec.numel() > 0) read_walk(plan, out.data, self.data, size);
}

template <class T>
void add_scaled_at(const IndexedWalk& plan, const std::byte* source, std::byte* self, Scalar alpha) {
  // The half types compute in float32: the product is rounded, then the sum.
  using C = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
  const C factor = alpha.to<C>();
  walk_rows_in_order(plan.walk, plan.is_index, [&](const Walk<3>& walk, const std::array<int64_t, 3>& at, int64_t n) {
    const int64_t source_stride = walk.inner_stride(0), self_stride = walk.inner_stride(1), offset_stride = walk.inner_stride(2) / 8;
    const int64_t* offset = plan.offsets.data() + at[2] / 8;
    const auto add = [&](T& to, T value) {
      if constexpr (std::is_same_v<T, bool>)
        to = add_elements<T>(to, value && factor);
      else if constexpr (std::is_integral_v<T>)
        to = add_elements<T>(to, static_cast<T>(static_cast<uint64_t>(value) * static_cast<uint64_t>(factor)));
      else
        to = add_elements<T>(to, T(static_cast<C>(value) * factor));
    };
    if (offset_stride == 0 && self_stride == sizeof(T) && source_stride == sizeof(T)) {
      T* to = reinterpret_cast<T*>(self + at[1] + *offset);
      const T* from = reinterpret_cast<const T*>(source + at[0]);
      for (int64_t i = 0; i < n; ++i) add(to[i], from[i]);
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      add(*reinterpret_cast<T*>(self + at[1] + i * self_stride + offset[i * offset_stride]),
          *reinterpret_cast<const T*>(source + at[0] + i * source_stride));
  });
}

/// What index_add, index_copy and index_fill have in common: the plan, with the indices checked, and self brought to the result.
template <class Write>
void write_along(const Call& call, const TensorArg& source_arg, bool may_wrap, Write write) {
  const Piece out = Piece(call.outputs[0]).at_least_1d();
  const size_t dim = dim_of(call);
  std::vector<int64_t> offsets = flat_indices(call.tensor(1));
  const int64_t size = out.spec.sizes[dim];
  if (may_wrap)
    for (int64_t& i : offsets) {
      check<IndexError>(i >= -size && i < size, "index ", i, " is out of bounds for dimension ", dim, " with size ", size);
      if (i < 0) i += size;
    }
  to_offsets(offsets, size, out.stride_bytes(dim), out_of_range_in_self);
  const ReadOperand read(source_arg, call.outputs[0]);
  Dims sizes = out.spec.sizes;
  sizes[dim] = static_cast<int64_t>(offsets.size());
  const Piece source = broadcast_to(read.piece(), sizes);
  const IndexedWalk plan = plan_walk_along(out, dim, std::move(offsets), source);
  start_from(call.outputs[0], call.tensor(0));
  write(plan, source.data, out.data);
}

void index_add(const Call& call) {
  const Scalar alpha = call.operands.size() > 3 && call.operands[3].is_scalar() ? call.operands[3].scalar : Scalar(1);
  write_along(call, call.tensor(2), false, [&](const IndexedWalk& plan, const std::byte* source, std::byte* out) {
    visit_dtype(call.outputs[0].spec->dtype, [&]<class T>() { add_scaled_at<T>(plan, source, out, alpha); });
  });
}

void write_values(const Call& call, const TensorArg& source, bool may_wrap) {
  write_along(call, source, may_wrap, [&](const IndexedWalk& plan, const std::byte* values, std::byte* out) {
    write_walk(plan, values, out, element_size(call.outputs[0].spec->dtype));
  });
}

void index_copy(const Call& call) { write_values(call, call.tensor(2), false); }

void index_fill(const Call& call) {
  const ScalarType dtype = call.outputs[0].spec->dtype;
  ScalarMemory value(call.operands[2].is_scalar() ? call.operands[2].scalar : Scalar(0), dtype);
  if (call.has_tensor(2)) copy(value.arg(), call.tensor(2));
  write_values(call, value.arg(), true);
}

void repeat_interleave_tensor(const Call& call) {
  const Piece self = Piece(call.tensor(0)).at_least_1d(), out(call.outputs[0]);
  const size_t dim = dim_of(call);
  const int64_t size = self.spec.sizes[dim], total = call.attrs[1].as_int();
  check(repeat_interleave_size(call.tensor(1), size) == total, "repeat_interleave: allocated size does not match required size");
  const std::vector<int64_t> repeats = flat_indices(call.tensor(1));
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(total));
  for (int64_t i = 0; i < size; ++i)
    offsets.insert(offsets.end(), static_cast<size_t>(repeats[repeats.size() == 1 ? 0 : static_cast<size_t>(i)]),
                   i * self.stride_bytes(dim));
  if (out.spec.numel() == 0) return;
  read_walk(plan_walk_along(self, dim, std::move(offsets), out), out.data, self.data, element_size(self.spec.dtype));
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("index", index);
  register_kernel("index_put", index_put);
  register_kernel("index_select", index_select);
  register_kernel("index_add", index_add);
  register_kernel("index_copy", index_copy);
  register_kernel("index_fill", index_fill);
  register_kernel("embedding", embedding);
  register_kernel("take", take);
  register_kernel("repeat_interleave_tensor", repeat_interleave_tensor);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
