// guard_filter, guard_relax, guard_order: what users may change about guards, and that it is counted.

#include <gtest/gtest.h>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

TEST(GuardOptions, TheFilterSeesEveryGuardAsData) {
  std::vector<Guard> seen;
  auto f = compile([](const Tensor& x, const std::vector<Tensor>& list) { return x + list[0]; },
                   {.guard_filter = [&](const Guard& g) { return seen.push_back(g), true; }});
  f(ones({4, 3}), {ones({4, 3})});
  const auto find = [&](const std::string& condition) {
    return std::find_if(seen.begin(), seen.end(), [&](const Guard& g) { return g.condition == condition; });
  };
  const auto size = find("args[0].size(1) == 3");
  ASSERT_NE(size, seen.end());
  EXPECT_EQ(size->kind, "size");
  EXPECT_EQ(size->path, "args[0]");
  EXPECT_EQ(size->dim, 1);
  EXPECT_EQ(size->expected, 3);
  EXPECT_FALSE(size->skipping);
  EXPECT_FALSE(size->keeps);
  EXPECT_NE(size->source.find("guard_options_test.cpp:"), std::string::npos);
  const auto length = find("args[1].size() == 1");
  ASSERT_NE(length, seen.end());
  EXPECT_EQ(length->kind, "length");
  EXPECT_TRUE(length->keeps);
  EXPECT_EQ(f.stats().guards_dropped, 0u);
}

TEST(GuardOptions, DroppedGuardsMakeNoEntriesAndNoWrongResults) {
  auto f = compile([](const Tensor& x) { return x + 1; }, {.dynamic = Dynamic::Never, .guard_filter = [](const Guard& g) {
                                                             return g.kind != "size" && g.kind != "stride" && g.kind != "dtype";
                                                           }});
  for (int round = 0; round < 3; ++round) {
    for (int64_t n : {2, 3, 4}) EXPECT_EQ(f(full({n}, 1.0)).sum().item<float>(), 2.0f * static_cast<float>(n));
    EXPECT_EQ(f(full({2}, 1, kInt64)).scalar_type(), kInt64);
  }
  EXPECT_EQ(f.stats().entries, 1);
  EXPECT_EQ(f.stats().misses, 1u);
  EXPECT_EQ(f.stats().guards_dropped, 3u);
  EXPECT_NE(f.stats().text().find("guards changed by options: 3 dropped, 0 relaxed"), std::string::npos);
  EXPECT_NE(f.stats().json().find("\"guards_dropped\": 3"), std::string::npos);
}

TEST(GuardOptions, WhatProtectsMemoryStays) {
  auto f = compile([](const Tensor& x, const std::vector<Tensor>& list) { return list.empty() ? x : x + list.back(); },
                   {.pure = true, .guard_filter = [](const Guard&) { return false; }});
  const Tensor x = f32({1, 2}), longer = f32({1, 2, 3});
  for (int i = 0; i < 20; ++i) {
    EXPECT_VALUES(f(x, {x}), 2, 4);
    EXPECT_VALUES(f(x, {}), 1, 2);
    EXPECT_VALUES(f(longer, {longer}), 2, 4, 6);
    EXPECT_VALUES(f(x, {longer.slice(0, 0, 2), x}), 2, 4);
  }
  EXPECT_GT(f.stats().skipped, 0u);
}

TEST(GuardOptions, ADroppedValueIsTheUsersToAnswerFor) {
  auto f = compile([](const Tensor& x, int verbosity) { return verbosity > 100 ? x * 0 : x + 1; },
                   {.pure = true, .guard_filter = [](const Guard& g) { return g.kind != "scalar value"; }});
  const Tensor x = f32({1});
  for (int i = 0; i < 40; ++i) EXPECT_VALUES(f(x, i), 2);
  EXPECT_GT(f.stats().skipped, 30u);
  EXPECT_GE(f.stats().guards_dropped, 1u);
}

TEST(GuardOptions, RelaxedSizesAreSymbolic) {
  auto f = compile([](const Tensor& x) { return x * 2 + 1; }, {.guard_relax = [](Guard& g) {
                     if (g.kind == "size" && g.dim == 0) g.relax(2, 64);
                   }});
  for (int64_t n : {4, 5, 64, 2, 9}) {
    const Tensor x = randn({n, 3});
    EXPECT_TRUE(equal(f(x), x * 2 + 1)) << n;
  }
  EXPECT_EQ(f.stats().entries, 1);
  EXPECT_EQ(f.stats().misses, 1u);
  EXPECT_EQ(f.stats().guards_relaxed, 1u);
  const Explanation told = explain(f)(randn({7, 3}));
  EXPECT_NE(told.text().find("2 <= args[0].size(0) <= 64"), std::string::npos) << told.text();
  f(randn({65, 3}));  // outside
  EXPECT_EQ(f.stats().misses, 2u);
}

TEST(GuardOptions, RelaxedIntegersOfSkippedCalls) {
  auto f =
      compile([](const Tensor& x, int level) { return level < 10 ? x + 1 : x - 1; }, {.pure = true, .guard_relax = [](Guard& g) {
                                                                                        if (g.kind == "scalar value" && g.path == "args[1]")
                                                                                          g.expected < 10 ? g.relax(0, 9) : g.relax(10, 99);
                                                                                      }});
  const Tensor x = f32({1});
  for (int i = 0; i < 60; ++i) {
    EXPECT_VALUES(f(x, i % 10), 2);
    EXPECT_VALUES(f(x, 10 + i), 0);
  }
  EXPECT_GT(f.stats().skipped, 60u);
  EXPECT_GE(f.stats().guards_relaxed, 2u);
  EXPECT_FALSE(f.stats().pure_promise_broken);
}

TEST(GuardOptions, RangesThatCannotBeAreIgnored) {
  auto f = compile([](const Tensor& x) { return x + 1; }, {.guard_relax = [](Guard& g) { g.relax(100, 50); }});
  EXPECT_VALUES(f(f32({1, 2})), 2, 3);
  EXPECT_VALUES(f(f32({1, 2})), 2, 3);
  EXPECT_EQ(f.stats().guards_relaxed, 0u);
  EXPECT_EQ(f.stats().hits, 1u);
}

TEST(GuardOptions, EveryOrderGivesTheSameResults) {
  for (GuardOrder order : {GuardOrder::Expected, GuardOrder::Product, GuardOrder::Insertion}) {
    auto f = compile([](const Tensor& x, const Tensor& y) { return x + y; },
                     {.dynamic = Dynamic::Never, .cache_size_limit = 64, .guard_order = order});
    for (int round = 0; round < 30; ++round) {
      for (int64_t n : {1, 2, 3, 4, 5, 6}) EXPECT_EQ(f(ones({3}), ones({n, 3})).size(0), n);
    }
    EXPECT_EQ(f.stats().misses, 6u);
  }
}

}  // namespace
}  // namespace tailor
