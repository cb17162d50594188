// Functions with many paths: past a few, what paths begin with is a segment that they share, and a loop whose trip count varies is recorded
// in parts, so that programs do not grow with the number of paths times their length.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "support/expect.h"

namespace tailor {
namespace {

constexpr int kOpsOfARound = 4, kMost = 60;

Tensor rounds(Tensor x, int count) {
  for (int i = 0; i < count; ++i) {
    const Tensor y = x * 0.5 + 1;
    x = relu(y - 0.25);
  }
  return x;
}

struct Order {
  const char* name;
  std::vector<int> counts;
};
std::vector<Order> orders() {
  std::vector<int> up(kMost);
  std::iota(up.begin(), up.end(), 1);
  std::vector<int> down(up.rbegin(), up.rend()), shuffled = up;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(7));
  return {{"up", up}, {"down", down}, {"shuffled", shuffled}};
}

// Whole paths would take the sum of all counts. A few are made; then the parts of the longest, and some ends, are enough.
TEST(ManyPaths, ALoopOfAnyTripCountIsMadeOfParts) {
  const Tensor x = arange(64, kFloat32) / 7;
  for (const Order& order : orders()) {
    SCOPED_TRACE(order.name);
    int count = 0;
    auto f = compile([&](const Tensor& t) { return rounds(t, count); });
    for (const int round : {0, 1, 2}) {
      for (const int n : order.counts) {
        count = n;
        const Stats before = f.stats();
        EXPECT_TRUE(equal(f(x), rounds(x, n))) << n;
        if (round < 2) continue;
        EXPECT_EQ(f.stats().hits, before.hits + 1) << n;
        EXPECT_EQ(f.stats().recompiles, before.recompiles) << n;
      }
    }
    const Stats stats = f.stats();
    const int whole = kOpsOfARound * std::accumulate(order.counts.begin(), order.counts.end(), 0);
    EXPECT_LT(stats.ops, 9 * kOpsOfARound * kMost + 3 * kOpsOfARound * kMost);
    EXPECT_LT(stats.ops, whole / 2);
    EXPECT_LE(stats.paths, 64);
    EXPECT_GT(stats.parts, 0u);
    EXPECT_EQ(stats.op_by_op, 0u);
  }
}

// The first part of a loop has been compiled when a later one comes: they have the same kernels.
TEST(ManyPaths, PartsShareCode) {
  int count = 0;
  auto f = compile([&](const Tensor& t) { return rounds(t, count); });
  const Tensor x = ones({8});
  for (count = 1; count <= 20; ++count) f(x), f(x);
  const Stats before = f.stats();
  for (count = 21; count <= 40; ++count) f(x), f(x);
  const Stats after = f.stats();
  EXPECT_GT(after.recompiles, before.recompiles);
  EXPECT_LT(after.ops - before.ops, 20 * 2 * 8 * kOpsOfARound);  // a part and an end each, not the whole
}

// Choices that multiply: more paths than a tree has room for. What is recorded runs compiled, the rest runs op by op.
TEST(ManyPaths, PastTheLimitTheBeginningIsCompiled) {
  const auto body = [](Tensor x, int choices) {
    for (int i = 0; i < 4; ++i) x = relu(x * 0.5 + i);  // what all paths have
    for (int i = 0; i < 8; ++i) x = choices >> i & 1 ? x + (i + 1) : x * (i + 2) - 1;
    return x;
  };
  int choices = 0;
  auto f = compile([&](const Tensor& t) { return body(t, choices); });
  const Tensor x = ones({16});
  for (const int round : {0, 1}) {
    for (choices = 0; choices < 256; ++choices) EXPECT_TRUE(equal(f(x), body(x, choices))) << round << ' ' << choices;
  }
  const Stats before = f.stats();
  EXPECT_LE(before.paths, 64);
  for (choices = 0; choices < 256; ++choices) EXPECT_TRUE(equal(f(x), body(x, choices))) << choices;
  const Stats after = f.stats();
  EXPECT_LT(before.ops, 64 * 28);
  EXPECT_EQ(after.recompiles, before.recompiles);
  EXPECT_GT(after.parts, 0u);
}

// Values that are needed on both sides of where a part ends, writes and errors.
TEST(ManyPaths, EffectsAreThoseOfEager) {
  const auto body = [](Tensor x, Tensor& sum, int count, bool fail) {
    const Tensor first = x * 3;
    for (int i = 0; i < count; ++i) {
      sum.add_(x);
      x = (x + first).cos();
      if (fail && i == count - 1) check(false, "stop");
    }
    return x + first;
  };
  Tensor sum = zeros({5}), expected = zeros({5});
  int count = 0;
  bool fail = false;
  auto f = compile([&](const Tensor& t) { return body(t, sum, count, fail); });
  std::mt19937 random(3);
  for (int call = 0; call < 120; ++call) {
    count = static_cast<int>(random() % 30);
    fail = random() % 4 == 0 && count > 0;
    const Tensor x = full({5}, static_cast<double>(call % 3));
    Tensor got, wanted;
    try {
      wanted = body(x, expected, count, fail);
    } catch (const Error&) {}
    try {
      got = f(x);
    } catch (const Error&) {}
    ASSERT_EQ(got.defined(), wanted.defined()) << call;
    EXPECT_TRUE(!got.defined() || equal(got, wanted)) << call << ", " << count;
    EXPECT_TRUE(equal(sum, expected)) << call << ", " << count;
  }
}

// A skipped call is worth more than a shared part: pure functions keep whole paths.
TEST(ManyPaths, OfPureFunctionsStayWhole) {
  auto f = compile([](const Tensor& t, int n) { return rounds(t, n); }, {.pure = true});
  const Tensor x = ones({4});
  for (int call = 0; call < 3; ++call)
    for (int n = 1; n <= 12; ++n) EXPECT_TRUE(equal(f(x, n), rounds(x, n)));
  EXPECT_EQ(f.stats().parts, 0u);
}

}  // namespace
}  // namespace tailor
