#pragma once
// A block of memory that tensors share.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/device.h"
#include "runtime/intrusive.h"

namespace tailor {

class Storage final : public RefCounted {
 public:
  /// Uninitialised memory from the caching allocator, aligned to 64 bytes (2 MiB for large blocks). Throws OutOfMemoryError.
  static IntrusivePtr<Storage> allocate(size_t bytes, Device device);
  /// Memory that is not ours; `deleter` (may be empty) is called with it at the end. Such a storage is exposed.
  static IntrusivePtr<Storage> wrap(void* data, size_t bytes, Device device, std::function<void(void*)> deleter);

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  /// Counts writes: every op and executable that writes bumps it.
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }
  /// Its mutable pointer was handed out or it came from outside: values may change unseen.
  bool exposed() const { return exposed_.load(std::memory_order_relaxed); }
  void set_exposed() { exposed_.store(true, std::memory_order_relaxed); }
  /// The invocation of a compiled function that has followed, but not yet run, a write to this memory; null mostly.
  std::atomic<void*> pending{nullptr};

 private:
  friend void destroy(Storage* storage) noexcept;
  Storage(void* data, size_t bytes, Device device) : data_(data), bytes_(bytes), device_(device) {}
  ~Storage() = default;
  void* data_;
  size_t bytes_;
  Device device_;
  std::atomic<uint64_t> version_{0};
  std::atomic<bool> exposed_{false};
  enum class Owner : uint8_t { Allocator, Foreign } owner_ = Owner::Allocator;
  std::function<void(void*)> deleter_;
};
void destroy(Storage* storage) noexcept;

}  // namespace tailor
