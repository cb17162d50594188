// Bodies of pure functions that change what they take by reference: the first call tells that the promise is broken, and does what the body
// says.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/catch_warnings.h"
#include "support/expect.h"

namespace tailor {
namespace {

/// Calls both with what `make` makes, some times over, and compares results and arguments.
template <class Body, class Make, class Check>
void expect_as_eager(Body body, const Make& make, const Check& check) {
  testing::CatchWarnings warnings;
  auto f = compile(body, {.pure = true});
  auto mine = make(), eager = make();
  for (int round = 0; round < 5; ++round) {
    SCOPED_TRACE(round);
    check([&](auto&... a) { return f(a...); }, [&](auto&... a) { return body(a...); }, mine, eager);
  }
}

TEST(LentArguments, OneVariableForTwoOfThem) {
  const auto make = [] { return full({4}, 2.0); };
  const auto check = [](const auto& f, const auto& body, Tensor& mine, Tensor& eager) {
    EXPECT_TRUE(equal(f(mine, mine), body(eager, eager)));
    EXPECT_TRUE(equal(mine, eager));
  };
  expect_as_eager([](Tensor& x, Tensor& y) { return x = x + 1, y * 2; }, make, check);
  expect_as_eager([](Tensor& x, const Tensor& y) { return x = x + 1, y * 2; }, make, check);
}

TEST(LentArguments, OneIsAPartOfAnother) {
  expect_as_eager(
      [](std::vector<Tensor>& all, Tensor& one) {
        all[0] = all[0] + 1;
        one = one * 2;
        return all[0] + one;
      },
      [] {
        return std::vector<Tensor>{full({4}, 2.0), full({4}, 3.0)};
      },
      [](const auto& f, const auto& body, std::vector<Tensor>& mine, std::vector<Tensor>& eager) {
        EXPECT_TRUE(equal(f(mine, mine[0]), body(eager, eager[0])));
        EXPECT_TRUE(equal(mine[0], eager[0]));
      });
}

struct Parts {
  std::vector<Tensor> list;
  std::map<std::string, std::optional<Tensor>> map;
  std::variant<int, Tensor> choice;
};

// Whoever has a pointer to a part of an argument sees what the body assigns to that.
TEST(LentArguments, PartsStayWhereTheyAre) {
  testing::CatchWarnings warnings;
  const auto f = compile(
      [](Parts& p) {
        p.list[1] = p.list[0] + 1;
        p.list.pop_back();
        *p.map["b"] = *p.map["a"] * 2;
        p.map["c"] = p.list[0];
        std::get<Tensor>(p.choice) = p.list[1] + 1;
        return p.list[1] * 2;
      },
      {.pure = true});
  Parts parts{{full({2}, 1.0), full({2}, 2.0), full({2}, 3.0)}, {{"a", full({2}, 4.0)}, {"b", full({2}, 5.0)}}, full({2}, 6.0)};
  const Tensor first = parts.list[0];
  const Tensor *const second = &parts.list[1], *const b = &*parts.map["b"], *const choice = &std::get<Tensor>(parts.choice);
  EXPECT_VALUES(f(parts), 4, 4);
  EXPECT_EQ(parts.list.size(), 2u);
  EXPECT_EQ(&parts.list[1], second);
  EXPECT_VALUES(*second, 2, 2);
  EXPECT_EQ(&*parts.map["b"], b);
  EXPECT_VALUES(*b, 8, 8);
  EXPECT_EQ(&std::get<Tensor>(parts.choice), choice);
  EXPECT_VALUES(*choice, 3, 3);
  EXPECT_TRUE(parts.list[0].is_same(first));
  EXPECT_TRUE(parts.map["c"]->is_same(first));
  EXPECT_TRUE(f.stats().pure_promise_broken);
}

struct Counting {
  Counting() = default;
  Tensor state;
  int calls = 0;
  TAILOR_FIELDS(Counting, state)
};

TEST(LentArguments, AMemberThatIsNotListedKeepsWhatTheBodyGaveIt) {
  const auto f = compile([](Counting& c) { return c.calls += 1, c.state * 2; }, {.pure = true});
  const auto nested = compile([](std::vector<Counting>& c) { return c[0].calls += 1, c[0].state * 2; }, {.pure = true});
  Counting counting;
  counting.state = full({2}, 1.0);
  std::vector<Counting> list{counting};
  EXPECT_VALUES(f(counting), 2, 2);
  EXPECT_EQ(counting.calls, 1);
  EXPECT_VALUES(nested(list), 2, 2);
  EXPECT_EQ(list[0].calls, 1);
}

struct Numbered {
  Tensor state;
  const int number = 3;
};

TEST(LentArguments, WhatCannotBeAssignedIsGivenItself) {
  expect_as_eager(
      [](Numbered& n) {
        n.state = n.state + 1;
        return n.state * n.number;
      },
      [] { return Numbered{full({4}, 2.0)}; },
      [](const auto& f, const auto& body, Numbered& mine, Numbered& eager) {
        EXPECT_TRUE(equal(f(mine), body(eager)));
        EXPECT_TRUE(equal(mine.state, eager.state));
      });
}

}  // namespace
}  // namespace tailor
