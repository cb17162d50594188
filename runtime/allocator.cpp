#include "runtime/allocator.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "runtime/error.h"
#include "runtime/large_blocks.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAILOR_PLAIN_MALLOC 1  // the sanitizers see blocks only when each comes from malloc
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TAILOR_PLAIN_MALLOC 1
#endif
#endif
#ifndef TAILOR_PLAIN_MALLOC
#define TAILOR_PLAIN_MALLOC 0
#endif

namespace tailor {
namespace {

// 16 classes of 64-byte steps up to 1 KiB, then 4 to each doubling up to 1 MiB.
constexpr int kFineClasses = 16, kClasses = kFineClasses + 40;
constexpr size_t kSmallLimit = size_t{64} << 10;  // what threads keep lists of
constexpr size_t kSpanBytes = size_t{256} << 10;  // small blocks are cut from spans of this size
constexpr size_t kThreadBytesPerClass = size_t{128} << 10;

inline int class_of(size_t bytes) {
  if (bytes <= 1024) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) >> 6);
  const size_t last = bytes - 1;
  const int log = std::bit_width(last) - 1;  // 2^log <= last < 2^(log+1); log >= 10
  return kFineClasses + (log - 10) * 4 + static_cast<int>((last >> (log - 2)) & 3u);
}

constexpr size_t class_bytes(int c) {
  if (c < kFineClasses) return static_cast<size_t>(c + 1) << 6;
  const int log = 10 + (c - kFineClasses) / 4, quarter = (c - kFineClasses) % 4;
  return (size_t{1} << log) + (static_cast<size_t>(quarter + 1) << (log - 2));
}
static_assert(class_bytes(kClasses - 1) == detail::kLargeThreshold);

struct FreeBlock {
  FreeBlock* next;
};

// Written by its owner alone; others read. No read-modify-write, hence no locked instruction.
struct Counter {
  std::atomic<uint64_t> value{0};
  void add(uint64_t n) { value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  uint64_t get() const { return value.load(std::memory_order_relaxed); }
};

struct Counts {
  Counter allocations, releases, bytes_allocated, bytes_released;
};

struct CountsNode : Counts {
  CountsNode *next = nullptr, *next_idle = nullptr;
};

struct ThreadCache {
  std::array<FreeBlock*, kClasses> head{};
  std::array<int32_t, kClasses> room{};  // how many more blocks the list takes; 0 until the first slow call and after the thread's end
  CountsNode* counts = nullptr;
  bool ended = false;
};
constinit thread_local ThreadCache thread_cache;

// Never destroyed: blocks come back after main.
struct Central {
  std::mutex mutex;
  std::array<FreeBlock*, kClasses> free{};
  std::array<size_t, kClasses> free_count{};
  uint64_t reserved = 0;
  CountsNode* all = nullptr;   // counts of every thread that ever was
  CountsNode* idle = nullptr;  // nodes of ended threads, for the next ones
  Counts after_end;            // of threads whose own were given back; under the mutex
};

Central& central() {
  static Central* const c = [] {
    auto* made = new Central;
    pthread_atfork(
        [] {
          central().mutex.lock();
          detail::lock_large();
        },
        [] {
          detail::unlock_large();
          central().mutex.unlock();
        },
        [] {
          detail::unlock_large();
          central().mutex.unlock();
        });
    return made;
  }();
  return *c;
}

int thread_capacity(int c) {
  const size_t bytes = class_bytes(c);
  return bytes > kSmallLimit ? 0 : static_cast<int>(std::clamp<size_t>(kThreadBytesPerClass / bytes, 2, 256));
}

// Gives the thread's lists back when it ends. A separate object, so that the cache itself needs no initialisation check.
struct ThreadEnd {
  ~ThreadEnd() {
    ThreadCache& t = thread_cache;
    Central& c = central();
    const std::lock_guard lock(c.mutex);
    for (int k = 0; k < kClasses; ++k) {
      const auto i = static_cast<size_t>(k);
      while (FreeBlock* block = t.head[i]) {
        t.head[i] = block->next;
        block->next = c.free[i];
        c.free[i] = block;
        ++c.free_count[i];
      }
      t.room[i] = 0;
    }
    if (t.counts != nullptr) {
      t.counts->next_idle = c.idle;
      c.idle = t.counts;
    }
    t.counts = nullptr;
    t.ended = true;
  }
};

void begin_thread(ThreadCache& t) {
  thread_local ThreadEnd end;
  (void)end;
  Central& c = central();
  const std::lock_guard lock(c.mutex);
  if (c.idle != nullptr) {
    t.counts = c.idle;
    c.idle = t.counts->next_idle;
  } else {
    t.counts = new CountsNode;
    t.counts->next = c.all;
    c.all = t.counts;
  }
  for (int k = 0; k < kClasses; ++k) t.room[static_cast<size_t>(k)] = thread_capacity(k);
}

[[noreturn]] void out_of_memory(size_t bytes) {
  detail::raise<OutOfMemoryError>("out of memory: tried to allocate ", bytes, " bytes on the CPU");
}

FreeBlock* from_system(Central& c, int k) {
  const size_t bytes = class_bytes(k);
  if (bytes > kSmallLimit) {
    void* block = std::aligned_alloc(64, bytes);
    if (block == nullptr) return nullptr;
    c.reserved += bytes;
    auto* free = static_cast<FreeBlock*>(block);
    free->next = nullptr;
    return free;
  }
  auto* span = static_cast<std::byte*>(std::aligned_alloc(64, kSpanBytes));
  if (span == nullptr) return nullptr;
  c.reserved += kSpanBytes;
  FreeBlock* list = nullptr;
  for (size_t at = kSpanBytes / bytes * bytes; at > 0; at -= bytes) {
    auto* block = reinterpret_cast<FreeBlock*>(span + at - bytes);
    block->next = list;
    list = block;
  }
  return list;
}

[[gnu::noinline]] void* allocate_slow(size_t bytes, int k) {
  ThreadCache& t = thread_cache;
  if (t.counts == nullptr && !t.ended) begin_thread(t);
  const auto i = static_cast<size_t>(k);
  Central& c = central();
  const std::lock_guard lock(c.mutex);
  if (c.free[i] == nullptr) {
    c.free[i] = from_system(c, k);
    if (c.free[i] == nullptr) out_of_memory(bytes);
    c.free_count[i] = class_bytes(k) > kSmallLimit ? 1 : kSpanBytes / class_bytes(k);
  }
  FreeBlock* block = c.free[i];
  c.free[i] = block->next;
  --c.free_count[i];
  for (int extra = t.ended ? 0 : thread_capacity(k) / 2; extra > 0 && c.free[i] != nullptr && t.room[i] > 0; --extra) {
    FreeBlock* moved = c.free[i];
    c.free[i] = moved->next;
    --c.free_count[i];
    moved->next = t.head[i];
    t.head[i] = moved;
    --t.room[i];
  }
  Counts& counts = t.counts != nullptr ? static_cast<Counts&>(*t.counts) : c.after_end;
  counts.allocations.add(1);
  counts.bytes_allocated.add(bytes);
  return block;
}

[[gnu::noinline]] void release_slow(void* block, size_t bytes, int k) noexcept {
  ThreadCache& t = thread_cache;
  if (t.counts == nullptr && !t.ended) begin_thread(t);
  const auto i = static_cast<size_t>(k);
  Central& c = central();
  const std::lock_guard lock(c.mutex);
  Counts& counts = t.counts != nullptr ? static_cast<Counts&>(*t.counts) : c.after_end;
  counts.releases.add(1);
  counts.bytes_released.add(bytes);
  // A full list gives half of itself away, so that the next releases are cheap again.
  for (int n = thread_capacity(k) / 2; n > 0 && t.head[i] != nullptr; --n) {
    FreeBlock* moved = t.head[i];
    t.head[i] = moved->next;
    ++t.room[i];
    moved->next = c.free[i];
    c.free[i] = moved;
    ++c.free_count[i];
  }
  const size_t size = class_bytes(k);
  if (size > kSmallLimit && c.free_count[i] * size >= (size_t{16} << 20)) {
    c.reserved -= size;
    std::free(block);
    return;
  }
  auto* free = static_cast<FreeBlock*>(block);
  free->next = c.free[i];
  c.free[i] = free;
  ++c.free_count[i];
}

// The sanitizers' malloc ends the process for sizes that it cannot serve.
constexpr bool from_malloc(size_t bytes) { return TAILOR_PLAIN_MALLOC && bytes < (size_t{1} << 36); }

[[gnu::noinline]] void* allocate_large_counted(size_t bytes) {
  void* block = from_malloc(bytes) ? std::aligned_alloc(64, std::max<size_t>(64, (bytes + 63) / 64 * 64)) : detail::allocate_large(bytes);
  if (block == nullptr) out_of_memory(bytes);
  ThreadCache& t = thread_cache;
  if (t.counts == nullptr && !t.ended) begin_thread(t);
  if (t.counts != nullptr) {
    t.counts->allocations.add(1);
    t.counts->bytes_allocated.add(bytes);
  } else {
    const std::lock_guard lock(central().mutex);
    central().after_end.allocations.add(1);
    central().after_end.bytes_allocated.add(bytes);
  }
  return block;
}

[[gnu::noinline]] void release_large_counted(void* block, size_t bytes) noexcept {
  if (from_malloc(bytes))
    std::free(block);
  else
    detail::release_large(block, bytes);
  ThreadCache& t = thread_cache;
  if (t.counts == nullptr && !t.ended) begin_thread(t);
  if (t.counts != nullptr) {
    t.counts->releases.add(1);
    t.counts->bytes_released.add(bytes);
  } else {
    const std::lock_guard lock(central().mutex);
    central().after_end.releases.add(1);
    central().after_end.bytes_released.add(bytes);
  }
}

}  // namespace

void* allocate_memory(size_t bytes) {
  if (TAILOR_PLAIN_MALLOC || bytes >= detail::kLargeThreshold) return allocate_large_counted(bytes);
  const int k = class_of(bytes);
  ThreadCache& t = thread_cache;
  FreeBlock* block = t.head[static_cast<size_t>(k)];
  if (block == nullptr) [[unlikely]]
    return allocate_slow(bytes, k);
  t.head[static_cast<size_t>(k)] = block->next;
  ++t.room[static_cast<size_t>(k)];
  t.counts->allocations.add(1);
  t.counts->bytes_allocated.add(bytes);
  return block;
}

void release_memory(void* block, size_t bytes) noexcept {
  if (TAILOR_PLAIN_MALLOC || bytes >= detail::kLargeThreshold) return release_large_counted(block, bytes);
  const int k = class_of(bytes);
  ThreadCache& t = thread_cache;
  if (t.room[static_cast<size_t>(k)] <= 0) [[unlikely]]
    return release_slow(block, bytes, k);
  auto* free = static_cast<FreeBlock*>(block);
  free->next = t.head[static_cast<size_t>(k)];
  t.head[static_cast<size_t>(k)] = free;
  --t.room[static_cast<size_t>(k)];
  t.counts->releases.add(1);
  t.counts->bytes_released.add(bytes);
}

AllocatorStats allocator_stats() {
  AllocatorStats stats;
  uint64_t allocated = 0, released = 0;
  Central& c = central();
  {
    const std::lock_guard lock(c.mutex);
    const auto add = [&](const Counts& counts) {
      stats.allocations += counts.allocations.get();
      stats.releases += counts.releases.get();
      allocated += counts.bytes_allocated.get();
      released += counts.bytes_released.get();
    };
    add(c.after_end);
    for (const CountsNode* node = c.all; node != nullptr; node = node->next) add(*node);
    stats.bytes_reserved = c.reserved;
  }
  const detail::LargeStats large = detail::large_stats();
  stats.bytes_in_use = allocated - released;
  stats.bytes_reserved += large.reserved;
  stats.bytes_cached = large.cached;
  stats.large_hits = large.hits;
  stats.large_misses = large.misses;
  return stats;
}

void empty_allocator_cache() { detail::empty_large_cache(); }

bool allocator_keeps_blocks() { return !TAILOR_PLAIN_MALLOC; }

}  // namespace tailor
