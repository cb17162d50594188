// When compiled functions compile: stances, limits, storms, what pays, compiling in the background.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <cmath>
#include <thread>

#include "frontend/compile/policy.h"
#include "support/catch_warnings.h"
#include "support/expect.h"
#include "support/sanitizers.h"

namespace tailor {
namespace {

using testing::CatchWarnings;
using testing::f32;
using testing::warnings;

struct TotalLimit {
  explicit TotalLimit(TotalCacheLimit limit) { set_total_cache_limit(limit); }
  ~TotalLimit() { set_total_cache_limit({}); }
};

Tensor plus_one(const Tensor& x) { return x + 1; }

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  std::barrier<> start(count);
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      work(t);
    });
  for (std::thread& t : threads) t.join();
}

// ---- stances -------------------------------------------------------------------------------------------------------

TEST(Stance, ForceEagerRunsTheBodyAsItIs) {
  bool inside = true;
  auto f = compile([&](const Tensor& x) {
    inside = detail::inside_compiled_call();
    return x * 2;
  });
  {
    StanceScope scope(Stance::ForceEager);
    EXPECT_VALUES(f(f32({1})), 2);
    EXPECT_FALSE(inside);
  }
  EXPECT_EQ(f.stats().entries, 0);
  EXPECT_EQ(f.stats().eager.by_stance, 1u);
  f(f32({1}));
  EXPECT_TRUE(inside);
  EXPECT_EQ(f.stats().entries, 1);
}

TEST(Stance, EagerOnRecompileUsesWhatIsCached) {
  auto f = compile(plus_one);
  f(ones({2}));
  StanceScope scope(Stance::EagerOnRecompile);
  EXPECT_VALUES(f(ones({2})), 2, 2);
  EXPECT_EQ(f.stats().hits, 1u);
  EXPECT_VALUES(f(ones({1})), 2);
  EXPECT_EQ(f.stats().entries, 1);
  EXPECT_EQ(f.stats().eager.by_stance, 1u);
  auto g = compile(plus_one);  // nothing is cached: nothing is compiled
  EXPECT_VALUES(g(ones({1})), 2);
  EXPECT_EQ(g.stats().entries, 0);
}

TEST(Stance, EagerOnRecompileCompilesNoNewPath) {
  bool other = false;
  auto f = compile([&](const Tensor& x) { return other ? x * 3 : x + 1; }, {.dynamic = Dynamic::Never});
  f(f32({1}));
  const uint64_t before = f.stats().recompiles;
  {
    StanceScope scope(Stance::EagerOnRecompile);
    other = true;
    for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(f32({2})), 6);
    EXPECT_EQ(f.stats().recompiles, before);
  }
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(f32({2})), 6);
  EXPECT_EQ(f.stats().recompiles, before + 1);
}

TEST(Stance, FailOnRecompileNamesTheGuard) {
  auto f = compile(plus_one, {.name = "plus_one", .dynamic = Dynamic::Never});
  StanceScope outer(Stance::FailOnRecompile);
  EXPECT_TRUE(contains(error_of([&] { f(ones({2})); }),
                       "a call matches no entry and the stance is fail_on_recompile: it has not been compiled yet"));
  {
    StanceScope inner(Stance::Default);
    f(ones({2}));
  }
  EXPECT_VALUES(f(ones({2})), 2, 2);
  const std::string error = error_of([&] { f(ones({3})); });
  EXPECT_TRUE(contains(error, "plus_one (policy_test.cpp:")) << error;
  EXPECT_TRUE(contains(error, "args[0].size(0) == 2 failed: got 3 (first needed at policy_test.cpp:")) << error;
  EXPECT_EQ(f.stats().entries, 1);
}

TEST(Stance, OfTheProcessAndOfAThread) {
  set_stance(Stance::EagerOnRecompile);
  EXPECT_EQ(current_stance(), Stance::EagerOnRecompile);
  StanceScope scope(Stance::ForceEager);
  std::thread([] { EXPECT_EQ(current_stance(), Stance::EagerOnRecompile); }).join();
  EXPECT_EQ(current_stance(), Stance::ForceEager);
  set_stance(Stance::Default);
  std::thread([] { EXPECT_EQ(current_stance(), Stance::Default); }).join();
}

TEST(ErrorOnRecompile, AlsoForNumbersAndPaths) {
  double factor = 2;
  bool other = false;
  auto f = compile([&](const Tensor& x) { return other ? x + 7 : x * factor; }, {.error_on_recompile = true});
  f(f32({1}));
  factor = 3;
  const std::string number = error_of([&] { f(f32({1})); });
  EXPECT_TRUE(
      contains(number, "a segment would be compiled again and error_on_recompile is set: step 1: other of mul == 2.0 failed: got 3.0"))
      << number;
  factor = 2;
  EXPECT_VALUES(f(f32({1})), 2);
  other = true;
  const std::string path = error_of([&] { f(f32({1})); });
  EXPECT_TRUE(contains(path, "step 1: op == mul failed: got add at policy_test.cpp")) << path;
  other = false;
  EXPECT_VALUES(f(f32({1})), 2);
}

// ---- recompile storms ----------------------------------------------------------------------------------------------

CompileOptions storming(StormPolicy policy) {
  CompileOptions options;
  options.dynamic = Dynamic::Never;
  options.storm_limit = 3;
  options.at_storm = policy;
  return options;
}

TEST(Storm, OneWarningSaysWhatToDoAndThePolicyTakesOver) {
  CatchWarnings caught;
  CompileOptions options = storming(StormPolicy::WhenWorthIt);
  options.name = "layer";
  options.worth_it_after = 2;
  auto f = compile(plus_one, options);
  for (int64_t n = 1; n <= 12; ++n) EXPECT_EQ(f(ones({n})).numel(), n);
  ASSERT_EQ(warnings.size(), 1u);
  const std::string& text = warnings[0];
  EXPECT_TRUE(contains(text, "layer (policy_test.cpp:")) << text;
  EXPECT_TRUE(contains(text,
                       "is compiled again and again: the guard on args[0].size(0) has failed 4 times, with values 2, 3, 4, 5 (first "
                       "needed at policy_test.cpp:"))
      << text;
  EXPECT_TRUE(contains(text, "What to do: ")) << text;
  EXPECT_TRUE(contains(text, "From now on a call that matches no entry runs eagerly until its kind has come often enough")) << text;
  const Stats s = f.stats();
  EXPECT_EQ(s.entries, 5);
  EXPECT_EQ(s.eager.not_worth_it, 7u);
  ASSERT_EQ(s.storms.size(), 1u);
  EXPECT_EQ(s.storms[0].subject, "args[0].size(0)");
  EXPECT_EQ(s.storms[0].values, (std::vector<std::string>{"2", "3", "4", "5"}));
  // A kind that comes again and again is compiled after all.
  f(ones({12}));
  EXPECT_EQ(f.stats().entries, 5);
  f(ones({12}));
  EXPECT_EQ(f.stats().entries, 6);
  const uint64_t hits = f.stats().hits;
  f(ones({12}));
  EXPECT_EQ(f.stats().hits, hits + 1);
  EXPECT_EQ(warnings.size(), 1u);
  const Explanation told = explain(f)(ones({20}));
  EXPECT_TRUE(contains(told.text(), "recompile storm: args[0].size(0) failed")) << told.text();
  EXPECT_TRUE(contains(told.outcome, "ran eagerly, its kind has not come often enough to pay for compiling")) << told.outcome;
  EXPECT_FALSE(told.misses.empty());
  f.reset();
  EXPECT_TRUE(f.stats().storms.empty());
  f(ones({3}));
  EXPECT_EQ(f.stats().entries, 1);
}

TEST(Storm, RunEager) {
  CatchWarnings caught;
  auto f = compile(plus_one, storming(StormPolicy::RunEager));
  for (int round = 0; round < 5; ++round)
    for (int64_t n = 1; n <= 8; ++n) f(ones({n}));
  EXPECT_EQ(f.stats().entries, 5);
  EXPECT_EQ(f.stats().eager.in_storm, 15u);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(Storm, Throw) {
  CatchWarnings caught;
  auto f = compile(plus_one, storming(StormPolicy::Throw));
  for (int64_t n = 1; n <= 5; ++n) f(ones({n}));
  EXPECT_TRUE(contains(error_of([&] { f(ones({6})); }), "the guard on args[0].size(0) has failed 4 times"));
  EXPECT_VALUES(f(ones({1})), 2);
}

TEST(Storm, KeepCompilingWarnsOnly) {
  CatchWarnings caught;
  auto f = compile(plus_one, storming(StormPolicy::KeepCompiling));
  for (int64_t n = 1; n <= 8; ++n) f(ones({n}));
  EXPECT_EQ(f.stats().entries, 8);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(Storm, FewSizesAreNone) {
  CatchWarnings caught;
  auto f = compile(plus_one, {.dynamic = Dynamic::Never});
  for (int round = 0; round < 10; ++round)
    for (int64_t n = 1; n <= 8; ++n) f(ones({n}));
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(f.stats().entries, 8);
}

// ---- what pays -----------------------------------------------------------------------------------------------------

TEST(WhenWorthIt, CompilesAKindThatComesAgain) {
  auto f = compile(plus_one, {.dynamic = Dynamic::Never, .when_worth_it = true, .worth_it_after = 3});
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(ones({1})), 2);
  EXPECT_EQ(f.stats().entries, 0);
  EXPECT_EQ(f.stats().eager.not_worth_it, 3u);
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(ones({1})), 2);
  EXPECT_EQ(f.stats().entries, 1);
  EXPECT_EQ(f.stats().hits, 2u);
  f(ones({2}));  // another kind is counted by itself
  EXPECT_EQ(f.stats().entries, 1);
}

TEST(WhenWorthIt, MeasuredItIsBoundedByWhatItSaves) {
  EXPECT_DOUBLE_EQ(detail::break_even_calls({1000, 10, 5}), 200);
  EXPECT_DOUBLE_EQ(detail::break_even_calls({1000, 10, 0}), 200);  // not known: half
  EXPECT_TRUE(std::isinf(detail::break_even_calls({1000, 10, 12})));
  auto f = compile(plus_one, {.when_worth_it = true});
  for (int i = 0; i < 20; ++i) EXPECT_VALUES(f(ones({1})), 2);
  const Stats s = f.stats();
  EXPECT_EQ(s.eager.not_worth_it + s.hits + static_cast<uint64_t>(s.entries), 20u);
  EXPECT_GE(s.eager.not_worth_it, 1u);
}

TEST(Stats, BreakEvenAndAverage) {
  Stats s;
  s.calls = 100;
  s.hits = 90;
  s.recompiles = 2;
  s.compile_ms = 2;
  s.eager_call_us = 50;
  s.compiled_call_us = 10;
  EXPECT_DOUBLE_EQ(s.hit_rate(), 0.9);
  EXPECT_DOUBLE_EQ(s.recompile_rate(), 0.02);
  EXPECT_DOUBLE_EQ(s.break_even(), 50);
  EXPECT_DOUBLE_EQ(s.average_call_us(), (90 * 10 + 10 * 50 + 2000) / 100.0);
  s.compiled_call_us = 60;
  EXPECT_TRUE(std::isinf(s.break_even()));
}

TEST(Stats, MeasuresTheParts) {
  auto f = compile(plus_one);
  for (int i = 0; i < 300; ++i) f(ones({64}));
  const Stats s = f.stats();
  EXPECT_GT(s.compile_ms, 0);
  EXPECT_GT(s.eager_call_us, 0);
  EXPECT_GT(s.guard_us, 0);
  EXPECT_GT(s.follow_us, 0);
  EXPECT_GT(s.run_us, 0);
  EXPECT_NEAR(s.compiled_call_us, s.guard_us + s.follow_us + s.run_us, 1e-6);
  EXPECT_GT(s.code_bytes, 0u);
}

// ---- the limit over all functions ----------------------------------------------------------------------------------

TEST(TotalLimit, EvictsTheLeastRecentlyUsedOfAll) {
  reset_all();
  auto f = compile(plus_one, {.dynamic = Dynamic::Never}), g = compile(plus_one, {.dynamic = Dynamic::Never});
  const TotalLimit limit({.entries = 3});
  f(ones({1}));
  g(ones({1}));
  f(ones({2}));
  EXPECT_EQ(total_cache().entries, 3u);
  f(ones({1}));
  g(ones({2}));  // evicts g's first
  EXPECT_EQ(total_cache().entries, 3u);
  EXPECT_EQ(f.stats().entries, 2);
  EXPECT_EQ(g.stats().entries, 1);
  EXPECT_EQ(g.stats().evictions, 1u);
  g(ones({3}));  // evicts f's second
  EXPECT_EQ(f.stats().entries, 1);
  const uint64_t hits = f.stats().hits;
  f(ones({1}));
  EXPECT_EQ(f.stats().hits, hits + 1);
  set_total_cache_limit({.entries = 1});
  EXPECT_EQ(total_cache().entries, 1u);
  EXPECT_EQ(f.stats().entries, 1);
}

TEST(TotalLimit, StopsCompilingOrThrows) {
  reset_all();
  auto f = compile(plus_one, {.dynamic = Dynamic::Never});
  f(ones({1}));
  {
    const TotalLimit limit({.entries = 1, .at_limit = CacheLimitPolicy::RunEager});
    EXPECT_VALUES(f(ones({2})), 2, 2);
    EXPECT_EQ(f.stats().eager.at_total_limit, 1u);
    EXPECT_EQ(f.stats().entries, 1);
  }
  const TotalLimit limit({.entries = 1, .at_limit = CacheLimitPolicy::Throw});
  EXPECT_TRUE(contains(error_of([&] { f(ones({2})); }), "the limit over all compiled functions is reached (1 of 1 entries"));
  EXPECT_VALUES(f(ones({1})), 2);
}

TEST(TotalLimit, CountsCode) {
  reset_all();
  EXPECT_EQ(total_cache().code_bytes, 0u);
  const auto make = [](double k) {
    return compile([k](const Tensor& x) { return (x * k + 0.125 * k).tanh(); }, {.dynamic = Dynamic::Never});
  };
  auto f = make(3.5), g = make(4.5);
  f(ones({37}));
  g(ones({37}));
  const size_t both = total_cache().code_bytes;
  EXPECT_EQ(both, f.stats().code_bytes + g.stats().code_bytes);
  EXPECT_GT(both, 0u);
  const TotalLimit limit({.code_bytes = both - 1});
  EXPECT_LT(total_cache().code_bytes, both);
  EXPECT_EQ(f.stats().entries, 0);
  f.reset();
  g.reset();
  EXPECT_EQ(total_cache().entries, 0u);
  EXPECT_EQ(total_cache().code_bytes, 0u);
}

TEST(TotalLimit, FunctionsThatGoTakeTheirEntriesWithThem) {
  reset_all();
  const size_t functions = total_cache().functions;
  {
    auto f = compile(plus_one);
    f(ones({1}));
    EXPECT_EQ(total_cache().functions, functions + 1);
    EXPECT_EQ(total_cache().entries, 1u);
  }
  EXPECT_EQ(total_cache().functions, functions);
  EXPECT_EQ(total_cache().entries, 0u);
}

// ---- in the background ---------------------------------------------------------------------------------------------

TEST(Async, RunsEagerlyUntilCompiled) {
  auto f = compile([](const Tensor& x) { return (x * 2 + 1).relu(); }, {.async = true});
  for (int i = 0; i < 5; ++i) EXPECT_VALUES(f(f32({1, -2})), 3, 0);
  wait_for_compiles();
  const uint64_t hits = f.stats().hits;
  for (int i = 0; i < 5; ++i) EXPECT_VALUES(f(f32({1, -2})), 3, 0);
  EXPECT_EQ(f.stats().hits, hits + 5);
  EXPECT_EQ(f.stats().async_compiles, 1u);
  EXPECT_EQ(f.stats().recompiles, 0u);
  EXPECT_GT(f.stats().compile_ms, 0);
}

TEST(Async, NumbersAndPathsFollow) {
  double k = 2;
  auto f = compile([&](const Tensor& x) { return k > 10 ? x - k : x * k; }, {.async = true});
  for (const double value : {2.0, 3.0, 4.0, 11.0, 12.0, 5.0}) {
    k = value;
    for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(f32({1})), static_cast<float>(value > 10 ? 1 - value : value));
    wait_for_compiles();
  }
  const uint64_t hits = f.stats().hits;
  EXPECT_VALUES(f(f32({2})), 10);
  EXPECT_EQ(f.stats().hits, hits + 1);
}

TEST(Async, FunctionsAndEntriesMayGoMeanwhile) {
  for (int i = 0; i < 30; ++i) {
    auto f = compile([i](const Tensor& x) { return (x + i).tanh(); }, {.dynamic = Dynamic::Never, .cache_size_limit = 1, .async = true});
    f(ones({3}));
    f(ones({4}));
    if (i % 2) f.reset();
  }
  wait_for_compiles();
}

TEST(Async, SeveralThreads) {
  auto f = compile([](const Tensor& x) { return x * 3 + 1; }, {.dynamic = Dynamic::Never, .async = true});
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    for (int i = 0; i < 100; ++i) {
      const int64_t n = 1 + (t + i) % 4;
      const Tensor y = f(full({n}, 2.0));
      wrong += y.numel() != n || y[0].item<float>() != 7;
    }
  });
  EXPECT_EQ(wrong, 0);
  wait_for_compiles();
  const uint64_t hits = f.stats().hits;
  for (int64_t n = 1; n <= 4; ++n) f(ones({n}));
  EXPECT_EQ(f.stats().hits, hits + 4);
}

TEST(Async, SurvivesFork) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << "the sanitizer allows no threads in a forked child";
  auto f = compile([](const Tensor& x) { return (x * 5 - 1).tanh(); }, {.dynamic = Dynamic::Never, .async = true});
  for (int64_t n = 1; n <= 6; ++n) f(ones({n}));  // some are still waiting
  const pid_t child = fork();
  if (child == 0) {
    wait_for_compiles();
    const uint64_t hits = f.stats().hits;
    for (int64_t n = 1; n <= 6; ++n) f(ones({n}));
    auto g = compile([](const Tensor& x) { return x * 7; }, {.async = true});
    g(ones({1}));
    wait_for_compiles();
    g(ones({1}));
    _exit(f.stats().hits == hits + 6 && g.stats().hits == 1 ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  wait_for_compiles();
  const uint64_t hits = f.stats().hits;
  for (int64_t n = 1; n <= 6; ++n) f(ones({n}));
  EXPECT_EQ(f.stats().hits, hits + 6);
}

// ---- threads -------------------------------------------------------------------------------------------------------

TEST(Threads, CountersLoseNothing) {
  auto f = compile(plus_one);
  f(ones({2}));
  in_threads(6, [&](int) {
    const Tensor x = ones({2});
    for (int i = 0; i < 500; ++i) f(x);
  });
  EXPECT_EQ(f.stats().calls, 3001u);
  EXPECT_EQ(f.stats().hits, 3000u);
  // More threads than slots, one after another and at once.
  in_threads(40, [&](int) {
    const Tensor x = ones({2});
    for (int i = 0; i < 10; ++i) f(x);
  });
  EXPECT_EQ(f.stats().calls, 3401u);
}

TEST(Threads, OneEntryForOneKindWhenTheyWait) {
  auto f = compile(plus_one, {.dynamic = Dynamic::Never, .wait_for_compile = true});
  std::atomic<int> wrong{0};
  in_threads(6, [&](int) {
    for (int64_t n = 1; n <= 4; ++n) wrong += f(ones({n})).numel() != n;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.stats().entries, 4);
  EXPECT_EQ(f.stats().eager.while_compiling, 0u);
}

TEST(Threads, EveryPolicyAtOnce) {
  reset_all();
  CatchWarnings caught;
  const TotalLimit limit({.entries = 5});
  std::vector<Compiled<Tensor(const Tensor&)>> functions;
  for (int k = 0; k < 3; ++k) {
    CompileOptions options;
    options.cache_size_limit = 3;
    options.async = k == 1;
    options.when_worth_it = k == 2;
    options.worth_it_after = 2;
    functions.push_back(compile([k](const Tensor& x) { return x * (k + 1) + 1; }, options));
  }
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    for (int i = 0; i < 150; ++i) {
      const auto k = static_cast<size_t>((t + i) % 3);
      const int64_t n = 1 + (i * 7 + t) % 6;
      std::optional<StanceScope> stance;
      if (i % 10 == 3) stance.emplace(i % 20 == 3 ? Stance::ForceEager : Stance::EagerOnRecompile);
      const Tensor y = functions[k](full({n}, 2.0));
      wrong += y.numel() != n || y[n - 1].item<float>() != static_cast<float>(2 * (k + 1) + 1);
      if (i % 40 == 39) functions[k].reset();
      if (i % 70 == 69) reset_all();
      if (i % 25 == 24) (void)functions[k].report().json(), (void)functions[k].stats().text();
      if (i % 30 == 29) set_total_cache_limit({.entries = static_cast<size_t>(2 + i % 4)});
    }
  });
  EXPECT_EQ(wrong, 0);
  wait_for_compiles();
  EXPECT_LE(total_cache().entries, 5u);
}

// A followed entry holds what its body captured in the call before, so that threads need not count; never an argument.
TEST(Threads, CapturedTensorsAreLetGoWhenReplaced) {
  int freed = 0;
  float memory[2] = {1, 2};
  const auto fresh = [&] {
    return from_blob(
        memory, {2}, [&](void*) { ++freed; }, kFloat32);
  };
  Tensor w = fresh();
  auto f = compile([&](const Tensor& x) { return x * w; });
  for (int i = 0; i < 4; ++i) EXPECT_VALUES(f(f32({1, 1})), 1, 2);
  w = fresh();
  for (int i = 0; i < 4; ++i) EXPECT_VALUES(f(f32({1, 1})), 1, 2);
  EXPECT_EQ(freed, 1);
  w = f32({3, 4});
  f.reset();
  f(f32({1, 1}));  // this thread's view of the entries is the last owner of what was dropped
  EXPECT_EQ(freed, 2);
  Tensor x = fresh();
  for (int i = 0; i < 4; ++i) EXPECT_VALUES(f(x), 3, 8);
  x = Tensor();
  EXPECT_EQ(freed, 3);
}

// Weights that are laid out ahead: read by many threads, written between calls, dropped by reset.
TEST(Threads, ShareLaidOutWeights) {
  const Tensor w = ones({64, 64});
  auto f = compile([&](const Tensor& x) { return matmul(x, w); });
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    {
      NoGradGuard no_grad;
      w.fill_(value);
    }
    std::atomic<int> wrong{0};
    in_threads(4, [&](int t) {
      const Tensor x = ones({8, 64});
      for (int i = 0; i < 60; ++i) {
        wrong += f(x)[7][63].item<float>() != 64 * value;
        if (t == 0 && i == 30) f.reset();
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Threads, ErrorsOnRecompileLeaveHitsAlone) {
  auto f = compile(plus_one, {.dynamic = Dynamic::Never, .error_on_recompile = true});
  f(ones({2}));
  std::atomic<int> wrong{0}, errors{0};
  in_threads(4, [&](int t) {
    for (int i = 0; i < 100; ++i) {
      if ((i + t) % 5 == 0) {
        try {
          f(ones({3}));
        } catch (const Error&) { ++errors; }
      }
      wrong += f(ones({2})).numel() != 2;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(errors, 80);
  EXPECT_EQ(f.stats().entries, 1);
}

}  // namespace
}  // namespace tailor
