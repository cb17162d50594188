#pragma once
// Random ops. Each takes a `seed` and an `offset` (both integer scalars, from Generator::draw(elements)), so that they may be
// arguments at run time; what it makes is a function of these and of the element's index alone. Operands and attributes, in order:
//
//   rand         seed, offset;             size, dtype, stream   uniform in [0, 1); float dtypes; stream none: 0
//   randn        seed, offset;             size, dtype           composite: Box-Muller over two streams of `rand`
//   randint      low, high, seed, offset;  size, dtype           uniform in [low, high)
//   randperm     seed, offset;             n, dtype
//   bernoulli    self, p, seed, offset                           p none: the probabilities are self
//   normal       mean, std, seed, offset;  size, dtype           composite; mean and std are scalars or tensors
//   multinomial  self, seed, offset;       num_samples, replacement
//   dropout      self, p, scale, seed, offset                    composite; scale is dropout_scale(p), 0 where dropped
//
// Elements to draw: the number of elements of the result; multinomial: random_elements(...).
//
// *The numbers.* Philox 4x32-10 (runtime/philox.h). Bits of element `i` (the index in row-major order), for every backend:
//
//   32 bits:  lane = i & 15,  word = (i >> 4) & 3,   group = i >> 6     position = offset + group * 16 + lane
//             bits = Philox::block(seed, position, stream)[word]
//   64 bits:  lane = i & 15,  pair = (i >> 4) & 1,   group = i >> 5     position = offset + group * 16 + lane
//             bits = block[2 * pair] << 32 | block[2 * pair + 1]
//
// so that 16 lanes of counters make 64 (32) consecutive elements without moving words between lanes, and any vector of up to 16
// aligned elements uses one word number for all its lanes.
//
//   rand    f32: (bits32 >> 8) * 2^-24    f16: (bits32 >> 21) * 2^-11    bf16: (bits32 >> 24) * 2^-8    f64: (bits64 >> 11) * 2^-53
//   randint low + high_half(bits64 * (high - low))    (128-bit product)
//   bernoulli  u < p with u as by `rand` in f64 for f64 probabilities, else in f32
//   randn   sqrt(-2 * log1p(-u0)) * cos(2 pi * u1), u0 and u1 from streams 0 and 1; half types compute in f32 and round

#include "ir/op.h"
#include "runtime/philox.h"

namespace tailor::ir {

inline uint32_t random_bits32(PhiloxState state, int64_t i, uint32_t stream = 0) {
  const auto n = static_cast<uint64_t>(i);
  return Philox::block(static_cast<uint64_t>(state.seed), static_cast<uint64_t>(state.offset) + (n >> 6) * 16 + (n & 15),
                       stream)[(n >> 4) & 3];
}
inline uint64_t random_bits64(PhiloxState state, int64_t i, uint32_t stream = 0) {
  const auto n = static_cast<uint64_t>(i);
  const auto words =
      Philox::block(static_cast<uint64_t>(state.seed), static_cast<uint64_t>(state.offset) + (n >> 5) * 16 + (n & 15), stream);
  const size_t pair = (n >> 4) & 1;
  return uint64_t{words[2 * pair]} << 32 | words[2 * pair + 1];
}

// Conversions from signed 32-bit numbers are what every instruction set has for vectors.
inline float uniform_float(uint32_t bits) { return static_cast<float>(static_cast<int32_t>(bits >> 8)) * 0x1p-24f; }
inline double uniform_double(uint32_t high, uint32_t low) {
  const auto upper = static_cast<int32_t>(high >> 5), lower = static_cast<int32_t>((high & 31) << 21 | low >> 11);
  return (upper * 0x1p26 + lower) * 0x1p-53;  // exact: 53 bits
}
inline double uniform_double(uint64_t bits) { return uniform_double(static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)); }
inline float uniform_half(uint32_t bits) { return static_cast<float>(static_cast<int32_t>(bits >> 21)) * 0x1p-11f; }
inline float uniform_bfloat16(uint32_t bits) { return static_cast<float>(static_cast<int32_t>(bits >> 24)) * 0x1p-8f; }
inline int64_t uniform_int(uint64_t bits, int64_t low, int64_t high) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * range) >> 64));
}

/// What kept values are multiplied by: 1 / (1 - p), and 0 for p = 1. Throws Error unless p is in [0, 1].
double dropout_scale(double p);

/// Elements that multinomial draws for.
int64_t multinomial_elements(const TensorSpec& probabilities, int64_t num_samples);

}  // namespace tailor::ir
