// Sizes that vary from call to call.

#include <gtest/gtest.h>

#include <thread>

#include "support/expect.h"
#include "tailor/tailor.h"

namespace tailor {
namespace {

Tensor counted(IntArrayRef sizes, double first = 1) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(first, first + static_cast<double>(n), kFloat).view(sizes) / 7.0;
}

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && a.strides() == b.strides() && equal(a, b); }
bool close(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && allclose(a, b, 1e-4, 1e-5); }

TEST(Dynamic, ASecondSizeMakesADimensionSymbolic) {
  const auto body = [](const Tensor& x) { return relu(x * 2 - 3).sum(1); };
  auto f = compile(body);
  for (int64_t n : {4, 9, 2, 31, 64, 100, 3, 9, 4}) EXPECT_TRUE(close(f(counted({n, 5})), body(counted({n, 5})))) << n;
  const Stats s = f.stats();
  EXPECT_EQ(s.entries, 1);
  EXPECT_EQ(s.misses, 2u);
  EXPECT_EQ(s.recompiles, 1u);
  EXPECT_EQ(s.symbolic_compiles, 1u);
  EXPECT_EQ(s.hits, 7u);
  EXPECT_EQ(s.op_by_op, 0u);
  auto g = compile(body);
  g(counted({4, 5}));
  EXPECT_EQ(explain(g)(counted({9, 5})).outcome, "miss: a size varies and became symbolic, compiled again");
  EXPECT_EQ(explain(g)(counted({8, 5})).outcome, "hit: followed cached code");
  const Explanation told = explain(f)(counted({7, 5}));
  EXPECT_NE(told.text().find("2 <= args[0].size(0)"), std::string::npos) << told.text();
  EXPECT_NE(told.text().find("args[0].size(1) == 5"), std::string::npos) << told.text();
}

TEST(Dynamic, SizesZeroAndOneAreEntriesOfTheirOwn) {
  const auto body = [](const Tensor& x, const Tensor& y) { return x + y; };
  auto f = compile(body);
  const auto row = [](int64_t n) { return counted({n, 3}); };
  EXPECT_TRUE(same(f(row(1), row(2)), body(row(1), row(2))));
  EXPECT_TRUE(same(f(row(2), row(2)), body(row(2), row(2))));
  EXPECT_TRUE(same(f(counted({2, 1}), row(2)), body(counted({2, 1}), row(2))));
  EXPECT_TRUE(same(f(zeros({0, 3}), zeros({0, 3})), zeros({0, 3})));
  for (int64_t n : {5, 3, 8, 1, 0, 2}) {
    const Tensor x = n == 0 ? zeros({0, 3}) : row(n);
    EXPECT_TRUE(same(f(x, x), body(x, x))) << n;
  }
  auto g = compile([](const Tensor& x) { return std::vector<Tensor>{x.sum(0), x * 2, x.mean(0)}; }, {.dynamic = Dynamic::Always});
  for (int64_t n : {4, 2, 1, 0, 5}) {
    const Tensor x = n == 0 ? zeros({0}) : counted({n});
    const auto got = g(x);
    EXPECT_TRUE(close(got[0], x.sum(0)));
    EXPECT_TRUE(same(got[1], x * 2));
    if (n == 0)
      EXPECT_TRUE(std::isnan(got[2].item<float>()));
    else
      EXPECT_TRUE(close(got[2], x.mean(0)));
  }
}

TEST(Dynamic, IntegersComputedFromSizesAreExplained) {
  const auto body = [](const Tensor& x) {
    const int64_t b = x.size(0), s = x.size(1);
    const Tensor flat = x.reshape({b * s, 4});
    const Tensor most = x.narrow(1, 1, s - 1);
    const Tensor all = cat({flat, ones({s + 1, 4})}, 0);
    return std::vector<Tensor>{flat * 2, most + static_cast<double>(s), all + 1, arange(s) * b};
  };
  auto f = compile(body);
  for (const auto& [b, s] : std::vector<std::pair<int64_t, int64_t>>{{2, 6}, {3, 9}, {5, 4}, {2, 11}, {7, 7}, {3, 8}, {4, 30}}) {
    const auto want = body(counted({b, s, 4})), got = f(counted({b, s, 4}));
    for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same(got[i], want[i])) << b << " " << s << " " << i;
  }
  EXPECT_LE(f.stats().recompiles, 4u);
}

TEST(Dynamic, IntegersThatAreNoPolynomialsStayStatic) {
  const auto body = [](const Tensor& x) {
    const int64_t s = x.size(0);
    return x.narrow(0, s / 2, s - s / 2) * 2;
  };
  auto f = compile(body);
  for (int64_t s : {6, 9, 4, 11, 7, 8, 30, 31, 32, 33, 34, 35, 6}) EXPECT_TRUE(same(f(counted({s, 4})), body(counted({s, 4})))) << s;
}

TEST(Dynamic, AnIntegerThatIsNoSizeStaysAPathOfItsOwn) {
  int64_t take = 2;
  const auto body = [&](const Tensor& x) { return x.narrow(0, 0, take) * 2; };
  auto f = compile(body);
  for (const auto& [n, t] : std::vector<std::pair<int64_t, int64_t>>{{8, 2}, {8, 3}, {9, 3}, {9, 2}, {10, 4}, {8, 2}, {11, 11}}) {
    take = t;
    EXPECT_TRUE(same(f(counted({n})), body(counted({n})))) << n << " " << t;
  }
}

TEST(Dynamic, ASequenceThatGrowsCompilesAtMostThreeTimes) {
  Tensor w = counted({8, 8}) / 40;
  const auto body = [&](const Tensor& x, const Tensor& keys, const Tensor& values) {
    const Tensor k = cat({keys, matmul(x, w)}, 0), v = cat({values, x}, 0);
    const Tensor weights = softmax(matmul(x, k.t()), -1);
    return std::vector<Tensor>{matmul(weights, v), k, v};
  };
  auto f = compile(body);
  Tensor keys = counted({2, 8}) / 10, values = counted({2, 8}) / 20;
  for (int step = 0; step < 60; ++step) {
    const Tensor x = counted({1, 8}, step) / 30;
    const auto want = body(x, keys, values), got = f(x, keys, values);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_TRUE(close(got[i], want[i])) << step << " " << i;
    keys = got[1];
    values = got[2];
  }
  EXPECT_LE(f.stats().recompiles, 2u);
  EXPECT_GE(f.stats().hits, 57u);
}

TEST(Dynamic, ACapturedCacheMayGrow) {
  Tensor cache = counted({2, 4});
  auto f = compile([&](const Tensor& x) {
    cache = cat({cache, x}, 0);
    return cache.sum(0) + x;
  });
  Tensor expected = counted({2, 4});
  for (int step = 0; step < 40; ++step) {
    const Tensor x = counted({1, 4}, step);
    expected = cat({expected, x}, 0);
    ASSERT_TRUE(close(f(x), expected.sum(0) + x)) << step;
    ASSERT_TRUE(same(cache, expected)) << step;
  }
  EXPECT_LE(f.stats().recompiles, 3u);
}

TEST(Dynamic, MarksMakeTheFirstCompileSymbolic) {
  auto f = compile([](const Tensor& x) { return tanh(x) + 1; });
  for (int64_t n : {5, 3, 64}) {
    const Tensor x = counted({n, 3});
    mark_dynamic(x, 0, {.min = 1, .max = 64});
    EXPECT_TRUE(same(f(x), tanh(x) + 1));
  }
  EXPECT_EQ(f.stats().misses, 1u);
  EXPECT_EQ(f.stats().recompiles, 0u);
  EXPECT_EQ(f.stats().symbolic_compiles, 1u);
  f(counted({65, 3}));  // outside of the range: an entry of its own
  EXPECT_EQ(f.stats().entries, 2);
}

TEST(Dynamic, ARequiredMarkThatCodeContradictsIsAnError) {
  const Tensor fixed = counted({5});
  auto f = compile([&](const Tensor& x) { return x + fixed; });
  const Tensor x = counted({5});
  mark_dynamic(x, 0);
  try {
    f(x);
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("mark_dynamic: dimension 0 of args[0] cannot vary, the code forces it to 5"), std::string::npos) << text;
    EXPECT_NE(text.find("dynamic_test.cpp:"), std::string::npos) << text;
  }
  const Tensor y = counted({5});
  maybe_mark_dynamic(y, 0);
  EXPECT_TRUE(same(f(y), y + fixed));
  EXPECT_THROW(mark_dynamic(x, 1), IndexError);
  EXPECT_THROW(mark_dynamic(x, 0, {.min = 9, .max = 3}), Error);
}

TEST(Dynamic, AStaticMarkKeepsAnEntryPerSize) {
  auto f = compile([](const Tensor& x) { return x * 2; });
  for (int64_t n : {4, 5, 6}) {
    const Tensor x = counted({n});
    mark_static(x, 0);
    EXPECT_TRUE(same(f(x), x * 2));
  }
  EXPECT_EQ(f.stats().entries, 3);
}

TEST(Dynamic, BranchesOnSizesAreFollowed) {
  const auto body = [](const Tensor& x) {
    if (x.size(0) > 5) return cos(x);
    if (x.size(0) < 5) return x * 2;
    return sin(x);
  };
  auto f = compile(body);
  for (int round = 0; round < 3; ++round) {
    for (int64_t n : {5, 6, 4, 12, 3}) {
      const Tensor x = counted({n, 3, 3});
      mark_dynamic(x, 0);
      EXPECT_TRUE(same(f(x), body(x))) << n;
    }
  }
  EXPECT_EQ(f.stats().entries, 1);
}

TEST(Dynamic, NeverIsStatic) {
  auto f = compile([](const Tensor& x) { return x + 1; }, {.dynamic = Dynamic::Never});
  for (int64_t n : {2, 3, 4}) f(ones({n}));
  EXPECT_EQ(f.stats().entries, 3);
  EXPECT_EQ(f.stats().symbolic_compiles, 0u);
}

TEST(Dynamic, ValuesAndSizesOfResultsBelongToTheCall) {
  const auto body = [](const Tensor& x) { return std::vector<Tensor>{x * 2, 0 * x, ones({3}), x.mean()}; };
  auto f = compile(body);
  for (int64_t n : {2, 3, 4, 5, 17, 2}) {
    const auto got = f(counted({n})), want = body(counted({n}));
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(close(got[i], want[i])) << n << " " << i;
  }
  auto g = compile([](const Tensor& buffer, const Tensor& index) { return buffer.index_select(0, index).sum(); });
  const Tensor buffer = arange(10.0, 60.0, 10.0);
  for (int64_t n = 1; n <= 4; ++n) EXPECT_EQ(g(buffer, arange(n)).item<float>(), static_cast<float>(5 * n * (n + 1)));
}

TEST(Dynamic, WritesInPlaceOfAnySize) {
  auto f = compile([](Tensor x, const Tensor& y) {
    x.mul_(2).add_(y);
    x.narrow(0, 0, 2).zero_();
    return x.sum();
  });
  for (int64_t n : {4, 7, 3, 20}) {
    Tensor x = counted({n}), want = x.clone();
    want.mul_(2).add_(counted({n}, 5));
    want.narrow(0, 0, 2).zero_();
    f(x, counted({n}, 5));
    EXPECT_TRUE(same(x, want)) << n;
  }
}

TEST(Dynamic, WrongSizesThrowWhatEagerThrows) {
  auto f = compile([](const Tensor& x, const Tensor& y) { return x + y; });
  f(ones({4}), ones({4}));
  f(ones({5}), ones({5}));
  EXPECT_THROW(f(ones({5}), ones({4})), Error);
  EXPECT_TRUE(same(f(ones({6}), ones({6})), full({6}, 2.0)));
}

TEST(Dynamic, PureCallsAreSkippedInEverySizeSeen) {
  auto f = compile([](const Tensor& x) { return x * static_cast<double>(x.size(0)); }, {.pure = true});
  for (int round = 0; round < 20; ++round) {
    for (int64_t n : {3, 5, 8}) EXPECT_TRUE(same(f(counted({n})), counted({n}) * static_cast<double>(n))) << n;
  }
  EXPECT_FALSE(f.stats().pure_promise_broken);
  EXPECT_GE(f.stats().skipped, 30u);
}

TEST(Dynamic, BackEndsWithoutCodeTakeAllSizes) {
  const auto body = [](const Tensor& x) {
    const Tensor half = x.narrow(0, 0, x.size(0) / 2);
    return std::vector<Tensor>{softmax(half * 2 - 3, 1), half.reshape({-1}).sum()};
  };
  for (const Backend backend : {Backend::Interpreter, Backend::Eager}) {
    auto f = compile(body, {.backend = backend});
    for (int64_t n = 30; n > 3; --n) {
      const auto got = f(counted({n, 5})), want = body(counted({n, 5}));
      for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(close(got[i], want[i])) << n << " " << i;
    }
    // From two calls, 15 of 30 and 14 of 29 rows may be half of them or all but fifteen.
    EXPECT_LE(f.stats().symbolic_compiles, 2u) << f.stats();
    EXPECT_LE(f.stats().recompiles, 2u) << f.stats();
    EXPECT_EQ(f.stats().op_by_op, 0u) << f.stats();
  }
}

TEST(Dynamic, ManyThreadsManySizes) {
  auto f = compile([](const Tensor& x) { return (x * 3 + 1).sum(1); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const int64_t n = 2 + (7 * t + i) % 23;
        const Tensor x = full({n, 3}, 1.0 * i);
        ASSERT_TRUE(close(f(x), (x * 3 + 1).sum(1)));
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(f.stats().entries, 1);
}

}  // namespace
}  // namespace tailor
