#pragma once
// Vectors for the files that are compiled once per instruction set.
//
// Everything here is a template over the register width in bytes (16: SSE2, 32: AVX2, 64: AVX-512), and each width is
// instantiated in one file only: no two instruction sets share a symbol, so the linker cannot mix them up. Such files call no
// inline function of other headers for the same reason.

#include <cstdint>

#include <immintrin.h>

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

/// How elements of type T lie in memory: the half types as 16-bit words.
template <class T>
struct WordOf {
  using type = T;
};
template <>
struct WordOf<Half> {
  using type = uint16_t;
};
template <>
struct WordOf<BFloat16> {
  using type = uint16_t;
};
/// As many elements of T as Vec<C> has lanes, unconverted.
template <int Bytes, class C, class T>
using Raw = Vec<typename WordOf<T>::type, VecOf<C, Bytes>::lanes* static_cast<int>(sizeof(T))>;

/// binary16 to float, exactly, denormals included.
template <int Bytes>
[[gnu::always_inline]] inline Vec<float, Bytes> from_half(Vec<uint16_t, Bytes / 2> half) {
#if defined(__AVX512F__)
  if constexpr (Bytes == 64) return (Vec<float, Bytes>)_mm512_maskz_cvtph_ps(0xffff, (__m256i)half);
#endif
#if defined(__F16C__)
  if constexpr (Bytes == 32) return (Vec<float, Bytes>)_mm256_cvtph_ps((__m128i)half);
#endif
  using U = Vec<uint32_t, Bytes>;
  using F = Vec<float, Bytes>;
  const U h = __builtin_convertvector(half, U);
  const U magnitude = (h & 0x7fffu) << 13;
  // A denormal half is a denormal float here; multiplying by 2^112 moves both kinds to their places.
  const F scaled = bit_cast_to<F>(magnitude) * splat<F>(__builtin_bit_cast(float, 0x77800000u));
  const U special = (U)((h & 0x7c00u) == 0x7c00u);
  const U bits = (special & (magnitude | 0x7f800000u)) | (~special & bit_cast_to<U>(scaled));
  return bit_cast_to<F>(bits | (h & 0x8000u) << 16);
}

/// Bytes to lanes of 4: what the compiler makes of a conversion by steps is several times slower.
template <int Bytes, class C, class T>
[[gnu::always_inline]] inline Vec<C, Bytes> from_bytes(Raw<Bytes, C, T> raw) {
#if defined(__AVX512F__)
  if constexpr (Bytes == 64 && sizeof(C) == 4)
    return (Vec<C, Bytes>)(__is_same(T, uint8_t) ? _mm512_maskz_cvtepu8_epi32(0xffff, (__m128i)raw)
                                                 : _mm512_maskz_cvtepi8_epi32(0xffff, (__m128i)raw));
#endif
#if defined(__AVX2__)
  if constexpr (Bytes == 32 && sizeof(C) == 4) {
    const __m128i low = _mm_cvtsi64_si128(bit_cast_to<int64_t>(raw));
    return (Vec<C, Bytes>)(__is_same(T, uint8_t) ? _mm256_cvtepu8_epi32(low) : _mm256_cvtepi8_epi32(low));
  }
#endif
  return __builtin_convertvector(raw, Vec<C, Bytes>);
}

template <int Bytes, class C, class T>
[[gnu::always_inline]] inline Vec<C, Bytes> convert(Raw<Bytes, C, T> raw) {
  if constexpr (__is_same(T, Half))
    return from_half<Bytes>(raw);
  else if constexpr (__is_same(T, BFloat16))
    return bit_cast_to<Vec<float, Bytes>>(__builtin_convertvector(raw, Vec<uint32_t, Bytes>) << 16);
  else if constexpr (sizeof(T) == sizeof(C))
    return (Vec<C, Bytes>)raw;
  else if constexpr (sizeof(T) == 1)
    return from_bytes<Bytes, C, T>(raw);
  else
    return __builtin_convertvector(raw, Vec<C, Bytes>);
}

/// A full vector of elements of type T, converted to C.
template <int Bytes, class C, class T>
[[gnu::always_inline]] inline Vec<C, Bytes> load_as(const T* p) {
  return convert<Bytes, C, T>(load_raw<Raw<Bytes, C, T>>(p));
}

/// The first `count` elements, fewer than a full vector; nothing beyond is read. The other lanes are zero.
template <int Bytes, class C, class T>
[[gnu::always_inline]] inline Vec<C, Bytes> load_part(const T* p, int64_t count) {
  using R = Raw<Bytes, C, T>;
#if defined(__AVX512BW__)
  if constexpr (Bytes == 64) {
    const uint64_t mask = _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(count * static_cast<int64_t>(sizeof(T))));
    if constexpr (sizeof(R) == 64)
      return convert<Bytes, C, T>((R)_mm512_maskz_loadu_epi8(mask, p));
    else if constexpr (sizeof(R) == 32)
      return convert<Bytes, C, T>((R)_mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), p));
    else if constexpr (sizeof(R) == 16)
      return convert<Bytes, C, T>((R)_mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), p));
    else
      return convert<Bytes, C, T>(bit_cast_to<R>(_mm_cvtsi128_si64(_mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), p))));
  }
#elif defined(__AVX2__)
  if constexpr (Bytes == 32 && sizeof(T) == 4) {
    const auto mask = iota<int32_t, Bytes>() < splat<Vec<int32_t, Bytes>>(static_cast<int32_t>(count));
    if constexpr (sizeof(R) == 32) return convert<Bytes, C, T>((R)_mm256_maskload_epi32(reinterpret_cast<const int*>(p), (__m256i)mask));
  }
  if constexpr (Bytes == 32 && sizeof(T) == 8) {
    const auto mask = iota<int64_t, Bytes>() < splat<Vec<int64_t, Bytes>>(count);
    return convert<Bytes, C, T>((R)_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), (__m256i)mask));
  }
#endif
  alignas(Bytes) unsigned char buffer[sizeof(R)] = {};
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
#if defined(__AVX512BW__)
  if constexpr (Bytes == 64 && sizeof(T) == sizeof(C)) {
    const uint64_t mask = _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(count * static_cast<int64_t>(sizeof(T))));
    return _mm512_mask_storeu_epi8(p, mask, (__m512i)v);
  }
#endif
  alignas(Bytes) unsigned char buffer[VecOf<C, Bytes>::lanes * sizeof(T)];
  store_as<Bytes, T, C>(reinterpret_cast<T*>(buffer), v);
  __builtin_memcpy(static_cast<void*>(p), buffer, static_cast<size_t>(count) * sizeof(T));
}

/// Stores past the caches; `p` is aligned to the vector.
template <int Bytes, class C>
[[gnu::always_inline]] inline void store_stream(C* p, Vec<C, Bytes> v) {
#if defined(__AVX512F__)
  if constexpr (Bytes == 64) return _mm512_stream_si512(reinterpret_cast<__m512i*>(p), (__m512i)v);
#endif
#if defined(__AVX2__)
  if constexpr (Bytes == 32) return _mm256_stream_si256(reinterpret_cast<__m256i*>(p), (__m256i)v);
#endif
  if constexpr (Bytes == 16) _mm_stream_si128(reinterpret_cast<__m128i*>(p), (__m128i)v);
}

/// All lanes combined, by halves.
template <int Bytes, class C, class F>
[[gnu::always_inline]] inline C across(Vec<C, Bytes> v, F&& combine) {
  if constexpr (Bytes == sizeof(C)) {
    return v[0];
  } else if constexpr (Bytes == 2 * sizeof(C)) {
    return combine(C{v[0]}, C{v[1]});
  } else {
    struct Halves {
      Vec<C, Bytes / 2> low, high;
    };
    const Halves h = __builtin_bit_cast(Halves, v);
    return across<Bytes / 2, C>(combine(h.low, h.high), combine);
  }
}

}  // namespace tailor::kernels::simd
