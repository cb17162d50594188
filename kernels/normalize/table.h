#pragma once
// The inner loops of the normalising kernels, one table of them per instruction set. All operate on rows of contiguous elements of a
// floating point dtype and compute in its compute type C (float, or double for double); weights are arrays of C, or null.

#include "kernels/kernels.h"

namespace tailor::kernels::normalize {

struct Loops {
  /// y = softmax (or its logarithm) of each row. `scratch` has room for n of C, or is null: then y, not of a half type, serves.
  /// `stream`: the result is larger than the caches.
  void (*softmax_rows)(const void* x, void* y, int64_t rows, int64_t n, void* scratch, bool log, bool stream);
  /// The same along dimension 0 of an n by `columns` matrix with the given distance between rows; columns at most kStrip. `scratch`
  /// has room for n rows of kStrip of C.
  void (*softmax_columns)(const void* x, void* y, int64_t n, int64_t row_stride, int64_t columns, void* scratch, bool log);
  /// (x - mean) / sqrt(variance + eps) * weight + bias of each row; `rms`: x / sqrt(mean square + eps) * weight.
  void (*norm_rows)(const void* x, void* y, int64_t rows, int64_t n, const void* weight, const void* bias, double eps, bool rms);
  /// Mean and sum of squared deviations from it, of a row of at most kPiece elements that stay in the cache.
  void (*moments)(const void* x, int64_t n, double* mean, double* m2);
  /// The same for each of `columns` columns, at most kStrip.
  void (*moments_columns)(const void* x, int64_t rows, int64_t row_stride, int64_t columns, double* mean, double* m2);
  /// y = (x - mean) * scale + shift.
  void (*affine)(const void* x, void* y, int64_t n, double mean, double scale, double shift);
  /// The same with arrays of n of C.
  void (*affine_each)(const void* x, void* y, int64_t n, const void* mean, const void* scale, const void* shift);
};

inline constexpr int64_t kStrip = 512, kPiece = 8192;

struct Table {
  Loops loops[kScalarTypeCount];  // empty but for the floating point types
};

const Table& table_sse2();
const Table& table_avx2();
const Table& table_avx512();

inline const Loops& loops(ScalarType type) {
  const Table& t = isa() == Isa::Avx512 ? table_avx512() : isa() == Isa::Avx2 ? table_avx2() : table_sse2();
  return t.loops[static_cast<int>(type)];
}

}  // namespace tailor::kernels::normalize
