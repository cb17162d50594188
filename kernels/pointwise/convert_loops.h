#pragma once
// Conversion between dtypes for the instruction set at hand (ir::convert says what it means). Only for convert_<isa>.cpp.

#include "kernels/pointwise/simd.h"

namespace tailor::kernels {
namespace {

template <class T, int Count>
using Short = typename VectorOf<T, Count* static_cast<int>(sizeof(T))>::type;

/// The scalar conversion of one out-of-range float: by way of int64, whose own overflow is INT64_MIN.
template <class To>
TAILOR_INLINE To narrow_one(float x) {
  return static_cast<To>(_mm_cvttss_si64(_mm_set_ss(x)));
}
template <class To>
TAILOR_INLINE To narrow_one(double x) {
  return static_cast<To>(_mm_cvttsd_si64(_mm_set_sd(x)));
}

/// Truncates to int32; lanes that do not fit give INT32_MIN.
template <int Count>
TAILOR_INLINE Short<int32_t, Count> truncate_to_int32(Short<float, Count> x) {
#if defined(__AVX512F__)
  if constexpr (Count == 16) return (Short<int32_t, Count>)_mm512_maskz_cvttps_epi32(0xffff, (__m512)x);
#endif
#if defined(__AVX2__)
  if constexpr (Count == 8) return (Short<int32_t, Count>)_mm256_cvttps_epi32((__m256)x);
#endif
  if constexpr (Count == 4) return (Short<int32_t, Count>)_mm_cvttps_epi32((__m128)x);
}
template <int Count>
TAILOR_INLINE Short<int32_t, Count> truncate_to_int32(Short<double, Count> x) {
#if defined(__AVX512F__)
  if constexpr (Count == 8) return (Short<int32_t, Count>)_mm512_maskz_cvttpd_epi32(0xff, (__m512d)x);
#endif
#if defined(__AVX2__)
  if constexpr (Count == 4) return (Short<int32_t, Count>)_mm256_cvttpd_epi32((__m256d)x);
#endif
  if constexpr (Count == 2) {
    const __m128i both = _mm_cvttpd_epi32((__m128d)x);
    Short<int32_t, Count> result;
    __builtin_memcpy(&result, &both, sizeof(result));
    return result;
  }
}

template <class From, class To>
inline constexpr int kConvertLanes = kVectorBytes / static_cast<int>(std::max(sizeof(From), sizeof(To)));

template <class From, class To, int Count>
TAILOR_INLINE Short<To, Count> convert_lanes(Short<From, Count> x) {
  if constexpr (!std::is_floating_point_v<From> || std::is_floating_point_v<To>) {
    if constexpr (std::is_floating_point_v<To> && sizeof(From) < 4)
      return __builtin_convertvector(__builtin_convertvector(x, Short<int32_t, Count>), Short<To, Count>);
    else
      return __builtin_convertvector(x, Short<To, Count>);
  } else if constexpr (sizeof(To) == 8) {
#if defined(__AVX512F__)
    if constexpr (sizeof(From) == 8)
      return (Short<To, Count>)_mm512_maskz_cvttpd_epi64(0xff, (__m512d)x);
    else
      return (Short<To, Count>)_mm512_maskz_cvttps_epi64(0xff, (__m256)x);
#else
    Short<To, Count> result{};
    for (int i = 0; i < Count; ++i) result[i] = narrow_one<To>(static_cast<From>(x[i]));
    return result;
#endif
  } else {
    const Short<int32_t, Count> near = truncate_to_int32<Count>(x);
    Short<To, Count> result = __builtin_convertvector(near, Short<To, Count>);
    int32_t outside = 0;
    for (int i = 0; i < Count; ++i) outside |= near[i] == std::numeric_limits<int32_t>::min();
    if (outside) [[unlikely]] {
      for (int i = 0; i < Count; ++i) result[i] = narrow_one<To>(static_cast<From>(x[i]));
    }
    return result;
  }
}

// Truth values are bytes of 0 and 1: bool is read as uint8.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class From, class To>
void convert_loop(const char* from, char* to, int64_t n) {
  static constexpr int kCount = kConvertLanes<From, To>;
  using F = Short<Stored<From>, kCount>;
  const auto apply = [](F x) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<To, bool>) {
      const auto is_set = x != F{};
      return __builtin_convertvector(is_set, Short<int8_t, kCount>) & (Short<int8_t, kCount>{} + 1);
    } else {
      return convert_lanes<Stored<From>, To, kCount>(x);
    }
  };
  for (; n >= kCount; n -= kCount) {
    const auto result = apply(load_vector<F>(from));
    store_vector(to, result);
    from += sizeof(F);
    to += sizeof(result);
  }
  if (n > 0) {
    const auto result = apply(load_part<F>(from, n * static_cast<int64_t>(sizeof(From))));
    store_part(to, result, n * static_cast<int64_t>(sizeof(To)));
  }
}

// ---- half types: to and from float --------------------------------------------------------------------------------

TAILOR_INLINE Vec<float> bfloats_to_floats(HalfBits h) { return (Vec<float>)(__builtin_convertvector(h, Vec<uint32_t>) << 16); }
// Integer code on every level: the hardware's conversion flushes denormals.
TAILOR_INLINE HalfBits floats_to_bfloats(Vec<float> x) {
  const Vec<uint32_t> bits = (Vec<uint32_t>)x;
  const Vec<uint32_t> rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const Vec<uint32_t> quiet = (bits >> 16) | 0x40u;
  const auto nan = compare<Relation::Ne, float>(x, x);
  return __builtin_convertvector((Vec<uint32_t>)blend<float>(nan, (Vec<float>)quiet, (Vec<float>)rounded), HalfBits);
}

template <class H>
void halves_to_floats_loop(const char* from, char* to, int64_t n) {
  const auto apply = [](HalfBits h) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<H, Half>)
      return halves_to_floats(h);
    else
      return bfloats_to_floats(h);
  };
  for (; n >= kLanes<float>; n -= kLanes<float>, from += sizeof(HalfBits), to += kVectorBytes)
    store_vector(to, apply(load_vector<HalfBits>(from)));
  if (n > 0) store_part(to, apply(load_part<HalfBits>(from, n * 2)), n * 4);
}
template <class H>
void floats_to_halves_loop(const char* from, char* to, int64_t n) {
  const auto apply = [](Vec<float> x) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<H, Half>)
      return floats_to_halves(x);
    else
      return floats_to_bfloats(x);
  };
  for (; n >= kLanes<float>; n -= kLanes<float>, from += kVectorBytes, to += sizeof(HalfBits))
    store_vector(to, apply(load_vector<Vec<float>>(from)));
  if (n > 0) store_part(to, apply(load_part<Vec<float>>(from, n * 4)), n * 2);
}

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <class From, class To>
constexpr ConvertLoop choose_convert_loop();

/// Half types meet every other type by way of float.
template <class From, class To>
void convert_through_float(const char* from, char* to, int64_t n) {
  static constexpr int64_t kBlock = 256;
  alignas(64) char floats[kBlock * 4];
  constexpr ConvertLoop first = choose_convert_loop<From, float>(), second = choose_convert_loop<float, To>();
  while (n > 0) {
    const int64_t count = n < kBlock ? n : kBlock;
    first(from, floats, count);
    second(floats, to, count);
    from += count * static_cast<int64_t>(sizeof(From));
    to += count * static_cast<int64_t>(sizeof(To));
    n -= count;
  }
}

template <class From, class To>
constexpr ConvertLoop choose_convert_loop() {
  if constexpr (std::is_same_v<From, To>)
    return nullptr;
  else if constexpr (kIsHalf<From> && std::is_same_v<To, float>)
    return halves_to_floats_loop<From>;
  else if constexpr (std::is_same_v<From, float> && kIsHalf<To>)
    return floats_to_halves_loop<To>;
  else if constexpr (kIsHalf<From> || kIsHalf<To>)
    return convert_through_float<From, To>;
  else
    return convert_loop<From, To>;
}

constexpr ConvertTable make_convert_table() {
  ConvertTable table{};
  const auto each = []<class F>(F&& f) {
    f.template operator()<uint8_t>();
    f.template operator()<int8_t>();
    f.template operator()<int16_t>();
    f.template operator()<int32_t>();
    f.template operator()<int64_t>();
    f.template operator()<Half>();
    f.template operator()<float>();
    f.template operator()<double>();
    f.template operator()<bool>();
    f.template operator()<BFloat16>();
  };
  each([&]<class From>() {
    each([&]<class To>() {
      table.loops[static_cast<int>(scalar_type_of<From>)][static_cast<int>(scalar_type_of<To>)] = choose_convert_loop<From, To>();
    });
  });
  return table;
}
constexpr ConvertTable kConvertTable = make_convert_table();

}  // namespace

template <>
const ConvertTable& convert_table<kIsa>() {
  return kConvertTable;
}

}  // namespace tailor::kernels
