#pragma once
// Counters of calls, in a cell for each thread: hits of several threads do not wait for each other.

#include <array>

#include "runtime/thread_slot.h"

namespace tailor::detail {

/// Calls, hits and skipped calls of one function.
class CallCounts {
 public:
  /// Counts a call; returns how many this slot has counted.
  uint64_t call(int slot) noexcept { return add_in_slot(cell(slot).calls, slot); }
  void hit(int slot) noexcept { add_in_slot(cell(slot).hits, slot); }
  void skipped(int slot) noexcept {
    add_in_slot(cell(slot).hits, slot);
    add_in_slot(cell(slot).skipped, slot);
  }
  struct Sums {
    uint64_t calls = 0, hits = 0, skipped = 0;
  };
  Sums since_restart() const noexcept {
    const Sums now = all();
    return {now.calls - begin_[0].load(), now.hits - begin_[1].load(), now.skipped - begin_[2].load()};
  }
  /// Cells are never set back: their owners may be counting.
  void restart() noexcept {
    const Sums now = all();
    begin_[0] = now.calls;
    begin_[1] = now.hits;
    begin_[2] = now.skipped;
  }

 private:
  struct alignas(kSlotAlignment) Cell {
    std::atomic<uint64_t> calls{0}, hits{0}, skipped{0};
  };
  Cell& cell(int slot) noexcept { return cells_[static_cast<size_t>(slot)]; }
  Sums all() const noexcept {
    Sums sums;
    for (const Cell& c : cells_) {
      // In the order opposite to counting: a hit that is seen belongs to a call that is seen.
      sums.skipped += c.skipped.load(std::memory_order_acquire);
      sums.hits += c.hits.load(std::memory_order_acquire);
      sums.calls += c.calls.load(std::memory_order_acquire);
    }
    return sums;
  }
  std::array<Cell, kThreadSlots> cells_;
  std::array<std::atomic<uint64_t>, 3> begin_{};
};

}  // namespace tailor::detail
