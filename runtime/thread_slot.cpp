#include "runtime/thread_slot.h"

#include <bit>
#include <utility>

namespace tailor::detail {

constinit thread_local int thread_slot_number = -1;

namespace {

constinit std::atomic<uint32_t> taken{0};  // a bit for each slot but the shared one
static_assert(kThreadSlots <= 32);

struct GiveBack {
  ~GiveBack() {
    const int slot = std::exchange(thread_slot_number, kSharedSlot);  // what the thread still does counts there
    if (slot >= 0 && slot != kSharedSlot) taken.fetch_and(~(uint32_t{1} << slot), std::memory_order_acq_rel);
  }
};

}  // namespace

int take_thread_slot() noexcept {
  constexpr uint32_t all = (uint32_t{1} << kSharedSlot) - 1;
  uint32_t now = taken.load(std::memory_order_relaxed);
  while ((now & all) != all) {
    const int slot = std::countr_one(now);
    if (!taken.compare_exchange_weak(now, now | uint32_t{1} << slot, std::memory_order_acq_rel)) continue;
    thread_slot_number = slot;
    static thread_local const GiveBack at_thread_end;
    (void)at_thread_end;
    return slot;
  }
  return thread_slot_number = kSharedSlot;
}

}  // namespace tailor::detail
