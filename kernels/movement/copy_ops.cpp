// clone, copy_, fill_, zero_, flip, roll, repeat, repeat_interleave: one or a few strided copies each.

#include <algorithm>

#include "kernels/copy.h"
#include "kernels/movement/piece.h"

namespace tailor::kernels {
namespace {

void clone(const Call& call) { copy(call.outputs[0], call.tensor(0)); }

void copy_into(const Call& call) {
  const TensorArg &out = call.outputs[0], &src = call.tensor(1);
  if (same_memory(out, src)) return;
  copy(out, ReadOperand(src, out).piece().arg());
}

void fill_with(const Call& call) {
  if (call.operands[1].is_scalar())
    fill(call.outputs[0], call.operands[1].scalar);
  else
    copy(call.outputs[0], ReadOperand(call.tensor(1), call.outputs[0]).piece().arg());
}

void zero(const Call& call) { fill(call.outputs[0], Scalar(0)); }

void flip(const Call& call) {
  Piece self(call.tensor(0));
  if (self.spec.rank() > 0)
    for (int64_t d : call.attrs[0].as_ints()) self = self.flip(static_cast<size_t>(wrap_dim(d, self.spec.rank())));
  copy(call.outputs[0], self.arg());
}

/// Rolls the dimensions from `i` on: each falls into two blocks that change places.
void roll_blocks(const Piece& out, const Piece& self, IntArrayRef shifts, IntArrayRef dims, size_t i) {
  if (i == dims.size()) return copy(out.arg(), self.arg());
  const auto d = static_cast<size_t>(wrap_dim(dims[i], self.spec.rank()));
  const int64_t size = self.spec.sizes[d];
  if (size == 0) return;
  const int64_t shift = (shifts[i] % size + size) % size;
  roll_blocks(out.narrow(d, shift, size - shift), self.narrow(d, 0, size - shift), shifts, dims, i + 1);
  if (shift > 0) roll_blocks(out.narrow(d, 0, shift), self.narrow(d, size - shift, shift), shifts, dims, i + 1);
}

/// A contiguous tensor in memory of its own.
struct Dense {
  std::unique_ptr<std::byte[]> memory;
  Piece piece;
  explicit Dense(const Piece& like) : piece(like) {
    piece.spec.strides = contiguous_strides(like.spec.sizes);
    memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(like.spec.numel() * element_size(like.spec.dtype)));
    piece.data = memory.get();
  }
};

/// As one dimension, which takes contiguous memory on both sides.
void roll_flattened(const Piece& out, const Piece& self, int64_t shift) {
  if (!self.spec.is_contiguous()) {
    const Dense from(self);
    copy(from.piece.arg(), self.arg());
    return roll_flattened(out, from.piece, shift);
  }
  if (!out.spec.is_contiguous()) {
    const Dense to(out);
    roll_flattened(to.piece, self, shift);
    return copy(out.arg(), to.piece.arg());
  }
  const int64_t n = out.spec.numel();
  roll_blocks(out.reshaped({n}, {1}), self.reshaped({n}, {1}), {shift}, {0}, 0);
}

/// A dimension that is rolled twice is rolled once, by the sum.
void roll(const Call& call) {
  const Piece self(call.tensor(0)), out(call.outputs[0]);
  const IntArrayRef shifts = call.attrs[0].as_ints(), dims = call.attrs[1].as_ints();
  if (self.spec.rank() == 0) return copy(out.arg(), self.arg());
  if (dims.empty()) {
    roll_flattened(out, self, shifts[0]);
    return;
  }
  Dims distinct, totals;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = wrap_dim(dims[i], self.spec.rank());
    const auto at = static_cast<size_t>(std::find(distinct.begin(), distinct.end(), d) - distinct.begin());
    if (at == distinct.size()) {
      distinct.push_back(d);
      totals.push_back(0);
    }
    const int64_t size = std::max<int64_t>(self.spec.sizes[static_cast<size_t>(d)], 1);
    totals[at] = (totals[at] + shifts[i] % size) % size;
  }
  roll_blocks(out, self, totals, distinct, 0);
}

/// [s] repeated r times is [r, s] read with a stride of 0 for r.
void repeat(const Call& call) {
  const Piece self(call.tensor(0)), out(call.outputs[0]);
  const IntArrayRef repeats = call.attrs[0].as_ints();
  const size_t missing = repeats.size() - self.spec.sizes.size();
  Dims sizes, to, from;
  for (size_t d = 0; d < repeats.size(); ++d) {
    const int64_t size = d < missing ? 1 : self.spec.sizes[d - missing];
    if (repeats[d] != 1) {
      sizes.push_back(repeats[d]);
      to.push_back(out.spec.strides[d] * size);
      from.push_back(0);
    }
    if (d >= missing) {
      sizes.push_back(size);
      to.push_back(out.spec.strides[d]);
      from.push_back(self.spec.strides[d - missing]);
    }
  }
  copy(out.reshaped(sizes, to).arg(), self.reshaped(sizes, from).arg());
}

void repeat_interleave(const Call& call) {
  const Piece self = Piece(call.tensor(0)).at_least_1d(), out(call.outputs[0]);
  const int64_t repeats = call.attrs[0].as_int();
  const auto d = static_cast<size_t>(wrap_dim(call.attrs[1].as_int(), self.spec.rank()));
  Dims sizes = self.spec.sizes, to = out.spec.strides, from = self.spec.strides;
  to[d] *= repeats;
  sizes.insert(d + 1, repeats);
  to.insert(d + 1, out.spec.strides[d]);
  from.insert(d + 1, 0);
  copy(out.reshaped(sizes, to).arg(), self.reshaped(sizes, from).arg());
}

[[maybe_unused]] const bool registered = [] {
  register_kernel("clone", clone);
  register_kernel("copy_", copy_into);
  register_kernel("fill_", fill_with);
  register_kernel("zero_", zero);
  register_kernel("flip", flip);
  register_kernel("roll", roll);
  register_kernel("repeat", repeat);
  register_kernel("repeat_interleave", repeat_interleave);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
