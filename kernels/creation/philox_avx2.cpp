#include <immintrin.h>

#include "kernels/creation/philox_words.h"

namespace tailor::kernels::avx2 {
namespace {

struct Words {
  static constexpr int kWidth = 8;
  __m256i v;
  static Words load(const uint32_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  static Words set(uint32_t x) { return {_mm256_set1_epi32(static_cast<int>(x))}; }
  void store(uint32_t* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  friend Words operator^(Words a, Words b) { return {_mm256_xor_si256(a.v, b.v)}; }
};

inline void multiply(Words a, uint32_t by, Words& high, Words& low) {
  const __m256i m = _mm256_set1_epi32(static_cast<int>(by));
  const __m256i even = _mm256_mul_epu32(a.v, m), odd = _mm256_mul_epu32(_mm256_srli_epi64(a.v, 32), m);
  low.v = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
  high.v = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

}  // namespace

#include "kernels/creation/philox_rounds.h"

}  // namespace tailor::kernels::avx2
