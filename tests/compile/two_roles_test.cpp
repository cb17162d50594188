// Pure functions that capture by reference what they are also given: which of the two the body took cannot be told from its tensors.

#include <gtest/gtest.h>

#include <vector>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

struct Roles {
  Tensor w;
  Compiled<Tensor(const Tensor&)> f = compile([this](const Tensor& x) { return x.sum(0) + w.sum(0) * 10; }, {.pure = true});
  void check(const Tensor& x, const char* what) {
    const Tensor expected = x.sum(0) + w.sum(0) * 10;
    ASSERT_TRUE(allclose(f(x), expected, 1e-5, 1e-5)) << what;
  }
};

TEST(TwoRoles, TheSameThenDifferentThenTheSameInOtherSizes) {
  for (const int repeat : {1, 2, 3, 7}) {
    Roles r;
    const auto times = [&](const Tensor& x, const char* what) {
      for (int i = 0; i < repeat; ++i) r.check(x, what);
    };
    r.w = randn({4, 3});
    times(r.w, "the same");
    times(randn({4, 3}), "different");
    r.w = randn({5, 3});
    times(r.w, "the same in other sizes");
    const Tensor before = r.w;
    r.w = randn({5, 3});
    times(before, "the captured one replaced by another of the same sizes");
    times(r.w, "the same, replaced");
    times(before, "the argument alone replaced");
    times(randn({6, 3}), "other sizes of the argument alone");
    EXPECT_FALSE(r.f.stats().pure_promise_broken);
  }
}

// Each call passes what is captured, another tensor each time: that the argument varies says nothing.
TEST(TwoRoles, ReassignedAndPassedAgain) {
  for (const int repeat : {1, 2, 3, 7}) {
    for (const bool other_sizes : {false, true}) {
      Roles r;
      for (int64_t round = 0; round < 5; ++round) {
        r.w = randn({other_sizes ? 4 + round : 4, 3});
        for (int i = 0; i < repeat; ++i) r.check(r.w, "the same");
      }
      for (int64_t n = 4; n < 10; ++n) {
        const Tensor x = randn({n, 3});
        for (int i = 0; i < repeat; ++i) r.check(x, "different");
      }
    }
  }
}

// By way of another handle, which stays where it is.
TEST(TwoRoles, PassedByACopyOfTheHandle) {
  for (const int repeat : {1, 2, 3, 7}) {
    Roles r;
    Tensor x;
    for (int round = 0; round < 5; ++round) {
      r.w = x = randn({4, 3});
      for (int i = 0; i < repeat; ++i) r.check(x, "the same");
    }
    x = randn({4, 3});
    for (int i = 0; i < repeat; ++i) r.check(x, "different");
    x = randn({5, 3});
    for (int i = 0; i < repeat; ++i) r.check(x, "different, other sizes");
  }
}

TEST(TwoRoles, WhatHoldsTheCapturedOneMoves) {
  for (const int repeat : {1, 2, 3, 7}) {
    std::vector<Tensor> held;
    auto f = compile([&held](const Tensor& x) { return x + held.front() * 10; }, {.pure = true});
    for (int round = 0; round < 6; ++round) {
      std::vector<Tensor> next(static_cast<size_t>(1 + round));
      next.front() = randn({3});
      held = std::move(next);
      for (int i = 0; i < repeat; ++i) ASSERT_TRUE(f(held.front()).equal(held.front() + held.front() * 10)) << round;
    }
    const Tensor x = randn({3});
    for (int i = 0; i < repeat; ++i) ASSERT_TRUE(f(x).equal(x + held.front() * 10));
  }
}

// What is only an argument is skipped soon, wherever it comes from.
TEST(TwoRoles, ArgumentsThatAreNothingElse) {
  auto f = compile([](const Tensor& x) { return x * 2; }, {.pure = true});
  const auto skipped_of = [&](const auto& call) {
    const uint64_t before = f.stats().skipped;
    for (int i = 0; i < 100; ++i) call(i);
    return f.stats().skipped - before;
  };
  EXPECT_GT(skipped_of([&](int i) {
              const Tensor fresh = full({4}, i);
              EXPECT_TRUE(f(fresh).equal(fresh * 2));
            }),
            80u);
  std::vector<Tensor> data;
  for (int i = 0; i < 100; ++i) data.push_back(full({3}, i));
  EXPECT_GT(skipped_of([&](int i) { EXPECT_TRUE(f(data[static_cast<size_t>(i)]).equal(full({3}, 2 * i))); }), 80u);
  EXPECT_GT(skipped_of([&](int i) {
              const Tensor copy = data[static_cast<size_t>(i)];
              EXPECT_TRUE(f(copy).equal(full({3}, 2 * i)));
            }),
            80u);
}

}  // namespace
}  // namespace tailor
