// Pure functions whose bodies hold what they are also given: which of the two they took is told from what they were given, which is another
// object than the caller's.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
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

/// Calls as often as it takes to be sure that what can be skipped is.
constexpr int kOften = 20;

// What holds the captured tensor is destroyed, which no assignment tells; the tensor lives on as the argument.
TEST(TwoRoles, AHolderThatIsDestroyedWhileItsTensorLives) {
  const auto check = [](const char* what, auto&& hold, auto&& held) {
    auto f = compile([&](const Tensor& x) { return x + held() * 10; }, {.pure = true});
    std::vector<Tensor> alive;  // every tensor that ever was held
    const Tensor other = f32({7, 8});
    for (int round = 0; round < 6; ++round) {
      alive.push_back(randn({2}));
      hold(alive.back());
      for (int i = 0; i < kOften; ++i) {
        ASSERT_TRUE(f(other).equal(other + alive.back() * 10)) << what << ", round " << round << ", other, call " << i;
        ASSERT_TRUE(f(alive.front()).equal(alive.front() + alive.back() * 10)) << what << ", round " << round << ", the first, call " << i;
        ASSERT_TRUE(f(alive.back()).equal(alive.back() + alive.back() * 10)) << what << ", round " << round << ", call " << i;
      }
    }
  };
  std::optional<Tensor> optional;
  check(
      "optional", [&](const Tensor& t) { optional.reset(), optional.emplace(t); }, [&]() -> const Tensor& { return *optional; });
  std::vector<Tensor> list;
  check(
      "vector", [&](const Tensor& t) { list.clear(), list.push_back(t); }, [&]() -> const Tensor& { return list.front(); });
  std::map<int, Tensor> map;
  check(
      "map", [&](const Tensor& t) { map.clear(), map.emplace(1, t); }, [&]() -> const Tensor& { return map.at(1); });
  std::unique_ptr<Tensor> unique;
  check(
      "unique_ptr", [&](const Tensor& t) { unique.reset(), unique = std::make_unique<Tensor>(t); },
      [&]() -> const Tensor& { return *unique; });
  struct Model : nn::Module {
    Tensor weight;
    explicit Model(const Tensor& t) { weight = register_buffer("weight", t); }
  };
  std::shared_ptr<Model> model;
  check(
      "module", [&](const Tensor& t) { model.reset(), model = std::make_shared<Model>(t); },
      [&]() -> const Tensor& { return model->weight; });
}

// Nothing tells that a pointer points elsewhere now: where what it points to has been an argument, such calls are followed.
TEST(TwoRoles, WhatIsReachedByAPointerIsPassedAsWell) {
  const auto check = [](const char* what, auto&& point_at, auto&& body) {
    std::vector<Tensor> all;
    for (int i = 0; i < 4; ++i) all.push_back(randn({2}));
    auto f = compile(body, {.pure = true});
    for (int round = 0; round < 12; ++round) {
      Tensor& now = all[static_cast<size_t>(round % 4)];
      point_at(now);
      for (int i = 0; i < kOften; ++i) ASSERT_TRUE(f(now).equal(now + now * 10)) << what << ", round " << round << ", call " << i;
      for (size_t other = 0; other < (round < 4 ? 0u : 4u); ++other) {
        const Tensor& x = all[other];
        for (int i = 0; i < kOften; ++i) ASSERT_TRUE(f(x).equal(x + now * 10)) << what << ", round " << round << ", tensor " << other;
      }
    }
  };
  const Tensor* raw = nullptr;
  check(
      "pointer", [&](Tensor& t) { raw = &t; }, [&](const Tensor& x) { return x + *raw * 10; });
  std::optional<std::reference_wrapper<Tensor>> wrapped;
  check(
      "reference_wrapper", [&](Tensor& t) { wrapped = std::ref(t); }, [&](const Tensor& x) { return x + wrapped->get() * 10; });
  std::shared_ptr<Tensor> shared;
  check(
      "shared_ptr", [&](Tensor& t) { shared = std::shared_ptr<Tensor>(&t, [](Tensor*) {}); },
      [&](const Tensor& x) { return x + *shared * 10; });
  check(
      "by value", [&](Tensor& t) { raw = &t; }, [&](Tensor x) { return std::move(x) + *raw * 10; });
}

// Handles that the body makes of what it captures, and lets go of, say nothing.
TEST(TwoRoles, CopiesThatTheBodyMakesOfWhatItCaptures) {
  Tensor w = f32({10, 20});
  auto f = compile(
      [&w](const Tensor& x) {
        const Tensor mine = w;
        const std::vector<Tensor> both = {x, mine};
        return cat(both).sum() + [](Tensor t) { return t * 2; }(w);
      },
      {.pure = true});
  const Tensor x = f32({1, 2});
  for (int i = 0; i < 100; ++i) EXPECT_VALUES(f(x), 53, 73);
  EXPECT_GT(f.stats().skipped, 80u);
  const uint64_t before = f.stats().skipped;
  for (int i = 0; i < 100; ++i) {
    EXPECT_VALUES(f(x), static_cast<float>(53 + 4 * i), static_cast<float>(73 + 4 * i));
    w.add_(1);  // of which the sum is two more, and twice each value
  }
  EXPECT_GT(f.stats().skipped - before, 80u) << "in-place updates of values need no check";
}

/// How many of 100 calls are skipped once the function knows itself.
template <class F, class Call>
uint64_t skipped_of_100(const F& f, const Call& call) {
  for (int i = 0; i < 8; ++i) call(i);
  const uint64_t before = f.stats().skipped;
  for (int i = 0; i < 100; ++i) call(i);
  return f.stats().skipped - before;
}

/// Of what is only an argument, wherever it comes from; `f(x)` is `2 x`.
template <class F>
void expect_skipped(const F& f, const char* what) {
  constexpr uint64_t kMost = 92;  // but for audits
  const Tensor kept = f32({1, 2, 3});
  EXPECT_GT(skipped_of_100(f, [&](int) { EXPECT_VALUES(f(kept), 2, 4, 6); }), kMost) << what << ": a variable";
  EXPECT_GT(skipped_of_100(f, [&](int i) { EXPECT_VALUES(f(full({3}, 1.0 * i)), 2.f * i, 2.f * i, 2.f * i); }), kMost)
      << what << ": a temporary";
  Tensor sum = f32({0, 0, 0});
  EXPECT_GT(skipped_of_100(f,
                           [&](int) {
                             EXPECT_TRUE(f(sum).equal(sum * 2));
                             sum = sum + 1;
                           }),
            kMost)
      << what << ": a variable that is assigned to";
  EXPECT_GT(skipped_of_100(f,
                           [&](int i) {
                             Tensor gone = full({3}, 1.0 * i);
                             EXPECT_VALUES(f(std::move(gone)), 2.f * i, 2.f * i, 2.f * i);
                           }),
            kMost)
      << what << ": a variable that is moved from";
  std::vector<Tensor> data;
  for (int i = 0; i < 108; ++i) data.push_back(full({3}, 1.0 * i));
  EXPECT_GT(skipped_of_100(f, [&](int i) { EXPECT_VALUES(f(data[static_cast<size_t>(i)]), 2.f * i, 2.f * i, 2.f * i); }), kMost)
      << what << ": elements of a list";
  EXPECT_GT(skipped_of_100(f,
                           [&](int i) {
                             const Tensor copy = data[static_cast<size_t>(i)];
                             EXPECT_VALUES(f(copy), 2.f * i, 2.f * i, 2.f * i);
                           }),
            kMost)
      << what << ": copies of handles";
  EXPECT_FALSE(f.stats().pure_promise_broken) << what;
}

TEST(TwoRoles, ArgumentsThatAreNothingElseAreSkipped) {
  expect_skipped(compile([](const Tensor& x) { return x * 2; }, {.pure = true}), "by reference");
  expect_skipped(compile([](Tensor x) { return std::move(x) * 2; }, {.pure = true}), "by value");
  expect_skipped(compile([](Tensor x) { return x = x * 2; }, {.pure = true}), "by value, assigned to");
  struct Doubling : nn::Module {
    Tensor two = register_buffer("two", full({1}, 2.0));
    Tensor forward(Tensor x) {
      x = std::move(x) * two;
      return x;
    }
  } module;
  expect_skipped(compile(module, {.pure = true}), "a module");
  const Tensor two = full({1}, 2.0);
  expect_skipped(compile([&two](Tensor x) { return std::move(x) * two; }, {.pure = true}), "by value, with a captured tensor");
}

// One function's argument is another one's captured tensor.
TEST(TwoRoles, WhatAnotherFunctionCaptures) {
  const Tensor w = f32({1, 2, 3});
  auto holds = compile([&w](const Tensor& x) { return x + w; }, {.pure = true});
  auto takes = compile([](Tensor x) { return std::move(x) * 2; }, {.pure = true});
  const Tensor x = f32({0, 0, 0});
  const auto both = [&](int) {
    EXPECT_VALUES(holds(x), 1, 2, 3);
    EXPECT_VALUES(takes(w), 2, 4, 6);
  };
  EXPECT_GT(skipped_of_100(holds, both), 92u);
  EXPECT_GT(skipped_of_100(takes, both), 92u);
}

// What the body does with what it is given is done to the caller's.
TEST(TwoRoles, TheCallersTensorsAreMeant) {
  auto same = compile([](const Tensor& x, std::vector<Tensor> more) { return std::make_tuple(x, more.at(1), x * 2, x.is_same(more[0])); },
                      {.pure = true});
  const Tensor x = f32({1, 2}), y = f32({3, 4});
  for (int i = 0; i < kOften; ++i) {
    const auto [a, b, c, is] = same(x, {x, y});
    EXPECT_TRUE(a.is_same(x) && b.is_same(y) && is) << i;
    const auto [d, e, f, is_not] = same(x, {y, x});
    EXPECT_TRUE(d.is_same(x) && e.is_same(x) && !is_not) << i;
  }
  EXPECT_GT(same.stats().skipped, 20u);

  auto writes = compile([](Tensor& t, const Tensor& by) { t.add_(by); }, {.pure = true});
  Tensor sum = f32({0, 0});
  const Tensor handle = sum;
  for (int i = 1; i <= kOften; ++i) {
    writes(sum, x);
    EXPECT_VALUES(sum, static_cast<float>(i), 2.f * static_cast<float>(i));
  }
  EXPECT_TRUE(sum.is_same(handle));
  EXPECT_GT(writes.stats().skipped, 10u);

  auto turns = compile([](const Tensor& t) { return const_cast<Tensor&>(t).t_().sum(0); }, {.pure = true});
  const Tensor turned = f32({1, 2, 3, 4, 5, 6}).view({2, 3});
  EXPECT_VALUES(turns(turned), 6, 15);
  EXPECT_EQ(turned.size(0), 3);

  auto gradient = compile([](const Tensor& t) { return t - t.grad(); }, {.pure = true});
  x.mutable_grad() = y;
  for (int i = 0; i < kOften; ++i) EXPECT_VALUES(gradient(x), -2, -2);
}

// What host code reads of a tensor that no op takes.
TEST(TwoRoles, DescriptionsOfCapturedTensors) {
  Tensor like = zeros({2, 3});
  std::vector<Tensor> alive = {like};
  const auto replace = [&](Tensor next) { alive.push_back(like = std::move(next)); };
  auto rows = compile([&](const Tensor& x) { return x * static_cast<double>(like.size(0)); }, {.pure = true});
  auto dtype = compile([&](const Tensor& x) { return x.to(like.scalar_type()); }, {.pure = true});
  auto branch = compile([&](const Tensor& x) { return like.dim() == 2 ? x + 1 : x - 1; }, {.pure = true});
  auto shape = compile([&](const Tensor& x) { return x.sum() + zeros_like(like); }, {.pure = true});
  auto expanded = compile([&](const Tensor& x) { return x.sum().expand_as(like); }, {.pure = true});
  const Tensor x = f32({1, 2});
  const auto check = [&](const char* what) {
    for (int i = 0; i < kOften; ++i) {
      ASSERT_TRUE(rows(x).equal(x * static_cast<double>(like.size(0)))) << what << i;
      ASSERT_EQ(dtype(x).scalar_type(), like.scalar_type()) << what << i;
      ASSERT_TRUE(branch(x).equal(like.dim() == 2 ? x + 1 : x - 1)) << what << i;
      ASSERT_EQ(shape(x).sizes(), like.sizes()) << what << i;
      ASSERT_EQ(expanded(x).sizes(), like.sizes()) << what << i;
    }
  };
  check("as recorded, ");
  replace(zeros({4, 3}));
  check("more rows, ");
  replace(zeros({4, 3}, kInt));
  check("another dtype, ");
  replace(zeros({7}));
  check("another rank, ");
  const_cast<Tensor&>(like).unsqueeze_(0);
  check("described anew, ");
  for (const Stats& s : {rows.stats(), dtype.stats(), branch.stats(), shape.stats(), expanded.stats()}) {
    EXPECT_GT(s.skipped, 40u);
    EXPECT_FALSE(s.pure_promise_broken);
  }
}

// Which tensor an argument is depends on nothing that skipped calls compare.
TEST(TwoRoles, QuestionsAboutIdentityAreFollowed) {
  const Tensor w = f32({1, 2}), y = f32({3, 4}), part = w.slice(0, 0, 2);
  auto same = compile([&w](const Tensor& x) { return x.is_same(w) ? x + 1 : x - 1; }, {.pure = true});
  auto alias = compile([&w](const Tensor& x) { return x.is_alias_of(w) ? x + 1 : x - 1; }, {.pure = true});
  for (int i = 0; i < kOften; ++i) {
    EXPECT_VALUES(same(y), 2, 3) << i;
    EXPECT_VALUES(same(w), 2, 3) << i;
    EXPECT_VALUES(alias(y), 2, 3) << i;
    EXPECT_VALUES(alias(part), 2, 3) << i;
  }
}

TEST(TwoRoles, AnErrorInTheBodyLeavesWhatEagerWould) {
  auto f = compile(
      [](Tensor& x, const Tensor& y) {
        x.add_(y);
        x = x * 2;
        if (y.size(0) == 2) throw std::runtime_error("two");
        return x + 1;
      },
      {.pure = true});
  Tensor x = f32({1, 2});
  const Tensor before = x;
  EXPECT_THROW(f(x, f32({1, 1})), std::runtime_error);
  EXPECT_VALUES(before, 2, 3);
  EXPECT_VALUES(x, 4, 6);
}

// Arguments that have no copies of their own.
struct Shape {
  explicit Shape(Tensor x) : x(std::move(x)) {}
  virtual ~Shape() = default;
  virtual double factor() const { return 1; }
  Tensor x;
  TAILOR_FIELDS(Shape, x)
};
struct Double final : Shape {
  using Shape::Shape;
  double factor() const override { return 2; }
};
struct Sole {
  explicit Sole(Tensor x) : x(std::move(x)) {}
  Sole(const Sole&) = delete;
  Tensor x;
  TAILOR_FIELDS(Sole, x)
};

TEST(TwoRoles, ArgumentsThatCannotBeCopiedAreFollowed) {
  Tensor w = f32({1, 2});
  auto derived = compile([&](const Shape& s) { return s.x * s.factor() + w; }, {.pure = true});
  auto sole = compile([&](const Sole& s) { return s.x + w; }, {.pure = true});
  auto tied =
      compile([&](std::tuple<const Tensor&, const Tensor&> both) { return std::get<0>(both) + std::get<1>(both) * 2 + w; }, {.pure = true});
  for (int i = 0; i < kOften; ++i) {
    const Tensor x = f32({1, 2});
    EXPECT_VALUES(derived(Double(x)), 3, 6);
    EXPECT_VALUES(sole(Sole(w)), 2, 4);
    EXPECT_VALUES(sole(Sole(x)), 2, 4);
    EXPECT_VALUES(tied(std::tie(w, x)), 4, 8);
  }
  EXPECT_EQ(derived.stats().skipped + sole.stats().skipped + tied.stats().skipped, 0u);
  EXPECT_VALUES(w, 1, 2);
  for (int i = 0; i < kOften; ++i) EXPECT_VALUES(derived(Shape(w)), 2, 4);
}

// Long runs of calls that cannot be skipped are looked at seldom; what can be is skipped soon afterwards.
TEST(TwoRoles, CallsThatCannotBeSkippedForLong) {
  nn::Dropout drop(0.5);
  auto f = compile([&drop](Tensor x) { return drop(x) * static_cast<double>(x.size(0)); }, {.pure = true});
  const Tensor x = ones({4});
  for (int i = 0; i < 1000; ++i) (void)f(x);
  EXPECT_EQ(f.stats().skipped, 0u);
  drop->eval();
  for (int i = 0; i < 64; ++i) EXPECT_VALUES(f(x), 4, 4, 4, 4);
  const uint64_t before = f.stats().skipped;
  for (int i = 0; i < 100; ++i) EXPECT_VALUES(f(x), 4, 4, 4, 4);
  EXPECT_GT(f.stats().skipped - before, 92u);
}

// What is given for the argument is no more than that.
TEST(TwoRoles, ABodyThatKeepsWhatItIsGiven) {
  Tensor kept;
  auto f = compile([&kept](const Tensor& x) { return (kept = x) * 2; }, {.pure = true});
  for (int i = 0; i < kOften; ++i) {
    const Tensor x = full({2}, 1.0 * i);
    EXPECT_TRUE(f(x).equal(x * 2));
    EXPECT_TRUE(kept.equal(x));
  }
  EXPECT_TRUE(f.stats().pure_promise_broken);
}

}  // namespace
}  // namespace tailor
