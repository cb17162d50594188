#pragma once
// Strided memory in blocks: what pointwise and copy kernels share around their inner loops.

#include <cstring>

#include "ir/promotion.h"
#include "kernels/pointwise/inner.h"

namespace tailor::kernels {

/// Work below this many elements stays on one thread.
inline constexpr int64_t kGrain = 32768;
/// Elements per pass through the buffers in the L1 cache.
inline constexpr int64_t kBlock = 512;

/// The conversions of the current instruction set.
const ConvertTable& convert_table();
inline ConvertLoop convert_loop(ScalarType from, ScalarType to) {
  return convert_table().loops[static_cast<int>(from)][static_cast<int>(to)];
}

/// Reads n elements `stride` bytes apart into contiguous memory, and back.
void gather(const char* from, int64_t stride, char* to, int64_t n, int64_t element);
void scatter(const char* from, char* to, int64_t stride, int64_t n, int64_t element);

/// Fills kMaxVectorBytes with one element.
void splat(char* to, const char* element, int64_t size);

/// A number in the representation of `type`, in the low bytes.
uint64_t scalar_bits(const Scalar& value, ScalarType type);

/// A loop over up to kMaxSides strided arrays of one shape. Dimensions of size 1 are gone, and neighbours that every side walks as
/// one are merged; the first side's strides fall from left to right.
struct LoopDims {
  static constexpr int kMaxSides = 6;
  int rank = 0;
  int64_t numel = 1;
  int64_t sizes[Dims::kMaxDims];
  int64_t strides[kMaxSides][Dims::kMaxDims];  // in bytes

  int64_t inner() const { return rank > 0 ? sizes[rank - 1] : 1; }
  int64_t inner_stride(int side) const { return rank > 0 ? strides[side][rank - 1] : 0; }
  /// Every element of the side is the same.
  bool is_constant(int side) const;
  /// The side's elements lie one after the other, in the loop's order.
  bool is_linear(int side, int64_t element) const;
};

/// `sides`: the arrays, the first with the loop's sizes; the others broadcast to it. Scalars (spec == nullptr) have stride 0.
LoopDims loop_dims(const TensorArg* sides, int count);

/// Reads elements [begin, begin + n) of one side, in the loop's order, into contiguous memory, and back: for rows so short that a
/// call for each would cost more than its elements.
void gather_across_rows(const LoopDims& dims, int side, const char* base, int64_t begin, char* to, int64_t n, int64_t element);
void scatter_across_rows(const LoopDims& dims, int side, const char* from, int64_t begin, char* base, int64_t n, int64_t element);

/// Walks a loop row by row: the offsets in bytes of each side at some place, advanced along the outer dimensions.
class RowCursor {
 public:
  RowCursor(const LoopDims& dims, int sides, int64_t begin);
  /// Elements from here to the end of the row.
  int64_t left_in_row() const { return dims_.inner() - at_[dims_.rank > 0 ? dims_.rank - 1 : 0]; }
  int64_t offset(int side) const { return offsets_[side]; }
  /// Goes on by n <= left_in_row() elements.
  void advance(int64_t n);

 private:
  const LoopDims& dims_;
  int sides_;
  int64_t at_[Dims::kMaxDims];
  int64_t offsets_[LoopDims::kMaxSides];
};

}  // namespace tailor::kernels
