#pragma once
// The caching allocator of host memory.
//
//   small   (up to 64 KiB)       size classes; every thread keeps short free lists of its own, so that allocate and release touch
//                                no lock and nothing that other threads write
//   medium  (up to 1 MiB)        size classes in central lists
//   large   (1 MiB and more)     mapped, aligned to 2 MiB with huge pages; freed blocks are kept (bounded, oldest go first),
//                                because fresh pages cost more than most kernels that fill them
//
// A block is returned with the size it was asked with. Safe at process exit and in forked children.

#include <cstddef>
#include <cstdint>

namespace tailor {

/// Uninitialised memory of at least `bytes` bytes (also for 0), aligned to 64 bytes, or 2 MiB from 1 MiB on. Throws OutOfMemoryError.
void* allocate_memory(size_t bytes);
void release_memory(void* block, size_t bytes) noexcept;

struct AllocatorStats {
  uint64_t allocations = 0;  // calls of allocate_memory
  uint64_t releases = 0;
  uint64_t bytes_in_use = 0;    // asked for and not released
  uint64_t bytes_reserved = 0;  // obtained from the system, in use or kept
  uint64_t bytes_cached = 0;    // large blocks kept for reuse
  uint64_t large_hits = 0, large_misses = 0;
};
AllocatorStats allocator_stats();

/// Gives the kept large blocks back to the system.
void empty_allocator_cache();

/// Whether released blocks are kept. In sanitizer builds each comes from malloc and goes back to it, so that its misuse is seen.
bool allocator_keeps_blocks();

}  // namespace tailor
