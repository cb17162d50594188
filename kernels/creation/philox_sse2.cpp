#include <emmintrin.h>

#include "kernels/creation/philox_words.h"

namespace tailor::kernels::sse2 {
namespace {

struct Words {
  static constexpr int kWidth = 4;
  __m128i v;
  static Words load(const uint32_t* p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
  static Words set(uint32_t x) { return {_mm_set1_epi32(static_cast<int>(x))}; }
  void store(uint32_t* p) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
  friend Words operator^(Words a, Words b) { return {_mm_xor_si128(a.v, b.v)}; }
};

inline void multiply(Words a, uint32_t by, Words& high, Words& low) {
  const __m128i m = _mm_set1_epi32(static_cast<int>(by)), keep_low = _mm_set1_epi64x(0xffffffff);
  const __m128i even = _mm_mul_epu32(a.v, m), odd = _mm_mul_epu32(_mm_srli_epi64(a.v, 32), m);
  low.v = _mm_or_si128(_mm_and_si128(even, keep_low), _mm_slli_epi64(odd, 32));
  high.v = _mm_or_si128(_mm_srli_epi64(even, 32), _mm_andnot_si128(keep_low, odd));
}

}  // namespace

#include "kernels/creation/philox_rounds.h"

}  // namespace tailor::kernels::sse2
