// Integers that shape results and that no size of a tensor which ops take explains: they are symbols of their own.

#include <gtest/gtest.h>

#include "support/catch_warnings.h"
#include "support/expect.h"

namespace tailor {
namespace {

using testing::CatchWarnings;
using testing::warnings;

// Sizes of an argument that no op takes.
TEST(NumbersAsSizes, OfAnArgumentThatNoOpTakes) {
  auto f = compile([](const Tensor& x) {
    const int64_t n = x.size(0);
    return full({n, n}, 2.5) + arange(n, kFloat32) * 3;
  });
  for (int64_t n = 2; n <= 40; ++n) EXPECT_TRUE(equal(f(zeros({n, 3})), full({n, n}, 2.5) + arange(n, kFloat32) * 3)) << n;
  const Stats stats = f.stats();
  EXPECT_LE(stats.recompiles, 1u);
  EXPECT_EQ(stats.divergences, 0u);
  EXPECT_EQ(stats.hits, 37u);
}

struct Decoder {
  Tensor keys = zeros({2, 128, 4}), values = zeros({2, 128, 4});
  Tensor step(const Tensor& x, int64_t position) {
    keys.narrow(1, position, 1).copy_(x);
    values.narrow(1, position, 1).copy_(x * 2);
    const Tensor k = keys.narrow(1, 0, position + 1), v = values.narrow(1, 0, position + 1);
    return matmul(softmax(matmul(x, k.transpose(1, 2)), -1), v);
  }
};

// A key/value cache of fixed room, whose valid part grows: the first lengths by themselves, then all.
TEST(NumbersAsSizes, ThePositionInAPreallocatedCache) {
  const CatchWarnings caught;
  Decoder fast, plain;
  int64_t position = 0;
  auto f = compile([&](const Tensor& x) { return fast.step(x, position); });
  for (const int round : {0, 1}) {
    for (position = 0; position < 128; ++position) {
      const Tensor x = full({2, 1, 4}, 0.1 * static_cast<double>(position % 7));
      EXPECT_TRUE(allclose(f(x), plain.step(x, position), 1e-5, 1e-6)) << round << ' ' << position;
      EXPECT_TRUE(equal(fast.keys, plain.keys) && equal(fast.values, plain.values)) << round << ' ' << position;
    }
  }
  const Stats stats = f.stats();
  EXPECT_LE(stats.recompiles, 3u) << stats;
  EXPECT_LE(stats.paths, 2);
  EXPECT_GE(stats.hits, 251u);
  EXPECT_TRUE(warnings.empty());
}

// As an argument of the call.
TEST(NumbersAsSizes, AnIntegerArgument) {
  const Tensor table = arange(200, kFloat32).view({100, 2});
  auto f = compile([&](const Tensor& x, int64_t n) { return (table.narrow(0, 0, n) * x).sum(0); });
  const Tensor x = ones({2});
  for (int64_t n = 2; n <= 100; ++n) EXPECT_TRUE(allclose(f(x, n), (table.narrow(0, 0, n) * x).sum(0))) << n;
  EXPECT_GE(f.stats().hits, 96u);
}

// Two numbers, and sizes beside them.
TEST(NumbersAsSizes, SeveralAndSizes) {
  const Tensor a = arange(40, kFloat32), b = arange(50, kFloat32);
  int64_t n = 0, m = 0;
  auto f = compile([&](const Tensor& x) { return x.unsqueeze(1) + (a.narrow(0, 0, n).sum() + b.narrow(0, 0, m) * 2); });
  for (const int round : {0, 1}) {
    for (int call = 0; call < 30; ++call) {
      n = 2 + call * 7 % 38;
      m = 2 + call * 11 % 47;
      const Tensor x = ones({2 + call % 5});
      EXPECT_TRUE(allclose(f(x), x.unsqueeze(1) + (a.narrow(0, 0, n).sum() + b.narrow(0, 0, m) * 2))) << round << ' ' << call;
    }
  }
  EXPECT_LE(f.stats().recompiles, 4u) << f.stats();
}

// What chooses makes paths, as before.
TEST(NumbersAsSizes, DimsMakePaths) {
  int64_t dim = 0;
  auto f = compile([&](const Tensor& x) { return x.sum(dim) * 2; });
  const Tensor x = arange(24, kFloat32).view({2, 3, 4});
  for (const int round : {0, 1})
    for (dim = 0; dim < 3; ++dim) EXPECT_TRUE(allclose(f(x), x.sum(dim) * 2)) << round;
  EXPECT_EQ(f.stats().paths, 3);
  EXPECT_EQ(f.stats().hits, 3u);
}

// Where one program for all numbers cannot be had, each number makes a path.
TEST(NumbersAsSizes, NumbersWithoutAProgramForAllOfThem) {
  const Tensor table = arange(64, kFloat32);
  int64_t n = 0;
  auto f = compile([&](const Tensor& x) { return x * std::sin(static_cast<double>(n)) + table.narrow(0, 0, n).unfold(0, 2, n / 2).sum(); });
  const auto plain = [&](const Tensor& x) {
    return x * std::sin(static_cast<double>(n)) + table.narrow(0, 0, n).unfold(0, 2, n / 2).sum();
  };
  for (const int round : {0, 1})
    for (n = 4; n < 16; ++n) EXPECT_TRUE(allclose(f(ones({3})), plain(ones({3})), 1e-5, 1e-5)) << round << ' ' << n;
}

// A promise that is broken by such a number is found out.
TEST(NumbersAsSizes, APromiseBrokenByANumber) {
  const CatchWarnings caught;
  const Tensor table = arange(30, kFloat32);
  int64_t n = 2;
  auto f = compile([&](const Tensor& x) { return x + table.narrow(0, 0, n).sum(); }, {.pure = true});
  const Tensor x = ones({2});
  for (n = 2; n < 5; ++n) f(x);  // before it is skipped
  for (int call = 0; call < 40; ++call) {
    n = 5 + call % 9;
    f(x);
  }
  EXPECT_TRUE(f.stats().pure_promise_broken);
  n = 9;
  EXPECT_TRUE(allclose(f(x), x + table.narrow(0, 0, n).sum()));
}

}  // namespace
}  // namespace tailor
