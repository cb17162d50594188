#pragma once
// The steps that one call has gone, for the thread that goes them and others that look on.

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "runtime/own_vector.h"

namespace tailor::follow {

struct Instance;

/// One thread adds. Others may read what size() says is there, but not while room is made.
class Path {
 public:
  size_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  bool empty() const noexcept { return size() == 0; }
  Instance* operator[](size_t i) const { return steps_.data()[i]; }
  Instance* back() const { return steps_.data()[size() - 1]; }
  Instance* const* begin() const { return steps_.data(); }
  Instance* const* end() const { return steps_.data() + size(); }

  size_t capacity() const noexcept { return steps_.size(); }
  bool full() const noexcept { return size_.load(std::memory_order_relaxed) == steps_.size(); }
  void make_room() { steps_.resize(std::max<size_t>(64, 2 * steps_.size())); }
  /// There is room.
  void push_back(Instance* step) noexcept {
    const size_t at = size_.load(std::memory_order_relaxed);
    steps_.data()[at] = step;
    size_.store(at + 1, std::memory_order_release);
  }
  void cut(size_t size) noexcept { size_.store(size, std::memory_order_release); }

 private:
  OwnVector<Instance*> steps_;
  std::atomic<size_t> size_{0};
};

}  // namespace tailor::follow
