#include "runtime/storage.h"

#include <dlfcn.h>

#include <new>

#include "runtime/allocator.h"
#include "runtime/large_blocks.h"

namespace tailor {

// Head and data of a small storage share one block: one allocation instead of two.
static constexpr size_t kHeadBytes = (sizeof(Storage) + 63) / 64 * 64;
static constexpr size_t kJoinedLimit = detail::kLargeThreshold - kHeadBytes;

[[noreturn, gnu::cold]] static void no_cuda(size_t bytes, Device device) {
  if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(driver);
    detail::raise<NotImplementedError>("cannot allocate ", bytes, " bytes on ", device.str(), ": this build of Tailor has no CUDA backend");
  }
  detail::raise("cannot allocate ", bytes, " bytes on ", device.str(), ": no NVIDIA driver on this machine (libcuda.so.1 was not found)");
}

IntrusivePtr<Storage> Storage::allocate(size_t bytes, Device device) {
  if (!device.is_cpu()) no_cuda(bytes, device);
  if (bytes < kJoinedLimit) {
    auto* block = static_cast<std::byte*>(allocate_memory(kHeadBytes + bytes));
    return IntrusivePtr<Storage>::first(new (block) Storage(block + kHeadBytes, bytes, device));
  }
  void* data = allocate_memory(bytes);
  void* head = nullptr;
  try {
    head = allocate_memory(kHeadBytes);
  } catch (...) {
    release_memory(data, bytes);
    throw;
  }
  return IntrusivePtr<Storage>::first(new (head) Storage(data, bytes, device));
}

IntrusivePtr<Storage> Storage::wrap(void* data, size_t bytes, Device device, std::function<void(void*)> deleter) {
  auto* storage = new (allocate_memory(kHeadBytes)) Storage(data, bytes, device);
  storage->owner_ = Owner::Foreign;
  storage->deleter_ = std::move(deleter);
  storage->set_exposed();
  return IntrusivePtr<Storage>(storage);
}

void destroy(Storage* storage) noexcept {
  const Storage::Owner owner = storage->owner_;
  void* const data = storage->data_;
  const size_t bytes = storage->bytes_;
  if (owner == Storage::Owner::Foreign && storage->deleter_) storage->deleter_(data);
  storage->~Storage();
  if (owner == Storage::Owner::Foreign) return release_memory(storage, kHeadBytes);
  if (bytes < kJoinedLimit) return release_memory(storage, kHeadBytes + bytes);
  release_memory(data, bytes);
  release_memory(storage, kHeadBytes);
}

}  // namespace tailor
