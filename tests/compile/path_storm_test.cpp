// A number that shapes an op and follows from no size makes a path for each of its values: told once, with the step, the values and what to
// do.

#include <gtest/gtest.h>

#include "support/catch_warnings.h"
#include "support/expect.h"

namespace tailor {
namespace {

using testing::CatchWarnings;
using testing::warnings;

TEST(PathStorm, IsToldOnce) {
  const CatchWarnings caught;
  const Tensor row = arange(16, kFloat32);
  int64_t places = 0;
  auto f = compile([&](const Tensor& x) { return x + row.roll(++places, 0); }, {.name = "rolled"});
  for (int i = 1; i <= 12; ++i) EXPECT_TRUE(equal(f(zeros({16})), row.roll(i, 0))) << i;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("is recorded again and again: step 1: shifts of roll has differed 9 times, with values [2], [3], [4], [5], "
                             "[6], [7], [8], [9] ..."),
            std::string::npos)
      << warnings[0];
  EXPECT_NE(warnings[0].find("What to do: "), std::string::npos);
  const Stats stats = f.stats();
  ASSERT_EQ(stats.storms.size(), 1u);
  EXPECT_EQ(stats.storms[0].subject, "step 1: shifts of roll");
  EXPECT_EQ(stats.eager.all(), 0u);  // it is told and stops nothing
}

TEST(PathStorm, BranchesAreNone) {
  const CatchWarnings caught;
  int way = 0;
  auto f = compile([&](Tensor x) {
    for (int i = 0; i < way; ++i) x = i % 2 ? x + 1 : x.neg();
    return x;
  });
  for (way = 0; way < 12; ++way) f(ones({2}));
  EXPECT_TRUE(warnings.empty());
}

}  // namespace
}  // namespace tailor
