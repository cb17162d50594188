// Sizes that are halved, rounded or strided over: programs for the sizes that leave one rest.

#include <gtest/gtest.h>

#include <functional>

#include "support/expect.h"
#include "tailor/tailor.h"

namespace tailor {
namespace {

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && a.strides() == b.strides() && equal(a, b); }
bool close(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && allclose(a, b, 1e-4, 1e-4); }

Tensor counted(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(1.0, 1.0 + static_cast<double>(n), kFloat).view(sizes) / 7.0;
}

struct Strided : nn::Module {
  nn::Conv2d c1{nullptr}, c2{nullptr};
  nn::BatchNorm2d n1{nullptr};
  nn::Linear fc{nullptr};
  bool pools;
  explicit Strided(bool pools) : pools(pools) {
    c1 = register_module("c1", nn::Conv2d(nn::Conv2dOptions(3, 8, 3).stride(2).padding(1)));
    n1 = register_module("n1", nn::BatchNorm2d(8));
    c2 = register_module("c2", nn::Conv2d(nn::Conv2dOptions(8, 12, 3).padding(1)));
    fc = register_module("fc", nn::Linear(12, 5));
    this->eval();
  }
  Tensor forward(Tensor x) {
    x = relu(n1(c1(x)));
    if (pools) x = max_pool2d(x, 2);
    return fc(relu(c2(x)).mean({2, 3}));
  }
};

TEST(DynamicRests, AStridedNetworkOverImageHeights) {
  NoGradGuard no_grad;
  auto net = std::make_shared<Strided>(true);
  auto f = compile(net);
  for (int round = 0; round < 2; ++round)
    for (int64_t i = 0; i < 49; ++i) {
      const int64_t h = 16 + (i * 29 + 7) % 49;
      const Tensor x = randn({2, 3, h, 24});
      ASSERT_TRUE(close(f(x), net->forward(x))) << h;
    }
  const Stats s = f.stats();
  EXPECT_EQ(s.entries, 1);
  EXPECT_LE(s.symbolic_compiles, 4u);
  EXPECT_EQ(s.symbolic_rests, s.symbolic_compiles);
  EXPECT_EQ(s.symbolic_given_up, 0u);
  EXPECT_EQ(s.op_by_op, 0u);
  EXPECT_LE(s.recompiles, 4u);
  EXPECT_GE(s.hits, 93u);
}

TEST(DynamicRests, AStridedNetworkOverImagesOfAllSizes) {
  NoGradGuard no_grad;
  auto net = std::make_shared<Strided>(false);
  auto f = compile(net);
  for (int64_t i = 0; i < 49; ++i)
    for (int64_t j = 0; j < 6; ++j) {
      const int64_t h = 16 + (i * 29 + 7) % 49, w = 16 + (i * 11 + j * 17 + 3) % 49;
      const Tensor x = randn({1 + i % 3, 3, h, w});
      ASSERT_TRUE(close(f(x), net->forward(x))) << h << " " << w;
    }
  const Stats s = f.stats();
  EXPECT_LE(s.symbolic_compiles, 8u) << s;  // of a batch of one, and of more
  EXPECT_EQ(s.op_by_op, 0u) << s;
}

TEST(DynamicRests, TwoHalvingsInTwoDims) {
  NoGradGuard no_grad;
  auto net = std::make_shared<Strided>(true);
  auto f = compile(net);
  for (int64_t i = 0; i < 49; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      const int64_t h = 16 + (i * 29 + 7) % 49, w = 16 + (i * 11 + j * 17 + 3) % 49;
      const Tensor x = randn({2, 3, h, w});
      ASSERT_TRUE(close(f(x), net->forward(x))) << h << " " << w;
    }
  const Stats s = f.stats();
  EXPECT_LE(s.symbolic_compiles, 4u) << s;  // one rest, all others, and the smallest pictures
  EXPECT_EQ(s.op_by_op, 0u) << s;
}

struct Case {
  const char* name;
  std::function<Tensor(const Tensor&)> body;
  uint64_t most;  // programs
};

const Case kCases[] = {
    {"the first half", [](const Tensor& x) { return x.narrow(0, 0, x.size(0) / 2) * 2; }, 3},
    {"the second half", [](const Tensor& x) { return x.narrow(0, x.size(0) / 2, x.size(0) - x.size(0) / 2) * 2; }, 3},
    {"every second row", [](const Tensor& x) { return x.slice(0, 0, x.size(0), 2) + 1; }, 3},
    {"padded to a multiple",
     [](const Tensor& x) {
       const int64_t n = x.size(0);
       return nn::functional::pad(x, nn::functional::PadFuncOptions({0, 0, 0, (4 - n % 4) % 4})) * 3;
     },
     6},
    {"groups of three and what is left",
     [](const Tensor& x) {
       return x.narrow(0, 0, x.size(0) / 4 * 4).reshape({x.size(0) / 4, -1}).exp();
     },
     6},
    {"another path for odd sizes",
     [](const Tensor& x) {
       return x.size(0) % 2 == 0 ? x.view({x.size(0) / 2, -1}).sin() : x * 2 - 1;
     },
     4},
    {"a sum of halves",
     [](const Tensor& x) {
       const int64_t half = x.size(0) / 2;
       return x.narrow(0, 0, half) + x.narrow(0, half, half);
     },
     3},
};

TEST(DynamicRests, NumbersThatAreQuotients) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    auto f = compile(c.body);
    for (int round = 0; round < 2; ++round)
      for (int64_t i = 0; i < 60; ++i) {
        const Tensor x = counted({6 + (i * 23 + 5) % 60, 4});
        ASSERT_TRUE(same(f(x), c.body(x))) << x.size(0);
      }
    const Stats s = f.stats();
    EXPECT_LE(s.symbolic_compiles, c.most) << s;
    EXPECT_LE(s.recompiles, c.most + 3) << s;
    EXPECT_EQ(s.op_by_op, 0u) << s;
  }
}

TEST(DynamicRests, ASizeComputedFromTwo) {
  const auto body = [](const Tensor& x) {
    const int64_t h = x.size(1) / 2, w = x.size(2) / 2;
    return max_pool2d(x.unsqueeze(0), 2).view({x.size(0) * h * w}) + 1;
  };
  auto f = compile(body);
  for (int64_t i = 0; i < 100; ++i) {
    const Tensor x = counted({3, 4 + (i * 7) % 30, 4 + (i * 13) % 29});
    ASSERT_TRUE(same(f(x), body(x))) << x.size(1) << " " << x.size(2);
  }
  EXPECT_LE(f.stats().symbolic_compiles, 7u) << f.stats();
  EXPECT_EQ(f.stats().op_by_op, 0u) << f.stats();
}

TEST(DynamicRests, ExplainShowsThePredicate) {
  const auto body = [](const Tensor& x) { return x.narrow(0, 0, x.size(0) / 2) * 2; };
  auto f = compile(body);
  for (const int64_t n : {8, 13, 20}) f(counted({n, 3}));
  EXPECT_EQ(f.stats().symbolic_rests, 2u);
  const Explanation told = explain(f)(counted({31, 3}));
  EXPECT_EQ(told.outcome, "hit: followed cached code");
  EXPECT_NE(told.text().find("where args[0].size(0) % 2 == 1"), std::string::npos) << told.text();
  EXPECT_NE(told.text().find("where args[0].size(0) % 2 == 0"), std::string::npos) << told.text();
  EXPECT_NE(report_html({f.report()}, {}).find("% 2 == 1"), std::string::npos);
  EXPECT_NE(told.json().find("\"args[0].size(0) % 2 == 1\""), std::string::npos) << told.json();
}

// What no rest makes a polynomial is compiled for a few sizes alone, and then runs op by op.
TEST(DynamicRests, LimitsHold) {
  const auto body = [](const Tensor& x) { return x.narrow(0, 0, x.size(0) / 3 * (x.size(0) / 7) + 1) * 2; };
  auto f = compile(body);
  for (int64_t n = 9; n < 70; ++n) {
    const Tensor x = counted({n * n, 2}).narrow(0, 0, n);
    if (n / 3 * (n / 7) + 1 > n) continue;
    ASSERT_TRUE(same(f(x), body(x))) << n;
  }
  EXPECT_LE(f.stats().recompiles, 12u) << f.stats();
  const auto rounded = [](const Tensor& x) { return x.narrow(0, 0, x.size(0) / 64 + 1) * static_cast<double>(x.size(0) / 64); };
  auto g = compile(rounded);
  for (int64_t n = 100; n < 400; n += 3) {
    const Tensor x = counted({n, 2});
    ASSERT_TRUE(same(g(x), rounded(x))) << n;
  }
  EXPECT_LE(g.stats().recompiles, 70u) << g.stats();  // a program for each rest modulo 64
  EXPECT_EQ(g.stats().op_by_op, 0u);
}

}  // namespace
}  // namespace tailor
