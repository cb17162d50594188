#pragma once
// A mutex of one thread that others take hardly ever: letting go is a plain store, for nobody is woken. Who comes while it is taken looks
// again now and then.

#include <atomic>
#include <chrono>
#include <thread>

namespace tailor {

class OwnMutex {
 public:
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  bool try_lock() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  [[gnu::noinline]] void wait() noexcept {
    constexpr int kYields = 64;
    constexpr std::chrono::microseconds kPause(50);
    for (int looks = 0; taken_.load(std::memory_order_relaxed) || !try_lock(); ++looks) {
      if (looks < kYields)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(kPause);
    }
  }
  std::atomic<bool> taken_{false};
};

}  // namespace tailor
