#pragma once
// Uniform numbers by groups of 16 positions: what the random kernels share.

#include <algorithm>

#include "ir/ops/random.h"
#include "kernels/creation/philox_words.h"
#include "kernels/movement/strided.h"

namespace tailor::kernels {

/// Elements whose bits one group of 16 positions makes.
template <class T>
constexpr int64_t kGroup = std::is_same_v<T, double> ? 32 : 64;

/// The numbers of one group of 16 positions. Loops of constant length over arrays that cannot overlap, so that they become vectors.
template <class T>
void uniform_group(const uint32_t* __restrict words, T* __restrict values) {
  if constexpr (std::is_same_v<T, double>) {
    for (int pair = 0; pair < 2; ++pair)
      for (int i = 0; i < 16; ++i) values[16 * pair + i] = ir::uniform_double(words[32 * pair + i], words[32 * pair + 16 + i]);
  } else {
    for (int i = 0; i < 64; ++i) {
      if constexpr (std::is_same_v<T, Half>)
        values[i] = Half(ir::uniform_half(words[i]));
      else if constexpr (std::is_same_v<T, BFloat16>)
        values[i] = BFloat16(ir::uniform_bfloat16(words[i]));
      else
        values[i] = ir::uniform_float(words[i]);
    }
  }
}

/// Calls f(first element, count, uniform numbers) for pieces of [0, n), by several threads when there are many.
template <class T, class F>
void for_uniform(PhiloxState state, uint32_t stream, int64_t n, F f) {
  constexpr int64_t group = kGroup<T>, batch = 16;
  const PhiloxWords words_of = philox_words();
  const auto run = [&](int64_t begin, int64_t end) {  // groups
    uint32_t words[64 * batch];
    T values[group * batch];
    for (int64_t g = begin; g < end; g += batch) {
      const int64_t groups = std::min(batch, end - g), first = g * group;
      words_of(state, stream, g, groups, words);
      for (int64_t k = 0; k < groups; ++k) uniform_group<T>(words + 64 * k, values + k * group);
      f(first, std::min(groups * group, n - first), values);
    }
  };
  const int64_t groups = (n + group - 1) / group;
  if (n <= kParallelGrain)
    run(0, groups);
  else
    parallel_for(0, groups, kParallelGrain / group, run);
}

}  // namespace tailor::kernels
