// Sizes that the data decides: how many elements a mask selects, how often rows are repeated. What comes after the count is one program
// for all counts.

#include <gtest/gtest.h>

#include "support/expect.h"

namespace tailor {
namespace {

/// `count` elements are 1 and more, spread over `size`; the others are negative.
Tensor with_positive(int64_t size, int64_t count) {
  Tensor x = arange(size, kFloat32) - 1000;
  for (int64_t i = 0; i < count; ++i) x[i * 5 % size] = 1 + static_cast<double>(i) / 8;
  return x;
}

template <class Body>
void expect_one_program(Body body, int64_t most_compiles = 4) {
  auto f = compile(body);
  constexpr int64_t kSize = 61;
  for (const int round : {0, 1}) {
    for (int64_t count = 0; count <= kSize; ++count) {
      const Tensor x = with_positive(kSize, count);
      EXPECT_TRUE(allclose(f(x), body(x), 1e-5, 1e-6)) << round << ' ' << count;
    }
  }
  const Stats stats = f.stats();
  EXPECT_LE(stats.recompiles, static_cast<uint64_t>(most_compiles)) << stats;
  EXPECT_GE(stats.hits, 2 * static_cast<uint64_t>(kSize) - 8) << stats;
  EXPECT_EQ(stats.op_by_op, 0u);
}

TEST(CountsOfData, IndexByMask) {
  expect_one_program([](const Tensor& x) { return relu(x.index({x > 0}) * 2 - 1).cos() + 3; });
}
TEST(CountsOfData, MaskedSelect) {
  expect_one_program([](const Tensor& x) { return (x.masked_select(x > 0) * 2 - 1).exp().sum(); });
}
TEST(CountsOfData, Nonzero) {
  expect_one_program([](const Tensor& x) {
    const Tensor rows = (x > 0).nonzero();
    return rows.to(kFloat32) * 0.5 + x.index_select(0, rows.view({-1})).unsqueeze(1);
  });
}

TEST(CountsOfData, AsManyRowsAsTheDataSays) {
  auto body = [](const Tensor& x, const Tensor& counts) { return x.repeat_interleave(counts, 0) * 2 + 1; };
  auto f = compile(body);
  const Tensor x = arange(8, kFloat32).view({4, 2});
  for (int64_t n = 2; n < 40; ++n) {
    Tensor counts = ones({4}, kInt64);
    counts[n % 4] = n;
    EXPECT_TRUE(equal(f(x, counts), body(x, counts))) << n;
  }
  EXPECT_GE(f.stats().hits, 34u) << f.stats();
}

// Counts and sizes vary, and one count comes after the other.
TEST(CountsOfData, BesideSizesThatVary) {
  auto body = [](const Tensor& x) {
    const Tensor some = x.masked_select(x > 0).sqrt();
    const Tensor fewer = some.masked_select(some > 1.5) * 3;
    return cat({some, fewer}).sum() + x;
  };
  auto f = compile(body);
  for (const int round : {0, 1}) {
    for (int64_t call = 0; call < 40; ++call) {
      const Tensor x = with_positive(41 + call * 3 % 20, 2 + call * 7 % 37);
      EXPECT_TRUE(allclose(f(x), body(x), 1e-5, 1e-5)) << round << ' ' << call;
    }
  }
  EXPECT_GE(f.stats().hits, 70u) << f.stats();
}

}  // namespace
}  // namespace tailor
