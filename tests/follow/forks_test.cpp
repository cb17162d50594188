// Calls in other sizes of captured tensors: what is recorded in them lives as long as they do.

#include <gtest/gtest.h>

#include "support/expect.h"
#include "support/plain_host.h"

namespace tailor {
namespace {

// A call takes a fork, and an op after it fails: what user code does then comes after what was there before the fork.
TEST(Forks, AreLeftWhenTheirStepsHaveNotHappened) {
  follow::TraceTree tree;
  testing::PlainHost host;
  const Tensor x = ones({2, 2});
  const auto call = [&](const Tensor& rows, const Tensor& index, bool exists) {
    Invocation invocation(tree, host);
    TensorHead* const arguments[] = {x.head()};
    invocation.begin(arguments);
    current_interceptor() = &invocation;
    Tensor y = x * 2;
    Tensor z;
    try {
      z = index_select(rows, 0, index).sum();
      if (!exists) z = z.neg();  // is no recorded op: what was followed runs
    } catch (const Error&) {
      z = y + 1;
      EXPECT_EQ(invocation.bindings().size(), 1u);
    }
    current_interceptor() = nullptr;
    invocation.finish();
    invocation.end();
    return z;
  };
  const Tensor first = tensor({0}, kLong), missing = tensor({9}, kLong);
  EXPECT_VALUES(call(ones({2, 3}), first, true), 3);
  EXPECT_VALUES(call(ones({2, 4}), first, true), 4);
  EXPECT_VALUES(call(ones({2, 5}), missing, false), 3, 3, 3, 3);
  EXPECT_VALUES(call(ones({2, 6}), first, true), 6);
  EXPECT_VALUES(call(ones({2, 5}), missing, false), 3, 3, 3, 3);
}

}  // namespace
}  // namespace tailor
