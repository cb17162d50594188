#include "kernels/indexing/offsets.h"

namespace tailor::kernels {

std::vector<int64_t> read_indices(const TensorArg& index, IntArrayRef sizes) {
  Walk<2> walk;  // the result and the tensor
  const ir::TensorSpec& spec = *index.spec;
  const size_t missing = sizes.size() - spec.sizes.size();
  const Dims dense = contiguous_strides(sizes);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool repeats = d < missing || spec.sizes[d - missing] == 1;
    walk.push(sizes[d], {dense[d] * 8, repeats ? 0 : spec.strides[d - missing] * element_size(spec.dtype)});
  }
  std::vector<int64_t> result(static_cast<size_t>(product(sizes)));
  visit_index(spec.dtype, [&]<class I>() {
    const Walk<2> merged = walk.merged();
    walk_range(merged, 0, merged.numel(), {}, [&](const std::array<int64_t, 2>& at, int64_t n) {
      int64_t* to = result.data() + at[0] / 8;
      const std::byte* from = bytes_of(index) + at[1];
      const int64_t to_stride = merged.inner_stride(0) / 8, from_stride = merged.inner_stride(1);
      for (int64_t i = 0; i < n; ++i) to[i * to_stride] = *reinterpret_cast<const I*>(from + i * from_stride);
    });
  });
  return result;
}

void check_indices(const TensorArg& index, size_t dim, int64_t size) {
  const Piece piece = Piece(index).at_least_1d();
  Walk<1> walk;
  for (size_t d = 0; d < piece.spec.sizes.size(); ++d) walk.push(piece.spec.sizes[d], {piece.stride_bytes(d)});
  visit_index(index.spec->dtype, [&]<class I>() {
    const int64_t stride = walk.merged().inner_stride(0);
    walk_rows(walk, [&](const std::array<int64_t, 1>& at, int64_t n) {
      const std::byte* from = piece.data + at[0];
      bool bad = false;
      // As unsigned numbers, negative ones are too large as well.
      if (stride == sizeof(I)) {
        const I* values = reinterpret_cast<const I*>(from);
        for (int64_t i = 0; i < n; ++i) bad |= static_cast<uint64_t>(int64_t{values[i]}) >= static_cast<uint64_t>(size);
      } else {
        for (int64_t i = 0; i < n; ++i)
          bad |= static_cast<uint64_t>(int64_t{*reinterpret_cast<const I*>(from + i * stride)}) >= static_cast<uint64_t>(size);
      }
      if (!bad) [[likely]]
        return;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t value = *reinterpret_cast<const I*>(from + i * stride);
        check<IndexError>(value >= 0 && value < size, "index ", value, " is out of bounds for dimension ", dim, " with size ", size);
      }
    });
  });
}

IndexedWalk plan_walk(const Piece& self, std::span<const Operand> indices, const Piece& dense) {
  std::vector<const ir::TensorSpec*> specs;
  for (const Operand& o : indices) specs.push_back(o.is_tensor() ? o.tensor.spec : nullptr);
  const ir::IndexPlan plan = ir::plan_index(self.spec, specs);
  IndexedWalk result;
  result.offsets.assign(static_cast<size_t>(product(plan.index_sizes)), 0);
  for (int64_t d : plan.indexed) {
    const auto at = static_cast<size_t>(d);
    const std::vector<int64_t> values = read_indices(indices[at].tensor, plan.index_sizes);
    const int64_t size = self.spec.sizes[at], stride = self.stride_bytes(at);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t value = values[i];
      check<IndexError>(value >= -size && value < size, "index ", value, " is out of bounds for dimension ", d, " with size ", size);
      result.offsets[i] += (value < 0 ? value + size : value) * stride;
    }
  }
  size_t next = 0;  // dimension of the dense side
  const auto whole = [&](int64_t d) {
    result.walk.push(self.spec.sizes[static_cast<size_t>(d)], {dense.stride_bytes(next), self.stride_bytes(static_cast<size_t>(d)), 0});
    ++next;
  };
  for (int64_t d : plan.before) whole(d);
  const Dims offset_strides = contiguous_strides(plan.index_sizes);
  for (size_t i = 0; i < plan.index_sizes.size(); ++i) {
    result.is_index[next] = true;
    result.walk.push(plan.index_sizes[i], {dense.stride_bytes(next), 0, offset_strides[i] * 8});
    ++next;
  }
  for (int64_t d : plan.after) whole(d);
  return result;
}

IndexedWalk plan_walk_along(const Piece& self, size_t dim, std::vector<int64_t> offsets, const Piece& dense) {
  IndexedWalk result;
  result.offsets = std::move(offsets);
  for (size_t d = 0; d < dense.spec.sizes.size(); ++d) {
    const bool indexed = d == dim;
    result.is_index[d] = indexed;
    result.walk.push(dense.spec.sizes[d], {dense.stride_bytes(d), indexed ? 0 : self.stride_bytes(d), indexed ? 8 : 0});
  }
  return result;
}

void read_walk(const IndexedWalk& plan, std::byte* dense, const std::byte* self, int64_t size) {
  const Walk<3> walk = plan.walk.merged();
  const int64_t dense_stride = walk.inner_stride(0), self_stride = walk.inner_stride(1), offset_stride = walk.inner_stride(2) / 8;
  visit_size(size, [&]<class U>() {
    walk_rows(walk, [&](const std::array<int64_t, 3>& at, int64_t n) {
      const int64_t* offset = plan.offsets.data() + at[2] / 8;
      std::byte* to = dense + at[0];
      const std::byte* from = self + at[1];
      if (offset_stride == 0) return move_row<U>(to, dense_stride, from + *offset, self_stride, n);
      if (dense_stride == sizeof(U))
        for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(sizeof(U)), from + offset[i * offset_stride], sizeof(U));
      else
        for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * dense_stride, from + offset[i * offset_stride], sizeof(U));
    });
  });
}

void write_walk(const IndexedWalk& plan, const std::byte* dense, std::byte* self, int64_t size) {
  visit_size(size, [&]<class U>() {
    walk_rows_in_order(plan.walk, plan.is_index, [&](const Walk<3>& walk, const std::array<int64_t, 3>& at, int64_t n) {
      const int64_t dense_stride = walk.inner_stride(0), self_stride = walk.inner_stride(1), offset_stride = walk.inner_stride(2) / 8;
      const int64_t* offset = plan.offsets.data() + at[2] / 8;
      const std::byte* from = dense + at[0];
      std::byte* to = self + at[1];
      if (offset_stride == 0) return move_row<U>(to + *offset, self_stride, from, dense_stride, n);
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + offset[i * offset_stride], from + i * dense_stride, sizeof(U));
    });
  });
}

}  // namespace tailor::kernels
