// GCC's own header reads __m512i __Y = __Y (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "kernels/creation/philox_words.h"

namespace tailor::kernels::avx512 {
namespace {

struct Words {
  static constexpr int kWidth = 16;
  __m512i v;
  static Words load(const uint32_t* p) { return {_mm512_loadu_si512(p)}; }
  static Words set(uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
  void store(uint32_t* p) const { _mm512_storeu_si512(p, v); }
  friend Words operator^(Words a, Words b) { return {_mm512_xor_si512(a.v, b.v)}; }
};

inline void multiply(Words a, uint32_t by, Words& high, Words& low) {
  const __m512i m = _mm512_set1_epi32(static_cast<int>(by));
  const __m512i even = _mm512_mul_epu32(a.v, m), odd = _mm512_mul_epu32(_mm512_srli_epi64(a.v, 32), m);
  low.v = _mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32));
  high.v = _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
}

}  // namespace

#include "kernels/creation/philox_rounds.h"

}  // namespace tailor::kernels::avx512
