// Ops whose results show memory of their operands, or take over an operand's layout.
#include <gtest/gtest.h>

#include "tailor/tailor.h"

namespace tailor {
namespace {

TEST(ViewsOfOps, EinsumOfOneOperandIsAView) {
  const Tensor x = arange(6.0).view({2, 3});
  const Tensor turned = einsum("ij->ji", {x});
  EXPECT_TRUE(turned.is_alias_of(x));
  EXPECT_EQ(turned.strides(), IntArrayRef({1, 3}));
  EXPECT_FALSE(einsum("ij->j", {x}).is_alias_of(x));
  const Tensor square = arange(9.0).view({3, 3});
  einsum("ii->i", {square}).zero_();
  EXPECT_EQ(square.sum().item<float>(), 36 - 0 - 4 - 8);
}

TEST(ViewsOfOps, CompiledEinsumWritesThroughItsView) {
  auto f = compile([](Tensor x) {
    einsum("ij->ji", {x}).mul_(2);
    return einsum("ij->ji", {x});
  });
  for (int call = 0; call < 3; ++call) {
    const Tensor x = ones({2, 3});
    const Tensor y = f(x);
    EXPECT_TRUE(y.is_alias_of(x));
    EXPECT_EQ(y.strides(), IntArrayRef({1, 3}));
    EXPECT_EQ(x.sum().item<float>(), 12);
  }
}

// Layouts that a decomposition leaves are the ones that the rule promises: followed calls hand out tensors by the rule.
TEST(ViewsOfOps, CompiledEinsumHasTheLayoutOfEager) {
  auto f = compile([](Tensor a, Tensor b) { return einsum("ik,jk->ji", {a, b}); });
  const Tensor a = randn({3, 4}), b = randn({5, 4});
  const Tensor want = einsum("ik,jk->ji", {a, b});
  for (int call = 0; call < 3; ++call) {
    const Tensor got = f(a, b);
    EXPECT_EQ(got.strides(), want.strides());
    EXPECT_TRUE(allclose(got, want));
  }
}

TEST(ViewsOfOps, AttentionKeepsHeadsInsideRows) {
  const Tensor q = randn({2, 5, 3, 8}).transpose(1, 2), k = randn({2, 3, 7, 8});
  const Tensor y = scaled_dot_product_attention(q, k, k);
  EXPECT_EQ(y.strides(), q.strides());
  EXPECT_TRUE(y.transpose(1, 2).is_contiguous());
  EXPECT_TRUE(allclose(y, scaled_dot_product_attention(q.contiguous(), k, k)));
}

TEST(ViewsOfOps, MeshgridSwapsTheFirstTwo) {
  const std::vector<Tensor> grids = meshgrid({arange(2), arange(3), arange(4)}, "xy");
  for (const Tensor& g : grids) EXPECT_EQ(g.sizes(), IntArrayRef({3, 2, 4}));
  EXPECT_EQ(grids[0].strides(), IntArrayRef({0, 1, 0}));
  EXPECT_EQ(grids[1].strides(), IntArrayRef({1, 0, 0}));
}

TEST(ViewsOfOps, OneIntegerTensorSelects) {
  const Tensor x = arange(6).view({2, 3});
  const Tensor row = x.index({tensor(1)});
  EXPECT_TRUE(row.is_alias_of(x));
  EXPECT_EQ(row.sizes(), IntArrayRef({3}));
  x.index_put_({tensor(0), tensor(2)}, 9);
  EXPECT_EQ(x[0][2].item<int64_t>(), 9);
  EXPECT_THROW(tensor(1).index({tensor(0)}), IndexError);
}

// As the ops' rules say it, whichever way the op is run: a contiguous tensor may have any stride where it has one element.
TEST(ViewsOfOps, ResultsOfOneElementHavePlainStrides) {
  const Tensor column = arange(4).to(kFloat32).view({1, 4}).t().select(0, 2);
  ASSERT_EQ(column.strides().vec(), (std::vector<int64_t>{4}));
  const Tensor none = zeros({4, 0}).t().narrow(1, 0, 2);
  for (const Tensor& y : {column + 1, column + column, column.exp(), column > 0}) EXPECT_EQ(y.strides().vec(), (std::vector<int64_t>{1}));
  EXPECT_EQ((none + 1).strides().vec(), (std::vector<int64_t>{2, 1}));
}

}  // namespace
}  // namespace tailor
