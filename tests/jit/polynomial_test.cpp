#include "jit/polynomial.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

namespace tailor::jit {
namespace {

struct Fitted {
  Monomials monomials;
  std::vector<std::vector<int64_t>> points;
  explicit Fitted(std::vector<std::vector<int64_t>> nodes) : monomials(nodes.size()), points(monomials.points(nodes)) {}

  template <class F>
  std::vector<int64_t> values(F&& f) const {
    std::vector<int64_t> result;
    for (const auto& p : points) result.push_back(f(p));
    return result;
  }
};
using Point = std::vector<int64_t>;

TEST(Polynomial, OneSymbol) {
  const Fitted f({{31, 37, 41}});
  EXPECT_EQ(f.monomials.size(), 3u);
  const PolynomialFit fit(f.monomials, f.points);
  const auto check = [&](auto&& formula) {
    const auto p = fit(f.values(formula));
    ASSERT_TRUE(p);
    for (const int64_t s : {2, 3, 36, 1000, 1 << 20}) EXPECT_EQ(p->at(f.monomials.at({{s}})), formula(Point{s}));
  };
  check([](const Point& s) { return s[0]; });
  check([](const Point& s) { return s[0] * 4096 - 7; });
  check([](const Point& s) { return -3 * s[0] * s[0] + 11 * s[0]; });
  check([](const Point& s) { return s[0] * (s[0] - 1) / 2; });
  check([](const Point&) { return int64_t{5}; });
  EXPECT_FALSE(fit(f.values([](const Point& s) { return s[0] % 5 * 1000003; })) &&
               fit(f.values([](const Point& s) { return s[0] % 5 * 1000003; }))->denominator == 1);
}

TEST(Polynomial, TwoSymbols) {
  const Fitted f({{31, 37, 41}, {43, 47, 53}});
  EXPECT_EQ(f.monomials.size(), 8u);  // 1 s t st s2 t2 s2t st2
  const PolynomialFit fit(f.monomials, f.points);
  const auto formula = [](const Point& p) { return 3 * p[0] * p[0] * p[1] - p[0] * p[1] + 12 * p[1] - 4; };
  const auto p = fit(f.values(formula));
  ASSERT_TRUE(p);
  for (const Point& at : {Point{2, 3}, Point{100, 7}, Point{1000, 1000}}) EXPECT_EQ(p->at(f.monomials.at(at)), formula(at));
  EXPECT_EQ(Monomials(3).size(), 17u);
  EXPECT_EQ(Monomials(6).size(), 28u);
}

// Quotients, rests and products of them, for the sizes of all rests.
TEST(Polynomial, NumbersForEachRest) {
  const auto fit_all = [](const std::vector<int64_t>& steps, const std::vector<std::function<int64_t(const Point&)>>& formulas) {
    const Monomials monomials = Monomials(steps.size()).with_rests(steps);
    std::vector<Point> nodes;
    for (size_t i = 0; i < steps.size(); ++i) {
      Point& own = nodes.emplace_back();
      for (const int64_t rest : monomials.rests_of_nodes(i))
        own.push_back(40 * static_cast<int64_t>(i + 1) * steps[i] + static_cast<int64_t>(own.size()) * 3 * steps[i] + rest);
    }
    const std::vector<Point> points = monomials.points(nodes);
    ASSERT_EQ(points.size(), monomials.size());
    const PolynomialFit fit(monomials, points);
    for (const auto& formula : formulas) {
      Point values;
      for (const Point& p : points) values.push_back(formula(p));
      const auto p = fit(values);
      ASSERT_TRUE(p);
      for (int64_t s = 2; s < 40; ++s)
        for (int64_t t = 1000; t < 1020; ++t) {
          const Point at = steps.size() == 1 ? Point{s * t} : Point{s, t};
          EXPECT_TRUE(p->is_whole(monomials.at(at)));
          EXPECT_EQ(p->at(monomials.at(at)), formula(at));
          EXPECT_GE(p->magnitude(monomials.near(at)), static_cast<double>(std::abs(formula(at))));
        }
    }
  };
  fit_all({4}, {[](const Point& s) { return s[0] / 4; }, [](const Point& s) { return (s[0] + 1) / 2 * ((s[0] + 3) / 4) * 6 + 5; },
                [](const Point& s) { return s[0] * s[0] - s[0] % 4; }, [](const Point& s) { return (s[0] + 3) / 4 * 4 - s[0]; }});
  fit_all({3, 2},
          {[](const Point& s) { return s[0] / 3 * (s[1] / 2); }, [](const Point& s) { return (s[0] + 2) / 3 * s[1] * 16 + s[0] % 3 * 7; }});
  fit_all({2, 2}, {[](const Point& s) { return s[0] * s[1] / 2; }});
  fit_all({1, 4}, {[](const Point& s) { return s[0] * s[0] * ((s[1] - 1) / 4); }, [](const Point& s) { return s[0] - s[1] % 4; }});
  EXPECT_EQ(Monomials(1).with_rests(std::vector<int64_t>{4}).size(), 9u);
  EXPECT_EQ(Monomials(2).with_rests(std::vector<int64_t>{1, 1}).size(), Monomials(2).size());
}

TEST(Polynomial, DoublesOfSizes) {
  const Fitted f({{31, 37, 41}});
  const PolynomialFit fit(f.monomials, f.points);
  using Kind = SizeFormula::Kind;
  const auto check = [&](Kind kind, double (*formula)(double)) {
    const auto bits = [&](const Point& s) { return std::bit_cast<int64_t>(formula(static_cast<double>(s[0]))); };
    const auto fitted = fit_formula(fit, f.values(bits), true);
    ASSERT_TRUE(fitted);
    EXPECT_EQ(fitted->kind, kind);
    for (const int64_t s : {2, 3, 36, 1000, 1 << 20}) EXPECT_EQ(fitted->at(f.monomials.at({{s}})), bits(Point{s}));
  };
  check(Kind::Real, [](double s) { return 7 * s - 1; });
  check(Kind::Reciprocal, [](double s) { return 1.0 / (s * 20); });
  check(Kind::Root, [](double s) { return std::sqrt(s); });
  check(Kind::ReciprocalRoot, [](double s) { return 1.0 / std::sqrt(s * s + 1); });
  EXPECT_FALSE(
      fit_formula(fit, f.values([](const Point& s) { return std::bit_cast<int64_t>(std::sin(static_cast<double>(s[0]))); }), true));
}

}  // namespace
}  // namespace tailor::jit
