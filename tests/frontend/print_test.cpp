// Printing, against text that libtorch 2.15 gave for the same programs.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tailor/tailor.h"

using namespace tailor;

static std::string text(const Tensor& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}

TEST(Print, Scalars) {
  EXPECT_EQ(text(tensor(0.1f)), "0.10000000149011612\n[ CPUFloatType{} ]");
  EXPECT_EQ(text(tensor(3)), "3\n[ CPULongType{} ]");
  EXPECT_EQ(text(tensor(1e10)), "10000000000\n[ CPUFloatType{} ]");
  EXPECT_EQ(text(tensor(NAN)), "nan\n[ CPUFloatType{} ]");
  EXPECT_EQ(text(tensor(true)), "1\n[ CPUBoolType{} ]");
}

TEST(Print, Vectors) {
  EXPECT_EQ(text(tensor({1.5, 2.25, -3.0})), " 1.5000\n 2.2500\n-3.0000\n[ CPUFloatType{3} ]");
  EXPECT_EQ(text(tensor({1, 2, -300})), "   1\n   2\n-300\n[ CPULongType{3} ]");
  EXPECT_EQ(text(tensor({1.5, -1000.5})), "    1.5000\n-1000.5000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(text(tensor({1e-6, 1.0, 2000.0})), " 1.0000e-06\n 1.0000e+00\n 2.0000e+03\n[ CPUFloatType{3} ]");
  EXPECT_EQ(text(tensor({123456.5, 234567.25})), "100000 *\n 1.2346\n 2.3457\n[ CPUFloatType{2} ]");
  EXPECT_EQ(text(tensor({0.00123, 0.00456})), "0.001 *\n 1.2300\n 4.5600\n[ CPUFloatType{2} ]");
  EXPECT_EQ(text(tensor({1.0, double(INFINITY), double(NAN)})), " 1\ninf\nnan\n[ CPUFloatType{3} ]");
  EXPECT_EQ(text(tensor({int64_t{10000000000}, int64_t{1}})), " 1.0000e+10\n 1.0000e+00\n[ CPULongType{2} ]");
  EXPECT_EQ(text(tensor({123456789, 1})), "1.23457e+08\n         1\n[ CPULongType{2} ]");
  EXPECT_EQ(text(tensor({-0.0, 0.5})), "-0.0000\n 0.5000\n[ CPUFloatType{2} ]");
  EXPECT_EQ(text(tensor({true, false})), " 1\n 0\n[ CPUBoolType{2} ]");
  EXPECT_EQ(text(ones({2}, kBFloat16)), " 1\n 1\n[ CPUBFloat16Type{2} ]");
  EXPECT_EQ(text(ones({1}, kDouble)), " 1\n[ CPUDoubleType{1} ]");
}

TEST(Print, Matrices) {
  EXPECT_EQ(text(tensor({{1.0, 2.5}, {3.0, 4.0}})), " 1.0000  2.5000\n 3.0000  4.0000\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(text(tensor({{123456.5, 2.5e5}, {3.0e5, 4.0e5}})), "100000 *\n 1.2346  2.5000\n  3.0000  4.0000\n[ CPUFloatType{2,2} ]");
  EXPECT_EQ(text(tensor({{1, 2, 3}, {4, 5, 6}})), " 1  2  3\n 4  5  6\n[ CPULongType{2,3} ]");
  EXPECT_EQ(text(tensor({{1, 2, 3}, {4, 5, 6}}).t()), " 1  4\n 2  5\n 3  6\n[ CPULongType{3,2} ]");
  EXPECT_EQ(text(arange(24).view({2, 12}) * 1000.5),
            "Columns 1 to 6     0.0000   1000.5000   2001.0000   3001.5000   4002.0000   5002.5000\n"
            " 12006.0000  13006.5000  14007.0000  15007.5000  16008.0000  17008.5000\n"
            "\n"
            "Columns 7 to 12  6003.0000   7003.5000   8004.0000   9004.5000  10005.0000  11005.5000\n"
            " 18009.0000  19009.5000  20010.0000  21010.5000  22011.0000  23011.5000\n"
            "[ CPUFloatType{2,12} ]");
}

TEST(Print, MoreDimensions) {
  EXPECT_EQ(text(arange(12).view({2, 3, 2})),
            "(1,.,.) = \n 0  1\n  2  3\n  4  5\n\n(2,.,.) = \n  6   7\n   8   9\n  10  11\n[ CPULongType{2,3,2} ]");
  EXPECT_EQ(text(arange(8).view({2, 2, 1, 2})),
            "(1,1,.,.) = \n 0  1\n\n(2,1,.,.) = \n 4  5\n\n(1,2,.,.) = \n 2  3\n\n(2,2,.,.) = \n 6  7\n[ CPULongType{2,2,1,2} ]");
}

TEST(Print, Empty) {
  EXPECT_EQ(text(Tensor()), "[ Tensor (undefined) ]");
  EXPECT_EQ(text(empty({0})), "[ CPUFloatType{0} ]");
  EXPECT_EQ(text(empty({2, 0, 3})), "[ CPUFloatType{2,0,3} ]");
}
