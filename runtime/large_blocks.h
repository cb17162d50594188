#pragma once
// Blocks of 1 MiB and more: mapped from the system and kept for reuse. Used by the allocator only.

#include <cstddef>
#include <cstdint>

namespace tailor::detail {

inline constexpr size_t kLargeThreshold = size_t{1} << 20;

struct LargeStats {
  uint64_t reserved = 0, cached = 0, hits = 0, misses = 0;
};

/// Null when the system has no memory left (after the cache was emptied).
void* allocate_large(size_t bytes);
void release_large(void* block, size_t bytes) noexcept;
void empty_large_cache() noexcept;
LargeStats large_stats();

/// Around fork: holds the lock so that the child finds the lists whole.
void lock_large();
void unlock_large();

}  // namespace tailor::detail
