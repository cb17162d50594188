#pragma once
// A word of state outside of a call that guards compare: the version of a watched value, the life of a tensor. It outlives what it
// tells about, so that it can be asked at any time.

#include <atomic>
#include <cstdint>

#include "runtime/intrusive.h"

namespace tailor {

struct Cell final : RefCounted {
  std::atomic<uint64_t> word;
  explicit Cell(uint64_t value) : word(value) {}
};
inline void destroy(Cell* cell) noexcept { delete cell; }

}  // namespace tailor
