// Primitives of the SIMD algebra on AVX2 with FMA and F16C. Included by simd.h inside its anonymous namespace.

inline constexpr Isa kIsa = Isa::Avx2;
template <class T>
TAILOR_INLINE Vec<T> blend(MaskOf<T> m, Vec<T> x, Vec<T> y) {
  return (Vec<T>)_mm256_blendv_epi8((__m256i)y, (__m256i)x, (__m256i)m);
}
template <class T>
TAILOR_INLINE bool any(MaskOf<T> x) {
  return !_mm256_testz_si256((__m256i)x, (__m256i)x);
}

TAILOR_INLINE Vec<float> vec_sqrt(Vec<float> x) { return (Vec<float>)_mm256_sqrt_ps((__m256)x); }
TAILOR_INLINE Vec<double> vec_sqrt(Vec<double> x) { return (Vec<double>)_mm256_sqrt_pd((__m256d)x); }
TAILOR_INLINE Vec<float> vec_fma(Vec<float> x, Vec<float> y, Vec<float> z) {
  return (Vec<float>)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)z);
}
TAILOR_INLINE Vec<double> vec_fma(Vec<double> x, Vec<double> y, Vec<double> z) {
  return (Vec<double>)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)z);
}

template <const ir::Table& table>
TAILOR_INLINE Vec<float> vec_lookup(Vec<int32_t> index) {
  const float* entries = kFloatTable<table>.entries;
  const __m256 low = _mm256_permutevar8x32_ps(_mm256_load_ps(entries), (__m256i)index);
  const __m256 high = _mm256_permutevar8x32_ps(_mm256_load_ps(entries + 8), (__m256i)index);
  return (Vec<float>)_mm256_blendv_ps(low, high, (__m256)(index << 28));  // bit 3 of the index, where the blend looks
}
// The second operand where either is NaN.
TAILOR_INLINE Vec<float> vec_at_most(Vec<float> x, Vec<float> limit) { return (Vec<float>)_mm256_min_ps((__m256)limit, (__m256)x); }
TAILOR_INLINE Vec<float> vec_at_least(Vec<float> x, Vec<float> limit) { return (Vec<float>)_mm256_max_ps((__m256)limit, (__m256)x); }
TAILOR_INLINE Vec<double> vec_at_most(Vec<double> x, Vec<double> limit) { return (Vec<double>)_mm256_min_pd((__m256d)limit, (__m256d)x); }
TAILOR_INLINE Vec<double> vec_at_least(Vec<double> x, Vec<double> limit) { return (Vec<double>)_mm256_max_pd((__m256d)limit, (__m256d)x); }

enum class Rounding { Nearest = 0, Down = 1, Up = 2, Zero = 3 };
template <Rounding R>
TAILOR_INLINE Vec<float> vec_round(Vec<float> x) {
  return (Vec<float>)_mm256_round_ps((__m256)x, static_cast<int>(R) | 8);
}
template <Rounding R>
TAILOR_INLINE Vec<double> vec_round(Vec<double> x) {
  return (Vec<double>)_mm256_round_pd((__m256d)x, static_cast<int>(R) | 8);
}

TAILOR_INLINE Vec<float> halves_to_floats(HalfBits h) { return (Vec<float>)_mm256_cvtph_ps((__m128i)h); }
TAILOR_INLINE HalfBits floats_to_halves(Vec<float> x) { return (HalfBits)_mm256_cvtps_ph((__m256)x, 8); }
