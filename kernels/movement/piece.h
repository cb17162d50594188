#pragma once
// A tensor argument together with a description of its own: views of arguments, and temporary tensors.

#include <cstddef>
#include <memory>

#include "kernels/kernels.h"

namespace tailor::kernels {

struct Piece {
  ir::TensorSpec spec;
  std::byte* data = nullptr;

  explicit Piece(const TensorArg& t) : spec(*t.spec), data(static_cast<std::byte*>(t.data)) {}
  TensorArg arg() const { return {data, &spec}; }
  int64_t stride_bytes(size_t dim) const { return spec.strides[dim] * element_size(spec.dtype); }

  Piece narrow(size_t dim, int64_t start, int64_t length) const {
    Piece p = *this;
    p.spec.sizes[dim] = length;
    p.data += start * stride_bytes(dim);
    return p;
  }
  Piece flip(size_t dim) const {
    Piece p = *this;
    if (spec.sizes[dim] > 0) p.data += (spec.sizes[dim] - 1) * stride_bytes(dim);
    p.spec.strides[dim] = -spec.strides[dim];
    return p;
  }
  /// Another shape over the same memory.
  Piece reshaped(IntArrayRef sizes, IntArrayRef strides) const {
    Piece p = *this;
    p.spec.sizes = sizes;
    p.spec.strides = strides;
    return p;
  }
  /// A tensor without dimensions as one with a single dimension of size 1.
  Piece at_least_1d() const { return spec.rank() == 0 ? reshaped({1}, {1}) : *this; }
};

/// Do the two share any byte (judged by the range of addresses that each spans)?
bool may_overlap(const TensorArg& a, const TensorArg& b);
/// Are they the same elements in the same order?
bool same_memory(const TensorArg& a, const TensorArg& b);

/// An operand that is safe to read while `out` is written: the operand, or a contiguous copy of it where the memory overlaps.
class ReadOperand {
 public:
  ReadOperand(const TensorArg& operand, const TensorArg& out);
  const Piece& piece() const { return piece_; }

 private:
  Piece piece_;
  std::unique_ptr<std::byte[]> copy_;
};

/// Makes `out` equal to `self`, unless it is self.
void start_from(const TensorArg& out, const TensorArg& self);

}  // namespace tailor::kernels
