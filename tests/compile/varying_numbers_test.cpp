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

}  // namespace
}  // namespace tailor
