#include "jit/arena.h"

namespace tailor::jit {
namespace {

// Larger arenas come from the caching allocator at each run: its cost does not matter beside their work.
constexpr size_t kMostCached = size_t{1} << 20;

struct Cache {
  IntrusivePtr<Storage> storage;
  bool busy = false;
};
thread_local Cache cache;

}  // namespace

ArenaLease::ArenaLease(size_t bytes) {
  if (bytes == 0) return;
  if (bytes <= kMostCached && !cache.busy) {
    if (!cache.storage || cache.storage->bytes() < bytes) cache.storage = Storage::allocate(bytes, Device());
    cache.busy = cached_ = true;
    data_ = static_cast<std::byte*>(cache.storage->data());
    return;
  }
  own_ = Storage::allocate(bytes, Device());
  data_ = static_cast<std::byte*>(own_->data());
}

ArenaLease::~ArenaLease() {
  if (cached_) cache.busy = false;
}

}  // namespace tailor::jit
