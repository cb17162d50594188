#pragma once
// Vectors for the files that are compiled once per instruction set.
//
// Everything here is a template over the register width in bytes (16: SSE2, 32: AVX2, 64: AVX-512), and each width is
// instantiated in one file only: no two instruction sets share a symbol, so the linker cannot mix them up. Such files call no
// inline function of other headers for the same reason.

#include <cstdint>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "runtime/dtype.h"

namespace tailor::kernels::simd {

template <class C, int Bytes>
struct VecOf {
  typedef C type __attribute__((vector_size(Bytes)));
  static constexpr int lanes = Bytes / static_cast<int>(sizeof(C));
};
template <class C, int Bytes>
using Vec = typename VecOf<C, Bytes>::type;

template <class C>
struct IndexOf;
template <>
struct IndexOf<float> {
  using type = int32_t;
};
template <>
struct IndexOf<int32_t> {
  using type = int32_t;
};
template <>
struct IndexOf<uint32_t> {
  using type = int32_t;
};
template <>
struct IndexOf<double> {
  using type = int64_t;
};
template <>
struct IndexOf<int64_t> {
  using type = int64_t;
};
template <>
struct IndexOf<uint64_t> {
  using type = int64_t;
};
/// The signed integer as wide as C: what comparisons of vectors of C give.
template <class C>
using Index = typename IndexOf<C>::type;

template <class To, class From>
[[gnu::always_inline]] inline To bit_cast_to(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <class V, class P>
[[gnu::always_inline]] inline V load_raw(const P* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class P>
[[gnu::always_inline]] inline void store_raw(P* p, V v) {
  __builtin_memcpy(static_cast<void*>(p), &v, sizeof v);
}

/// {0, 1, 2, ...}
template <class C, int Bytes>
[[gnu::always_inline]] inline Vec<C, Bytes> iota() {
  Vec<C, Bytes> v{};
  for (int i = 0; i < VecOf<C, Bytes>::lanes; ++i) v[i] = static_cast<C>(i);
  return v;
}

template <class V, class C>
[[gnu::always_inline]] inline V splat(C c) {
  return V{} + c;
}

/// binary16 to float, exactly, denormals included.
template <int Bytes>
[[gnu::always_inline]] inline Vec<float, Bytes> load_half(const Half* p) {
#if defined(__AVX512F__)
  if constexpr (Bytes == 64) return (Vec<float, Bytes>)_mm512_maskz_cvtph_ps(0xffff, load_raw<__m256i>(p));
#endif
#if defined(__F16C__)
  if constexpr (Bytes == 32) return (Vec<float, Bytes>)_mm256_cvtph_ps(load_raw<__m128i>(p));
#endif
  using U = Vec<uint32_t, Bytes>;
  using F = Vec<float, Bytes>;
  using H = Vec<uint16_t, Bytes / 2>;
  const U h = __builtin_convertvector(load_raw<H>(p), U);
  const U magnitude = (h & 0x7fffu) << 13;
  // A denormal half is a denormal float here; multiplying by 2^112 moves both kinds to their places.
  const F scaled = bit_cast_to<F>(magnitude) * splat<F>(__builtin_bit_cast(float, 0x77800000u));
  const U special = (U)((h & 0x7c00u) == 0x7c00u);
  const U bits = (special & (magnitude | 0x7f800000u)) | (~special & bit_cast_to<U>(scaled));
  return bit_cast_to<F>(bits | (h & 0x8000u) << 16);
}

template <int Bytes>
[[gnu::always_inline]] inline Vec<float, Bytes> load_bfloat16(const BFloat16* p) {
  using U = Vec<uint32_t, Bytes>;
  return bit_cast_to<Vec<float, Bytes>>(__builtin_convertvector(load_raw<Vec<uint16_t, Bytes / 2>>(p), U) << 16);
}

/// A full vector of elements of type T, converted to C.
template <int Bytes, class C, class T>
[[gnu::always_inline]] inline Vec<C, Bytes> load_as(const T* p) {
  if constexpr (__is_same(C, T))
    return load_raw<Vec<C, Bytes>>(p);
  else if constexpr (__is_same(T, Half))
    return load_half<Bytes>(p);
  else if constexpr (__is_same(T, BFloat16))
    return load_bfloat16<Bytes>(p);
  else if constexpr (sizeof(T) == sizeof(C))
    return (Vec<C, Bytes>)load_raw<Vec<T, Bytes>>(p);
  else
    return __builtin_convertvector(load_raw<Vec<T, Bytes / static_cast<int>(sizeof(C) / sizeof(T))>>(p), Vec<C, Bytes>);
}

/// The first `count` elements, fewer than a full vector; nothing beyond is read. The other lanes are zero.
template <int Bytes, class C, class T>
[[gnu::always_inline]] inline Vec<C, Bytes> load_part(const T* p, int64_t count) {
  alignas(Bytes) unsigned char buffer[VecOf<C, Bytes>::lanes * sizeof(T)] = {};
  __builtin_memcpy(buffer, p, static_cast<size_t>(count) * sizeof(T));
  return load_as<Bytes, C>(reinterpret_cast<const T*>(buffer));
}

/// float to binary16 bits, to nearest even, in the low half of each lane.
template <int Bytes>
[[gnu::always_inline]] inline Vec<uint32_t, Bytes> half_bits(Vec<float, Bytes> v) {
  using U = Vec<uint32_t, Bytes>;
  const U x = bit_cast_to<U>(v), sign = (x >> 16) & 0x8000u, magnitude = x & 0x7fffffffu;
  const U normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // Adding 0.5 lets the float unit round at the place where a denormal half ends.
  const U denormal = bit_cast_to<U>(bit_cast_to<Vec<float, Bytes>>(magnitude) + 0.5f) - 0x3f000000u;
  U bits = magnitude < 0x38800000u ? denormal : normal;
  bits = magnitude >= 0x47800000u ? splat<U>(0x7c00u) : bits;
  bits = magnitude > 0x7f800000u ? splat<U>(0x7e00u) : bits;
  return bits | sign;
}

template <int Bytes>
[[gnu::always_inline]] inline void store_half(Half* p, Vec<float, Bytes> v) {
#if defined(__AVX512F__)
  if constexpr (Bytes == 64) return store_raw(p, _mm512_maskz_cvtps_ph(0xffff, (__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
#if defined(__F16C__)
  if constexpr (Bytes == 32) return store_raw(p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
  store_raw(p, __builtin_convertvector(half_bits<Bytes>(v), Vec<uint16_t, Bytes / 2>));
}

template <int Bytes>
[[gnu::always_inline]] inline void store_bfloat16(BFloat16* p, Vec<float, Bytes> v) {
  using U = Vec<uint32_t, Bytes>;
  const U x = bit_cast_to<U>(v);
  const U rounded = (x + 0x7fffu + ((x >> 16) & 1u)) >> 16, nan = (x >> 16) | 0x40u;
  const U bits = (x & 0x7fffffffu) > 0x7f800000u ? nan : rounded;
  store_raw(p, __builtin_convertvector(bits, Vec<uint16_t, Bytes / 2>));
}

/// Stores a full vector as elements of type T: float or double as they are, the half types rounded.
template <int Bytes, class T, class C>
[[gnu::always_inline]] inline void store_as(T* p, Vec<C, Bytes> v) {
  if constexpr (__is_same(C, T))
    store_raw(p, v);
  else if constexpr (__is_same(T, Half))
    store_half<Bytes>(p, v);
  else
    store_bfloat16<Bytes>(p, v);
}

/// Stores the first `count` lanes only.
template <int Bytes, class T, class C>
[[gnu::always_inline]] inline void store_part(T* p, Vec<C, Bytes> v, int64_t count) {
  alignas(Bytes) unsigned char buffer[VecOf<C, Bytes>::lanes * sizeof(T)];
  store_as<Bytes, T, C>(reinterpret_cast<T*>(buffer), v);
  __builtin_memcpy(static_cast<void*>(p), buffer, static_cast<size_t>(count) * sizeof(T));
}

}  // namespace tailor::kernels::simd
