#pragma once
// The folds over vectors of one width. Sums of floats run in several vector accumulators over blocks of kBlock elements (columns:
// kRowBlock rows); what leaves a block is added in double. Included by the per-instruction-set files only.

#include "kernels/reduce/simd.h"
#include "kernels/reduce/table.h"

namespace tailor::kernels::reduce {

using simd::Index;
using simd::Vec;

inline constexpr int64_t kBlock = 4096, kRowBlock = 512;

template <class T>
inline constexpr bool is_real = __is_same(T, float) || __is_same(T, double) || __is_same(T, Half) || __is_same(T, BFloat16);
template <bool Condition, class A, class B>
struct IfElse {
  using type = A;
};
template <class A, class B>
struct IfElse<false, A, B> {
  using type = B;
};
template <bool Condition, class A, class B>
using If = typename IfElse<Condition, A, B>::type;

/// float for the halves; integers: at least 32 bits wide.
template <class T>
using Wide = If<__is_same(T, double), double, If<is_real<T>, float, If<__is_same(T, int64_t), int64_t, int32_t>>>;

// A fold: in which type C it computes on elements of T, what it maps an element to, how two mapped ones combine, and with what it
// starts. `combine` serves vectors and single values. Integers wrap, so sums and products are unsigned.

template <class T>
using UnsignedLike = If<sizeof(T) == 8, uint64_t, If<sizeof(T) == 4, uint32_t, If<sizeof(T) == 2, uint16_t, uint8_t>>>;
template <class V>
struct WrappingOf {
  using type = If<is_real<V>, V, UnsignedLike<V>>;
};
template <class E>
struct BareOf {
  using type = E;
};
template <class E>
struct BareOf<E&> {
  using type = E;
};
template <class E>
struct BareOf<E&&> {  // what clang takes an element of a passing vector for
  using type = E;
};
template <class V>
requires requires(V v) { v[0]; }
struct WrappingOf<V> {
  using Element = typename BareOf<decltype(V{}[0])>::type;
  typedef If<is_real<Element>, Element, UnsignedLike<Element>> type __attribute__((vector_size(sizeof(V))));
};
/// The type in which values of type V are added and multiplied: that of unsigned integers for integers.
template <class V>
using Wrapping = typename WrappingOf<V>::type;

struct SumFold {
  template <class T>
  using Compute = If<is_real<T>, Wide<T>, If<(sizeof(T) < 4), uint32_t, uint64_t>>;
  template <class V>
  [[gnu::always_inline]] static V map(V v) {
    return v;
  }
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return (V)((Wrapping<V>)a + (Wrapping<V>)b);
  }
  template <class C>
  static constexpr C start() {
    return 0;
  }
};

struct ProdFold {
  template <class T>
  using Compute = If<is_real<T>, Wide<T>, uint64_t>;
  template <class V>
  [[gnu::always_inline]] static V map(V v) {
    return v;
  }
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return (V)((Wrapping<V>)a * (Wrapping<V>)b);
  }
  template <class C>
  static constexpr C start() {
    return 1;
  }
};

template <class C>
constexpr C lowest_of() {
  if constexpr (is_real<C>)
    return -__builtin_huge_val();
  else
    return static_cast<C>(C{1} << (sizeof(C) * 8 - 1));
}

struct MaxFold {
  template <class T>
  using Compute = Wide<T>;
  template <class V>
  [[gnu::always_inline]] static V map(V v) {
    return v;
  }
  template <class V>
  [[gnu::always_inline]] static auto better(V a, V b) {
    return (b > a) | (b != b);
  }  // NaN stays and wins
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return better(a, b) ? b : a;
  }
  template <class C>
  static constexpr C start() {
    return lowest_of<C>();
  }
};

struct MinFold {
  template <class T>
  using Compute = Wide<T>;
  template <class V>
  [[gnu::always_inline]] static V map(V v) {
    return v;
  }
  template <class V>
  [[gnu::always_inline]] static auto better(V a, V b) {
    return (b < a) | (b != b);
  }
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return better(a, b) ? b : a;
  }
  template <class C>
  static constexpr C start() {
    if constexpr (is_real<C>)
      return __builtin_huge_val();
    else
      return static_cast<C>(~lowest_of<C>());
  }
};

/// Is any element nonzero.
struct AnyFold {
  template <class T>
  using Compute = Wide<T>;
  template <class V>
  [[gnu::always_inline]] static auto map(V v) {
    return v != V{};
  }
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return a | b;
  }
  template <class C>
  static constexpr C start() {
    return 0;
  }
};
/// Is any element zero: the opposite of all.
struct AnyZeroFold : AnyFold {
  template <class V>
  [[gnu::always_inline]] static auto map(V v) {
    return v == V{};
  }
};

template <int Bytes, class F, class T>
struct Folding {
  using C = typename F::template Compute<T>;
  using V = Vec<C, Bytes>;
  static constexpr bool truth = __is_same(F, AnyFold) || __is_same(F, AnyZeroFold);
  using E = If<truth, Index<C>, C>;  // element of a mapped vector
  using M = Vec<E, Bytes>;
  using A = If<is_real<T> && !truth, double, int64_t>;
  static constexpr int W = simd::VecOf<C, Bytes>::lanes;

  [[gnu::always_inline]] static M load(const T* p) { return (M)F::map(simd::load_as<Bytes, C>(p)); }

  /// The last t < W elements before `end`, of `n` elements that may be read; other lanes do not count.
  [[gnu::always_inline]] static M load_tail(const T* end, int64_t t, int64_t n) {
    const auto lane = simd::iota<Index<C>, Bytes>();
    const M none = simd::splat<M>(F::template start<E>());
    if (n >= W) return (lane >= simd::splat<Vec<Index<C>, Bytes>>(static_cast<Index<C>>(W - t))) ? load(end - W) : none;
    return (lane < simd::splat<Vec<Index<C>, Bytes>>(static_cast<Index<C>>(t))) ? (M)F::map(simd::load_part<Bytes, C>(end - t, t)) : none;
  }

  static A widen(E e) {
    if constexpr (__is_same(E, uint32_t))
      return static_cast<int32_t>(e);
    else if constexpr (truth)
      return e != 0;
    else
      return static_cast<A>(e);
  }
  static A combine(A a, A b) {
    if constexpr (__is_same(A, int64_t) && !truth && !requires { F::better(a, b); })
      return static_cast<int64_t>(F::combine(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
    else
      return F::combine(a, b);
  }
  static A start() { return widen(F::template start<E>()); }

  [[gnu::always_inline]] static A across(M v) {
    return widen(simd::across<Bytes, E>(
        v, []<class X>(X a, X b) __attribute__((always_inline)) { return F::combine(a, b); }));
  }

  /// One block of a row: at most kBlock elements.
  [[gnu::always_inline]] static A block(const T* x, int64_t n) {
    const M none = simd::splat<M>(F::template start<E>());
    M a = none;
    int64_t i = 0;
    if (n >= 4 * W) {
      M b = none, c = none, d = none;
      for (; i + 4 * W <= n; i += 4 * W) {
        a = F::combine(a, load(x + i));
        b = F::combine(b, load(x + i + W));
        c = F::combine(c, load(x + i + 2 * W));
        d = F::combine(d, load(x + i + 3 * W));
      }
      a = F::combine(F::combine(a, b), F::combine(c, d));
    }
    for (; i + W <= n; i += W) a = F::combine(a, load(x + i));
    if (i < n) a = F::combine(a, load_tail(x + n, n - i, n));
    return across(a);
  }

  static A row(const T* x, int64_t n) {
    if (n <= kBlock) return block(x, n);
    A total = start();
    for (int64_t i = 0; i < n; i += kBlock) total = combine(total, block(x + i, n - i < kBlock ? n - i : kBlock));
    return total;
  }

  static void put(Acc& acc, A a) {
    if constexpr (__is_same(A, double))
      acc.real = a;
    else
      acc.whole = a;
  }
  static A get(const Acc& acc) {
    if constexpr (__is_same(A, double))
      return acc.real;
    else
      return acc.whole;
  }

  static void rows(const void* data, int64_t rows, int64_t row_stride, int64_t n, Acc* out) {
    const T* x = static_cast<const T*>(data);
    for (int64_t r = 0; r < rows; ++r, x += row_stride) put(out[r], row(x, n));
  }

  /// Where vector k of a row of `columns` elements starts: the last one ends with the row and overlaps its neighbour.
  [[gnu::always_inline]] static int64_t position(int64_t k, int64_t columns) { return k * W + W <= columns ? k * W : columns - W; }

  static void narrow_columns(const T* x, int64_t rows, int64_t row_stride, int64_t columns, Acc* acc) {
    for (int64_t r0 = 0; r0 < rows; r0 += kRowBlock) {
      M total = simd::splat<M>(F::template start<E>());
      const int64_t end = rows < r0 + kRowBlock ? rows : r0 + kRowBlock;
      for (int64_t r = r0; r < end; ++r) total = F::combine(total, (M)F::map(simd::load_part<Bytes, C>(x + r * row_stride, columns)));
      for (int64_t c = 0; c < columns; ++c) put(acc[c], combine(get(acc[c]), widen(total[c])));
    }
  }

  static void columns(const void* data, int64_t rows, int64_t row_stride, int64_t columns, Acc* acc) {
    const T* x = static_cast<const T*>(data);
    if (columns < W) return narrow_columns(x, rows, row_stride, columns, acc);
    const int64_t vectors = (columns + W - 1) / W;
    M sums[kColumns / W + 1];
    for (int64_t r0 = 0; r0 < rows; r0 += kRowBlock) {
      const int64_t end = rows < r0 + kRowBlock ? rows : r0 + kRowBlock;
      for (int64_t k = 0; k < vectors; ++k) sums[k] = simd::splat<M>(F::template start<E>());
      int64_t r = r0;
      for (; r + 8 <= end; r += 8) {
        const T* const p = x + r * row_stride;
        for (int64_t k = 0; k < vectors; ++k) {
          const T* const q = p + position(k, columns);
          const M a = F::combine(F::combine(load(q), load(q + row_stride)), F::combine(load(q + 2 * row_stride), load(q + 3 * row_stride)));
          const T* const s = q + 4 * row_stride;
          const M b = F::combine(F::combine(load(s), load(s + row_stride)), F::combine(load(s + 2 * row_stride), load(s + 3 * row_stride)));
          sums[k] = F::combine(sums[k], F::combine(a, b));
        }
      }
      for (; r < end; ++r)
        for (int64_t k = 0; k < vectors; ++k) sums[k] = F::combine(sums[k], load(x + r * row_stride + position(k, columns)));
      for (int64_t k = 0; k < vectors; ++k) {
        const int64_t at = position(k, columns);
        if (at == k * W)
          add_wide(acc + at, sums[k]);
        else
          for (int l = static_cast<int>(k * W - at); l < W; ++l) put(acc[at + l], combine(get(acc[at + l]), widen(sums[k][l])));
      }
    }
  }

  /// acc[l] = acc[l] fold v[l], all lanes at once.
  [[gnu::always_inline]] static void add_wide(Acc* acc, M v) {
    typedef A WideV __attribute__((vector_size(W * sizeof(A))));
    WideV wide;
    if constexpr (truth)
      wide = __builtin_convertvector((Vec<Index<C>, Bytes>)(v != M{}), WideV) & 1;
    else if constexpr (__is_same(E, uint32_t))
      wide = __builtin_convertvector((Vec<int32_t, Bytes>)v, WideV);
    else
      wide = __builtin_convertvector(v, WideV);
    simd::store_raw(acc, F::combine(simd::load_raw<WideV>(acc), wide));
  }

  // ---- with indices ------------------------------------------------------------------------------------------------

  static bool better(A a, A b) { return F::better(a, b); }
  static bool is_nan(A a) { return a != a; }

  static bool any_lane(Vec<Index<C>, Bytes> mask) {
    int64_t words[Bytes / 8], any = 0;
    __builtin_memcpy(words, &mask, sizeof words);
    for (int64_t w : words) any |= w;
    return any != 0;
  }

  /// The first index at which the row's block holds `wanted`, which it does.
  static int64_t find(const T* x, int64_t n, A wanted) {
    const V w = simd::splat<V>(static_cast<C>(wanted));
    const bool nan = is_nan(wanted);
    for (int64_t i = 0; i < n; i += W) {
      const V v = n - i < W ? simd::load_part<Bytes, C>(x + i, n - i) : simd::load_as<Bytes, C>(x + i);
      const auto mask = nan ? (Vec<Index<C>, Bytes>)(v != v) : (Vec<Index<C>, Bytes>)(v == w);
      if (!any_lane(mask)) continue;
      for (int l = 0; l < W; ++l)
        if (mask[l]) return i + l;
    }
    return 0;
  }

  static void arg_rows(const void* data, int64_t rows, int64_t row_stride, int64_t n, Acc* out, int64_t* index) {
    const T* x = static_cast<const T*>(data);
    for (int64_t r = 0; r < rows; ++r, x += row_stride) {
      int64_t at = 0;
      A best = block(x, n < kBlock ? n : kBlock);
      for (int64_t i = kBlock; i < n && !is_nan(best); i += kBlock) {
        const A next = block(x + i, n - i < kBlock ? n - i : kBlock);
        if (better(best, next)) best = next, at = i;
      }
      put(out[r], best);
      index[r] = at + find(x + at, n - at < kBlock ? n - at : kBlock, best);
    }
  }

  static void arg_columns(const void* data, int64_t rows, int64_t row_stride, int64_t columns, int64_t first, Acc* acc, int64_t* index) {
    const T* x = static_cast<const T*>(data);
    using I = Vec<Index<C>, Bytes>;
    const int64_t vectors = (columns + W - 1) / W;
    const auto load_at = [&](const T* row, int64_t k) {
      return columns < W ? simd::load_part<Bytes, C>(row, columns) : simd::load_as<Bytes, C>(row + position(k, columns));
    };
    V best[kColumns / W + 1];
    I where[kColumns / W + 1];
    constexpr int64_t kMost = int64_t{1} << 30;  // an index within a stretch fits into 32 bits
    for (int64_t r0 = 0; r0 < rows; r0 += kMost) {
      const int64_t end = rows - r0 < kMost ? rows - r0 : kMost;
      for (int64_t k = 0; k < vectors; ++k) best[k] = load_at(x + r0 * row_stride, k), where[k] = I{};
      // A NaN in `best` stays: nothing is greater, and a later NaN comes too late.
      const auto step = [&](V & b, I & w, const T* row, int64_t k, int64_t r) __attribute__((always_inline)) {
        const V v = load_at(row, k);
        const I take = (I)F::better(b, v) & (I)(b == b);
        b = take ? v : b;
        w = take ? simd::splat<I>(static_cast<Index<C>>(r)) : w;
      };
      int64_t r = 1;
      for (; r + 4 <= end; r += 4) {
        const T* const row = x + (r0 + r) * row_stride;
        for (int64_t k = 0; k < vectors; ++k) {
          V b = best[k];
          I w = where[k];
          for (int64_t u = 0; u < 4; ++u) step(b, w, row + u * row_stride, k, r + u);
          best[k] = b, where[k] = w;
        }
      }
      for (; r < end; ++r)
        for (int64_t k = 0; k < vectors; ++k) step(best[k], where[k], x + (r0 + r) * row_stride, k, r);
      for (int64_t k = 0; k < vectors; ++k) {
        const int64_t at = columns < W ? 0 : position(k, columns);
        for (int64_t l = k * W - at; l < W && at + l < columns; ++l) {
          const A value = widen(best[k][l]), so_far = get(acc[at + l]);
          if (first + r0 > 0 && (is_nan(so_far) || !better(so_far, value))) continue;
          put(acc[at + l], value);
          index[at + l] = first + r0 + where[k][l];
        }
      }
    }
  }
};

template <int Bytes, class T>
void fill_table(Table& t, ScalarType type) {
  const int i = static_cast<int>(type);
  const auto set = [&]<class F>(Fold fold) {
    t.rows[static_cast<int>(fold)][i] = Folding<Bytes, F, T>::rows;
    t.columns[static_cast<int>(fold)][i] = Folding<Bytes, F, T>::columns;
  };
  set.template operator()<SumFold>(Fold::Sum);
  set.template operator()<ProdFold>(Fold::Prod);
  set.template operator()<MaxFold>(Fold::Max);
  set.template operator()<MinFold>(Fold::Min);
  set.template operator()<AnyFold>(Fold::Any);
  set.template operator()<AnyZeroFold>(Fold::All);
  t.arg_rows[0][i] = Folding<Bytes, MaxFold, T>::arg_rows;
  t.arg_rows[1][i] = Folding<Bytes, MinFold, T>::arg_rows;
  t.arg_columns[0][i] = Folding<Bytes, MaxFold, T>::arg_columns;
  t.arg_columns[1][i] = Folding<Bytes, MinFold, T>::arg_columns;
}

template <int Bytes>
Table make_table() {
  Table t{};
  fill_table<Bytes, uint8_t>(t, kUInt8);
  fill_table<Bytes, uint8_t>(t, kBool);
  fill_table<Bytes, int8_t>(t, kInt8);
  fill_table<Bytes, int16_t>(t, kInt16);
  fill_table<Bytes, int32_t>(t, kInt32);
  fill_table<Bytes, int64_t>(t, kInt64);
  fill_table<Bytes, Half>(t, kFloat16);
  fill_table<Bytes, float>(t, kFloat32);
  fill_table<Bytes, double>(t, kFloat64);
  fill_table<Bytes, BFloat16>(t, kBFloat16);
  return t;
}

}  // namespace tailor::kernels::reduce
