// Primitives of the SIMD algebra on plain x86-64. Included by simd.h inside its anonymous namespace.

inline constexpr Isa kIsa = Isa::Sse2;
template <class T>
TAILOR_INLINE Vec<T> blend(MaskOf<T> m, Vec<T> x, Vec<T> y) {
  return (Vec<T>)((m & (MaskOf<T>)x) | (~m & (MaskOf<T>)y));
}
template <class T>
TAILOR_INLINE bool any(MaskOf<T> x) {
  return _mm_movemask_epi8((__m128i)x) != 0;
}

TAILOR_INLINE Vec<float> vec_sqrt(Vec<float> x) { return (Vec<float>)_mm_sqrt_ps((__m128)x); }
TAILOR_INLINE Vec<double> vec_sqrt(Vec<double> x) { return (Vec<double>)_mm_sqrt_pd((__m128d)x); }
// The level has no such instruction; the C library's is exact, and has its own choice of processor.
TAILOR_INLINE Vec<float> vec_fma(Vec<float> x, Vec<float> y, Vec<float> z) {
  return Vec<float>{__builtin_fmaf(x[0], y[0], z[0]), __builtin_fmaf(x[1], y[1], z[1]), __builtin_fmaf(x[2], y[2], z[2]),
                    __builtin_fmaf(x[3], y[3], z[3])};
}
TAILOR_INLINE Vec<double> vec_fma(Vec<double> x, Vec<double> y, Vec<double> z) {
  return Vec<double>{__builtin_fma(x[0], y[0], z[0]), __builtin_fma(x[1], y[1], z[1])};
}

template <const ir::Table& table>
TAILOR_INLINE Vec<float> vec_lookup(Vec<int32_t> index) {
  const float* entries = kFloatTable<table>.entries;
  index &= ir::Table::kEntries - 1;
  return Vec<float>{entries[index[0]], entries[index[1]], entries[index[2]], entries[index[3]]};
}
// The second operand where either is NaN.
TAILOR_INLINE Vec<float> vec_at_most(Vec<float> x, Vec<float> limit) { return (Vec<float>)_mm_min_ps((__m128)limit, (__m128)x); }
TAILOR_INLINE Vec<float> vec_at_least(Vec<float> x, Vec<float> limit) { return (Vec<float>)_mm_max_ps((__m128)limit, (__m128)x); }
TAILOR_INLINE Vec<double> vec_at_most(Vec<double> x, Vec<double> limit) { return (Vec<double>)_mm_min_pd((__m128d)limit, (__m128d)x); }
TAILOR_INLINE Vec<double> vec_at_least(Vec<double> x, Vec<double> limit) { return (Vec<double>)_mm_max_pd((__m128d)limit, (__m128d)x); }

enum class Rounding { Nearest, Down, Up, Zero };
// Adding and taking away 2^23 (2^52) rounds to an integer; larger values are integers already. The sign is put back for zeros.
template <Rounding R, class T>
TAILOR_INLINE Vec<T> round_by_addition(Vec<T> x) {
  using I = SignedOf<T>;
  constexpr T magic = sizeof(T) == 4 ? T(8388608.0) : T(4503599627370496.0);
  const Vec<I> sign = (Vec<I>)x & (Vec<I>{} + std::numeric_limits<I>::min());
  const Vec<T> size = (Vec<T>)((Vec<I>)x & ~sign & (Vec<I>{} + std::numeric_limits<I>::max()));
  const Vec<T> nearest = (Vec<T>)((Vec<I>)((size + magic) - magic) | sign);
  Vec<T> result = nearest;
  const Vec<T> one = Vec<T>{} + T(1);
  if constexpr (R == Rounding::Down) result = nearest - blend<T>((MaskOf<T>)(nearest > x), one, Vec<T>{});
  if constexpr (R == Rounding::Up) result = nearest + blend<T>((MaskOf<T>)(nearest < x), one, Vec<T>{});
  if constexpr (R == Rounding::Zero) {
    const Vec<T> rounded = (Vec<T>)((Vec<I>)nearest & ~sign);
    result = rounded - blend<T>((MaskOf<T>)(rounded > size), one, Vec<T>{});
  }
  result = (Vec<T>)(((Vec<I>)result & (Vec<I>{} + std::numeric_limits<I>::max())) | sign);
  return blend<T>((MaskOf<T>)(size < magic), result, x);
}
template <Rounding R>
TAILOR_INLINE Vec<float> vec_round(Vec<float> x) {
  return round_by_addition<R, float>(x);
}
template <Rounding R>
TAILOR_INLINE Vec<double> vec_round(Vec<double> x) {
  return round_by_addition<R, double>(x);
}

TAILOR_INLINE Vec<float> halves_to_floats(HalfBits h) {
  Vec<float> x{};
  for (int i = 0; i < 4; ++i) {
    // as half_bits_to_float, whose code must not be shared between levels
    const uint32_t sign = static_cast<uint32_t>(h[i] & 0x8000u) << 16, magnitude = h[i] & 0x7fffu;
    const uint32_t normal = (magnitude << 13) + 0x38000000u;
    const float tiny = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
    const uint32_t bits = magnitude >= 0x7c00u ? (magnitude << 13) + 0x70000000u
                          : magnitude < 0x400u ? __builtin_bit_cast(uint32_t, tiny)
                                               : normal;
    x[i] = __builtin_bit_cast(float, bits | sign);
  }
  return x;
}
TAILOR_INLINE HalfBits floats_to_halves(Vec<float> x) {
  HalfBits h{};
  for (int i = 0; i < 4; ++i) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, static_cast<float>(x[i]));
    const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    uint32_t result;
    if (magnitude > 0x7f800000u) {
      result = 0x7e00u;
    } else if (magnitude >= 0x477ff000u) {  // rounds to 65536 or more
      result = 0x7c00u;
    } else if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits
      result = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
    } else {
      result = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    }
    h[i] = static_cast<uint16_t>(result | sign);
  }
  return h;
}
