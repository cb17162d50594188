#include "runtime/large_blocks.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <bit>
#include <list>
#include <mutex>
#include <new>
#include <unordered_map>

#include "runtime/config.h"

namespace tailor::detail {

static constexpr size_t kHugePage = size_t{2} << 20;

namespace {
struct Block {
  void* data;
  size_t size;
};

// Never destroyed: storages of static tensors are released after main.
struct Cache {
  std::mutex mutex;
  std::list<Block> by_age;  // oldest first
  std::unordered_map<size_t, std::list<std::list<Block>::iterator>> by_size;
  LargeStats stats;
};
}  // namespace

static Cache& cache() {
  static Cache* const c = new Cache;
  return *c;
}

// At most an eighth is wasted, and few distinct sizes exist, so that blocks of nearby sizes serve each other.
static size_t rounded(size_t bytes) {
  const size_t step = std::max(kHugePage, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

static void* map(size_t size) {
  const size_t span = size + kHugePage;
  void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(raw), aligned = (start + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > start) munmap(raw, aligned - start);
  munmap(reinterpret_cast<void*>(aligned + size), start + span - (aligned + size));
  madvise(reinterpret_cast<void*>(aligned), size, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

// More than the machine has: refused here, because a system that overcommits would grant it and kill the process later.
static bool absurd(size_t bytes) {
  struct sysinfo info {};
  if (bytes < (size_t{1} << 32)) return false;
  if (bytes > (size_t{1} << 47)) return true;
  if (sysinfo(&info) != 0) return false;
  return bytes / info.mem_unit > info.totalram + info.totalswap;
}

static void drop_oldest(Cache& c) {
  const Block oldest = c.by_age.front();
  auto& same = c.by_size[oldest.size];
  same.remove(c.by_age.begin());
  c.by_age.pop_front();
  c.stats.cached -= oldest.size;
  c.stats.reserved -= oldest.size;
  munmap(oldest.data, oldest.size);
}

void* allocate_large(size_t bytes) {
  static const size_t checked = config().allocator_cache_bytes;  // a bad variable is reported here, not in a release
  (void)checked;
  if (absurd(bytes)) return nullptr;
  const size_t size = rounded(bytes);
  Cache& c = cache();
  {
    const std::lock_guard lock(c.mutex);
    if (auto found = c.by_size.find(size); found != c.by_size.end() && !found->second.empty()) {
      const auto entry = found->second.back();
      found->second.pop_back();
      void* data = entry->data;
      c.by_age.erase(entry);
      c.stats.cached -= size;
      ++c.stats.hits;
      return data;
    }
    ++c.stats.misses;
  }
  void* data = map(size);
  if (data == nullptr) {
    empty_large_cache();
    data = map(size);
  }
  if (data != nullptr) {
    const std::lock_guard lock(c.mutex);
    c.stats.reserved += size;
  }
  return data;
}

void release_large(void* block, size_t bytes) noexcept {
  const size_t size = rounded(bytes), limit = config().allocator_cache_bytes;
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  if (size > limit) {
    munmap(block, size);
    c.stats.reserved -= size;
    return;
  }
  while (c.stats.cached + size > limit) drop_oldest(c);
  try {
    c.by_age.push_back({block, size});
    c.by_size[size].push_back(std::prev(c.by_age.end()));
    c.stats.cached += size;
  } catch (const std::bad_alloc&) {
    if (!c.by_age.empty() && c.by_age.back().data == block) c.by_age.pop_back();
    munmap(block, size);
    c.stats.reserved -= size;
  }
}

void empty_large_cache() noexcept {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  while (!c.by_age.empty()) drop_oldest(c);
}

LargeStats large_stats() {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  return c.stats;
}

void lock_large() { cache().mutex.lock(); }
void unlock_large() { cache().mutex.unlock(); }

}  // namespace tailor::detail
