// SymInt: functions that read sizes only through it are skipped in sizes that they were never run in.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support/expect.h"

namespace tailor {
namespace {

using Body = std::function<Tensor(const Tensor&)>;

bool missed(const Stats& stats, const std::string& guard, const std::string& actual) {
  return std::any_of(stats.recent_misses.begin(), stats.recent_misses.end(),
                     [&](const MissRecord& m) { return m.guard == guard && m.actual == actual; });
}

/// A pure compiled function that counts how often its body runs.
struct Counted {
  std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0);
  Compiled<Tensor(const Tensor&)> f;
  explicit Counted(Body body, CompileOptions options = {.pure = true})
      : f(compile([body, runs = runs](const Tensor& x) { return ++*runs, body(x); }, std::move(options))) {}
};

/// Calls `body` compiled with every number of rows from 2 to 70, and demands eager's result and this many runs of the body.
void expect_runs(const Body& body, int runs, int64_t columns = 4, int64_t step = 1) {
  Counted counted(body);
  for (int64_t n = 2; n <= 70; n += step) {
    const Tensor x = randn({n, columns});
    const Tensor got = counted.f(x), wanted = body(x);
    ASSERT_EQ(got.sizes(), wanted.sizes()) << n << " rows";
    ASSERT_TRUE(allclose(got, wanted, 1e-4, 1e-4)) << n << " rows";
  }
  EXPECT_EQ(*counted.runs, runs) << counted.f.stats();
  EXPECT_FALSE(counted.f.stats().pure_promise_broken);
}

TEST(SymInt, PlainNumbersOutsideOfRecording) {
  const Tensor x = zeros({3, 4});
  EXPECT_EQ(x.sym_size(0), 3);
  EXPECT_EQ(x.sym_size(-1), 4);
  EXPECT_EQ(x.sym_numel(), 12);
  EXPECT_EQ(x.sym_sizes()[1], 4);
  EXPECT_FALSE(x.sym_size(0).is_symbolic());
  const SymInt a = 7, b = -2;
  EXPECT_EQ(a + b, 5);
  EXPECT_EQ(a - b, 9);
  EXPECT_EQ(a * b, -14);
  EXPECT_EQ(a / b, -4);
  EXPECT_EQ(a % b, -1);
  EXPECT_EQ(-a / 2, -4);
  EXPECT_EQ(-a % 2, 1);
  EXPECT_EQ(-a, -7);
  EXPECT_EQ(max(a, b), 7);
  EXPECT_EQ(min(a, b), -2);
  EXPECT_EQ(a.max(9), 9);
  EXPECT_TRUE(a != b && a > b && b < a && a >= 7 && a <= 7 && 8 > a && !(a == 8));
  EXPECT_TRUE(static_cast<bool>(a));
  EXPECT_FALSE(static_cast<bool>(SymInt()));
  EXPECT_EQ(a.guard_int(__FILE__, __LINE__), 7);
  EXPECT_EQ(a.expect_int(), 7);
  SymInt c = 1;
  c += 4, c *= 3, c -= 1, c /= 4, ++c, --c, c %= 2;
  EXPECT_EQ(c, 1);
  EXPECT_THROW(a / SymInt(0), Error);
  EXPECT_THROW(a % SymInt(0), Error);
  EXPECT_EQ(SymInt(INT64_MIN) / SymInt(-1), SymInt(INT64_MIN));
  EXPECT_THROW(x.sym_size(2), IndexError);
}

TEST(SymInt, EveryOperatorHoldsForOtherSizes) {
  expect_runs([](const Tensor& x) { return x * x.sym_size(0); }, 1);
  expect_runs([](const Tensor& x) { return x.view({x.sym_size(0) * 4}) + 1; }, 1);
  expect_runs([](const Tensor& x) { return x.narrow(0, 0, x.sym_size(0) / 2).sum(); }, 1);
  expect_runs([](const Tensor& x) { return x.narrow(0, x.sym_size(0) - 2, 2) * 2; }, 1);
  expect_runs([](const Tensor& x) { return x + (x.sym_size(0) % 5); }, 1);
  expect_runs([](const Tensor& x) { return x + -x.sym_size(0); }, 1);
  expect_runs([](const Tensor& x) { return x.slice(0, 0, min(x.sym_size(0), 16)).exp().sum(0); }, 1);
  expect_runs([](const Tensor& x) { return zeros({max(x.sym_size(0), 8)}) + x.sum(); }, 1);
  expect_runs([](const Tensor& x) { return x.sum() + 1.0 * arange(x.sym_size(0)).sum(); }, 1);
  expect_runs([](const Tensor& x) { return x.sum() / x.sym_numel(); }, 1);
  expect_runs([](const Tensor& x) { return x.new_zeros(x.sym_sizes()) + x; }, 1);
  expect_runs([](const Tensor& x) { return x.unsqueeze(0).expand({3, x.sym_size(0), -1}).sum(0); }, 1);
  expect_runs([](const Tensor& x) { return x[x.sym_size(0) - 1] * 2; }, 1);
  expect_runs([](const Tensor& x) { return x.index({indexing::Slice(1, x.sym_size(0))}) * 3; }, 1);
  expect_runs([](const Tensor& x) { return cat({x, x}, 0).mul(2).narrow(0, 1, cat({x, x}, 0).sym_size(0) - 1); }, 1);
}

TEST(SymInt, EveryComparisonIsABranch) {
  expect_runs([](const Tensor& x) { return x.sym_size(0) > 16 ? x + 1 : x - 1; }, 2);
  expect_runs([](const Tensor& x) { return x.sym_size(0) >= 16 ? x + 1 : x - 1; }, 2);
  expect_runs([](const Tensor& x) { return 16 < x.sym_size(0) ? x + 1 : x * 3; }, 2);
  expect_runs([](const Tensor& x) { return x.sym_size(0) <= 16 ? x.exp() : x - 1; }, 2);
  expect_runs([](const Tensor& x) { return x.sym_size(0) == 16 ? x + 1 : x - 1; }, 2);
  expect_runs([](const Tensor& x) { return x.sym_size(0) != 16 ? x + 1 : x - 1; }, 2);
  expect_runs([](const Tensor& x) { return x.sym_size(0) % 4 == 0 ? x.view({-1, 8}).sum(1) : x.sum(1); }, 2);
  expect_runs([](const Tensor& x) { return x.sym_size(0) % 2 ? x + 1 : x - 1; }, 2);
  expect_runs(
      [](const Tensor& x) {
        const SymInt n = x.sym_size(0);
        if (n < 10) return x + 1;
        if (n < 40) return x * 2;
        return x - 3;
      },
      3);
}

TEST(SymInt, APlainReadHoldsForItsSize) {
  expect_runs([](const Tensor& x) { return x * static_cast<double>(x.size(0)); }, 69);
  expect_runs([](const Tensor& x) { return x.view({x.sizes()[0], 2, 2}).sum(2); }, 69);
  expect_runs([](const Tensor& x) { return x / static_cast<double>(x.numel()); }, 69);
  expect_runs([](const Tensor& x) { return x / static_cast<double>(x.sym_size(0).expect_int()); }, 69);
  expect_runs([](const Tensor& x) { return x / static_cast<double>(x.sym_size(0).guard_int(__FILE__, __LINE__)); }, 69);
  // Of a size that does not vary it costs nothing.
  expect_runs([](const Tensor& x) { return x.view({x.sym_size(0), x.size(1) / 2, 2}).sum(2); }, 1);
}

TEST(SymInt, CompositionsStaySymbolic) {
  expect_runs([](const Tensor& x) { return flatten(x) * 2; }, 1);
  expect_runs([](const Tensor& x) { return x.reshape({-1}) * 2; }, 1);
  expect_runs([](const Tensor& x) { return x.reshape({2, -1}).sum(0); }, 1);
  expect_runs([](const Tensor& x) { return x.t().reshape({-1}) * 2; }, 1);
  expect_runs([](const Tensor& x) { return x.t().contiguous().view({-1}) * 2; }, 1);
  expect_runs([](const Tensor& x) { return unflatten(x, 1, {2, -1}).sum(2); }, 1);
  expect_runs([](const Tensor& x) { return zeros_like(x) + x; }, 1);
  expect_runs([](const Tensor& x) { return x.sum(0, true).expand_as(x) * 2; }, 1);
  expect_runs([](const Tensor& x) { return x.view({-1}).view_as(x) * 2; }, 1);
  expect_runs([](const Tensor& x) { return broadcast_tensors({x, x.sum(0)})[1] + x; }, 1);
  expect_runs([](const Tensor& x) { return chunk(x, 2, 1)[0] + chunk(x, 2, 0)[0].sum(); }, 1);
  expect_runs([](const Tensor& x) { return split(x, x.sym_size(0) - 1)[0] * 2; }, 1);
  expect_runs([](const Tensor& x) { return meshgrid({x.sum(1), x.sum(0)})[0] * 2; }, 1);
  expect_runs([](const Tensor& x) { return x.sum(1).diag() + 1; }, 1);
  // So many pieces: each number of them is a way of its own.
  expect_runs([](const Tensor& x) { return cat(split(x, 16), 1 - 1) * 2; }, 5);
}

TEST(SymInt, ModulesStaySymbolic) {
  nn::Linear last(16, 3);
  nn::Sequential mlp(nn::Linear(8, 16), nn::ReLU(), nn::Flatten(), last);
  auto f = compile([&](const Tensor& x) { return mlp->forward(x).softmax(1); }, {.pure = true});
  for (int64_t n = 2; n <= 40; ++n) {
    const Tensor x = randn({n, 8});
    ASSERT_TRUE(allclose(f(x), mlp->forward(x).softmax(1), 1e-5, 1e-6)) << n;
  }
  EXPECT_GE(f.stats().sizes_bound, 38u) << f.stats();
  // Another weight, and what was recorded is of no use.
  {
    NoGradGuard no_grad;
    last->weight = randn({3, 16});
  }
  for (int64_t n = 41; n <= 45; ++n) {
    const Tensor x = randn({n, 8});
    ASSERT_TRUE(allclose(f(x), mlp->forward(x).softmax(1), 1e-5, 1e-6)) << n;
  }
}

TEST(SymInt, AnAuditRunsTheBodyInASizeThatItWasBoundIn) {
  int secret = 1;
  auto f = compile([&](const Tensor& x) { return secret == 1 || x.sym_size(0) < 5 ? x + 1 : x - 1; }, {.pure = true});
  for (int64_t n = 2; n < 10; ++n) {
    const Tensor x = zeros({n});
    EXPECT_TRUE(f(x).equal(x + 1));
  }
  const Tensor x = zeros({9});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(f(x).equal(x + 1));
  for (int64_t n = 10; n < 12; ++n) EXPECT_TRUE(f(zeros({n})).equal(ones({n})));
  const Tensor y = zeros({11});
  EXPECT_TRUE(f(y).equal(y + 1));
  secret = 2;
  for (int i = 0; i < 40; ++i) (void)f(y);
  EXPECT_TRUE(f.stats().pure_promise_broken);
  EXPECT_TRUE(f(y).equal(y - 1));
}

TEST(SymInt, BothBranchesStayAndAMissSaysWhy) {
  Counted counted([](const Tensor& x) {
    return x.sym_size(0) > 16 ? x + 1 : x - 1;  // the line
  });
  const int line = __LINE__ - 2;
  for (const int64_t n : {20, 30, 8, 9, 40, 10}) {
    const Tensor x = randn({n, 2});
    EXPECT_TRUE(counted.f(x).equal(n > 16 ? x + 1 : x - 1));
  }
  EXPECT_EQ(*counted.runs, 2);
  const Stats stats = counted.f.stats();
  EXPECT_EQ(stats.entries, 1);
  EXPECT_EQ(stats.sizes_bound, 4u);
  const auto is_it = [&](const MissRecord& m) {
    return m.guard == "args[0].size(0) > 16" && m.actual == "8" && m.source.ends_with("sym_int_test.cpp:" + std::to_string(line));
  };
  EXPECT_TRUE(std::any_of(stats.recent_misses.begin(), stats.recent_misses.end(), is_it)) << stats;
  for (const auto& x : {randn({20, 2}), randn({8, 2})}) (void)counted.f(x);  // of which one is an audit
  EXPECT_EQ(*counted.runs, 3);
  const Tensor x = randn({12, 2});
  const Explanation told = explain(counted.f)(x);
  EXPECT_EQ(told.outcome, "skipped: the guards hold for this size too, the body did not run");
  ASSERT_EQ(told.size_guards.size(), 2u);
  for (const std::string& text : {told.text(), told.json()}) {
    EXPECT_NE(text.find("args[0].size(0) > 16"), std::string::npos) << text;
    EXPECT_NE(text.find("args[0].size(0) <= 16"), std::string::npos) << text;
    EXPECT_NE(text.find("sym_int_test.cpp:" + std::to_string(line)), std::string::npos) << text;
  }
}

TEST(SymInt, FactsAboutValuesThatTheCallComputes) {
  expect_runs([](const Tensor& x) { return cat({x, x}).sym_size(0) > 30 ? x + 1 : x - 1; }, 2);
  expect_runs([](const Tensor& x) { return x.slice(0, 0, x.sym_size(0) / 2).size(0) == 8 ? x + 1 : x - 1; }, 35);
  Counted counted([](const Tensor& x) { return cat({x, x}).sym_size(0) > 30 ? x + 1 : x - 1; });
  for (const int64_t n : {20, 10}) {
    const Tensor x = randn({n, 2});
    (void)counted.f(x);
  }
  EXPECT_TRUE(missed(counted.f.stats(), "value 0.size(0) > 30", "20")) << counted.f.stats();
}

TEST(SymInt, OneAndZeroAndMarks) {
  Counted counted([](const Tensor& x) { return x.sum(0) * x.sym_size(0); });
  for (const int64_t n : {4, 5, 1, 0, 6, 1, 0, 7}) {
    const Tensor x = ones({n, 3});
    EXPECT_TRUE(counted.f(x).equal(x.sum(0) * n)) << n;
  }
  EXPECT_GE(counted.f.stats().sizes_bound, 3u);
  EXPECT_EQ(counted.f.stats().entries, 3);

  Counted marked([](const Tensor& x) { return x * x.sym_size(0); });
  for (const int64_t n : {4, 5, 9, 7}) {
    const Tensor x = ones({n, 3});
    mark_dynamic(x, 0, {.min = 2, .max = 8});
    EXPECT_TRUE(marked.f(x).equal(x * n)) << n;
  }
  EXPECT_EQ(marked.f.stats().entries, 2);  // 9 is outside

  Counted fixed([](const Tensor& x) { return x * x.sym_size(0); });
  for (const int64_t n : {4, 5, 6}) {
    const Tensor x = ones({n, 3});
    mark_static(x, 0);
    EXPECT_TRUE(fixed.f(x).equal(x * n)) << n;
  }
  EXPECT_EQ(*fixed.runs, 3);
  EXPECT_EQ(fixed.f.stats().entries, 3);

  for (const Dynamic dynamic : {Dynamic::Always, Dynamic::Never}) {
    Counted other([](const Tensor& x) { return x * x.sym_size(0); }, {.dynamic = dynamic, .pure = true});
    for (int64_t n = 2; n < 8; ++n) {
      const Tensor x = ones({n, 3});
      EXPECT_TRUE(other.f(x).equal(x * n)) << n;
    }
    EXPECT_EQ(*other.runs, dynamic == Dynamic::Always ? 1 : 6);
  }
}

TEST(SymInt, SeveralArgumentsAndNumbers) {
  int runs = 0;
  auto f = compile(
      [&](const Tensor& x, const Tensor& y, double scale) {
        ++runs;
        const SymInt n = x.sym_size(0), m = y.sym_size(0);
        return n == m ? (x * scale + y) : cat({x, y}).narrow(0, m, n) * scale;
      },
      {.pure = true});
  const auto wanted = [](const Tensor& x, const Tensor& y, double scale) {
    return x.size(0) == y.size(0) ? x * scale + y : cat({x, y}).narrow(0, y.size(0), x.size(0)) * scale;
  };
  for (int64_t n = 2; n < 12; ++n) {
    for (int64_t m = 2; m < 12; ++m) {
      const Tensor x = randn({n, 2}), y = randn({m, 2});
      ASSERT_TRUE(allclose(f(x, y, 2.0), wanted(x, y, 2.0))) << n << ' ' << m;
    }
  }
  EXPECT_EQ(runs, 2);
  const Tensor x = randn({5, 2}), y = randn({7, 2});
  EXPECT_TRUE(allclose(f(x, y, 3.0), wanted(x, y, 3.0)));  // another number
  EXPECT_TRUE(allclose(f(x, x, 2.0), wanted(x, x, 2.0)));  // one tensor twice
}

TEST(SymInt, WritesAndWatchedValues) {
  Watched<double> scale{2, "scale"};
  int runs = 0;
  auto f = compile([&](const Tensor& x) { return ++runs, x.narrow(0, 0, x.sym_size(0) / 2).mul_(scale.get()), x.sum(); }, {.pure = true});
  for (int64_t n = 2; n < 20; ++n) {
    const Tensor x = randn({n}), y = x.clone();
    y.narrow(0, 0, n / 2).mul_(scale.get());
    const Tensor sum = f(x);
    ASSERT_TRUE(x.equal(y)) << n;
    ASSERT_TRUE(allclose(sum, y.sum())) << n;
  }
  EXPECT_EQ(runs, 1);
  scale = 3;
  for (int64_t n = 20; n < 24; ++n) {
    const Tensor x = ones({n});
    EXPECT_TRUE(allclose(f(x), (ones({n / 2}) * 3).sum() + static_cast<double>(n - n / 2))) << n;
  }
}

// What is captured may be passed as well: where the body got it from cannot be told from one call.
TEST(SymInt, TensorsThatAreBothPassedAndCaptured) {
  const Tensor by_copy = randn({4, 3});
  auto copied = compile([by_copy](const Tensor& x) { return x.sum(0) + by_copy.sum(0); }, {.pure = true});
  auto referred = compile([&](const Tensor& x) { return x.sum(0) + by_copy.sum(0); }, {.pure = true});
  for (int round = 0; round < 3; ++round) {
    for (const auto* f : {&copied, &referred}) {
      EXPECT_TRUE(allclose((*f)(by_copy), by_copy.sum(0) * 2));
      for (int64_t n = 2; n < 12; ++n) {
        const Tensor x = randn({n, 3});
        EXPECT_TRUE(allclose((*f)(x), x.sum(0) + by_copy.sum(0), 1e-5, 1e-5)) << n;
      }
      EXPECT_FALSE(f->stats().pure_promise_broken);
    }
  }
}

TEST(SymInt, ErrorsThatUserCodeCatches) {
  // The view is refused in some sizes only.
  const auto body = [](const Tensor& x) {
    try {
      return x.view({2, -1}).sum(0);
    } catch (const Error&) { return x.view({-1}).slice(0, 0, 1); }
  };
  Counted counted(body);
  for (int64_t n = 2; n < 12; ++n) {
    const Tensor x = randn({n});
    ASSERT_TRUE(allclose(counted.f(x), body(x))) << n;
  }
  const auto reshaped = [](const Tensor& x) {
    try {
      return x.reshape({3, -1}).sum(0);
    } catch (const Error&) { return x * 2; }
  };
  Counted other(reshaped);
  for (int64_t n = 2; n < 12; ++n) {
    const Tensor x = randn({n});
    ASSERT_TRUE(allclose(other.f(x), reshaped(x))) << n;
  }
}

TEST(SymInt, SymIntsThatLeaveTheirCall) {
  SymInt kept;
  auto f = compile([&](const Tensor& x) { return kept = x.sym_size(0), x + 1; }, {.pure = true});
  const Tensor x = zeros({5});
  (void)f(x);
  EXPECT_EQ(kept, 5);
  EXPECT_EQ(kept * 2 - 1, 9);
  EXPECT_EQ(zeros({kept}).size(0), 5);
  // Another thread's comparison cannot be noted: the body runs in each size.
  Counted counted([](const Tensor& t) {
    const SymInt n = t.sym_size(0);
    bool large = false;
    std::thread([&] { large = n > 6; }).join();
    return large ? t + 1 : t - 1;
  });
  for (int64_t n = 3; n < 10; ++n) {
    const Tensor t = zeros({n});
    EXPECT_TRUE(counted.f(t).equal(n > 6 ? t + 1 : t - 1)) << n;
  }
}

TEST(SymInt, LoopsOverSizes) {
  expect_runs(
      [](const Tensor& x) {
        Tensor y = x.sum(0);
        for (SymInt i = 0; i < x.sym_size(0); ++i) y = y + 1;
        return y;
      },
      35, 4, 2);
  expect_runs(
      [](const Tensor& x) {
        SymInt n = x.sym_size(0);
        for (int i = 0; i < 80; ++i) n = n + x.sym_size(0);  // more than is kept as an expression
        return x * n;
      },
      69);
}

// More sizes than an entry remembers instances of, met again.
TEST(SymInt, ManySizesAndTheFirstOnesAgain) {
  Counted counted([](const Tensor& x) { return x.flatten() * x.sym_size(0); });
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 2; n < 640; ++n) {
      const Tensor x = rand({n, 2});
      ASSERT_TRUE(counted.f(x).equal(x.flatten() * n)) << n;
    }
  }
  EXPECT_GT(counted.f.stats().hits, 1200u);
  EXPECT_FALSE(counted.f.stats().pure_promise_broken);
}

TEST(SymInt, NamesOfNestedArguments) {
  struct Pair {
    Tensor first, second;
  };
  auto f = compile([](int, const Pair& p) { return p.second.sym_size(0) > p.first.sym_size(0) + 4 ? p.first + 1 : p.first - 1; },
                   {.pure = true});
  for (const int64_t n : {3, 9}) {
    Pair p{zeros({3}), zeros({n})};
    (void)f(1, p);
  }
  EXPECT_TRUE(missed(f.stats(), "args[1][1].size(0) <= args[1][0].size(0) + 4", "9 <= 7")) << f.stats();
}

TEST(SymInt, ThreadsInNewSizes) {
  Counted counted([](const Tensor& x) { return x.sym_size(0) > 16 ? x.view({-1}) + 1 : x.view({-1}) * x.sym_size(0); });
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 120; ++i) {
        const int64_t n = 2 + (i * 7 + t * 13) % 40;
        const Tensor x = randn({n, 3});
        const Tensor wanted = n > 16 ? x.view({-1}) + 1 : x.view({-1}) * n;
        if (!allclose(counted.f(x), wanted)) ++wrong;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(counted.f.stats().sizes_bound, 0u);
  EXPECT_FALSE(counted.f.stats().pure_promise_broken);
}

}  // namespace
}  // namespace tailor
