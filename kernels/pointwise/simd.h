#pragma once
// The SIMD algebra (ir/algebra.h): one vector of the instruction set that this file is compiled for. Only for *_avx512.cpp,
// *_avx2.cpp and *_sse2.cpp. Several levels live in one binary and must share no weak symbol, else the linker might keep the
// AVX-512 copy for everyone: hence the anonymous namespace, which also makes every formula instantiated over it a local symbol.

#include <immintrin.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "ir/algebra.h"
#include "kernels/pointwise/inner.h"

#define TAILOR_INLINE __attribute__((always_inline)) inline

namespace tailor::kernels {
namespace {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T, int Size>
struct VectorOf {
  typedef T type __attribute__((vector_size(Size)));
};
template <class T>
using Vec = typename VectorOf<T, kVectorBytes>::type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
/// One byte for each lane of Vec<T>.
template <class T>
using Bytes = typename VectorOf<int8_t, kLanes<T>>::type;
/// One 16-bit word for each lane of Vec<float>: half types.
using HalfBits = typename VectorOf<uint16_t, kVectorBytes / 2>::type;

template <int Size>
struct SignedOfSize;
template <>
struct SignedOfSize<1> {
  using type = int8_t;
};
template <>
struct SignedOfSize<2> {
  using type = int16_t;
};
template <>
struct SignedOfSize<4> {
  using type = int32_t;
};
template <>
struct SignedOfSize<8> {
  using type = int64_t;
};
template <class T>
using SignedOf = typename SignedOfSize<sizeof(T)>::type;
template <class T>
using UnsignedOf = std::make_unsigned_t<SignedOf<T>>;

/// The entries of a table as floats, whole vectors of which can be loaded.
struct FloatTable {
  alignas(kVectorBytes) float entries[ir::Table::kEntries];
};
template <const ir::Table& table>
inline constexpr FloatTable kFloatTable = [] {
  FloatTable floats{};
  for (int i = 0; i < ir::Table::kEntries; ++i) floats.entries[i] = static_cast<float>(table.entries[i]);
  return floats;
}();

#if defined(__AVX512F__)
#include "kernels/pointwise/simd_avx512.h"
#else
template <class T>
using MaskOf = Vec<SignedOf<T>>;
#include "kernels/pointwise/simd_vector_masks.h"
#if defined(__AVX2__)
#include "kernels/pointwise/simd_avx2.h"
#else
#include "kernels/pointwise/simd_sse2.h"
#endif
#endif

template <class V>
TAILOR_INLINE V load_vector(const char* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}
template <class V>
TAILOR_INLINE void store_vector(char* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

template <class V>
using ElementOf = std::remove_cvref_t<decltype(std::declval<V>()[0])>;

/// The float64 algebra of as many lanes as Vec<float> has: two vectors.
template <class Base>
struct TwoVectors;

/// Integers wrap: signed lanes are added and multiplied as unsigned ones.
template <class V, bool Integer = std::is_integral_v<ElementOf<V>>>
struct WrappingOf {
  using type = V;
};
template <class V>
struct WrappingOf<V, true> {
  using type = Vec<UnsignedOf<ElementOf<V>>>;
};
template <class V>
using Wrapping = typename WrappingOf<V>::type;

/// T: float, double, int8_t ... int64_t, uint8_t; or bool, which computes as uint8_t 0 and 1.
template <class T>
struct Lanes {
  using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  using Value = Vec<Element>;
  using Int = Vec<SignedOf<Element>>;
  using Mask = MaskOf<Element>;
  static constexpr bool is_float = std::is_floating_point_v<Element>;
  static constexpr ScalarType type() { return scalar_type_of<T>; }

  static TAILOR_INLINE Value lit(double v) {
    if constexpr (is_float)
      return Value{} + static_cast<Element>(v);
    else
      return Value{} + static_cast<Element>(static_cast<int64_t>(v));
  }
  static TAILOR_INLINE Int lit_int(int64_t v) { return Int{} + static_cast<SignedOf<Element>>(v); }

  template <class V>
  static TAILOR_INLINE V add(V x, V y) {
    return (V)((Wrapping<V>)x + (Wrapping<V>)y);
  }
  template <class V>
  static TAILOR_INLINE V sub(V x, V y) {
    return (V)((Wrapping<V>)x - (Wrapping<V>)y);
  }
  template <class V>
  static TAILOR_INLINE V mul(V x, V y) {
    return (V)((Wrapping<V>)x * (Wrapping<V>)y);
  }
  template <class V>
  static TAILOR_INLINE V neg(V x) {
    if constexpr (std::is_floating_point_v<ElementOf<V>>)
      return (V)((Int)x ^ lit_int(std::numeric_limits<SignedOf<Element>>::min()));
    else
      return sub(V{}, x);
  }
  template <class V>
  static TAILOR_INLINE V abs(V x) {
    using E = ElementOf<V>;
    if constexpr (std::is_floating_point_v<E>)
      return (V)((Int)x & lit_int(std::numeric_limits<SignedOf<Element>>::max()));
    else if constexpr (std::is_signed_v<E>)
      return select(lt(x, V{}), sub(V{}, x), x);
    else
      return x;
  }

  static TAILOR_INLINE Value div(Value x, Value y) {
    if constexpr (is_float)
      return x / y;
    else
      return trunc_div(x, y);
  }
  static TAILOR_INLINE Value sqrt(Value x) {
    if constexpr (is_float)
      return vec_sqrt(x);
    else
      return x;
  }
  static TAILOR_INLINE Value fma(Value x, Value y, Value z) {
    if constexpr (is_float)
      return vec_fma(x, y, z);
    else
      return add(mul(x, y), z);
  }
#if defined(__AVX512F__)
  static constexpr bool has_scalef() { return is_float; }
  static TAILOR_INLINE Value scalef(Value x, Value n) {
    if constexpr (is_float)
      return vec_scalef(x, n);
    else
      return x;
  }
#endif
  template <Rounding R>
  static TAILOR_INLINE Value rounded(Value x) {
    if constexpr (is_float)
      return vec_round<R>(x);
    else
      return x;
  }
  static TAILOR_INLINE Value floor(Value x) { return rounded<Rounding::Down>(x); }
  static TAILOR_INLINE Value ceil(Value x) { return rounded<Rounding::Up>(x); }
  static TAILOR_INLINE Value trunc(Value x) { return rounded<Rounding::Zero>(x); }
  static TAILOR_INLINE Value rint(Value x) { return rounded<Rounding::Nearest>(x); }

  // The divisors of lanes that must not reach the division (0 and -1) are replaced first: no level has a vector division of
  // integers, and the scalar one traps.
  template <class V>
  static TAILOR_INLINE V trunc_div(V x, V y) {
    using E = ElementOf<V>;
    if constexpr (std::is_floating_point_v<E>) {
      return x;
    } else {
      V q{};
      for (int i = 0; i < kLanes<E>; ++i) {
        const E d = y[i];
        if constexpr (std::is_signed_v<E>) {
          const bool plain = d != 0 && d != E(-1);
          const E quotient = static_cast<E>(x[i] / (plain ? d : E(1)));
          q[i] = plain ? quotient : d == 0 ? E(0) : static_cast<E>(UnsignedOf<E>(0) - static_cast<UnsignedOf<E>>(x[i]));
        } else {
          q[i] = d != 0 ? static_cast<E>(x[i] / d) : E(0);
        }
      }
      return q;
    }
  }
  template <class V>
  static TAILOR_INLINE V trunc_rem(V x, V y) {
    if constexpr (std::is_floating_point_v<ElementOf<V>>)
      return x;
    else
      return select(eq(y, V{}), V{}, sub(x, mul(trunc_div(x, y), y)));
  }
  template <class V>
  static TAILOR_INLINE V floor_div(V x, V y) {
    if constexpr (std::is_floating_point_v<ElementOf<V>>) {
      return x;
    } else {
      const V quotient = trunc_div(x, y), rest = select(eq(y, V{}), V{}, sub(x, mul(quotient, y)));
      return select(crosses(rest, y), sub(quotient, V{} + 1), quotient);
    }
  }
  template <class V>
  static TAILOR_INLINE V floor_rem(V x, V y) {
    if constexpr (std::is_floating_point_v<ElementOf<V>>) {
      return x;
    } else {
      const V rest = trunc_rem(x, y);
      return select(crosses(rest, y), add(rest, y), rest);
    }
  }

  template <class V>
  static TAILOR_INLINE Mask eq(V x, V y) {
    return compare<Relation::Eq, ElementOf<V>>(x, y);
  }
  template <class V>
  static TAILOR_INLINE Mask ne(V x, V y) {
    return compare<Relation::Ne, ElementOf<V>>(x, y);
  }
  template <class V>
  static TAILOR_INLINE Mask lt(V x, V y) {
    return compare<Relation::Lt, ElementOf<V>>(x, y);
  }
  template <class V>
  static TAILOR_INLINE Mask le(V x, V y) {
    return compare<Relation::Le, ElementOf<V>>(x, y);
  }
  template <class V>
  static TAILOR_INLINE Mask gt(V x, V y) {
    return compare<Relation::Gt, ElementOf<V>>(x, y);
  }
  template <class V>
  static TAILOR_INLINE Mask ge(V x, V y) {
    return compare<Relation::Ge, ElementOf<V>>(x, y);
  }

  static TAILOR_INLINE Mask mask_and(Mask x, Mask y) { return kernels::mask_and<Element>(x, y); }
  static TAILOR_INLINE Mask mask_or(Mask x, Mask y) { return kernels::mask_or<Element>(x, y); }
  static TAILOR_INLINE Mask mask_xor(Mask x, Mask y) { return kernels::mask_xor<Element>(x, y); }
  static TAILOR_INLINE Mask mask_not(Mask x) { return kernels::mask_not<Element>(x); }
  static TAILOR_INLINE Mask mask_lit(bool x) { return kernels::mask_lit<Element>(x); }
  template <class V>
  static TAILOR_INLINE V select(Mask m, V x, V y) {
    return blend<ElementOf<V>>(m, x, y);
  }
  template <class V, class F>
  static TAILOR_INLINE V rare(Mask m, V usual, F&& f) {
    if (any<Element>(m)) [[unlikely]]
      return select(m, f(), usual);
    return usual;
  }

  static TAILOR_INLINE Int bits(Value x) { return (Int)x; }
  static TAILOR_INLINE Value from_bits(Int x) { return (Value)x; }
  static TAILOR_INLINE Int to_int(Value x) { return __builtin_convertvector(x, Int); }
  static TAILOR_INLINE Value from_int(Int x) { return __builtin_convertvector(x, Value); }

  template <class V>
  static TAILOR_INLINE V bit_and(V x, V y) {
    return (V)((Int)x & (Int)y);
  }
  template <class V>
  static TAILOR_INLINE V bit_or(V x, V y) {
    return (V)((Int)x | (Int)y);
  }
  template <class V>
  static TAILOR_INLINE V bit_xor(V x, V y) {
    return (V)((Int)x ^ (Int)y);
  }
  template <class V>
  static TAILOR_INLINE V bit_not(V x) {
    return (V)(~(Int)x);
  }
  template <class V>
  static TAILOR_INLINE V shl(V x, int count) {
    return (V)((Vec<UnsignedOf<Element>>)x << count);
  }
  template <class V>
  static TAILOR_INLINE V shr_arith(V x, int count) {
    return (V)((Int)x >> count);
  }
  template <class V>
  static TAILOR_INLINE V shr_logic(V x, int count) {
    return (V)((Vec<UnsignedOf<Element>>)x >> count);
  }
  static TAILOR_INLINE Value shl_var(Value x, Value count) {
    if constexpr (is_float) {
      return x;
    } else {
      using U = Vec<UnsignedOf<Element>>;
      const Mask valid = compare<Relation::Lt, Element>(count, Value{} + kWidth) & at_least_zero(count);
      const Value shifted = (Value)((U)x << (U)select(valid, count, Value{}));
      return select(valid, shifted, Value{});
    }
  }
  static TAILOR_INLINE Value shr_var(Value x, Value count) {
    if constexpr (is_float) {
      return x;
    } else {
      const Mask valid = compare<Relation::Lt, Element>(count, Value{} + kWidth) & at_least_zero(count);
      const Value all_sign = std::is_signed_v<Element> ? (Value)(x >> (kWidth - 1)) : Value{};
      return select(valid, (Value)(x >> select(valid, count, Value{})), all_sign);
    }
  }

  template <const ir::Table& table>
  static TAILOR_INLINE Value lookup(Int index) {
    if constexpr (std::is_same_v<T, float>)
      return vec_lookup<table>(index);
    else
      return Value{};
  }
  static TAILOR_INLINE Value at_most(Value x, Value limit) {
    if constexpr (is_float)
      return vec_at_most(x, limit);
    else
      return select(lt(limit, x), limit, x);
  }
  static TAILOR_INLINE Value at_least(Value x, Value limit) {
    if constexpr (is_float)
      return vec_at_least(x, limit);
    else
      return select(gt(limit, x), limit, x);
  }

  static TAILOR_INLINE auto wide() {
    if constexpr (std::is_same_v<T, double>)
      return Lanes<double>{};
    else
      return Wide{};
  }
  static TAILOR_INLINE auto to_wide(Value x) {
    if constexpr (std::is_same_v<T, double>)
      return x;
    else
      return Wide::widen(x);
  }
  template <class W>
  static TAILOR_INLINE Value from_wide(W x) {
    if constexpr (std::is_same_v<T, double>)
      return x;
    else
      return Wide::template narrow<Value>(x);
  }

 private:
  // Depends on T, because TwoVectors is defined further down.
  using Wide = TwoVectors<Lanes<std::conditional_t<sizeof(T) == 0, T, double>>>;
  static constexpr Element kWidth = static_cast<Element>(sizeof(Element) * 8);
  template <class V>
  static TAILOR_INLINE Mask at_least_zero(V x) {
    if constexpr (std::is_signed_v<ElementOf<V>>)
      return ge(x, V{});
    else
      return mask_lit(true);
  }
  /// The rest is not zero and has not the sign of the divisor.
  template <class V>
  static TAILOR_INLINE Mask crosses(V rest, V divisor) {
    if constexpr (std::is_signed_v<ElementOf<V>>)
      return mask_and(ne(rest, V{}), lt((V)(rest ^ divisor), V{}));
    else
      return mask_lit(false);
  }
};

template <class V>
struct Two {
  V low, high;
};

template <class Base>
struct TwoVectors {
  using Value = Two<typename Base::Value>;
  using Int = Two<typename Base::Int>;
  using Mask = Two<typename Base::Mask>;
  static constexpr ScalarType type() { return Base::type(); }

  template <class V>
  static TAILOR_INLINE Value widen(V x) {
    if constexpr (std::is_floating_point_v<ElementOf<V>>) {
      using Half = typename VectorOf<ElementOf<V>, sizeof(V) / 2>::type;
      Half low, high;
      __builtin_memcpy(&low, &x, sizeof(Half));
      __builtin_memcpy(&high, reinterpret_cast<const char*>(&x) + sizeof(Half), sizeof(Half));
      return {__builtin_convertvector(low, typename Base::Value), __builtin_convertvector(high, typename Base::Value)};
    } else {
      return Value{};
    }
  }
  template <class V>
  static TAILOR_INLINE V narrow(Value x) {
    if constexpr (std::is_floating_point_v<ElementOf<V>>) {
      using Half = typename VectorOf<ElementOf<V>, sizeof(V) / 2>::type;
      const Half low = __builtin_convertvector(x.low, Half), high = __builtin_convertvector(x.high, Half);
      V result;
      __builtin_memcpy(&result, &low, sizeof(Half));
      __builtin_memcpy(reinterpret_cast<char*>(&result) + sizeof(Half), &high, sizeof(Half));
      return result;
    } else {
      return V{};
    }
  }

  static TAILOR_INLINE Value lit(double v) { return {Base::lit(v), Base::lit(v)}; }
  static TAILOR_INLINE Int lit_int(int64_t v) { return {Base::lit_int(v), Base::lit_int(v)}; }

#define TAILOR_UNARY(name)                              \
  template <class V>                                    \
  static TAILOR_INLINE auto name(V x) {                 \
    return pair(Base::name(x.low), Base::name(x.high)); \
  }
#define TAILOR_BINARY(name)                                            \
  template <class V>                                                   \
  static TAILOR_INLINE auto name(V x, V y) {                           \
    return pair(Base::name(x.low, y.low), Base::name(x.high, y.high)); \
  }
#define TAILOR_SHIFT(name)                                            \
  template <class V>                                                  \
  static TAILOR_INLINE auto name(V x, int count) {                    \
    return pair(Base::name(x.low, count), Base::name(x.high, count)); \
  }
  // clang-format off
  TAILOR_UNARY(neg) TAILOR_UNARY(abs) TAILOR_UNARY(sqrt) TAILOR_UNARY(floor) TAILOR_UNARY(ceil) TAILOR_UNARY(trunc) TAILOR_UNARY(rint)
  TAILOR_UNARY(mask_not) TAILOR_UNARY(bits) TAILOR_UNARY(from_bits) TAILOR_UNARY(to_int) TAILOR_UNARY(from_int) TAILOR_UNARY(bit_not)
  TAILOR_BINARY(add) TAILOR_BINARY(sub) TAILOR_BINARY(mul) TAILOR_BINARY(div) TAILOR_BINARY(trunc_div) TAILOR_BINARY(trunc_rem)
  TAILOR_BINARY(floor_div) TAILOR_BINARY(floor_rem) TAILOR_BINARY(eq) TAILOR_BINARY(ne) TAILOR_BINARY(lt) TAILOR_BINARY(le)
  TAILOR_BINARY(gt) TAILOR_BINARY(ge) TAILOR_BINARY(mask_and) TAILOR_BINARY(mask_or) TAILOR_BINARY(mask_xor) TAILOR_BINARY(bit_and)
  TAILOR_BINARY(bit_or) TAILOR_BINARY(bit_xor) TAILOR_BINARY(shl_var) TAILOR_BINARY(shr_var) TAILOR_SHIFT(shl) TAILOR_SHIFT(shr_arith)
  TAILOR_SHIFT(shr_logic)
#undef TAILOR_UNARY
#undef TAILOR_BINARY
#undef TAILOR_SHIFT

  static TAILOR_INLINE Value fma(Value x, Value y, Value z) { return {Base::fma(x.low, y.low, z.low), Base::fma(x.high, y.high, z.high)}; }
  // clang-format on
#if defined(__AVX512F__)
  static constexpr bool has_scalef() { return Base::has_scalef(); }
  static TAILOR_INLINE Value scalef(Value x, Value n) { return {Base::scalef(x.low, n.low), Base::scalef(x.high, n.high)}; }
#endif
  static TAILOR_INLINE Mask mask_lit(bool x) { return {Base::mask_lit(x), Base::mask_lit(x)}; }
  template <class V>
  static TAILOR_INLINE V select(Mask m, V x, V y) {
    return {Base::select(m.low, x.low, y.low), Base::select(m.high, x.high, y.high)};
  }
  template <class V, class F>
  static TAILOR_INLINE V rare(Mask m, V usual, F&& f) {
    if (any<typename Base::Element>(m.low) || any<typename Base::Element>(m.high)) [[unlikely]]
      return select(m, f(), usual);
    return usual;
  }
  template <const ir::Table&>
  static TAILOR_INLINE Value lookup(Int) {
    return Value{};
  }
  static TAILOR_INLINE Value at_most(Value x, Value limit) { return {Base::at_most(x.low, limit.low), Base::at_most(x.high, limit.high)}; }
  static TAILOR_INLINE Value at_least(Value x, Value limit) {
    return {Base::at_least(x.low, limit.low), Base::at_least(x.high, limit.high)};
  }
  static TAILOR_INLINE TwoVectors wide() { return {}; }
  static TAILOR_INLINE Value to_wide(Value x) { return x; }
  static TAILOR_INLINE Value from_wide(Value x) { return x; }

 private:
  template <class V>
  static TAILOR_INLINE Two<V> pair(V low, V high) {
    return {low, high};
  }
};

}  // namespace
}  // namespace tailor::kernels
