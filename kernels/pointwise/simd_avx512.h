// Primitives of the SIMD algebra on AVX-512 (F, BW, DQ, VL). Included by simd.h inside its anonymous namespace.

inline constexpr Isa kIsa = Isa::Avx512;

// ---- masks: one bit a lane ----------------------------------------------------------------------------------------

template <int Lanes>
struct MaskBits;
template <>
struct MaskBits<8> {
  using type = __mmask8;
};
template <>
struct MaskBits<16> {
  using type = __mmask16;
};
template <>
struct MaskBits<32> {
  using type = __mmask32;
};
template <>
struct MaskBits<64> {
  using type = __mmask64;
};
template <class T>
using MaskOf = typename MaskBits<kVectorBytes / sizeof(T)>::type;

enum class Relation { Eq, Ne, Lt, Le, Gt, Ge };

template <Relation R, class T>
TAILOR_INLINE MaskOf<T> compare(Vec<T> x, Vec<T> y) {
  constexpr int as_float = R == Relation::Eq   ? _CMP_EQ_OQ
                           : R == Relation::Ne ? _CMP_NEQ_UQ
                           : R == Relation::Lt ? _CMP_LT_OQ
                           : R == Relation::Le ? _CMP_LE_OQ
                           : R == Relation::Gt ? _CMP_GT_OQ
                                               : _CMP_GE_OQ;
  constexpr int as_int = R == Relation::Eq   ? _MM_CMPINT_EQ
                         : R == Relation::Ne ? _MM_CMPINT_NE
                         : R == Relation::Lt ? _MM_CMPINT_LT
                         : R == Relation::Le ? _MM_CMPINT_LE
                         : R == Relation::Gt ? _MM_CMPINT_NLE
                                             : _MM_CMPINT_NLT;
  if constexpr (std::is_same_v<T, float>) return _mm512_cmp_ps_mask((__m512)x, (__m512)y, as_float);
  if constexpr (std::is_same_v<T, double>) return _mm512_cmp_pd_mask((__m512d)x, (__m512d)y, as_float);
  if constexpr (std::is_same_v<T, uint8_t>) return _mm512_cmp_epu8_mask((__m512i)x, (__m512i)y, as_int);
  if constexpr (std::is_same_v<T, int8_t>) return _mm512_cmp_epi8_mask((__m512i)x, (__m512i)y, as_int);
  if constexpr (std::is_same_v<T, int16_t>) return _mm512_cmp_epi16_mask((__m512i)x, (__m512i)y, as_int);
  if constexpr (std::is_same_v<T, int32_t>) return _mm512_cmp_epi32_mask((__m512i)x, (__m512i)y, as_int);
  if constexpr (std::is_same_v<T, int64_t>) return _mm512_cmp_epi64_mask((__m512i)x, (__m512i)y, as_int);
}

template <class T>
TAILOR_INLINE Vec<T> blend(MaskOf<T> m, Vec<T> x, Vec<T> y) {
  if constexpr (std::is_same_v<T, float>)
    return (Vec<T>)_mm512_mask_blend_ps(m, (__m512)y, (__m512)x);
  else if constexpr (std::is_same_v<T, double>)
    return (Vec<T>)_mm512_mask_blend_pd(m, (__m512d)y, (__m512d)x);
  else if constexpr (sizeof(T) == 1)
    return (Vec<T>)_mm512_mask_blend_epi8(m, (__m512i)y, (__m512i)x);
  else if constexpr (sizeof(T) == 2)
    return (Vec<T>)_mm512_mask_blend_epi16(m, (__m512i)y, (__m512i)x);
  else if constexpr (sizeof(T) == 4)
    return (Vec<T>)_mm512_mask_blend_epi32(m, (__m512i)y, (__m512i)x);
  else
    return (Vec<T>)_mm512_mask_blend_epi64(m, (__m512i)y, (__m512i)x);
}

template <class T>
TAILOR_INLINE MaskOf<T> mask_and(MaskOf<T> x, MaskOf<T> y) {
  return static_cast<MaskOf<T>>(x & y);
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_or(MaskOf<T> x, MaskOf<T> y) {
  return static_cast<MaskOf<T>>(x | y);
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_xor(MaskOf<T> x, MaskOf<T> y) {
  return static_cast<MaskOf<T>>(x ^ y);
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_not(MaskOf<T> x) {
  return static_cast<MaskOf<T>>(~x);
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_lit(bool x) {
  return x ? static_cast<MaskOf<T>>(-1) : MaskOf<T>{};
}
template <class T>
TAILOR_INLINE bool any(MaskOf<T> x) {
  return x != 0;
}

/// A mask from and to one byte a lane.
template <class T>
TAILOR_INLINE MaskOf<T> mask_from_bytes(const Bytes<T>& bytes) {
  if constexpr (sizeof(T) == 1)
    return _mm512_test_epi8_mask((__m512i)bytes, (__m512i)bytes);
  else if constexpr (sizeof(T) == 2)
    return _mm256_test_epi8_mask((__m256i)bytes, (__m256i)bytes);
  else if constexpr (sizeof(T) == 4)
    return _mm_test_epi8_mask((__m128i)bytes, (__m128i)bytes);
  else {
    const __m128i wide = _mm_cvtsi64_si128((long long)bytes);
    return static_cast<MaskOf<T>>(_mm_test_epi8_mask(wide, wide));
  }
}
template <class T>
TAILOR_INLINE Bytes<T> mask_to_bytes(MaskOf<T> m) {
  if constexpr (sizeof(T) == 1)
    return (Bytes<T>)_mm512_maskz_set1_epi8(m, 1);
  else if constexpr (sizeof(T) == 2)
    return (Bytes<T>)_mm256_maskz_set1_epi8(m, 1);
  else if constexpr (sizeof(T) == 4)
    return (Bytes<T>)_mm_maskz_set1_epi8(m, 1);
  else
    return (Bytes<T>)_mm_cvtsi128_si64(_mm_maskz_set1_epi8(m, 1));
}

// ---- memory -------------------------------------------------------------------------------------------------------

/// The first `bytes` (1 to Size - 1) of a vector; the others are zero, and are not touched.
template <class V>
TAILOR_INLINE V load_part(const char* p, int64_t bytes) {
  if constexpr (sizeof(V) == 64)
    return (V)_mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, static_cast<unsigned>(bytes)), p);
  else if constexpr (sizeof(V) == 32)
    return (V)_mm256_maskz_loadu_epi8(_bzhi_u32(~0u, static_cast<unsigned>(bytes)), p);
  else if constexpr (sizeof(V) == 16)
    return (V)_mm_maskz_loadu_epi8(static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(bytes))), p);
  else
    return (V)_mm_cvtsi128_si64(_mm_maskz_loadu_epi8(static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(bytes))), p));
}
template <class V>
TAILOR_INLINE void store_part(char* p, V v, int64_t bytes) {
  if constexpr (sizeof(V) == 64)
    _mm512_mask_storeu_epi8(p, _bzhi_u64(~0ull, static_cast<unsigned>(bytes)), (__m512i)v);
  else if constexpr (sizeof(V) == 32)
    _mm256_mask_storeu_epi8(p, _bzhi_u32(~0u, static_cast<unsigned>(bytes)), (__m256i)v);
  else if constexpr (sizeof(V) == 16)
    _mm_mask_storeu_epi8(p, static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(bytes))), (__m128i)v);
  else
    _mm_mask_storeu_epi8(p, static_cast<__mmask16>(_bzhi_u32(~0u, static_cast<unsigned>(bytes))), _mm_cvtsi64_si128((long long)v));
}

// ---- floating point -----------------------------------------------------------------------------------------------

// The masked forms: g++ 12 takes the undefined merge operand of the plain ones for a use of an uninitialised value.
inline constexpr unsigned short kAll = 0xffff;

TAILOR_INLINE Vec<float> vec_sqrt(Vec<float> x) { return (Vec<float>)_mm512_mask_sqrt_ps((__m512)x, kAll, (__m512)x); }
TAILOR_INLINE Vec<double> vec_sqrt(Vec<double> x) {
  return (Vec<double>)_mm512_mask_sqrt_pd((__m512d)x, static_cast<__mmask8>(kAll), (__m512d)x);
}
TAILOR_INLINE Vec<float> vec_fma(Vec<float> x, Vec<float> y, Vec<float> z) {
  return (Vec<float>)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)z);
}
TAILOR_INLINE Vec<double> vec_fma(Vec<double> x, Vec<double> y, Vec<double> z) {
  return (Vec<double>)_mm512_fmadd_pd((__m512d)x, (__m512d)y, (__m512d)z);
}
TAILOR_INLINE Vec<float> vec_scalef(Vec<float> x, Vec<float> n) {
  return (Vec<float>)_mm512_mask_scalef_ps((__m512)x, kAll, (__m512)x, (__m512)n);
}
TAILOR_INLINE Vec<double> vec_scalef(Vec<double> x, Vec<double> n) {
  return (Vec<double>)_mm512_mask_scalef_pd((__m512d)x, static_cast<__mmask8>(kAll), (__m512d)x, (__m512d)n);
}

template <const ir::Table& table>
TAILOR_INLINE Vec<float> vec_lookup(Vec<int32_t> index) {
  return (Vec<float>)_mm512_maskz_permutexvar_ps(kAll, (__m512i)index, _mm512_load_ps(kFloatTable<table>.entries));
}
// The second operand where either is NaN.
TAILOR_INLINE Vec<float> vec_at_most(Vec<float> x, Vec<float> limit) {
  return (Vec<float>)_mm512_maskz_min_ps(kAll, (__m512)limit, (__m512)x);
}
TAILOR_INLINE Vec<float> vec_at_least(Vec<float> x, Vec<float> limit) {
  return (Vec<float>)_mm512_maskz_max_ps(kAll, (__m512)limit, (__m512)x);
}
TAILOR_INLINE Vec<double> vec_at_most(Vec<double> x, Vec<double> limit) {
  return (Vec<double>)_mm512_maskz_min_pd(static_cast<__mmask8>(kAll), (__m512d)limit, (__m512d)x);
}
TAILOR_INLINE Vec<double> vec_at_least(Vec<double> x, Vec<double> limit) {
  return (Vec<double>)_mm512_maskz_max_pd(static_cast<__mmask8>(kAll), (__m512d)limit, (__m512d)x);
}

enum class Rounding { Nearest = 0, Down = 1, Up = 2, Zero = 3 };
template <Rounding R>
TAILOR_INLINE Vec<float> vec_round(Vec<float> x) {
  return (Vec<float>)_mm512_mask_roundscale_ps((__m512)x, kAll, (__m512)x, static_cast<int>(R) | 8);
}
template <Rounding R>
TAILOR_INLINE Vec<double> vec_round(Vec<double> x) {
  return (Vec<double>)_mm512_mask_roundscale_pd((__m512d)x, static_cast<__mmask8>(kAll), (__m512d)x, static_cast<int>(R) | 8);
}

TAILOR_INLINE Vec<float> halves_to_floats(HalfBits h) { return (Vec<float>)_mm512_maskz_cvtph_ps(kAll, (__m256i)h); }
TAILOR_INLINE HalfBits floats_to_halves(Vec<float> x) { return (HalfBits)_mm512_maskz_cvtps_ph(kAll, (__m512)x, 8); }
