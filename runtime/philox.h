#pragma once
// Random numbers without state: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
// A block of four words is a function of a 128-bit counter and a 64-bit key, so that element i of a tensor depends on nothing but
// (seed, offset, i), in whatever order, width or number of threads the elements are made.

#include <array>
#include <cstdint>
#include <mutex>

namespace tailor {

struct Philox {
  using Words = std::array<uint32_t, 4>;

  /// The ten rounds.
  static constexpr Words block(Words counter, uint32_t key0, uint32_t key1) {
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53u} * counter[0], b = uint64_t{0xCD9E8D57u} * counter[2];
      counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(b),
                 static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(a)};
      key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    return counter;
  }

  /// The block of words at a position of a stream: counter = (position low, position high, stream, 0), key = seed.
  static constexpr Words block(uint64_t seed, uint64_t position, uint32_t stream = 0) {
    return block({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), stream, 0}, static_cast<uint32_t>(seed),
                 static_cast<uint32_t>(seed >> 32));
  }
};

/// What one random op draws from: every element i it makes is a function of (seed, offset, i). See ir/ops/random.h.
struct PhiloxState {
  int64_t seed = 0, offset = 0;
};

/// Hands out disjoint ranges of positions. Safe for use by several threads. Nothing is computed here: a draw is two numbers.
class Generator {
 public:
  /// The seed that torch starts from as well.
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  explicit Generator(uint64_t seed = kDefaultSeed) : seed_(seed) {}
  /// Starts anew: the same draws follow the same seed.
  void manual_seed(uint64_t seed);
  uint64_t seed() const;
  /// Reserves what a random op needs for `elements` elements of any dtype, and advances past it.
  PhiloxState draw(int64_t elements);
  /// To save and restore the generator.
  PhiloxState state() const;
  void set_state(PhiloxState state);

 private:
  mutable std::mutex mutex_;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

/// The generator that ops use when they are given none.
Generator& default_generator();
/// `default_generator().manual_seed(seed)`, as torch::manual_seed.
void manual_seed(uint64_t seed);

}  // namespace tailor
