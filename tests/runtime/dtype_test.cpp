// Dtypes, promotion, half types, scalars, index lists and the ambient word.
#include "runtime/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <thread>

#include "runtime/ambient.h"
#include "runtime/dims.h"
#include "runtime/scalar.h"

namespace tailor {
namespace {

TEST(PromoteTypes, FollowsTorch) {
  // Rows and columns in the order of ScalarType; torch.promote_types.
  const ScalarType u1 = kUInt8, i1 = kInt8, i2 = kInt16, i4 = kInt32, i8 = kInt64, f2 = kFloat16, f4 = kFloat32, f8 = kFloat64, b1 = kBool,
                   bf = kBFloat16;
  const ScalarType table[kScalarTypeCount][kScalarTypeCount] = {
      {u1, i2, i2, i4, i8, f2, f4, f8, u1, bf}, {i2, i1, i2, i4, i8, f2, f4, f8, i1, bf}, {i2, i2, i2, i4, i8, f2, f4, f8, i2, bf},
      {i4, i4, i4, i4, i8, f2, f4, f8, i4, bf}, {i8, i8, i8, i8, i8, f2, f4, f8, i8, bf}, {f2, f2, f2, f2, f2, f2, f4, f8, f2, f4},
      {f4, f4, f4, f4, f4, f4, f4, f8, f4, f4}, {f8, f8, f8, f8, f8, f8, f8, f8, f8, f8}, {u1, i1, i2, i4, i8, f2, f4, f8, b1, bf},
      {bf, bf, bf, bf, bf, f4, f4, f8, bf, bf}};
  for (int a = 0; a < kScalarTypeCount; ++a)
    for (int b = 0; b < kScalarTypeCount; ++b)
      EXPECT_EQ(promote_types(static_cast<ScalarType>(a), static_cast<ScalarType>(b)), table[a][b])
          << static_cast<ScalarType>(a) << " " << static_cast<ScalarType>(b);
}

TEST(HalfTypes, EveryHalfSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_bits_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(half_bits_to_float(float_to_half_bits(value))));
    else
      EXPECT_EQ(float_to_half_bits(value), bits);
    const float wide = bfloat16_bits_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(bfloat16_bits_to_float(float_to_bfloat16_bits(wide))));
    else
      EXPECT_EQ(float_to_bfloat16_bits(wide), bits);
  }
}

TEST(HalfTypes, RoundToNearestEven) {
  EXPECT_EQ(float_to_half_bits(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(float_to_half_bits(1.0f + 0x3p-11f), 0x3c02);
  EXPECT_EQ(float_to_half_bits(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_half_bits(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half_bits(0x1p-25f), 0);
  EXPECT_EQ(float_to_half_bits(0x1.000002p-25f), 1);
  EXPECT_EQ(float_to_half_bits(-0x1p-24f), 0x8001);
  EXPECT_EQ(float_to_bfloat16_bits(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(float_to_bfloat16_bits(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_EQ(float_to_bfloat16_bits(3.4e38f), 0x7f80);
}

TEST(Scalar, PrintsSoThatKindsDiffer) {
  const auto text = [](Scalar s) {
    std::ostringstream out;
    out << s;
    return out.str();
  };
  EXPECT_EQ(text(2), "2");
  EXPECT_EQ(text(2.0), "2.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1e300), "1e+300");
  EXPECT_EQ(text(true), "true");
  EXPECT_EQ(text(NAN), "nan");
  EXPECT_EQ(text(-INFINITY), "-inf");
}

TEST(Dims, PrintLikeLists) {
  std::ostringstream out;
  out << Dims{2, 3} << IntArrayRef() << IntArrayRef(7);
  EXPECT_EQ(out.str(), "[2, 3][][7]");
}

TEST(Ambient, EveryModeChangesTheWord) {
  const uint64_t before = ambient_word();
  {
    NoGradGuard guard;
    EXPECT_FALSE(GradMode::is_enabled());
    EXPECT_NE(ambient_word(), before);
    {
      AutoGradMode on(true);
      EXPECT_EQ(ambient_word(), before);
    }
    std::thread([&] { EXPECT_EQ(ambient_word(), before); }).join();
  }
  {
    InferenceMode inference;
    EXPECT_TRUE(InferenceMode::is_enabled());
    EXPECT_FALSE(GradMode::is_enabled());
  }
  EXPECT_EQ(ambient_word(), before);
  set_default_dtype(kFloat64);
  EXPECT_EQ(get_default_dtype(), kFloat64);
  EXPECT_NE(ambient_word(), before);
  set_default_dtype(kFloat32);
  set_deterministic_algorithms(true);
  EXPECT_NE(ambient_word(), before);
  set_deterministic_algorithms(false);
  EXPECT_EQ(ambient_word(), before);
}

TEST(Ambient, DefaultDtypeMustBeFloatingPoint) {
  try {
    set_default_dtype(kInt64);
    FAIL();
  } catch (const Error& e) { EXPECT_STREQ(e.what(), "only floating-point types are supported as the default type, got Long"); }
}

}  // namespace
}  // namespace tailor
