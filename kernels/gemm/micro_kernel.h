#pragma once
// The kernels of matrix products over one instruction set `I`. Included by one file per instruction set and type, each of which
// defines `I` in an unnamed namespace, so that no two instruction sets share a symbol.
//
// I: T, V (a vector of T), lanes, rows (of a full tile); zero() load(p) load_first(p, n) store(p, v) store_first(p, v, n) set(x)
//    fma(a, b, c) sum(v) and to_float(Half) from_float(float).

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/gemm/kernel_set.h"

namespace tailor::kernels::gemm {
namespace {

constexpr int64_t kRowsAhead = 24;  // of B, prefetched

#define TAILOR_UNROLL _Pragma("GCC unroll 16")

template <class I, int R, int N>
[[gnu::always_inline]] inline void store_tile(const typename I::V (&acc)[R][N], typename I::T* c, int64_t c_row, int64_t columns) {
  if (columns >= N * I::lanes) {
    TAILOR_UNROLL
    for (int r = 0; r < R; ++r) {
      TAILOR_UNROLL
      for (int v = 0; v < N; ++v) I::store(c + r * c_row + v * I::lanes, acc[r][v]);
    }
    return;
  }
  const int64_t last = columns - (N - 1) * I::lanes;
  TAILOR_UNROLL
  for (int r = 0; r < R; ++r) {
    TAILOR_UNROLL
    for (int v = 0; v < N - 1; ++v) I::store(c + r * c_row + v * I::lanes, acc[r][v]);
    I::store_first(c + r * c_row + (N - 1) * I::lanes, acc[r][N - 1], last);
  }
}

template <class I, int R, int N>
[[gnu::always_inline]] inline void clear_tile(typename I::V (&acc)[R][N]) {
  TAILOR_UNROLL
  for (int r = 0; r < R; ++r) {
    TAILOR_UNROLL
    for (int v = 0; v < N; ++v) acc[r][v] = I::zero();
  }
}

template <class I, int R, int N>
void tile_packed(int64_t k, const typename I::T* a, int64_t, const typename I::T* b, int64_t b_k, typename I::T* c, int64_t c_row,
                 int64_t columns) {
  typename I::V acc[R][N];
  clear_tile<I, R, N>(acc);
  for (int64_t p = 0; p < k; ++p, a += R, b += b_k) {
    // Panels are streamed, often from memory or the third-level cache; the hardware stops at every page.
    __builtin_prefetch(b + kRowsAhead * b_k);
    if (N * I::lanes * sizeof(typename I::T) > 64) __builtin_prefetch(b + kRowsAhead * b_k + I::lanes);
    typename I::V x[N];
    TAILOR_UNROLL
    for (int v = 0; v < N; ++v) x[v] = I::load(b + v * I::lanes);
    TAILOR_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename I::V y = I::set(a[r]);
      TAILOR_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = I::fma(y, x[v], acc[r][v]);
    }
  }
  store_tile<I, R, N>(acc, c, c_row, columns);
}

template <class I, int R, int N>
void tile_indirect(int64_t k, const typename I::T* a, const typename I::T* b, const int64_t* offsets, typename I::T* c, int64_t c_row,
                   int64_t columns) {
  typename I::V acc[R][N];
  clear_tile<I, R, N>(acc);
  for (int64_t p = 0; p < k; ++p, a += R) {
    const typename I::T* row = b + offsets[p];
    typename I::V x[N];
    TAILOR_UNROLL
    for (int v = 0; v < N; ++v) x[v] = I::load(row + v * I::lanes);
    TAILOR_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename I::V y = I::set(a[r]);
      TAILOR_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = I::fma(y, x[v], acc[r][v]);
    }
  }
  store_tile<I, R, N>(acc, c, c_row, columns);
}

template <class I, int R, int N>
void tile_pixels(int64_t k, const typename I::T* a, const typename I::T* b, const Tap* taps, int64_t b_step, const typename I::T* bias,
                 typename I::T* c, int64_t c_row, int64_t c_step) {
  typename I::V acc[R][N];
  clear_tile<I, R, N>(acc);
  for (int64_t p = 0; p < k; ++p) {
    const typename I::T *row = a + int64_t{taps[p].a} * R, *pixels = b + taps[p].b;
    typename I::V x[N];
    TAILOR_UNROLL
    for (int v = 0; v < N; ++v) x[v] = I::load(pixels + v * b_step);
    TAILOR_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename I::V y = I::set(row[r]);
      TAILOR_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = I::fma(y, x[v], acc[r][v]);
    }
  }
  TAILOR_UNROLL
  for (int r = 0; r < R; ++r) {
    TAILOR_UNROLL
    for (int v = 0; v < N; ++v) I::store(c + r * c_row + v * c_step, bias == nullptr ? acc[r][v] : acc[r][v] + I::set(bias[r]));
  }
}

// Three rows share a base pointer, so that the addresses of all rows fit into registers.
template <class I, int R, int N>
void tile_strided(int64_t k, const typename I::T* a, int64_t a_row, const typename I::T* b, int64_t b_k, typename I::T* c, int64_t c_row,
                  int64_t columns) {
  constexpr int kBases = (R + 2) / 3;
  const typename I::T* base[kBases];
  for (int g = 0; g < kBases; ++g) base[g] = a + 3 * g * a_row;
  typename I::V acc[R][N];
  clear_tile<I, R, N>(acc);
  for (int64_t p = 0; p < k; ++p, b += b_k) {
    __builtin_prefetch(b + kRowsAhead * b_k);
    if (N * I::lanes * sizeof(typename I::T) > 64) __builtin_prefetch(b + kRowsAhead * b_k + I::lanes);
    typename I::V x[N];
    TAILOR_UNROLL
    for (int v = 0; v < N; ++v) x[v] = I::load(b + v * I::lanes);
    TAILOR_UNROLL
    for (int r = 0; r < R; ++r) {
      const typename I::V y = I::set(base[r / 3][(r % 3) * a_row + p]);
      TAILOR_UNROLL
      for (int v = 0; v < N; ++v) acc[r][v] = I::fma(y, x[v], acc[r][v]);
    }
  }
  store_tile<I, R, N>(acc, c, c_row, columns);
}

// Several panels at once: few rows alone would wait for each other's sums.
template <class I, int R, int P>
[[gnu::always_inline]] inline void skinny_panels(int64_t k, const typename I::T* a, int64_t a_row, const typename I::T* b, typename I::T* c,
                                                 int64_t c_row, int64_t columns) {
  constexpr int kPanel = 2 * I::lanes;
  typename I::V acc[P][R][2];
  TAILOR_UNROLL
  for (int q = 0; q < P; ++q) clear_tile<I, R, 2>(acc[q]);
  const int64_t step = k * kPanel;
  for (int64_t p = 0; p < k; ++p, b += kPanel) {
    typename I::V y[R];
    TAILOR_UNROLL
    for (int r = 0; r < R; ++r) y[r] = I::set(a[r * a_row + p]);
    TAILOR_UNROLL
    for (int q = 0; q < P; ++q) {
      TAILOR_UNROLL
      for (int v = 0; v < 2; ++v) {
        const typename I::V x = I::load(b + q * step + v * I::lanes);
        TAILOR_UNROLL
        for (int r = 0; r < R; ++r) acc[q][r][v] = I::fma(y[r], x, acc[q][r][v]);
      }
    }
  }
  TAILOR_UNROLL
  for (int q = 0; q < P; ++q) {
    const int64_t width = columns - q * kPanel;
    if (width > I::lanes) {
      store_tile<I, R, 2>(acc[q], c + q * kPanel, c_row, width);
    } else {
      TAILOR_UNROLL
      for (int r = 0; r < R; ++r) I::store_first(c + q * kPanel + r * c_row, acc[q][r][0], width);
    }
  }
}

template <class I, int R>
void skinny(int64_t k, const typename I::T* a, int64_t a_row, const typename I::T* panels, typename I::T* c, int64_t c_row,
            int64_t columns) {
  constexpr int kPanel = 2 * I::lanes;
  constexpr int kMost = I::wide_registers ? (R <= 2 ? 4 : 3) : (R == 1 ? 4 : R <= 3 ? 2 : 1);
  int64_t j = 0;
  for (; j + (kMost - 1) * kPanel < columns; j += kMost * kPanel)
    skinny_panels<I, R, kMost>(k, a, a_row, panels + j * k, c + j, c_row, columns - j);
  for (; j < columns; j += kPanel) skinny_panels<I, R, 1>(k, a, a_row, panels + j * k, c + j, c_row, columns - j);
}

template <class I, int M, int J>
[[gnu::always_inline]] inline void dot_block(int64_t k, const typename I::T* x, int64_t x_row, const typename I::T* w, int64_t w_row,
                                             typename I::T* y, int64_t y_row, int64_t y_stride) {
  typename I::V acc[M][J];
  clear_tile<I, M, J>(acc);
  const auto step = [&](int64_t p, auto load) {
    typename I::V left[M];
    TAILOR_UNROLL
    for (int i = 0; i < M; ++i) left[i] = load(x + i * x_row + p);
    TAILOR_UNROLL
    for (int j = 0; j < J; ++j) {
      const typename I::V right = load(w + j * w_row + p);
      TAILOR_UNROLL
      for (int i = 0; i < M; ++i) acc[i][j] = I::fma(left[i], right, acc[i][j]);
    }
  };
  int64_t p = 0;
  for (; p + I::lanes <= k; p += I::lanes) step(p, [](const typename I::T* q) { return I::load(q); });
  if (p < k) step(p, [rest = k - p](const typename I::T* q) { return I::load_first(q, rest); });
  TAILOR_UNROLL
  for (int i = 0; i < M; ++i) {
    TAILOR_UNROLL
    for (int j = 0; j < J; ++j) y[i * y_row + j * y_stride] = I::sum(acc[i][j]);
  }
}

template <class I, int M, int J>
void dot_rows(int64_t n, int64_t k, const typename I::T* x, int64_t x_row, const typename I::T* w, int64_t w_row, typename I::T* y,
              int64_t y_row, int64_t y_stride) {
  int64_t j = 0;
  for (; j + J <= n; j += J) dot_block<I, M, J>(k, x, x_row, w + j * w_row, w_row, y + j * y_stride, y_row, y_stride);
  for (; j < n; ++j) dot_block<I, M, 1>(k, x, x_row, w + j * w_row, w_row, y + j * y_stride, y_row, y_stride);
}

template <class I>
void dot(int64_t rows, int64_t n, int64_t k, const typename I::T* x, int64_t x_row, const typename I::T* w, int64_t w_row, typename I::T* y,
         int64_t y_row, int64_t y_stride) {
  switch (rows) {
    case 1: return dot_rows<I, 1, 8>(n, k, x, x_row, w, w_row, y, y_row, y_stride);
    case 2: return dot_rows<I, 2, 4>(n, k, x, x_row, w, w_row, y, y_row, y_stride);
    case 3: return dot_rows<I, 3, 4>(n, k, x, x_row, w, w_row, y, y_row, y_stride);
    default: return dot_rows < I, 4, I::wide_registers ? 4 : 2 > (n, k, x, x_row, w, w_row, y, y_row, y_stride);
  }
}

// Eight rows of B at a time: y is read and written once for all of them.
template <class I, int K>
[[gnu::always_inline]] inline void axpy_rows(int64_t n, const typename I::T* x, int64_t x_stride, const typename I::T* b, int64_t b_row,
                                             typename I::T* y, bool first) {
  typename I::V scale[K];
  TAILOR_UNROLL
  for (int q = 0; q < K; ++q) scale[q] = I::set(x[q * x_stride]);
  int64_t j = 0;
  for (; j + I::lanes <= n; j += I::lanes) {
    typename I::V sum = first ? I::zero() : I::load(y + j);
    TAILOR_UNROLL
    for (int q = 0; q < K; ++q) sum = I::fma(scale[q], I::load(b + q * b_row + j), sum);
    I::store(y + j, sum);
  }
  if (j < n) {
    typename I::V sum = first ? I::zero() : I::load_first(y + j, n - j);
    TAILOR_UNROLL
    for (int q = 0; q < K; ++q) sum = I::fma(scale[q], I::load_first(b + q * b_row + j, n - j), sum);
    I::store_first(y + j, sum, n - j);
  }
}

template <class I>
void axpy(int64_t n, int64_t k, const typename I::T* x, int64_t x_stride, const typename I::T* b, int64_t b_row, typename I::T* y) {
  int64_t p = 0;
  for (; p + 8 <= k; p += 8) axpy_rows<I, 8>(n, x + p * x_stride, x_stride, b + p * b_row, b_row, y, p == 0);
  for (; p < k; ++p) axpy_rows<I, 1>(n, x + p * x_stride, x_stride, b + p * b_row, b_row, y, p == 0);
}

template <class I, class S>
[[gnu::always_inline]] inline typename I::T converted(S s) {
  if constexpr (std::is_same_v<S, Half>)
    return I::to_float(s);
  else
    return static_cast<typename I::T>(s);
}

template <class I, class S>
void pack(typename I::T* dst, const void* source, int64_t width, int64_t line_stride, int64_t k, int64_t k_stride, int64_t panel) {
  using T = typename I::T;
  const S* src = static_cast<const S*>(source);
  if (line_stride == 1) {
    for (int64_t p = 0; p < k; ++p, src += k_stride, dst += panel) {
      if constexpr (std::is_same_v<S, T>) {
        // Each line lies on another page: the hardware does not foresee it.
        if (p + 8 < k) {
          __builtin_prefetch(src + 8 * k_stride);
          __builtin_prefetch(src + 8 * k_stride + width - 1);
        }
        int64_t i = 0;
        for (; i + I::lanes <= width; i += I::lanes) I::store(dst + i, I::load(src + i));
        for (; i < width; ++i) dst[i] = src[i];
      } else {
        for (int64_t i = 0; i < width; ++i) dst[i] = converted<I>(src[i]);
      }
      for (int64_t i = width; i < panel; ++i) dst[i] = T(0);
    }
    return;
  }
  int64_t p = 0;
  if constexpr (std::is_same_v<S, T> && I::has_transpose) {
    if (k_stride == 1)
      for (; p + I::lanes <= k; p += I::lanes) {
        int64_t i = 0;
        for (; i < width; i += I::lanes) {
          const int64_t lines = std::min<int64_t>(I::lanes, width - i);
          for (int64_t q = 0; q < lines; ++q) __builtin_prefetch(src + (i + q) * line_stride + p + 4 * I::lanes);
          I::transpose(src + i * line_stride + p, line_stride, lines, dst + p * panel + i, panel, std::min<int64_t>(I::lanes, panel - i));
        }
        for (; i < panel; ++i)
          for (int64_t q = 0; q < I::lanes; ++q) dst[(p + q) * panel + i] = T(0);
      }
  }
  // Blocks of k keep the lines of both sides in the first-level cache.
  for (; p < k; p += 16) {
    const int64_t end = std::min<int64_t>(p + 16, k);
    for (int64_t i = 0; i < width; ++i)
      for (int64_t q = p; q < end; ++q) dst[q * panel + i] = converted<I>(src[i * line_stride + q * k_stride]);
    for (int64_t i = width; i < panel; ++i)
      for (int64_t q = p; q < end; ++q) dst[q * panel + i] = T(0);
  }
}

template <class I, class D>
void finish(const typename I::T* tile, int64_t tile_row, int64_t rows, int64_t columns, void* out, int64_t c_row, int64_t c_column,
            typename I::T alpha, typename I::T beta) {
  using T = typename I::T;
  D* c = static_cast<D*>(out);
  const auto store = [&](D& to, T value) {
    if (alpha != T(1)) value = alpha * value;
    if (beta != T(0)) value = value + beta * converted<I>(to);
    if constexpr (std::is_same_v<D, Half>)
      to = I::from_float(value);
    else
      to = D(value);
  };
  if constexpr (std::is_same_v<D, T>) {
    if (alpha == T(1) && beta == T(0)) {
      if constexpr (I::has_transpose) {
        if (c_row == 1 && rows <= I::lanes) {
          for (int64_t j = 0; j < columns; j += I::lanes)
            I::transpose_out(tile + j, tile_row, rows, c + j * c_column, c_column, std::min<int64_t>(I::lanes, columns - j));
          return;
        }
      }
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < rows; ++i) c[i * c_row + j * c_column] = tile[i * tile_row + j];
      return;
    }
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) store(c[i * c_row + j * c_column], tile[i * tile_row + j]);
}

template <class I, int... R>
void fill_tiles(KernelSet<typename I::T>& set, std::integer_sequence<int, R...>) {
  ((set.packed[R][0] = tile_packed<I, R + 1, 1>, set.packed[R][1] = tile_packed<I, R + 1, 2>, set.strided[R][0] = tile_strided<I, R + 1, 1>,
    set.strided[R][1] = tile_strided<I, R + 1, 2>, set.indirect[R][0] = tile_indirect<I, R + 1, 1>,
    set.indirect[R][1] = tile_indirect<I, R + 1, 2>),
   ...);
}

template <class I, int... R>
void fill_pixels(KernelSet<typename I::T>& set, std::integer_sequence<int, R...>) {
  ((set.pixels[R][0] = tile_pixels<I, R + 1, 1>, set.pixels[R][1] = tile_pixels<I, R + 1, 2>, set.pixels[R][2] = tile_pixels<I, R + 1, 3>),
   ...);
}

template <class I>
KernelSet<typename I::T> make_set(Isa isa) {
  using T = typename I::T;
  KernelSet<T> set{};
  set.isa = isa;
  set.rows = I::rows;
  set.lanes = I::lanes;
  fill_tiles<I>(set, std::make_integer_sequence<int, I::rows>());
  set.skinny[0] = skinny<I, 1>;
  set.skinny[1] = skinny<I, 2>;
  set.skinny[2] = skinny<I, 3>;
  set.skinny[3] = skinny<I, 4>;
  set.dot = dot<I>;
  set.axpy = axpy<I>;
  set.pack[0] = pack<I, T>;
  set.finish[0] = finish<I, T>;
  if constexpr (std::is_same_v<T, float>) {
    set.pixel_rows = I::wide_registers ? 8 : 4;
    fill_pixels<I>(set, std::make_integer_sequence < int, I::wide_registers ? 8 : 4 > ());
    set.pack[1] = pack<I, Half>;
    set.pack[2] = pack<I, BFloat16>;
    set.finish[1] = finish<I, Half>;
    set.finish[2] = finish<I, BFloat16>;
  }
  return set;
}

#undef TAILOR_UNROLL

}  // namespace
}  // namespace tailor::kernels::gemm
