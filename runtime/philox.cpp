#include "runtime/philox.h"

#include "runtime/error.h"

namespace tailor {

void Generator::manual_seed(uint64_t seed) {
  std::lock_guard lock(mutex_);
  seed_ = seed;
  offset_ = 0;
}

uint64_t Generator::seed() const {
  std::lock_guard lock(mutex_);
  return seed_;
}

PhiloxState Generator::draw(int64_t elements) {
  internal_check(elements >= 0, "a draw of ", elements, " elements");
  // 64 bits an element: the widest that any op uses, so that the ranges do not depend on the dtype.
  const uint64_t blocks = (static_cast<uint64_t>(elements) + 31) / 32 * 16;
  std::lock_guard lock(mutex_);
  const PhiloxState state{static_cast<int64_t>(seed_), static_cast<int64_t>(offset_)};
  offset_ += blocks;
  return state;
}

PhiloxState Generator::state() const {
  std::lock_guard lock(mutex_);
  return {static_cast<int64_t>(seed_), static_cast<int64_t>(offset_)};
}

void Generator::set_state(PhiloxState state) {
  std::lock_guard lock(mutex_);
  seed_ = static_cast<uint64_t>(state.seed);
  offset_ = static_cast<uint64_t>(state.offset);
}

Generator& default_generator() {
  static auto* generator = new Generator;  // never destroyed: other statics may draw at exit
  return *generator;
}

void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }

}  // namespace tailor
