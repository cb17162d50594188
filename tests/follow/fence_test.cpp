// tailor::fence(): what was asked for before it is computed before it.

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

// Without the fence the write through the pointer comes before the op that the body called first.
TEST(Fence, OrdersRawPointersTakenBeforeTheCall) {
  const Tensor x = f32({1, 2, 3});
  float* const p = x.data_ptr<float>();
  auto f = compile([&](const Tensor& t) {
    const Tensor before = t + 1;
    fence();
    p[0] += 10;
    return before * 100 + t;
  });
  for (int call = 0; call < 4; ++call) {
    const float first = p[0];
    EXPECT_VALUES(f(x), (first + 1) * 100 + first + 10, 302, 403);
  }
  EXPECT_EQ(f.stats().hits, 3u);
  EXPECT_EQ(f.stats().divergences, 0u);
}

TEST(Fence, MakesInPlaceWritesVisible) {
  const Tensor x = f32({1, 2});
  const float* const p = x.data_ptr<float>();
  std::vector<float> seen;
  auto f = compile([&](Tensor t) {
    t.add_(1);
    fence();
    seen.push_back(p[0]);
    return t * 2;
  });
  for (int call = 0; call < 3; ++call) EXPECT_VALUES(f(x), 2.f * (2 + call), 2.f * (3 + call));
  EXPECT_EQ(seen, (std::vector<float>{2, 3, 4}));
}

// Another thread writes to what this call has read.
TEST(Fence, OrdersWritesOfOtherThreads) {
  Tensor weights = f32({1, 2});
  auto f = compile([&](const Tensor& x) {
    const Tensor y = x * weights;
    fence();
    std::thread([&] { weights.fill_(7); }).join();
    return y;
  });
  for (int call = 0; call < 3; ++call) {
    weights.copy_(f32({1, 2}));
    EXPECT_VALUES(f(f32({3, 4})), 3, 8);
    EXPECT_VALUES(weights, 7, 7);
  }
}

TEST(Fence, WithNothingPendingIsNoStep) {
  auto f = compile([](const Tensor& x) {
    fence();
    return x + 1;
  });
  f(ones({2}));
  f(ones({2}));
  EXPECT_EQ(f.stats().hits, 1u);
  fence();  // outside of calls
  EXPECT_VALUES(ones({1}) + 1, 2);
}

TEST(Fence, IsRefusedInOneGraph) {
  auto f = compile(
      [](const Tensor& x) {
        const Tensor y = x + 1;
        fence();
        return y;
      },
      {.name = "fenced", .fullgraph = true});
  try {
    f(ones({2}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("fullgraph: fenced ("), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(" has a fence, at fence_test.cpp:"), std::string::npos) << error.what();
  }
}

// Skipping would leave the host's part out.
TEST(Fence, IsNotSkipped) {
  int ran = 0;
  auto f = compile(
      [&](const Tensor& x) {
        const Tensor y = x + 1;
        fence();
        ++ran;
        return y * 2;
      },
      {.pure = true});
  for (int call = 0; call < 6; ++call) EXPECT_VALUES(f(f32({1})), 4);
  EXPECT_EQ(ran, 6);
}

// Errors of pending ops are thrown by the fence.
TEST(Fence, ThrowsWhatPendingOpsThrow) {
  bool passed = false;
  auto f = compile([&](const Tensor& x, const Tensor& index) {
    const Tensor y = x.index_select(0, index);
    passed = false;
    fence();
    passed = true;
    return y;
  });
  const Tensor x = f32({1, 2}), good = zeros({1}, kInt64), bad = full({1}, 5, kInt64);
  EXPECT_VALUES(f(x, good), 1);
  EXPECT_VALUES(f(x, good), 1);
  EXPECT_THROW(f(x, bad), Error);
  EXPECT_FALSE(passed);
  EXPECT_VALUES(f(x, good), 1);
}

}  // namespace
}  // namespace tailor
