#pragma once
// A small number for each thread, so that what many threads count can be kept apart: no thread waits for another's cache line.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tailor {

/// The last slot is shared by all threads that found no other free.
inline constexpr int kThreadSlots = 32;
inline constexpr int kSharedSlot = kThreadSlots - 1;
/// How far apart the cells of two slots lie: processors fetch cache lines in pairs.
inline constexpr size_t kSlotAlignment = 128;

namespace detail {
extern constinit thread_local int thread_slot_number;  // -1: none yet
int take_thread_slot() noexcept;
}  // namespace detail

/// This thread's slot. It is given back when the thread ends; who gets it next sees all that was written under it.
inline int thread_slot() noexcept {
  const int slot = detail::thread_slot_number;
  return slot >= 0 ? slot : detail::take_thread_slot();
}

/// Adds to a cell that belongs to `slot`; returns the new value. Others may read at any time.
inline uint64_t add_in_slot(std::atomic<uint64_t>& cell, int slot, uint64_t n = 1) noexcept {
  if (slot == kSharedSlot) [[unlikely]]
    return cell.fetch_add(n, std::memory_order_relaxed) + n;
  const uint64_t now = cell.load(std::memory_order_relaxed) + n;
  cell.store(now, std::memory_order_relaxed);
  return now;
}

}  // namespace tailor
