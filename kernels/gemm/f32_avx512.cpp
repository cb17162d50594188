#include <immintrin.h>

#include "kernels/gemm/micro_kernel.h"

namespace tailor::kernels::gemm {
namespace {

struct Avx512F32 {
  using T = float;
  using V = __m512;
  static constexpr int lanes = 16, rows = 14;
  static constexpr bool wide_registers = true, has_transpose = true;
  static V zero() { return _mm512_setzero_ps(); }
  static __mmask16 first(int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static V load_first(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static void store_first(float* p, V v, int64_t n) { _mm512_mask_storeu_ps(p, first(n), v); }
  static V set(float x) { return _mm512_set1_ps(x); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(V v) {
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    const __m128 d = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
  }
  static float to_float(Half h) { return _cvtsh_ss(h.bits); }
  static Half from_float(float x) {
    Half h;
    h.bits = _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
    return h;
  }

  // 16x16 in registers: pairs, quads, then 128-bit blocks.
  static void transpose(V (&r)[16]) {
    V t[16];
    for (int i = 0; i < 8; ++i) {
      t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; ++i) {
      r[4 * i] = _mm512_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
      r[4 * i + 1] = _mm512_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
      r[4 * i + 2] = _mm512_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
      r[4 * i + 3] = _mm512_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0x88);
      t[4 + i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0xdd);
      t[8 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0x88);
      t[12 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0xdd);
    }
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0x88);
      r[8 + i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0xdd);
      r[4 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0x88);
      r[12 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0xdd);
    }
  }
  // 16 columns of `lines` rows become 16 rows of `width` (lines and zeros).
  static void transpose(const float* src, int64_t src_row, int64_t lines, float* dst, int64_t dst_row, int64_t width) {
    V r[16];
    for (int i = 0; i < 16; ++i) r[i] = i < lines ? load(src + i * src_row) : zero();
    transpose(r);
    for (int i = 0; i < 16; ++i) store_first(dst + i * dst_row, r[i], width);
  }
  // `columns` columns of `rows` rows become `columns` rows.
  static void transpose_out(const float* src, int64_t src_row, int64_t src_rows, float* dst, int64_t dst_row, int64_t columns) {
    V r[16];
    for (int i = 0; i < 16; ++i) r[i] = i < src_rows ? load_first(src + i * src_row, columns) : zero();
    transpose(r);
    for (int i = 0; i < 16; ++i)
      if (i < columns) store_first(dst + i * dst_row, r[i], src_rows);
  }
};

}  // namespace

const KernelSet<float>& f32_avx512() {
  static const KernelSet<float> set = make_set<Avx512F32>(Isa::Avx512);
  return set;
}

}  // namespace tailor::kernels::gemm
