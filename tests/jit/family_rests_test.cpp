// Numbers that are quotients of sizes: a family for the sizes of each rest.

#include "jit/check_family.h"

namespace tailor::jit {
namespace {

using ir::GraphBuilder;
using ir::ValueId;
using testing::Build;
using testing::check_at;
using testing::family_of;
using testing::graph_of;
using testing::input;
using testing::Sizes;

struct Served {
  std::vector<std::shared_ptr<const Family>> families;
  int alone = 0;  // sizes that no family serves

  void at(const GraphAt& graph_at, const std::vector<int64_t>& values, double tolerance) {
    for (const auto& f : families)
      if (f->bind(values)) return check_at(*f, graph_at, values, tolerance, Backend::Llvm);
    std::vector<SymbolRange> symbols;
    for (const int64_t v : values) symbols.push_back({v});
    auto family = family_of(graph_at, symbols, Backend::Llvm, families.empty() ? nullptr : families.back().get());
    if (!family) {
      ++alone;
      return;
    }
    families.push_back(std::move(family));
    check_at(*families.back(), graph_at, values, tolerance, Backend::Llvm);
  }
};

// All sizes from `from` to `to`, in an order that jumps about.
Served serve(const Build& build, int64_t from, int64_t to, double tolerance = 0) {
  const GraphAt graph_at = graph_of(build);
  Served served;
  const int64_t count = to - from + 1;
  for (int64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i) served.at(graph_at, {from + (i * 29 + 7) % count}, tolerance);
  return served;
}

Served serve_pairs(const Build& build, int64_t from, int64_t to, double tolerance = 0) {
  const GraphAt graph_at = graph_of(build);
  Served served;
  const int64_t count = to - from + 1;
  for (int64_t i = 0; i < count && !::testing::Test::HasFailure(); ++i)
    for (int64_t j = 0; j < 5; ++j) served.at(graph_at, {from + (i * 29 + 7) % count, from + (i * 11 + j * 17 + 3) % count}, tolerance);
  return served;
}

const std::vector<int64_t> kZeros{0, 0}, kOnes{1, 1}, kTwos{2, 2};

ValueId conv(GraphBuilder& b, ValueId x, int64_t from, int64_t to, const std::vector<int64_t>& stride) {
  const ValueId w = input(b, {to, from, 3, 3}), v = input(b, {to});
  return b.call("relu", {b.call("conv2d", {x, w, v}, {stride, kOnes, kOnes, 1})});
}
ValueId pool(GraphBuilder& b, ValueId x) { return b.call("max_pool2d", {x}, {kTwos, kTwos, kZeros, kOnes, false}); }
ValueId mean_pixels(GraphBuilder& b, ValueId x) { return b.call("mean", {x}, {IntArrayRef{2, 3}, false, std::nullopt}); }

TEST(FamilyRests, QuotientsOfASize) {
  const Served halves = serve([](GraphBuilder& b, Sizes s) { return std::vector{b.call("neg", {input(b, {s[0] / 2, 5})})}; }, 4, 70);
  EXPECT_EQ(halves.families.size(), 2u);
  EXPECT_EQ(halves.alone, 0);
  for (const auto& f : halves.families) {
    EXPECT_EQ(f->ranges()[0].step, 2);
    EXPECT_LE(f->ranges()[0].min, 5);
    EXPECT_GE(f->ranges()[0].max, 100000);
  }
  EXPECT_NE(halves.families[0]->ranges()[0].rest(), halves.families[1]->ranges()[0].rest());
  const Served rounded = serve(
      [](GraphBuilder& b, Sizes s) {
        return std::vector{b.call("neg", {input(b, {(s[0] + 7) / 8 * 8, 5})})};
      },
      2, 70);
  EXPECT_EQ(rounded.families.size(), 8u);
  const Served first_half = serve(
      [](GraphBuilder& b, Sizes s) {
        const ValueId x = input(b, {s[0], 6});
        return std::vector{b.call("mul", {b.call("slice", {x}, {0, 0, s[0] / 2, 1}), tailor::Scalar(2.0)}),
                           b.call("exp", {b.call("slice", {x}, {0, s[0] / 2, s[0], 1})})};
      },
      4, 70);
  EXPECT_EQ(first_half.families.size(), 2u);
}

// Divisors that are no powers of two, and large ones.
TEST(FamilyRests, AnyDivisorUpTo64) {
  for (const int64_t divisor : {3, 5, 6, 12, 24, 40, 64}) {
    SCOPED_TRACE(divisor);
    const Served served = serve(
        [&](GraphBuilder& b, Sizes s) {
          const ValueId x = input(b, {s[0], 4});
          return std::vector{b.call("mul", {b.call("slice", {x}, {0, 0, s[0] / divisor, 1}), tailor::Scalar(2.0)})};
        },
        2 * divisor, 4 * divisor + 3);
    EXPECT_LE(served.families.size(), static_cast<size_t>(divisor) + 2);  // some are made again for two rows, a program of its own
    EXPECT_EQ(served.alone, 0);
  }
  // Of two dims, each by its own.
  const Served both = serve_pairs(
      [](GraphBuilder& b, Sizes s) {
        const ValueId x = input(b, {s[0], s[1], 3});
        const ValueId thirds = b.call("slice", {x}, {0, 0, s[0] / 3, 1});
        return std::vector{b.call("neg", {b.call("slice", {thirds}, {1, 0, s[1] / 2, 1})})};
      },
      12, 42);
  EXPECT_EQ(both.families.size(), 6u);
  EXPECT_EQ(both.alone, 0);
}

TEST(FamilyRests, EverySecondRow) {
  const Served served = serve(
      [](GraphBuilder& b, Sizes s) {
        const ValueId x = input(b, {s[0], 6});
        return std::vector{b.call("add", {b.call("slice", {x}, {0, 1, s[0], 2}), tailor::Scalar(2.0)})};
      },
      6, 60);
  EXPECT_EQ(served.families.size(), 2u);
  EXPECT_EQ(served.alone, 0);
}

TEST(FamilyRests, ProgramsThatDifferByParity) {
  const Served served = serve(
      [](GraphBuilder& b, Sizes s) {
        return std::vector{b.call(s[0] % 2 == 0 ? "neg" : "abs", {input(b, {s[0], 4})})};
      },
      3, 50);
  EXPECT_EQ(served.families.size(), 2u);
}

TEST(FamilyRests, StridedConvolutionsInOneDim) {
  const Served served = serve(
      [](GraphBuilder& b, Sizes s) {
        const ValueId x = input(b, {2, 3, s[0], 20});
        return std::vector{mean_pixels(b, conv(b, pool(b, conv(b, x, 3, 8, kTwos)), 8, 6, kOnes))};
      },
      16, 64, 1e-3);
  EXPECT_LE(served.families.size(), 4u);
  EXPECT_EQ(served.alone, 0);
  for (const auto& f : served.families) EXPECT_EQ(f->ranges()[0].step, 4);
}

TEST(FamilyRests, StridedConvolutionsInTwoDims) {
  const Served served = serve_pairs(
      [](GraphBuilder& b, Sizes s) {
        const ValueId x = input(b, {2, 3, s[0], s[1]});
        return std::vector{mean_pixels(b, conv(b, conv(b, x, 3, 8, kTwos), 8, 6, kOnes))};
      },
      16, 64, 1e-3);
  EXPECT_LE(served.families.size(), 4u);
  EXPECT_EQ(served.alone, 0);
}

// Sixteen rests of two sizes: one program for the first that comes, and one for all others.
TEST(FamilyRests, AllRestsTogether) {
  const auto net = [](bool pooled) {
    return [pooled](GraphBuilder& b, Sizes s) {
      ValueId x = conv(b, conv(b, input(b, {2, 3, s[0], s[1]}), 3, 4, kTwos), 4, 5, pooled ? kOnes : kTwos);
      return std::vector{mean_pixels(b, pooled ? pool(b, x) : x)};
    };
  };
  for (const bool pooled : {false, true}) {
    SCOPED_TRACE(pooled);
    const Served served = serve_pairs(net(pooled), 20, 43, 1e-3);
    ASSERT_EQ(served.families.size(), 2u);
    EXPECT_EQ(served.alone, 0);
    const Family &one = *served.families[0], &all = *served.families[1];
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(one.ranges()[i].step, 4);
      EXPECT_EQ(all.ranges()[i].step, 1);
      EXPECT_LE(all.ranges()[i].min, 20);
      EXPECT_GE(all.ranges()[i].max, 100000);
      EXPECT_EQ(all.steps()[i], 4);
    }
    // Far from where numbers were fitted, for each rest.
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t w = 0; w < 4; ++w) EXPECT_NE(all.bind(std::vector<int64_t>{100000 + h, 77773 + w}), nullptr);  // compared as it is bound
    // Smaller pictures than it serves get programs of their own.
    const GraphAt graph_at = graph_of(net(pooled));
    const auto small = family_of(graph_at, {{4}, {5}}, Backend::Llvm, &all);
    if (small) check_at(*small, graph_at, std::vector<int64_t>{4, 5}, 1e-3, Backend::Llvm);
  }
}

// A size times a rest grows at another rate for each rest: no program serves all of them, and one for each does.
TEST(FamilyRests, RestsThatMultiplySizes) {
  const Served served = serve_pairs(
      [](GraphBuilder& b, Sizes s) {
        return std::vector{b.call("neg", {input(b, {s[0] / 4 * (1 + s[0] % 4), s[1] / 4, 3})})};
      },
      24, 47);
  EXPECT_EQ(served.families.size(), 16u);
  EXPECT_EQ(served.alone, 0);
  for (const auto& f : served.families) EXPECT_EQ(f->ranges()[0].step, 4);
}

// A graph that reads as that of other rests does, but for large sizes of one rest, or of one pair of rests.
TEST(FamilyRests, OneRestThatGrowsFaster) {
  const std::function<int64_t(Sizes)> more[] = {
      [](Sizes s) { return s[0] % 4 == 3 && s[0] > 1000000 ? 1 : 0; },
      [](Sizes s) { return s[0] % 4 == 1 && s[1] % 4 == 1 ? s[0] / 4 : 0; },
      [](Sizes s) { return s[0] % 4 == 2 && s[1] % 4 == 0 ? s[1] / 4 : 0; },
  };
  for (const auto& f : more) {
    const GraphAt graph_at = graph_of([f](GraphBuilder& b, Sizes s) {
      return std::vector{b.call("neg", {input(b, {s[0] / 4 + f(s), s[1] / 4, 3})})};
    });
    const auto one = family_of(graph_at, {{32}, {37}});
    ASSERT_NE(one, nullptr);
    const auto other = family_of(graph_at, {{33}, {38}}, Backend::Llvm, one.get());
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->ranges()[0].step, 4);
  }
}

TEST(FamilyRests, EachDimHasAStepOfItsOwn) {
  const Served served = serve_pairs(
      [](GraphBuilder& b, Sizes s) {
        const ValueId x = input(b, {2, 3, s[0], s[1]});
        return std::vector{mean_pixels(b, conv(b, x, 3, 8, {2, 1}))};
      },
      16, 64, 1e-3);
  EXPECT_EQ(served.families.size(), 2u);
  for (const auto& f : served.families) {
    EXPECT_EQ(f->ranges()[0].step, 2);
    EXPECT_EQ(f->ranges()[1].step, 1);
  }
}

// Halves of products look like polynomials where one of the sizes varies alone.
TEST(FamilyRests, QuotientsOfAProduct) {
  const Served served = serve_pairs(
      [](GraphBuilder& b, Sizes s) {
        return std::vector{b.call("neg", {input(b, {s[0] * s[1] / 2, 3})})};
      },
      6, 40);
  EXPECT_LE(served.families.size(), 4u);
  EXPECT_EQ(served.alone, 0);
}

}  // namespace
}  // namespace tailor::jit
