#pragma once
// From index tensors to distances in memory, with every index checked before anything is read or written.

#include <vector>

#include "ir/ops/indexing.h"
#include "kernels/movement/piece.h"
#include "kernels/movement/strided.h"

namespace tailor::kernels {

/// Calls f(const I* first) with the element type of an int64 or int32 tensor.
template <class F>
decltype(auto) visit_index(ScalarType type, F&& f) {
  return type == kInt32 ? f.template operator()<int32_t>() : f.template operator()<int64_t>();
}

/// The elements of an int64 or int32 tensor, broadcast to `sizes`, in row-major order.
std::vector<int64_t> read_indices(const TensorArg& index, IntArrayRef sizes);

/// Elements of a vector of indices that must lie in [0, size) are multiplied by `stride`. `message(index)` throws.
template <class Message>
void to_offsets(std::vector<int64_t>& indices, int64_t size, int64_t stride, Message message) {
  for (int64_t& i : indices) {
    if (i < 0 || i >= size) [[unlikely]]
      message(i);
    i *= stride;
  }
}

/// Checks all elements of an index tensor against [0, size); throws IndexError with torch's text for `dim`.
void check_indices(const TensorArg& index, size_t dim, int64_t size);

/// An indexed access as one walk over three operands: the dense side (result or values), `self` (with stride 0 along the index
/// dimensions) and the vector of offsets (with stride 0 along the others).
struct IndexedWalk {
  Walk<3> walk;
  std::array<bool, Dims::kMaxDims> is_index{};
  std::vector<int64_t> offsets;  // bytes into self, one for each place of the broadcast index tensors
};

/// For index and index_put: `indices` are the operands from the first index on; `dense` has the result's sizes.
IndexedWalk plan_walk(const Piece& self, std::span<const Operand> indices, const Piece& dense);

/// For ops along one dimension: `dense` has the sizes of self but for `dim`, where it has one place for each offset.
IndexedWalk plan_walk_along(const Piece& self, size_t dim, std::vector<int64_t> offsets, const Piece& dense);

/// Reads `self` at the walk's places into the dense side.
void read_walk(const IndexedWalk& plan, std::byte* dense, const std::byte* self, int64_t size);
/// Writes the dense side to the walk's places of `self`, in the order of the indices.
void write_walk(const IndexedWalk& plan, const std::byte* dense, std::byte* self, int64_t size);

/// The sum of two elements as the dtype adds them: integers wrap, bool is "or", half types round.
template <class T>
T add_elements(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else if constexpr (std::is_same_v<T, double>)
    return a + b;
  else
    return T(static_cast<float>(a) + static_cast<float>(b));
}

}  // namespace tailor::kernels
