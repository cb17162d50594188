// Traps about guards (A03, A04, A09, A48, A50, A51, A56, A63): one compiled function, called again and again with facts that go back and
// forth, followed and skipped, against eager.

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "support/expect.h"
#include "traps/both_ways.h"

namespace tailor {
namespace {

using testing::expect_same;
using testing::f32;
using testing::Function;
using testing::outcome;
using testing::Tensors;

using Inputs = std::function<Tensors()>;

/// Calls one compiled function with each of the inputs in turn, many rounds; every call has to be what eager is.
void in_turn(const Function& f, const std::vector<Inputs>& inputs, bool pure, int rounds = 12) {
  auto fast = compile(f, {.cache_size_limit = 32, .pure = pure});
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      // In the first half each kind of call comes once a round, in the second several times in a row.
      for (int again = 0; again < (round < rounds / 2 ? 1 : 3); ++again) {
        SCOPED_TRACE(std::string(pure ? "pure" : "followed") + ", round " + std::to_string(round) + ", input " + std::to_string(i));
        expect_same(outcome(fast, inputs[i]()), outcome(f, inputs[i]()));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_FALSE(fast.stats().pure_promise_broken);
  EXPECT_GT(fast.stats().hits, 0u) << fast.stats();
  if (pure) { EXPECT_GT(fast.stats().skipped, 0u) << fast.stats(); }
}
void in_turn(const Function& f, const std::vector<Inputs>& inputs) {
  in_turn(f, inputs, false);
  in_turn(f, inputs, true);
}
void in_turn(const Function& f, const std::vector<Tensors>& inputs) {
  std::vector<Inputs> made;
  for (const Tensors& t : inputs) made.push_back([t] { return t; });
  in_turn(f, made);
}

TEST(Guards, A03CapturedTensorsChangeInPlaceAndAreReplaced) {
  for (bool pure : {false, true}) {
    Tensor w = f32({1, 1});
    auto f = compile([&](const Tensor& x) { return x + w; }, {.pure = pure});
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(f32({1, 1})), 1 + w[0].item<float>(), 1 + w[1].item<float>());
      w.fill_(5 + round);
      for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(f32({1, 1})), static_cast<float>(6 + round), static_cast<float>(6 + round));
      w = f32({7, static_cast<float>(round)});
      for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(f32({1, 1})), 8, static_cast<float>(1 + round));
      Tensor other = f32({-1, -2});
      std::swap(w, other);
      for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(f32({1, 1})), 0, -1);
    }
    EXPECT_FALSE(f.stats().pure_promise_broken);
  }
}

TEST(Guards, A03CapturedNumbers) {
  double k = 1;
  auto followed = compile([&](const Tensor& x) { return x * k; });
  Watched<double> watched{1};
  auto skipped = compile([&](const Tensor& x) { return x * watched.get(); }, {.pure = true});
  for (int round = 0; round < 8; ++round) {
    for (double value : {1.0, 10.0, -0.0, 0.5}) {
      watched = k = value;
      for (int i = 0; i < 4; ++i) {
        testing::expect_same_bits(followed(f32({4})), f32({4}) * value);
        testing::expect_same_bits(skipped(f32({4})), f32({4}) * value);
      }
    }
  }
  EXPECT_FALSE(skipped.stats().pure_promise_broken);
}

TEST(Guards, A03BuffersThatAreWrittenAndReplaced) {
  for (bool pure : {false, true}) {
    Tensor buffer = f32({0, 0});
    auto f = compile(
        [&](const Tensor& x, int64_t at) {
          buffer.narrow(0, at, 1).copy_(x);
          return buffer * 1;
        },
        {.pure = pure});
    for (int round = 0; round < 12; ++round) {
      EXPECT_VALUES(f(f32({2}), 0), 2, 0) << round;
      buffer = f32({0, 0});
      EXPECT_VALUES(f(f32({1}), 1), 0, 1) << round;
      buffer = f32({0, 0});
    }
  }
}

TEST(Guards, A04PartlyOverlappingArguments) {
  const auto views = [](int64_t first, int64_t second) {
    return [=] {
      const Tensor base = arange(1, 9, kFloat);
      return Tensors{base.slice(0, first, first + 4), base.slice(0, second, second + 4)};
    };
  };
  in_turn(
      [](const Tensors& in) {
        Tensor x = in[0];
        x.mul_(2);
        return Tensors{x + in[1]};
      },
      std::vector<Inputs>{[] {
                            return Tensors{ones({4}), ones({4})};
                          },
                          views(0, 2), views(0, 4), views(2, 0), views(0, 0),
                          [] {
                            const Tensor x = ones({4});
                            return Tensors{x, x};
                          }});
}

TEST(Guards, A09NumbersByBits) {
  for (bool pure : {false, true}) {
    auto f = compile([](const Tensor& x, double c) { return 1 / (x * c); }, {.pure = pure});
    const Tensor x = f32({1});
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(f(x, 0.0).item<float>(), INFINITY);
      EXPECT_EQ(f(x, -0.0).item<float>(), -INFINITY);
    }
    const uint64_t before = f.stats().recompiles;
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(std::isnan(f(x, NAN).item<float>()));
    EXPECT_LE(f.stats().recompiles, before + 1);
    EXPECT_LE(f.stats().entries, 1);
    EXPECT_FALSE(f.stats().pure_promise_broken);
  }
}

TEST(Guards, A48GradientsComeAndGo) {
  for (bool pure : {false, true}) {
    auto f = compile([](const Tensor& x, const Tensor& w) { return (w * x).sum(); }, {.pure = pure});
    const Tensor x = f32({2, 3}), w = f32({1, 1}).set_requires_grad(true);
    for (int i = 0; i < 12; ++i) {
      {
        NoGradGuard no_grad;
        const Tensor l = f(x, w);
        EXPECT_VALUES(l, 5);
        EXPECT_FALSE(l.requires_grad());
      }
      EXPECT_TRUE(f(x, w).requires_grad());
      w.set_requires_grad(false);
      EXPECT_FALSE(f(x, w).requires_grad());
      w.set_requires_grad(true);
      EXPECT_TRUE(f(x, w).requires_grad());
      EXPECT_VALUES(f(x, w).detach(), 5);
    }
    EXPECT_FALSE(f.stats().pure_promise_broken);
  }
}

TEST(Guards, A50StridesOfEveryKind) {
  const Tensor a = arange(9, kFloat).view({3, 3}), wide = arange(18, kFloat).view({3, 6});
  const std::vector<Tensors> inputs = {
      {a}, {a.t()}, {tensor(5.0f).expand({3, 3})}, {wide.slice(1, 0, 6, 2)}, {wide.slice(1, 0, 3)}, {arange(3, kFloat).expand({3, 3})}};
  in_turn([](const Tensors& in) { return Tensors{in[0] * 2 + 1, in[0].sum(0)}; }, inputs);
}

TEST(Guards, A51SizesOfOneAndNone) {
  const Tensor b = f32({10, 20, 30, 40, 50, 60}).view({2, 3});
  const std::vector<Tensors> inputs = {{f32({1, 2, 3}).view({1, 3}), b}, {f32({1, 2, 3, 4, 5, 6}).view({2, 3}), b},
                                       {f32({1, 2}).view({2, 1}), b},    {zeros({0, 3}), zeros({0, 3})},
                                       {zeros({1, 3}), zeros({0, 3})},   {ones({5, 3}), ones({5, 3})}};
  in_turn([](const Tensors& in) { return Tensors{in[0] + in[1], in[0].sum(0), in[0].mean(0)}; }, inputs);
}

// Sizes that are marked, from the first compile on: 1 and 0 mean something of their own.
TEST(Guards, A51A52MarkedSizesIncludingNoneAndOne) {
  auto f = compile([](const Tensor& x) { return std::make_tuple(x.sum(0), x * 2, x.mean(0), x * 0, ones({3})); });
  for (const int64_t n : {4, 2, 1, 0, 5, 4}) {
    SCOPED_TRACE(n);
    const Tensor x = arange(n, kFloat32);
    mark_dynamic(x, 0, {.min = 0, .max = 64});
    const auto [sum, twice, mean, none, three] = f(x);
    EXPECT_VALUES(sum, static_cast<float>(n * (n - 1) / 2));
    testing::expect_same_bits(twice, x * 2);
    testing::expect_same_bits(none, x * 0);
    if (n == 0)
      EXPECT_TRUE(std::isnan(mean.item<float>()));
    else
      EXPECT_VALUES(mean, static_cast<float>(n - 1) / 2);
    EXPECT_VALUES(three, 1, 1, 1);
  }
  EXPECT_LE(f.stats().entries, 3);  // 0, 1, and all others
}

// A branch on a marked size is taken anew by every call; a size that the code fixes is an error that names the dimension and the line.
TEST(Guards, A70MarkedSizesThatTheCodeContradicts) {
  auto f = compile([](const Tensor& x) {
    const int64_t n = x.size(0);
    return n > 5 ? cos(x) : n < 5 ? x * 2 : sin(x);
  });
  for (int round = 0; round < 2; ++round) {
    for (const int64_t n : {5, 6, 4}) {
      const Tensor x = arange(n * 9, kFloat32).view({n, 3, 3});
      mark_dynamic(x, 0);
      testing::expect_same_bits(f(x), n > 5 ? cos(x) : n < 5 ? x * 2 : sin(x));
    }
  }
  const Tensor fixed = ones({5});
  auto g = compile([&](const Tensor& x) { return x + fixed; }, {.suppress_errors = false});
  const Tensor x = ones({5});
  mark_dynamic(x, 0);
  try {
    g(x);
    ADD_FAILURE() << "a size that the code forces to 5 was taken to vary";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("mark_dynamic: dimension 0 of args[0] cannot vary, the code forces it to 5"), std::string::npos) << text;
    EXPECT_NE(text.find("guards_test.cpp:"), std::string::npos) << text;
  }
}

TEST(Guards, A56ModesOfOtherThreads) {
  for (bool pure : {false, true}) {
    auto f = compile([](const Tensor& x, const Tensor& w) { return x * w; }, {.pure = pure});
    std::atomic<int> wrong{0};
    const auto loop = [&](bool grad) {
      const Tensor x = f32({1, 2}), w = f32({3, 4}).set_requires_grad(true);
      const AutoGradMode mode(grad);
      for (int i = 0; i < 500; ++i) wrong += f(x, w).requires_grad() != grad;
    };
    std::thread a(loop, false), b(loop, true), c(loop, false);
    a.join(), b.join(), c.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Guards, A63DefaultDtypeAndOtherModes) {
  for (bool pure : {false, true}) {
    auto f = compile([] { return ones({2}) + 0.1; }, {.pure = pure});
    auto g = compile([](const Tensor& x) { return x.sum() * 0.1 + 1; }, {.pure = pure});
    const Tensor x = tensor({1, 2, 3}, kInt);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(f().scalar_type(), kFloat32);
      EXPECT_EQ(g(x).scalar_type(), kFloat32);
      set_default_dtype(kFloat64);
      const Tensor y = f(), z = g(x);
      set_default_dtype(kFloat32);
      EXPECT_EQ(y.scalar_type(), kFloat64);
      EXPECT_EQ(y[0].item<double>(), 1.1);
      EXPECT_EQ(z.scalar_type(), kFloat64);
    }
    EXPECT_FALSE(f.stats().pure_promise_broken);
  }
}

}  // namespace
}  // namespace tailor
