// x.index({...}) and its in-place forms, against hand-worked values.

#include "tailor/indexing.h"

#include <gtest/gtest.h>

#include "tailor/tailor.h"

using namespace tailor;
using namespace tailor::indexing;

namespace {

std::vector<int64_t> values(const Tensor& t) {
  const Tensor c = t.to(kInt64).contiguous();
  const int64_t* p = c.const_data_ptr<int64_t>();
  return {p, p + c.numel()};
}
using V = std::vector<int64_t>;

}  // namespace

TEST(Indexing, ViewsFromIntegersAndSlices) {
  const Tensor x = arange(24).view({2, 3, 4});
  EXPECT_EQ(values(x.index({1, 2})), (V{20, 21, 22, 23}));
  EXPECT_EQ(values(x.index({Ellipsis, -1})), (V{3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(x.index({None, 0, Slice(), None}).sizes(), (IntArrayRef{1, 3, 1, 4}));
  EXPECT_EQ(values(x.index({0, Slice(1, None), Slice(None, None, 3)})), (V{4, 7, 8, 11}));
  EXPECT_TRUE(x.index({Slice(1)}).is_alias_of(x));
  EXPECT_TRUE(x.index({tensor(1)}).is_alias_of(x));
}

TEST(Indexing, TensorsAndMasksGather) {
  const Tensor x = arange(12).view({3, 4});
  EXPECT_EQ(values(x.index({tensor({2, 0}), tensor({1, 3})})), (V{9, 3}));
  EXPECT_EQ(values(x.index({Slice(), tensor({-1})})), (V{3, 7, 11}));
  EXPECT_EQ(values(x.index({x % 5 == 0})), (V{0, 5, 10}));
  EXPECT_EQ(values(x[tensor({true, false, true})]), (V{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(x.index({true}).sizes(), (IntArrayRef{1, 3, 4}));
  EXPECT_EQ(x.index({false}).sizes(), (IntArrayRef{0, 3, 4}));
  EXPECT_EQ(values(where(x > 9)[1]), (V{2, 3}));
}

TEST(Indexing, WritesGoThrough) {
  Tensor x = zeros({2, 3}, kInt64);
  x.index_put_({Slice(), 1}, 7);
  x.index({0, 2}) = 5;
  x.index_put_({tensor({1, 1}), tensor({0, 0})}, tensor({2, 3}), /*accumulate=*/true);
  EXPECT_EQ(values(x), (V{0, 7, 5, 5, 7, 0}));
  x.index_put_({x == 7}, -1);
  EXPECT_EQ(values(x), (V{0, -1, 5, 5, -1, 0}));
  const Tensor y = x.index_put({0}, tensor({1, 2, 3}));
  EXPECT_EQ(values(y), (V{1, 2, 3, 5, -1, 0}));
  EXPECT_EQ(values(x)[0], 0);
}

TEST(Indexing, Errors) {
  const Tensor x = ones({2, 3});
  EXPECT_THROW(x.index({5}), IndexError);
  EXPECT_THROW(x.index({0, 0, 0}), IndexError);
  EXPECT_THROW(x.index({Ellipsis, Ellipsis}), IndexError);
  EXPECT_THROW(x.index({tensor({2})}), IndexError);
  EXPECT_THROW(x.index({tensor({true, false, true})}), IndexError);
  EXPECT_THROW(x.index({tensor({0.5, 1.0})}), IndexError);
  EXPECT_THROW(x.index({"no"}), Error);
  EXPECT_THROW(tensor(1.0).index({0}), IndexError);
  EXPECT_THROW(x.index({Slice(None, None, -1)}), Error);
}
