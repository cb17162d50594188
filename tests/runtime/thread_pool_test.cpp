// The thread pool: ranges, exceptions, nesting, forked children, floating-point mode.
#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/error.h"

namespace tailor {
namespace {

class ThreadPool : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_num_threads(GetParam()); }
};

void expect_each_once(int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
  std::atomic<int64_t> shorter{0};
  parallel_for(0, n, grain, [&](int64_t begin, int64_t end) {
    if (end - begin < grain && end != n) ++shorter;
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (auto& s : seen) ASSERT_EQ(s, 1);
  EXPECT_EQ(shorter, 0);
}

TEST_P(ThreadPool, CoversEveryIndexOnce) {
  for (const int64_t n : {0, 1, 2, 7, 64, 1000, 12345})
    for (const int64_t grain : {1, 3, 100, 100000}) expect_each_once(n, grain);
}

TEST_P(ThreadPool, ManySmallJobs) {
  std::atomic<int64_t> sum{0};
  for (int i = 0; i < 3000; ++i) parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  EXPECT_EQ(sum, 3000 * 8);
}

TEST_P(ThreadPool, RethrowsTheFirstExceptionAndGoesOn) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_THROW(parallel_for(0, 100, 1,
                              [](int64_t begin, int64_t end) {
                                if (begin <= 37 && 37 < end) throw std::out_of_range("37");
                              }),
                 std::out_of_range);
    EXPECT_FALSE(in_parallel_region());
    expect_each_once(100, 1);
  }
}

TEST_P(ThreadPool, NestedWorkIsSerial) {
  std::atomic<int64_t> sum{0};
  parallel_for(0, 16, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto here = std::this_thread::get_id();
      parallel_for(0, 100, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), here);
        sum += e - b;
      });
    }
  });
  EXPECT_EQ(sum, 1600);
}

TEST_P(ThreadPool, SeveralCallersAtOnce) {
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([] {
      for (int i = 0; i < 300; ++i) expect_each_once(50, 1);
    });
  for (auto& c : callers) c.join();
}

TEST_P(ThreadPool, TheCountMayChangeAtAnyTime) {
  for (int n = 1; n <= 6; ++n) {
    set_num_threads(n);
    EXPECT_EQ(get_num_threads(), n);
    expect_each_once(1000, 1);
  }
  for (int n = 6; n >= 1; --n) {
    set_num_threads(n);
    expect_each_once(1000, 1);
  }
}

TEST_P(ThreadPool, ForkedChildrenStartAnew) {
  expect_each_once(1000, 1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> n{0};
    parallel_for(0, 100, 1, [&](int64_t begin, int64_t end) { n += static_cast<int>(end - begin); });
    _exit(n == 100 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expect_each_once(1000, 1);
}

#if defined(__x86_64__)
TEST_P(ThreadPool, WorkersTakeTheCallersFloatingPointMode) {
  const unsigned before = _mm_getcsr();
  for (const unsigned mode : {before, before | 0x8040u, before | 0x6000u, before}) {
    _mm_setcsr(mode);
    std::atomic<int> wrong{0};
    parallel_for(0, 64, 1, [&](int64_t, int64_t) { wrong += (_mm_getcsr() & 0xe040u) != (mode & 0xe040u); });
    EXPECT_EQ(wrong, 0);
  }
  _mm_setcsr(before);
}
#endif

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPool, testing::Values(1, 2, 4));

TEST(ThreadCount, NonsenseIsRefused) {
  try {
    set_num_threads(0);
    FAIL();
  } catch (const Error& e) { EXPECT_STREQ(e.what(), "set_num_threads: expected a number from 1 to 4096, got 0"); }
}

}  // namespace
}  // namespace tailor
