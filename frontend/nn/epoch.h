#pragma once
// When module trees may have changed: one counter for the process, bumped by registrations and by every change of a handle to a
// registered parameter, buffer or submodule. While it stands still, what was found by walking a module is still so.

#include <atomic>
#include <cstdint>

namespace tailor::detail {

extern std::atomic<uint64_t> module_epoch_counter;

/// One load. Grows only.
inline uint64_t module_epoch() { return module_epoch_counter.load(std::memory_order_acquire); }
void bump_module_epoch() noexcept;

}  // namespace tailor::detail
