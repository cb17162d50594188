// Type promotion against torch.result_type.

#include "ir/promotion.h"

#include <gtest/gtest.h>

#include <array>

namespace tailor::ir {
namespace {

TensorSpec dim(ScalarType t) { return TensorSpec(t, {2}); }
TensorSpec zero(ScalarType t) { return TensorSpec(t, {}); }

ScalarType promote(const SpecOperand& a, const SpecOperand& b) { return result_type(std::array{a, b}, kFloat32); }

TEST(Promotion, OfTensorsWithDimensions) {
  const struct {
    ScalarType a, b, result;
  } cases[] = {{kFloat32, kFloat64, kFloat64}, {kFloat16, kBFloat16, kFloat32}, {kUInt8, kInt8, kInt16},       {kUInt8, kInt32, kInt32},
               {kInt64, kFloat16, kFloat16},   {kBool, kUInt8, kUInt8},         {kBool, kBool, kBool},         {kInt8, kInt16, kInt16},
               {kInt64, kBFloat16, kBFloat16}, {kBool, kFloat16, kFloat16},     {kFloat16, kFloat32, kFloat32}};
  for (const auto& c : cases) {
    const TensorSpec a = dim(c.a), b = dim(c.b);
    EXPECT_EQ(promote(&a, &b), c.result) << c.a << " " << c.b;
    EXPECT_EQ(promote(&b, &a), c.result) << c.b << " " << c.a;
  }
}

TEST(Promotion, ZeroDimTensorsMatterOnlyWhereOfAHigherKind) {
  const struct {
    ScalarType dimensioned, zero_dim, result;
  } cases[] = {{kFloat32, kFloat64, kFloat32}, {kFloat16, kFloat32, kFloat16}, {kInt32, kFloat64, kFloat64}, {kUInt8, kInt64, kUInt8},
               {kBool, kInt16, kInt16},        {kBool, kFloat16, kFloat16},    {kInt64, kInt8, kInt64},      {kInt8, kBool, kInt8},
               {kBFloat16, kInt64, kBFloat16}, {kInt32, kBFloat16, kBFloat16}};
  for (const auto& c : cases) {
    const TensorSpec a = dim(c.dimensioned), b = zero(c.zero_dim);
    EXPECT_EQ(promote(&a, &b), c.result) << c.dimensioned << " " << c.zero_dim;
    EXPECT_EQ(promote(&b, &a), c.result) << c.zero_dim << " " << c.dimensioned;
  }
  const TensorSpec a = zero(kUInt8), b = zero(kInt32), half = zero(kFloat16), brain = zero(kBFloat16);
  EXPECT_EQ(promote(&a, &b), kInt32);
  EXPECT_EQ(promote(&half, &brain), kFloat32);
}

TEST(Promotion, ScalarsComeLast) {
  const TensorSpec u8 = dim(kUInt8), boolean = dim(kBool), f16 = dim(kFloat16), i32 = dim(kInt32), u8_zero = zero(kUInt8),
                   f64_zero = zero(kFloat64);
  EXPECT_EQ(promote(&u8, Scalar(300)), kUInt8);
  EXPECT_EQ(promote(&u8, Scalar(0.5)), kFloat32);
  EXPECT_EQ(promote(&u8, Scalar(true)), kUInt8);
  EXPECT_EQ(promote(&boolean, Scalar(1)), kInt64);
  EXPECT_EQ(promote(&boolean, Scalar(true)), kBool);
  EXPECT_EQ(promote(&f16, Scalar(1e300)), kFloat16);
  EXPECT_EQ(promote(&u8_zero, Scalar(5)), kUInt8);
  EXPECT_EQ(promote(&f64_zero, Scalar(1.0)), kFloat64);
  EXPECT_EQ(result_type(std::array<SpecOperand, 2>{&i32, Scalar(1.5)}, kFloat64), kFloat64) << "the default dtype";
  EXPECT_EQ(promote(Scalar(1), Scalar(2.0)), kFloat32);
}

TEST(Promotion, CanCast) {
  EXPECT_TRUE(can_cast(kFloat64, kFloat16));
  EXPECT_TRUE(can_cast(kInt64, kUInt8));
  EXPECT_TRUE(can_cast(kBool, kFloat32));
  EXPECT_FALSE(can_cast(kFloat32, kInt64));
  EXPECT_FALSE(can_cast(kInt32, kBool));
}

PointwiseTypes types_of(const char* op, std::vector<SpecOperand> operands) {
  return pointwise_types(*find_op(op), {operands, {}}, kFloat32);
}

TEST(Promotion, RulesOfOps) {
  const TensorSpec i32 = dim(kInt32), bf16 = dim(kBFloat16), boolean = dim(kBool), f64 = dim(kFloat64);
  PointwiseTypes t = types_of("div", {&i32, &i32});
  EXPECT_EQ(t.compute, kFloat32);
  EXPECT_EQ(t.result, kFloat32);
  t = types_of("add", {&bf16, Scalar(0.1)});
  EXPECT_EQ(t.compute, kFloat32);
  EXPECT_EQ(t.result, kBFloat16);
  t = types_of("eq", {&i32, Scalar(3.5)});
  EXPECT_EQ(t.compute, kFloat32);
  EXPECT_EQ(t.result, kBool);
  t = types_of("logical_and", {&f64, &i32});
  EXPECT_EQ(t.compute, kBool);
  EXPECT_EQ(t.result, kBool);
  t = types_of("where", {&boolean, &i32, &f64});
  EXPECT_EQ(t.result, kFloat64) << "the condition takes no part";
  t = types_of("square", {&boolean});
  EXPECT_EQ(t.result, kInt64);
  t = types_of("add", {&i32, &i32, Scalar(2)});
  EXPECT_EQ(t.result, kInt32);
  t = types_of("hardtanh", {&i32, Scalar(-0.5), Scalar(0.5)});
  EXPECT_EQ(t.result, kInt32) << "bounds take the dtype of self";
  t = types_of("clamp", {&i32, Scalar(-0.5), Scalar(0.5)});
  EXPECT_EQ(t.result, kFloat32) << "bounds promote";
  t = types_of("sigmoid", {&boolean});
  EXPECT_EQ(t.result, kFloat32);
}

}  // namespace
}  // namespace tailor::ir
