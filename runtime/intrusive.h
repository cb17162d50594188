#pragma once
// Shared ownership by a count inside the object: one pointer wide, one allocation.

#include <atomic>
#include <cstdint>
#include <utility>

namespace tailor {

/// Derive publicly. The object starts with no owner.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  /// True when the last owner let go; the caller then destroys. A sole owner need not count: nobody else can add to it.
  bool release() const noexcept { return refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  uint32_t use_count() const noexcept { return refs_.load(std::memory_order_relaxed); }
  /// Of an object that nobody owns: it has one owner now.
  void own_first() const noexcept { refs_.store(1, std::memory_order_relaxed); }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<uint32_t> refs_{0};
};

/// `T` derives from RefCounted; `destroy(T*)` is found by argument-dependent lookup when the last owner lets go, so that T may
/// be incomplete where the pointer is only copied.
template <class T>
class IntrusivePtr {
 public:
  constexpr IntrusivePtr() = default;
  constexpr IntrusivePtr(std::nullptr_t) {}
  explicit IntrusivePtr(T* p) noexcept : p_(p) {
    if (p_) p_->retain();
  }
  /// The first owner of an object that has none: it is not shared yet, and no locked instruction counts it.
  static IntrusivePtr first(T* p) noexcept {
    p->own_first();
    IntrusivePtr owner;
    owner.p_ = p;
    return owner;
  }
  IntrusivePtr(const IntrusivePtr& o) noexcept : IntrusivePtr(o.p_) {}
  IntrusivePtr(IntrusivePtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~IntrusivePtr() {
    if (p_ != nullptr && p_->release()) destroy(p_);
  }
  void reset() noexcept {
    if (T* p = std::exchange(p_, nullptr); p && p->release()) destroy(p);
  }
  /// Lets go without counting: the object keeps the owner that this was.
  T* leave() noexcept { return std::exchange(p_, nullptr); }
  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  friend bool operator==(const IntrusivePtr&, const IntrusivePtr&) = default;

 private:
  T* p_ = nullptr;
};

}  // namespace tailor
