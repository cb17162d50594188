// compile(): what it takes, entries, guards, misses, limits, errors, skipping.

#include <gtest/gtest.h>

#include <thread>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

Tensor double_it(const Tensor& x) { return x * 2; }

struct Batch {
  Tensor tokens;
  std::optional<Tensor> mask;
  std::vector<Tensor> cache;
  int position;
};

class Counter {
 public:
  explicit Counter(int n) : step_(n) {}
  Tensor h;
  TAILOR_FIELDS(Counter, h, step_)
 private:
  int step_;
};

TEST(Compile, TakesFunctionsFunctorsAndMoveOnlyOnes) {
  EXPECT_VALUES(compile(double_it)(f32({2})), 4);
  EXPECT_VALUES(compile(&double_it)(f32({2})), 4);
  auto owned = std::make_unique<double>(3);
  auto f = compile([owned = std::move(owned)](Tensor x) { return x * *owned; });
  EXPECT_VALUES(f(f32({2})), 6);
  auto counting = compile([n = 0](Tensor x) mutable { return x + ++n; });
  EXPECT_VALUES(counting(f32({0})), 1);
  EXPECT_VALUES(counting(f32({0})), 2);
  EXPECT_VALUES(counting(f32({0})), 3);
  std::function<Tensor(Tensor)> as_function = compile([](Tensor x) { return x + 1; });
  EXPECT_VALUES(as_function(f32({1})), 2);
  auto none = compile([] { return ones({2}); });
  EXPECT_VALUES(none(), 1, 1);
  EXPECT_VALUES(none(), 1, 1);
  const auto copy = f;
  EXPECT_VALUES(copy(f32({2})), 6);
  EXPECT_EQ(copy.stats().calls, 2u);
}

// Lengths, presence and keys decide which number an argument has, and nothing else: a call is served where the arguments that take part
// are described as they were.
TEST(Compile, ArgumentsAreFoundByTheirPath) {
  using Extras = std::vector<Tensor>;
  const auto body = [](const Extras&, std::optional<Tensor> bias, const std::map<std::string, Tensor>& named, const Extras& after) {
    Tensor y = named.at("x") * 2;
    if (bias) y = y + *bias;
    return after.empty() ? y : y + after.back();
  };
  auto f = compile(body);
  const auto call = [&](size_t before, bool bias, size_t after, int64_t n) {
    std::map<std::string, Tensor> named{{"x", ones({n})}};
    if (before % 2) named["a"] = ones({3, 3});
    const Tensor y = f(Extras(before, ones({7})), bias ? std::optional(ones({n})) : std::nullopt, named, Extras(after, ones({1})));
    EXPECT_EQ(y.size(0), n);
    EXPECT_EQ(y[0].item<float>(), static_cast<float>(2 + bias + (after > 0)));
  };
  call(0, false, 0, 4);
  for (size_t before = 0; before < 6; ++before) call(before, false, 0, 4);
  EXPECT_EQ(f.stats().misses, 1u);
  EXPECT_EQ(f.stats().hits, 6u);
  EXPECT_EQ(f.stats().divergences, 0u);
  for (int round = 0; round < 2; ++round) {  // each way through the body is recorded once
    call(1, true, 0, 4);
    call(0, true, 0, 4);
    call(2, false, 1, 4);
    call(0, false, 3, 4);
    call(5, true, 2, 4);
  }
  EXPECT_EQ(f.stats().misses, 1u);
  EXPECT_EQ(f.stats().divergences, 3u);
  EXPECT_EQ(f.stats().entries, 1);
  // Another size in another layout: the entry becomes symbolic, and stays one for all layouts.
  call(3, false, 0, 9);
  for (size_t before = 0; before < 4; ++before)
    for (const int64_t n : {4, 9, 11}) call(before, before % 2, before / 2, n);
  EXPECT_EQ(f.stats().misses, 2u);
  EXPECT_EQ(f.stats().entries, 1);
  // One that took part is not there any more.
  auto g = compile(body);
  g({}, ones({4}), {{"x", ones({4})}}, {});
  g({}, std::nullopt, {{"x", ones({4})}}, {});
  EXPECT_EQ(g.stats().misses, 1u);
  EXPECT_EQ(g.stats().divergences, 1u);
  g({}, ones({4}), {{"x", ones({4})}}, {});
  g({}, std::nullopt, {{"x", ones({4})}}, {});
  EXPECT_EQ(g.stats().hits, 2u);
  EXPECT_EQ(g.stats().entries, 1);
}

TEST(Compile, StructuredArgumentsAndResults) {
  auto f = compile([](const Batch& b) {
    Tensor y = b.tokens * b.position;
    if (b.mask) y = y * *b.mask;
    for (const Tensor& c : b.cache) y = y + c;
    return std::make_tuple(y, static_cast<int>(b.cache.size()), std::map<std::string, Tensor>{{"tokens", b.tokens}});
  });
  for (int round = 0; round < 3; ++round) {
    auto [y, n, m] = f(Batch{f32({1, 2}), std::nullopt, {}, 3});
    EXPECT_VALUES(y, 3, 6);
    EXPECT_EQ(n, 0);
    EXPECT_VALUES(m.at("tokens"), 1, 2);
    auto [z, k, l] = f(Batch{f32({1, 2}), f32({0, 1}), {f32({1, 1}), f32({2, 2})}, 3});
    EXPECT_VALUES(z, 3, 9);
    EXPECT_EQ(k, 2);
  }
  EXPECT_EQ(f.stats().entries, 1);  // two ways through the body
  EXPECT_EQ(f.stats().divergences, 1u);
  EXPECT_EQ(f.stats().misses, 1u);
  auto g = compile([](Counter c, std::variant<Tensor, double> v, std::string mode, std::array<Tensor, 2> two, std::pair<int64_t, bool> p) {
    Tensor y = mode == "add" ? two[0] + two[1] : two[0] - two[1];
    if (const auto* t = std::get_if<Tensor>(&v))
      y = y * *t;
    else
      y = y * std::get<double>(v);
    return p.second ? y + c.h : y + p.first;
  });
  Counter c(1);
  c.h = f32({100});
  for (int round = 0; round < 3; ++round) {
    EXPECT_VALUES(g(c, f32({2}), "add", {f32({1}), f32({2})}, {5, true}), 106);
    EXPECT_VALUES(g(c, 3.0, "sub", {f32({1}), f32({2})}, {5, false}), 2);
  }
}

TEST(Compile, MissesTellWhichGuardFailed) {
  auto f = compile([](const Tensor& x) { return x + 1; }, {.name = "plus_one", .dynamic = Dynamic::Never});
  f(ones({4, 3}));
  f(ones({4, 3}));
  f(ones({2, 3}));
  Stats s = f.stats();
  EXPECT_EQ(s.calls, 3u);
  EXPECT_EQ(s.hits, 1u);
  EXPECT_EQ(s.misses, 2u);
  EXPECT_EQ(s.entries, 2);
  ASSERT_EQ(s.recent_misses.size(), 1u);
  EXPECT_EQ(s.recent_misses[0].guard, "args[0].size(0) == 4");
  EXPECT_EQ(s.recent_misses[0].actual, "2");
  EXPECT_NE(s.recent_misses[0].source.find("compile_test.cpp:"), std::string::npos);
  f(ones({4, 3}, kDouble));
  EXPECT_EQ(f.stats().recent_misses.back().actual, "f64");
  f(ones({3, 4}).t());
  const std::vector<MissRecord> misses = f.stats().recent_misses;
  EXPECT_TRUE(std::any_of(misses.begin(), misses.end(),
                          [](const MissRecord& m) { return m.guard == "args[0].stride(0) == 3" && m.actual == "1"; }));
  const Explanation told = explain(f)(ones({7, 3}));
  EXPECT_EQ(told.outcome, "miss: recorded and compiled");
  EXPECT_FALSE(told.misses.empty());
  EXPECT_FALSE(told.guards.empty());
  ASSERT_EQ(told.segments.size(), 1u);
  EXPECT_NE(told.segments[0].graph.find("add"), std::string::npos);
  EXPECT_NE(told.text().find("args[0].size(0) == 7"), std::string::npos);
  EXPECT_NE(told.json().find("\"outcome\""), std::string::npos);
}

TEST(Compile, WhatIsNotReadIsNotGuarded) {
  auto f = compile([](const Tensor& x, const Tensor& unused, int n) {
    (void)unused, (void)n;
    return x + 1;
  });
  f(ones({2}), ones({3}), 1);
  f(ones({2}), ones({5}), 2);
  f(ones({2}), ones({5}, kLong), 3);
  EXPECT_EQ(f.stats().hits, 2u);
  EXPECT_EQ(f.stats().entries, 1);
}

TEST(Compile, LimitEvictsTheLeastRecentlyUsed) {
  auto f = compile([](const Tensor& x) { return x + 1; }, {.dynamic = Dynamic::Never, .cache_size_limit = 3});
  for (int64_t n : {1, 2, 3}) f(ones({n}));
  f(ones({1}));
  f(ones({4}));  // evicts 2
  EXPECT_EQ(f.stats().entries, 3);
  EXPECT_EQ(f.stats().evictions, 1u);
  const uint64_t misses = f.stats().misses;
  for (int64_t n : {1, 3, 4}) EXPECT_EQ(f(ones({n})).size(0), n);
  EXPECT_EQ(f.stats().misses, misses);
  f(ones({2}));
  EXPECT_EQ(f.stats().misses, misses + 1);
}

TEST(Compile, ResetBeginsAnew) {
  auto f = compile([](const Tensor& x) { return x + 1; });
  for (int i = 0; i < 3; ++i) f(ones({2}));
  f(ones({3}));
  f.reset();
  EXPECT_EQ(f.stats().calls, 0u);
  EXPECT_EQ(f.stats().entries, 0);
  EXPECT_EQ(f.stats().hits, 0u);
  EXPECT_TRUE(f.stats().recent_misses.empty());
  f(ones({2}));
  f(ones({2}));
  EXPECT_EQ(f.stats().misses, 1u);
  EXPECT_EQ(f.stats().hits, 1u);
}

TEST(Compile, LimitRunsEagerlyWhenAsked) {
  auto f = compile([](const Tensor& x) { return x + 1; },
                   {.dynamic = Dynamic::Never, .cache_size_limit = 8, .at_limit = CacheLimitPolicy::RunEager});
  for (int64_t n = 1; n <= 12; ++n) EXPECT_EQ(f(ones({n})).sum().item<float>(), 2.0f * static_cast<float>(n));
  const uint64_t hits = f.stats().hits;
  for (int64_t n = 1; n <= 8; ++n) f(ones({n}));
  EXPECT_EQ(f.stats().hits, hits + 8);
  EXPECT_EQ(f.stats().entries, 8);
}

TEST(Compile, LimitThrowsWhenAsked) {
  auto f = compile([](const Tensor& x) { return x + 1; }, {.cache_size_limit = 1, .at_limit = CacheLimitPolicy::Throw});
  f(ones({1}));
  EXPECT_THROW(f(ones({2})), Error);
  EXPECT_VALUES(f(ones({1})), 2);
  EXPECT_THROW(compile(double_it, {.cache_size_limit = 0}), Error);
}

TEST(Compile, ErrorOnRecompile) {
  auto f = compile([](const Tensor& x) { return x + 1; }, {.error_on_recompile = true});
  f(ones({1}));
  try {
    f(ones({2}));
    ADD_FAILURE();
  } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find("args[0].size(0) == 1 failed: got 2"), std::string::npos) << e.what(); }
}

TEST(Compile, FullgraphNamesTheLineThatNeedsData) {
  auto f = compile([](const Tensor& x) { return x + (x * 2).item<float>(); }, {.fullgraph = true});
  try {
    f(ones({1}));
    ADD_FAILURE();
  } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find("compile_test.cpp:"), std::string::npos) << e.what(); }
  EXPECT_EQ(f.stats().entries, 0);
}

TEST(Compile, ErrorsOfOpsComeAtTheOpAndLeaveTheCacheAsItWas) {
  auto f = compile([](const Tensor& x, const Tensor& y) {
    try {
      return matmul(x, y);
    } catch (const Error&) { return x * 0; }
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(f(ones({2, 3}), ones({3, 2})).size(1), 2);
    EXPECT_EQ(f(ones({2, 3}), ones({4, 2})).size(1), 3);
  }
  auto g = compile([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
  EXPECT_THROW(g(ones({2, 3}), ones({4, 2})), Error);
  EXPECT_EQ(g.stats().entries, 0);
  EXPECT_EQ(g(ones({2, 3}), ones({3, 2})).size(1), 2);
}

TEST(Compile, ExceptionLeavesModesAndTracingAsTheyWere) {
  bool bad = true;
  auto f = compile([&](Tensor x) {
    NoGradGuard guard;
    Tensor y = x * 2;
    if (bad) throw std::runtime_error("first");
    return y;
  });
  EXPECT_THROW(f(f32({1.5})), std::runtime_error);
  EXPECT_TRUE(GradMode::is_enabled());
  EXPECT_FALSE(detail::inside_compiled_call());
  EXPECT_VALUES(f32({1}) + f32({2}), 3);
  bad = false;
  EXPECT_VALUES(compile([](Tensor x) { return x + 1; })(f32({1.5})), 2.5);
  EXPECT_VALUES(f(f32({1.5})), 3);
  EXPECT_VALUES(f(f32({1.5})), 3);
  EXPECT_EQ(f.stats().hits, 1u);
}

TEST(Compile, DefaultDtypeIsAFact) {
  auto f = compile([] { return ones({2}) + 0.1; });
  EXPECT_EQ(f().scalar_type(), kFloat32);
  set_default_dtype(kFloat64);
  const Tensor y = f();
  set_default_dtype(kFloat32);
  EXPECT_EQ(y.scalar_type(), kFloat64);
  EXPECT_EQ(y[0].item<double>(), 1.1);
  EXPECT_EQ(f().scalar_type(), kFloat32);
}

TEST(Compile, ScalarKindIsAFact) {
  Scalar c = 1;
  auto f = compile([&](Tensor x) { return x * c; });
  const Tensor x = tensor({1, 2}, kInt);
  for (int i = 0; i < 2; ++i) {
    c = Scalar(1);
    EXPECT_EQ(f(x).scalar_type(), kInt32);
    c = Scalar(true);
    EXPECT_EQ(f(x).scalar_type(), kInt32);
    c = Scalar(1.0);
    EXPECT_EQ(f(x).scalar_type(), kFloat32);
  }
}

TEST(Compile, ScalarsAreComparedByBits) {
  auto f = compile([](Tensor x, double c) { return 1 / (x * c); });
  const Tensor x = f32({1});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(f(x, 0.0).item<float>(), INFINITY);
    EXPECT_EQ(f(x, -0.0).item<float>(), -INFINITY);
  }
  const uint64_t before = f.stats().recompiles;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(std::isnan(f(x, NAN).item<float>()));
  EXPECT_LE(f.stats().recompiles, before + 1);
}

TEST(Compile, ManyScalarValuesCompileOnce) {
  auto f = compile([](Tensor x, double s) { return x * s; });
  const Tensor x = ones({4});
  for (int i = 1; i <= 2000; ++i) ASSERT_EQ(f(x, 0.5 * i)[0].item<float>(), 0.5f * static_cast<float>(i));
  EXPECT_EQ(f.stats().entries, 1);
  EXPECT_LE(f.stats().recompiles, 1u);
}

// ---- pure ----------------------------------------------------------------------------------------------------------

TEST(Pure, SkipsTheBody) {
  int runs = 0;
  auto f = compile(
      [&](const Tensor& x, const Tensor& y) {
        ++runs;
        return std::make_pair(x + y, x * y);
      },
      {.pure = true});
  for (int i = 0; i < 100; ++i) {
    auto [a, b] = f(f32({1.0 * i, 2}), f32({3, 4}));
    EXPECT_VALUES(a, static_cast<float>(i + 3), 6);
    EXPECT_VALUES(b, static_cast<float>(3 * i), 8);
  }
  EXPECT_EQ(runs, 1 + 7);  // recorded once, followed at hits 1, 2, 4, ... 64
  EXPECT_EQ(f.stats().skipped, 100u - 8u);
  EXPECT_EQ(f.stats().hits, 99u);
}

TEST(Pure, InPlaceUpdatesOfArgumentsHappen) {
  auto f = compile([](Tensor x, Tensor acc) { return acc.add_(x); }, {.pure = true});
  Tensor acc = f32({0, 0});
  for (int i = 0; i < 20; ++i) {
    Tensor r = f(f32({1, 2}), acc);
    EXPECT_TRUE(r.is_same(acc));
  }
  EXPECT_VALUES(acc, 20, 40);
}

TEST(Pure, BrokenPromiseIsFoundAndTheFunctionFollowed) {
  double k = 1;
  auto f = compile([&](const Tensor& x) { return k > 5 ? x * k + 1 : x * k; }, {.pure = true});
  for (int i = 0; i < 5; ++i) f(f32({1}));
  k = 10;
  for (int i = 0; i < 64 && !f.stats().pure_promise_broken; ++i) f(f32({1}));
  EXPECT_TRUE(f.stats().pure_promise_broken);
  EXPECT_VALUES(f(f32({1})), 11);
  k = 2;
  EXPECT_VALUES(f(f32({1})), 2);
}

TEST(Pure, ModuleParametersThatAreReplacedAreSeen) {
  nn::Linear fc(nn::LinearOptions(2, 1).bias(false));
  NoGradGuard no_grad;
  fc->weight.fill_(1);
  auto f = compile([&](const Tensor& x) { return fc->forward(x); }, {.pure = true});
  for (int i = 0; i < 10; ++i) EXPECT_VALUES(f(ones({1, 2})), 2);
  fc->weight.fill_(3);
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(ones({1, 2})), 6);
  fc->weight = full({1, 2}, 5.0);
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(ones({1, 2})), 10);
  auto w = std::move(fc->weight);
  fc->weight = full({1, 2}, 7.0);
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(ones({1, 2})), 14);
}

// ---- threads -------------------------------------------------------------------------------------------------------

TEST(Compile, ManyThreadsShareOneFunction) {
  auto f = compile([](const Tensor& x) { return x * 3 + 1; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const int64_t n = 1 + (t + i) % 4;
        const Tensor y = f(full({n}, 1.0 * i));
        ASSERT_EQ(y.size(0), n);
        ASSERT_EQ(y[0].item<float>(), 3.0f * static_cast<float>(i) + 1);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(f.stats().entries, 2);  // one for size 1, one for the others
}

TEST(Compile, FunctionsThatDieOnOtherThreads) {
  for (int i = 0; i < 50; ++i) {
    auto f = std::make_unique<Compiled<Tensor(Tensor)>>(compile([i](Tensor x) { return x + i; }));
    std::thread([&] {
      const Tensor y = (*f)(zeros({8}));
      EXPECT_EQ(y[7].item<float>(), static_cast<float>(i));
      EXPECT_EQ((*f)(zeros({8}))[0].item<float>(), static_cast<float>(i));
    }).join();
    std::thread([&] { f.reset(); }).join();
  }
}

// What is compiled later, or not at all, leaves code with the old number: that is not what a call with the new one skips to.
TEST(Pure, ANumberThatVariesWhileNothingIsCompiled) {
  auto f = compile([](Tensor x, double k) { return x * k; }, {.pure = true});
  const Tensor x = ones({3});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(f(x, 2.0)[0].item<float>(), 2.0f);
  {
    const StanceScope stance(Stance::EagerOnRecompile);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(f(x, 3.0)[0].item<float>(), 3.0f) << i;
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(f(x, 3.0)[0].item<float>(), 3.0f) << i;
  for (int i = 0; i < 8; ++i) EXPECT_EQ(f(x, 2.0)[0].item<float>(), 2.0f) << i;
}

}  // namespace
}  // namespace tailor
