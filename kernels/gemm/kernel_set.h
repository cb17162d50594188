#pragma once
// What one instruction set offers for matrix products, as a table of functions. Internal to kernels/gemm.

#include <cstdint>

#include "kernels/kernels.h"

namespace tailor::kernels::gemm {

inline constexpr int kMaxRows = 14;
inline constexpr int kSkinnyRows = 4;

/// C[rows, columns] = A * B over k; `c` is row-contiguous and is overwritten. Columns beyond `columns` are not written, but B must be
/// readable in whole vectors.
template <class T>
using TileFn = void (*)(int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_k, T* c, int64_t c_row, int64_t columns);
/// As TileFn, but row k of B begins at b + offsets[k].
template <class T>
using IndirectTileFn = void (*)(int64_t k, const T* a, const T* b, const int64_t* offsets, T* c, int64_t c_row, int64_t columns);

/// Where row k of both operands is: its number in A, and its first element in B.
struct Tap {
  int32_t a, b;
};
/// C[r, v] = A * B + bias[r] over k taps: A is [k][rows]; `vectors` vectors of B, `b_step` apart, are at b + tap.b. Row r of vector v goes
/// to c + r * c_row + v * c_step. Null bias: zeros.
template <class T>
using PixelsFn = void (*)(int64_t k, const T* a, const T* b, const Tap* taps, int64_t b_step, const T* bias, T* c, int64_t c_row,
                          int64_t c_step);
inline constexpr int kMaxPixelRows = 8, kPixelVectors = 3;

/// A panel: `width` lines of `k` elements become [k][panel], zero beyond width. The source element is src[line * line_stride + k *
/// k_stride].
template <class T>
using PackFn = void (*)(T* dst, const void* src, int64_t width, int64_t line_stride, int64_t k, int64_t k_stride, int64_t panel);

/// C[i * c_row + j * c_column] = alpha * tile[i, j] + beta * C, converted to C's type.
template <class T>
using FinishFn = void (*)(const T* tile, int64_t tile_row, int64_t rows, int64_t columns, void* c, int64_t c_row, int64_t c_column, T alpha,
                          T beta);

/// y[j * y_stride + i * y_row] = dot(x_i, w_j), for `rows` (at most 4) contiguous x and n contiguous w.
template <class T>
using DotFn = void (*)(int64_t rows, int64_t n, int64_t k, const T* x, int64_t x_row, const T* w, int64_t w_row, T* y, int64_t y_row,
                       int64_t y_stride);

/// C[rows, columns] = A * B for a few rows (at most kSkinnyRows) of contiguous A and consecutive panels of packed B.
template <class T>
using SkinnyFn = void (*)(int64_t k, const T* a, int64_t a_row, const T* panels, T* c, int64_t c_row, int64_t columns);

/// y[0, n) = x[0, k) * B, B row-contiguous.
template <class T>
using AxpyFn = void (*)(int64_t n, int64_t k, const T* x, int64_t x_stride, const T* b, int64_t b_row, T* y);

/// Of compute type T (float or double). Panels of B are 2 vectors wide.
template <class T>
struct KernelSet {
  Isa isa;
  int rows;                        // rows of a tile, at most kMaxRows
  int lanes;                       // elements of a vector
  TileFn<T> packed[kMaxRows][2];   // A as [k][rows], by rows - 1 and vectors - 1
  TileFn<T> strided[kMaxRows][2];  // A row-contiguous with a_row
  IndirectTileFn<T> indirect[kMaxRows][2];
  SkinnyFn<T> skinny[kSkinnyRows];                   // by rows - 1
  int pixel_rows;                                    // rows of a tile of `pixels`, at most kMaxPixelRows
  PixelsFn<T> pixels[kMaxPixelRows][kPixelVectors];  // by rows - 1 and vectors - 1; float only
  DotFn<T> dot;
  AxpyFn<T> axpy;
  PackFn<T> pack[3];      // source types: T, Half, BFloat16 (the last two for float only)
  FinishFn<T> finish[3];  // destination types likewise
};

const KernelSet<float>& f32_avx512();
const KernelSet<float>& f32_avx2();
const KernelSet<float>& f32_sse2();
const KernelSet<double>& f64_avx512();
const KernelSet<double>& f64_avx2();
const KernelSet<double>& f64_sse2();

template <class T>
const KernelSet<T>& kernel_set(Isa isa);

/// Index into `pack` and `finish`.
constexpr int source_index(ScalarType type) { return type == kFloat16 ? 1 : type == kBFloat16 ? 2 : 0; }

}  // namespace tailor::kernels::gemm
