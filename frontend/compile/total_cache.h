#pragma once
// All compiled functions of the process: what they hold together, its bound, and which entry goes first.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tailor/policy.h"

namespace tailor::detail {

class CompiledFunction;
class Entry;

extern std::atomic<uint64_t> cache_clock;
extern constinit thread_local uint64_t thread_uses;

/// Grows with every use: exactly among the uses of one thread, and from one compile to the next among those of several, so that a hit
/// writes nothing that threads share.
inline uint64_t use_stamp() noexcept {
  constexpr int kUseBits = 36;
  return cache_clock.load(std::memory_order_relaxed) << kUseBits | (++thread_uses & ((uint64_t{1} << kUseBits) - 1));
}
inline void tick_cache_clock() noexcept { cache_clock.fetch_add(1, std::memory_order_relaxed); }

/// Every compiled function is here while it exists.
void enter_total_cache(CompiledFunction* function);
void leave_total_cache(CompiledFunction* function) noexcept;

void count_in_total_cache(int64_t entries, int64_t code_bytes) noexcept;
/// Whether nothing more may be compiled (the bound is reached and its policy is not to evict). Throws Error where the policy says so.
bool total_cache_is_full(const std::string& function);
/// Evicts the least recently used entries of all functions, but for `keep`, until the bound is kept. To be called without locks.
void keep_total_cache_limit(const Entry* keep);

}  // namespace tailor::detail
