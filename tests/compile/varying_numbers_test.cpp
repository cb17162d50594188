// Numbers that turn out to vary become arguments of compiled code, whatever they mean to the op.
#include <gtest/gtest.h>

#include <cmath>

#include "tailor/tailor.h"

namespace tailor {
namespace {

TEST(VaryingNumbers, BetaOfZeroIgnoresNan) {
  double beta = 1;
  auto f = compile([&](Tensor self, Tensor a, Tensor b) { return addmm(self, a, b, beta); });
  const Tensor a = ones({2, 3}), b = ones({3, 2}), finite = ones({2, 2}), nan = full({2, 2}, NAN);
  for (const double next : {1.0, 2.0, 0.0, 0.0, 3.0}) {
    beta = next;
    EXPECT_TRUE(equal(f(finite, a, b), addmm(finite, a, b, beta))) << beta;
    EXPECT_TRUE(allclose(f(nan, a, b), addmm(nan, a, b, beta), 0, 0, true)) << beta;
  }
}

// A dim, or a number of heads, may happen to equal the size that is marked: the first call cannot tell them apart.
TEST(VaryingNumbers, WhatHappensToEqualAMarkedSize) {
  const auto body = [](const Tensor& x) {
    const Tensor y = x.view({x.size(0), x.size(1), 3, 2}).transpose(1, 2);
    return matmul(y, y.transpose(2, 3)).sum(3) + y.sum(3).transpose(1, 2).transpose(1, 2);
  };
  for (const int64_t batch : {2, 3}) {
    for (const int64_t length : {2, 3}) {
      const auto fast = compile(body);
      for (const int64_t more : {0, 0, 1, 4}) {
        const Tensor x = arange((batch + more) * (length + more) * 6).to(kFloat32).view({batch + more, length + more, 6}) / 8;
        mark_dynamic(x, 0);
        mark_dynamic(x, 1);
        EXPECT_TRUE(allclose(fast(x), body(x), 1e-5, 1e-5)) << batch << " " << length << " " << more;
      }
    }
  }
}

}  // namespace
}  // namespace tailor
