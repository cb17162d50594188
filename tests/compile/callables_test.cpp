// What can be compiled besides lambdas: references to functors and functions that the caller keeps; functions with bound arguments in
// a Sequential.

#include <gtest/gtest.h>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

struct Running {
  int calls = 0;
  Tensor state = zeros({1});
  Tensor operator()(const Tensor& x) {
    ++calls;
    state = state + x;
    return state * 2;
  }
};
Tensor scaled(const Tensor& x, double factor) { return x * factor; }

TEST(Callables, ReferencesToFunctorsKeepTheirState) {
  Running running;
  auto f = compile(std::ref(running));
  for (int i = 1; i <= 5; ++i) EXPECT_VALUES(f(f32({3})), static_cast<float>(6 * i));
  EXPECT_EQ(running.calls, 5);
  EXPECT_VALUES(running.state, 15);
  running = Running();
  EXPECT_VALUES(f(f32({1})), 2);
}

TEST(Callables, ReferencesToFunctions) {
  auto f = compile(std::ref(scaled));
  EXPECT_VALUES(f(f32({3}), 2), 6);
  EXPECT_VALUES(f(f32({3}), 4), 12);
}

// A call may have no variable that a reference could refer to: the result is a value.
TEST(Callables, ResultsByReference) {
  const auto longer = compile([](const Tensor& x, const Tensor& y) -> const Tensor& { return x.size(0) > y.size(0) ? x : y; });
  const auto add = compile([](Tensor& x) -> Tensor& { return x.add_(1); });
  const Tensor x = f32({1, 2, 3}), y = f32({1, 2});
  static_assert(std::is_same_v<decltype(longer(x, y)), Tensor>);
  Tensor z = x.clone();
  for (int i = 1; i <= 5; ++i) {
    const Tensor& first = longer(x, y);
    const Tensor& second = longer(y, x);
    EXPECT_TRUE(first.is_same(x) && second.is_same(x));
    EXPECT_TRUE(add(z).is_same(z));
    EXPECT_VALUES(z, 1.f + i, 2.f + i, 3.f + i);
  }
}

TEST(Callables, FunctionalBindsFurtherArguments) {
  auto net = std::make_shared<nn::SequentialImpl>(nn::Functional(scaled, 3.0), nn::Functional(gelu, "tanh"), nn::Functional(relu),
                                                  nn::Functional(leaky_relu, 0.5));
  auto f = compile([&](const Tensor& x) { return net->forward(x); });
  const Tensor x = f32({1, -2, 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(allclose(f(x), leaky_relu(relu(gelu(x * 3, "tanh")), 0.5)));
}

}  // namespace
}  // namespace tailor
