// The handle, arithmetic, views, in-place ops and their errors.

#include "tailor/tensor.h"

#include <gtest/gtest.h>

#include "tailor/ops/creation.h"
#include "tailor/ops/pointwise.h"
#include "tailor/ops/view.h"

using namespace tailor;

namespace {

std::vector<double> values(const Tensor& t) {
  const Tensor c = t.to(kFloat64).contiguous();
  const double* p = c.const_data_ptr<double>();
  return {p, p + c.numel()};
}

using V = std::vector<double>;

std::string message(auto&& f) {
  try {
    f();
  } catch (const std::exception& e) { return e.what(); }
  return "no error";
}

}  // namespace

TEST(Tensor, HandleSharesData) {
  Tensor a = tensor({1.0, 2.0});
  Tensor b = a;
  EXPECT_TRUE(a.is_same(b));
  b.add_(1);
  EXPECT_EQ(values(a), (V{2, 3}));
  Tensor c = a.clone();
  c.zero_();
  EXPECT_EQ(values(a), (V{2, 3}));
  EXPECT_FALSE(Tensor().defined());
  b = Tensor();
  EXPECT_EQ(a.use_count(), 1u);
}

TEST(Tensor, OperatorsTakeEveryArithmeticType) {
  const Tensor x = tensor({1.0, 2.0, 4.0});
  EXPECT_EQ(values(x + x), (V{2, 4, 8}));
  EXPECT_EQ(values(x * size_t{3} + 1ll - short{2} + 'a' * 0), (V{2, 5, 11}));
  EXPECT_EQ(values(2.0f - x), (V{1, 0, -2}));
  EXPECT_EQ(values(8 / x), (V{8, 4, 2}));
  EXPECT_EQ(values(-x % 3), (V{2, 1, 2}));
  EXPECT_EQ(values(x > 1), (V{0, 1, 1}));
  EXPECT_EQ((x > 1).dtype(), kBool);
  EXPECT_EQ(values((x > 1) & (x < 4)), (V{0, 1, 0}));
  EXPECT_EQ(values(tensor({1, 2}) << 3), (V{8, 16}));
  EXPECT_EQ(values(true + tensor({1, 2})), (V{2, 3}));
}

TEST(Tensor, Promotion) {
  EXPECT_EQ((tensor({1, 2}) + 1.5).dtype(), kFloat32);
  EXPECT_EQ((tensor({1, 2}) / tensor({2, 2})).dtype(), kFloat32);
  EXPECT_EQ((ones({2}, kBFloat16) + 2.0).dtype(), kBFloat16);
  EXPECT_EQ((ones({2}, kFloat32) + ones({2}, kFloat64)).dtype(), kFloat64);
  EXPECT_EQ(result_type(tensor({1}), 1.0), kFloat32);
  EXPECT_FALSE(can_cast(kFloat32, kInt64));
  EXPECT_TRUE(can_cast(kInt64, kFloat32));
}

TEST(Tensor, AssignmentThroughIndexWrites) {
  Tensor x = zeros({2, 3});
  x[0] = 5;
  x[1] = tensor({1.0, 2.0, 3.0});
  EXPECT_EQ(values(x), (V{5, 5, 5, 1, 2, 3}));
  x[0][1] = 7.5;
  EXPECT_EQ(values(x), (V{5, 7.5, 5, 1, 2, 3}));
  Tensor row = x[0];
  row = ones({3});  // rebinds
  EXPECT_EQ(values(x), (V{5, 7.5, 5, 1, 2, 3}));
  x.t()[2] += 1;
  EXPECT_EQ(values(x), (V{5, 7.5, 6, 1, 2, 4}));
}

TEST(Tensor, ViewsShareStorage) {
  Tensor x = arange(6).view({2, 3});
  Tensor v = x.t().slice(0, 1);
  EXPECT_TRUE(v.is_alias_of(x));
  EXPECT_EQ(v.sizes(), (IntArrayRef{2, 2}));
  EXPECT_EQ(v.storage_offset(), 1);
  v.fill_(9);
  EXPECT_EQ(values(x), (V{0, 9, 9, 3, 9, 9}));
  EXPECT_TRUE(x.reshape({3, 2}).is_alias_of(x));
  EXPECT_FALSE(x.t().reshape({6}).is_alias_of(x));
  EXPECT_EQ(x._version(), v._version());
}

TEST(Tensor, OverlappingWriteActsAsIfCopiedFirst) {
  Tensor x = tensor({1.0, 2.0, 3.0, 4.0, 5.0});
  x.slice(0, 1).copy_(x.slice(0, 0, 4));
  EXPECT_EQ(values(x), (V{1, 1, 2, 3, 4}));
  x.slice(0, 1).add_(x.slice(0, 0, 4));
  EXPECT_EQ(values(x), (V{1, 2, 3, 5, 7}));
}

TEST(Tensor, InPlaceErrors) {
  Tensor i = tensor({1, 2});
  EXPECT_EQ(message([&] { i.add_(1.5); }).substr(0, 68), "add: result type Float can't be cast to the desired output type Long");
  Tensor x = ones({3});
  EXPECT_NE(message([&] {
              x.add_(ones({2, 3}));
            }).find("output with shape [3] doesn't match the broadcast shape [2, 3]"),
            std::string::npos);
  EXPECT_NE(message([&] {
              ones({1}).expand({3}).add_(1);
            }).find("more than one element of the written-to tensor refers to a single memory location"),
            std::string::npos);
  Tensor leaf = ones({2}).requires_grad_();
  EXPECT_NE(message([&] { leaf.add_(1); }).find("a leaf Variable that requires grad is being used in an in-place operation."),
            std::string::npos);
  EXPECT_NE(message([&] { leaf[0].add_(1); }).find("a view of a leaf Variable that requires grad"), std::string::npos);
  NoGradGuard no_grad;
  leaf.add_(1);
  EXPECT_EQ(values(leaf.detach()), (V{2, 2}));
}

TEST(Tensor, ErrorsNameTheLine) {
  const Tensor a = ones({2}), b = ones({3});
  const std::string text = message([&] { (void)(a + b); });
  const std::string line = ":" + std::to_string(__LINE__ - 1);
  EXPECT_EQ(text,
            "add: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0, at tensor_test.cpp" + line);
  EXPECT_NE(message([&] { Tensor().add(1); }).find("expected a defined tensor"), std::string::npos);
  EXPECT_THROW(a.select(0, 5), IndexError);
}

TEST(Tensor, RequiresGradFollowsModes) {
  Tensor x = ones({2}).requires_grad_();
  EXPECT_TRUE(x.is_leaf());
  Tensor y = x * 2;
  EXPECT_TRUE(y.requires_grad() && !y.is_leaf() && y.grad_fn());
  EXPECT_FALSE(y.detach().requires_grad());
  EXPECT_FALSE((x > 1).requires_grad());
  {
    NoGradGuard no_grad;
    EXPECT_FALSE((x * 2).requires_grad());
  }
  EXPECT_TRUE(x.t().requires_grad());
  EXPECT_THROW(tensor({1}).requires_grad_(), Error);
  EXPECT_THROW(y.requires_grad_(false), Error);
  EXPECT_THROW(y.sum().backward(), NotImplementedError);
}

TEST(Tensor, ItemAndPointers) {
  EXPECT_EQ(tensor(3.5).item<float>(), 3.5f);
  EXPECT_EQ(tensor({7}).item().to_int(), 7);
  EXPECT_NE(message([] { ones({2}).item(); }).find("a Tensor with 2 elements cannot be converted to Scalar"), std::string::npos);
  Tensor x = ones({2, 3});
  EXPECT_NE(message([&] { x.data_ptr<double>(); }).find("expected scalar type Double but found Float"), std::string::npos);
  auto a = x.accessor<float, 2>();
  a[1][2] = 4;
  EXPECT_EQ(values(x), (V{1, 1, 1, 1, 1, 4}));
}

TEST(Tensor, FromBlobUsesTheMemory) {
  float data[] = {1, 2, 3, 4};
  bool deleted = false;
  {
    Tensor x = from_blob(data, {2, 2}, [&](void*) { deleted = true; });
    x.mul_(2);
    EXPECT_EQ(data[3], 8);
  }
  EXPECT_TRUE(deleted);
  EXPECT_EQ(values(from_blob(data, {2}, {2}, kFloat)), (V{2, 6}));
}

TEST(Tensor, NestedLists) {
  EXPECT_EQ(tensor({{1, 2}, {3, 4}}).sizes(), (IntArrayRef{2, 2}));
  EXPECT_EQ(tensor({{1, 2}, {3, 4}}).dtype(), kInt64);
  EXPECT_EQ(tensor({1.f}).dtype(), kFloat32);
  EXPECT_EQ(tensor({true, false}).dtype(), kBool);
  EXPECT_EQ(tensor(std::vector<double>{1, 2}, kFloat64).dtype(), kFloat64);
  EXPECT_THROW(tensor({{1, 2}, {3}}), Error);
}

TEST(Tensor, CudaIsAnErrorWhereMemoryIsAskedFor) {
  EXPECT_THROW(zeros({2}, kCUDA), Error);
  EXPECT_THROW(ones({2}).to(kCUDA), Error);
}
