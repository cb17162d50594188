// The mutex of one thread that others take hardly ever.
#include "runtime/own_mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace tailor {
namespace {

TEST(OwnMutex, IsTakenByOne) {
  OwnMutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(OwnMutex, WhoWaitsGetsIt) {
  OwnMutex mutex;
  int count = 0;  // guarded by it
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count, 4000);
}

}  // namespace
}  // namespace tailor
