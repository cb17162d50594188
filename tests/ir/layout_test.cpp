#include "ir/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tailor::ir {
namespace {

TEST(Layout, EveryDenseTensorHasAnOrderThatGivesItsStrides) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    DimOrder order;
    order.rank = static_cast<uint8_t>(random() % 5);
    for (uint8_t d = 0; d < order.rank; ++d) order.dims[d] = d;
    std::shuffle(order.dims.begin(), order.dims.begin() + order.rank, random);
    Dims sizes;
    for (uint8_t d = 0; d < order.rank; ++d) sizes.push_back(static_cast<int64_t>(random() % 4));
    const Dims strides = dense_strides(sizes, order);
    const auto found = dense_order(sizes, strides);
    ASSERT_TRUE(found) << "seed 1, round " << round << ": " << sizes << " " << strides;
    EXPECT_EQ(dense_strides(sizes, *found), strides);
  }
}

TEST(Layout, RowMajorIsPreferred) {
  for (const Dims& sizes : {Dims{4, 3}, Dims{4, 1, 3}, Dims{1, 1}, Dims{4, 0}, Dims{4, 1}, Dims{1, 4}}) {
    const auto order = dense_order(sizes, contiguous_strides(sizes));
    ASSERT_TRUE(order);
    EXPECT_TRUE(std::is_sorted(order->dims.begin(), order->dims.begin() + order->rank, std::greater<>())) << sizes;
  }
}

TEST(Layout, GapsAndOverlapHaveNoOrder) {
  EXPECT_FALSE(dense_order({4, 3}, {6, 2}));
  EXPECT_FALSE(dense_order({4, 3}, {4, 1}));
  EXPECT_FALSE(dense_order({4, 3}, {0, 1}));
  EXPECT_FALSE(dense_order({4, 3}, {1, 1}));
  EXPECT_FALSE(dense_order({1, 3}, {7, 1}));
}

}  // namespace
}  // namespace tailor::ir
