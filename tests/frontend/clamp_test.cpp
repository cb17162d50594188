// Bounds of clamp that the dtype of self cannot hold.

#include <gtest/gtest.h>

#include "tailor/tailor.h"

namespace tailor {
namespace {

TEST(Clamp, IntegerBoundsBeyondTheDtypeStopAtItsEnd) {
  const Tensor x = tensor({0, 1, 4, 200}).to(kUInt8);
  const Tensor y = clamp(x, -2, 3);
  EXPECT_EQ(y.scalar_type(), kUInt8);
  EXPECT_TRUE(equal(y, tensor({0, 1, 3, 3}).to(kUInt8)));
  EXPECT_TRUE(equal(clamp_max(x, 300), x));
  EXPECT_TRUE(equal(clamp_min(x, -1), x));
  const Tensor z = tensor({-128, 5, 127}).to(kInt8);
  EXPECT_TRUE(equal(clamp(z, -1000, 1000), z));
  Tensor in_place = x.clone();
  in_place.clamp_(-2, 3);
  EXPECT_TRUE(equal(in_place, y));
}

TEST(Clamp, FloatBoundsPromote) {
  const Tensor x = tensor({0, 1, 4}).to(kUInt8);
  const Tensor y = clamp(x, -2, 2.5);
  EXPECT_EQ(y.scalar_type(), kFloat32);
  EXPECT_EQ(y.max().item<float>(), 2.5F);
}

}  // namespace
}  // namespace tailor
