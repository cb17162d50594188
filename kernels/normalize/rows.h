#pragma once
// The normalising loops over vectors of one width. Included by the per-instruction-set files only.

#include "ir/math/exp.h"
#include "ir/math/log.h"
#include "kernels/normalize/table.h"
#include "kernels/pointwise/simd.h"
#include "kernels/reduce/simd.h"

namespace tailor::kernels::normalize {

template <int Bytes, class T>
struct Rows {
  static constexpr bool is_half = sizeof(T) == 2;
  using C = std::conditional_t<sizeof(T) == 8, double, float>;
  using V = simd::Vec<C, Bytes>;
  using I = simd::Vec<simd::Index<C>, Bytes>;
  using A = Lanes<C>;
  static constexpr int W = simd::VecOf<C, Bytes>::lanes;
  static constexpr int64_t kBlock = 4096;

  // A loop body is written once and called for full vectors and for the tail: with Full, or with Part and its length.
  struct Full {};
  struct Part {
    int64_t count;
  };

  [[gnu::always_inline]] static V load(const T* p, Full) { return simd::load_as<Bytes, C>(p); }
  [[gnu::always_inline]] static V load(const T* p, Part t) { return simd::load_part<Bytes, C>(p, t.count); }
  template <class P>
  [[gnu::always_inline]] static V load_compute(const P* p, Full) {
    return simd::load_as<Bytes, C>(p);
  }
  template <class P>
  [[gnu::always_inline]] static V load_compute(const P* p, Part t) {
    return simd::load_part<Bytes, C>(p, t.count);
  }
  template <class P>
  [[gnu::always_inline]] static void store(P* p, V v, Full) {
    simd::store_as<Bytes, P, C>(p, v);
  }
  template <class P>
  [[gnu::always_inline]] static void store(P* p, V v, Part t) {
    simd::store_part<Bytes, P, C>(p, v, t.count);
  }
  /// `v` in the lanes that exist, `other` in the rest.
  [[gnu::always_inline]] static V keep(V v, V, Full) { return v; }
  [[gnu::always_inline]] static V keep(V v, V other, Part t) {
    return simd::iota<simd::Index<C>, Bytes>() < simd::splat<I>(static_cast<simd::Index<C>>(t.count)) ? v : other;
  }

  [[gnu::always_inline]] static V exp(V v) {
    A a;
    return ir::math::exp(a, v);
  }
  static C log(C c) {
    A a;
    return ir::math::log(a, simd::splat<V>(c))[0];
  }
  static C sqrt(C c) {
    A a;
    return a.sqrt(simd::splat<V>(c))[0];
  }

  [[gnu::always_inline]] static V greater(V m, V v) { return ((v > m) | (v != v)) ? v : m; }  // NaN stays and wins

  [[gnu::always_inline]] static C across_sum(V v) {
    return simd::across<Bytes, C>(
        v, []<class X>(X a, X b) __attribute__((always_inline)) { return a + b; });
  }
  [[gnu::always_inline]] static C across_max(V v) {
    return simd::across<Bytes, C>(
        v, []<class X>(X a, X b) __attribute__((always_inline)) { return ((b > a) | (b != b)) ? b : a; });
  }

  template <class F>
  [[gnu::always_inline]] static void each(int64_t n, F&& f) {
    int64_t i = 0;
    for (; i + W <= n; i += W) f(i, Full{});
    if (i < n) f(i, Part{n - i});
  }

  /// The sum of f(i, tag) over the vectors of a row: in float within a block, in double between blocks.
  template <class F>
  [[gnu::always_inline]] static double sum(int64_t n, F&& f) {
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = n - begin < kBlock ? n : begin + kBlock;
      V a{}, b{}, c{}, d{};
      int64_t i = begin;
      for (; i + 4 * W <= end; i += 4 * W) {
        a += f(i, Full{});
        b += f(i + W, Full{});
        c += f(i + 2 * W, Full{});
        d += f(i + 3 * W, Full{});
      }
      for (; i + W <= end; i += W) a += f(i, Full{});
      if (i < end) a += keep(f(i, Part{end - i}), V{}, Part{end - i});
      total += across_sum((a + b) + (c + d));
    }
    return total;
  }

  static C maximum(const T* x, int64_t n) {
    const V lowest = simd::splat<V>(static_cast<C>(-__builtin_huge_val()));
    V a = lowest, b = lowest, c = lowest, d = lowest;
    int64_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
      a = greater(a, load(x + i, Full{}));
      b = greater(b, load(x + i + W, Full{}));
      c = greater(c, load(x + i + 2 * W, Full{}));
      d = greater(d, load(x + i + 3 * W, Full{}));
    }
    for (; i + W <= n; i += W) a = greater(a, load(x + i, Full{}));
    if (i < n) b = greater(b, keep(load(x + i, Part{n - i}), lowest, Part{n - i}));
    return across_max(greater(greater(a, b), greater(c, d)));
  }

  // ---- softmax -----------------------------------------------------------------------------------------------------

  static void softmax_row(const T* x, T* y, int64_t n, C* scratch, bool stream) {
    const V max = simd::splat<V>(maximum(x, n));
    C* const e = scratch ? scratch : reinterpret_cast<C*>(y);
    const double total = sum(
        n, [&](int64_t i, auto tag) __attribute__((always_inline)) {
          const V v = exp(load(x + i, tag) - max);
          store(e + i, v, tag);
          return v;
        });
    const V scale = simd::splat<V>(static_cast<C>(1 / total));
    if constexpr (!is_half)
      if (stream && n % W == 0 && reinterpret_cast<uintptr_t>(y) % Bytes == 0) {
        for (int64_t i = 0; i < n; i += W) {
          // The next row is on its way while this one leaves.
          _mm_prefetch(reinterpret_cast<const char*>(x + n + i), _MM_HINT_T0);
          simd::store_stream<Bytes>(y + i, simd::load_raw<V>(e + i) * scale);
        }
        return;
      }
    each(
        n, [&](int64_t i, auto tag) __attribute__((always_inline)) { store(y + i, load_compute(e + i, tag) * scale, tag); });
  }

  static void log_softmax_row(const T* x, T* y, int64_t n) {
    const V max = simd::splat<V>(maximum(x, n));
    const double total = sum(
        n, [&](int64_t i, auto tag) __attribute__((always_inline)) { return exp(load(x + i, tag) - max); });
    const V log_total = simd::splat<V>(log(static_cast<C>(total)));
    each(
        n, [&](int64_t i, auto tag) __attribute__((always_inline)) { store(y + i, (load(x + i, tag) - max) - log_total, tag); });
  }

  static void softmax_rows(const void* x, void* y, int64_t rows, int64_t n, void* scratch, bool log_form, bool stream) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* const from = static_cast<const T*>(x) + r * n;
      T* const to = static_cast<T*>(y) + r * n;
      if (log_form)
        log_softmax_row(from, to, n);
      else
        softmax_row(from, to, n, static_cast<C*>(scratch), stream && scratch);
    }
    if (stream) _mm_sfence();
  }

  static void softmax_columns(const void* x, void* y, int64_t n, int64_t row_stride, int64_t columns, void* scratch, bool log_form) {
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(y);
    C* const e = static_cast<C*>(scratch);
    V max[kStrip / W], total[kStrip / W];
    for (int64_t k = 0; k < kStrip / W; ++k) max[k] = simd::splat<V>(static_cast<C>(-__builtin_huge_val())), total[k] = V{};
    for (int64_t r = 0; r < n; ++r)
      each(
          columns, [&](int64_t c, auto tag)
                       __attribute__((always_inline)) { max[c / W] = greater(max[c / W], load(from + r * row_stride + c, tag)); });
    for (int64_t r = 0; r < n; ++r)
      each(
          columns, [&](int64_t c, auto tag) __attribute__((always_inline)) {
            const V v = exp(load(from + r * row_stride + c, tag) - max[c / W]);
            if (!log_form) simd::store_raw(e + r * kStrip + c, v);
            total[c / W] += v;
          });
    if (log_form) {
      A a;
      for (int64_t k = 0; k * W < columns; ++k) total[k] = ir::math::log(a, total[k]);
      for (int64_t r = 0; r < n; ++r)
        each(
            columns, [&](int64_t c, auto tag) __attribute__((always_inline)) {
              const int64_t at = r * row_stride + c;
              store(to + at, (load(from + at, tag) - max[c / W]) - total[c / W], tag);
            });
      return;
    }
    for (int64_t k = 0; k * W < columns; ++k) total[k] = simd::splat<V>(C{1}) / total[k];
    for (int64_t r = 0; r < n; ++r)
      each(
          columns, [&](int64_t c, auto tag) __attribute__((always_inline)) {
            store(to + r * row_stride + c, simd::load_raw<V>(e + r * kStrip + c) * total[c / W], tag);
          });
  }

  // ---- layer_norm, rms_norm ----------------------------------------------------------------------------------------

  static double mean_of(const T* x, int64_t n) {
    return sum(
               n, [&](int64_t i, auto tag) __attribute__((always_inline)) { return load(x + i, tag); }) /
           static_cast<double>(n);
  }
  static double squares_of(const T* x, int64_t n) {
    return sum(
        n, [&](int64_t i, auto tag) __attribute__((always_inline)) {
          const V v = load(x + i, tag);
          return v * v;
        });
  }

  /// Mean and sum of squared deviations from it. The first mean is rounded, and summed in float: the sum of the deviations from it
  /// says by how much it is off, and that puts both results right.
  /// Of a first estimate of a mean; there is none where that is infinite.
  static double correction(double off) { return __builtin_isfinite(off) ? off : 0; }

  static void exact_moments(const T* x, int64_t n, double* mean, double* m2) {
    const C about = static_cast<C>(mean_of(x, n));
    const V m = simd::splat<V>(about);
    V first{};
    const double squares = sum(
        n, [&](int64_t i, auto tag) __attribute__((always_inline)) {
          const V d = keep(load(x + i, tag) - m, V{}, tag);
          first += d;
          return d * d;
        });
    const double rest = across_sum(first), count = static_cast<double>(n), m2_exact = squares - rest * rest / count;
    *mean = static_cast<double>(about) + correction(rest / count);
    *m2 = m2_exact < 0 ? 0 : m2_exact;
  }

  static void norm_row(const T* x, T* y, int64_t n, const C* weight, const C* bias, double eps, bool rms) {
    double mean = 0, squares;
    if (rms)
      squares = squares_of(x, n);
    else
      exact_moments(x, n, &mean, &squares);
    const double variance = squares / static_cast<double>(n);
    const V m = simd::splat<V>(static_cast<C>(mean)), scale = simd::splat<V>(C{1} / sqrt(static_cast<C>(variance + eps)));
    const auto out = [&](auto has_weight, auto has_bias) __attribute__((always_inline)) {
      each(
          n, [&](int64_t i, auto tag) __attribute__((always_inline)) {
            V v = (load(x + i, tag) - m) * scale;
            if constexpr (has_weight.value) v = v * load_compute(weight + i, tag);
            if constexpr (has_bias.value) v = v + load_compute(bias + i, tag);
            store(y + i, v, tag);
          });
    };
    using Yes = std::true_type;
    using No = std::false_type;
    weight ? (bias ? out(Yes{}, Yes{}) : out(Yes{}, No{})) : (bias ? out(No{}, Yes{}) : out(No{}, No{}));
  }

  static void norm_rows(const void* x, void* y, int64_t rows, int64_t n, const void* weight, const void* bias, double eps, bool rms) {
    for (int64_t r = 0; r < rows; ++r)
      norm_row(static_cast<const T*>(x) + r * n, static_cast<T*>(y) + r * n, n, static_cast<const C*>(weight), static_cast<const C*>(bias),
               eps, rms);
  }

  // ---- moments and affine maps -------------------------------------------------------------------------------------

  static void moments(const void* x, int64_t n, double* mean, double* m2) { exact_moments(static_cast<const T*>(x), n, mean, m2); }

  static void moments_columns(const void* data, int64_t rows, int64_t row_stride, int64_t columns, double* mean, double* m2) {
    const T* const x = static_cast<const T*>(data);
    V m[kStrip / W], first[kStrip / W], squares[kStrip / W];
    for (int64_t k = 0; k < kStrip / W; ++k) m[k] = first[k] = squares[k] = V{};
    for (int64_t r = 0; r < rows; ++r)
      each(
          columns, [&](int64_t c, auto tag) __attribute__((always_inline)) { m[c / W] += load(x + r * row_stride + c, tag); });
    for (int64_t k = 0; k < kStrip / W; ++k) m[k] = m[k] / static_cast<C>(rows);
    for (int64_t r = 0; r < rows; ++r)
      each(
          columns, [&](int64_t c, auto tag) __attribute__((always_inline)) {
            const V d = load(x + r * row_stride + c, tag) - m[c / W];
            first[c / W] += d;
            squares[c / W] += d * d;
          });
    for (int64_t c = 0; c < columns; ++c) {
      const double off = static_cast<double>(first[c / W][c % W]) / static_cast<double>(rows);
      const double s = static_cast<double>(squares[c / W][c % W]) - static_cast<double>(rows) * off * off;
      mean[c] = static_cast<double>(m[c / W][c % W]) + correction(off);
      m2[c] = s < 0 ? 0 : s;
    }
  }

  static void affine(const void* x, void* y, int64_t n, double mean, double scale, double shift) {
    const V m = simd::splat<V>(static_cast<C>(mean)), k = simd::splat<V>(static_cast<C>(scale)), b = simd::splat<V>(static_cast<C>(shift));
    each(
        n, [&](int64_t i, auto tag) __attribute__((always_inline)) {
          store(static_cast<T*>(y) + i, (load(static_cast<const T*>(x) + i, tag) - m) * k + b, tag);
        });
  }

  static void affine_each(const void* x, void* y, int64_t n, const void* mean, const void* scale, const void* shift) {
    each(
        n, [&](int64_t i, auto tag) __attribute__((always_inline)) {
          const V d = load(static_cast<const T*>(x) + i, tag) - load_compute(static_cast<const C*>(mean) + i, tag);
          store(static_cast<T*>(y) + i,
                d * load_compute(static_cast<const C*>(scale) + i, tag) + load_compute(static_cast<const C*>(shift) + i, tag), tag);
        });
  }

  static constexpr Loops loops() { return {softmax_rows, softmax_columns, norm_rows, moments, moments_columns, affine, affine_each}; }
};

template <int Bytes>
Table make_table() {
  Table t{};
  t.loops[static_cast<int>(kFloat16)] = Rows<Bytes, Half>::loops();
  t.loops[static_cast<int>(kBFloat16)] = Rows<Bytes, BFloat16>::loops();
  t.loops[static_cast<int>(kFloat32)] = Rows<Bytes, float>::loops();
  t.loops[static_cast<int>(kFloat64)] = Rows<Bytes, double>::loops();
  return t;
}

}  // namespace tailor::kernels::normalize
