// In-place writes to values that have been computed already, because the segment that made them is over or somebody has asked: who reads
// those values next sees the writes, each of which happens once.

#include <gtest/gtest.h>

#include <thread>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

float first_seen_elsewhere(const Tensor& t) {
  float seen = 0;
  std::thread([&] { seen = testing::values(t)[0]; }).join();
  return seen;
}

TEST(LaterWrites, AreSeenByOpsThatRunAtOnce) {
  auto f = compile([](const Tensor& x) {
    Tensor y = x * 2;
    fence();
    y.select(0, 0).add_(1);
    std::vector<float> memory{10, 20};
    const Tensor z = y + from_blob(memory.data(), {2}, kFloat32);
    memory.assign({-1, -1});
    return z;
  });
  for (int call = 0; call < 4; ++call) EXPECT_VALUES(f(f32({1, 2})), 13, 24);
  EXPECT_EQ(f.stats().hits, 2u) << "the second call notes where its segment ends";
}

TEST(LaterWrites, AreSeenByOtherThreads) {
  auto after_a_segment = compile([](const Tensor& x) {
    Tensor y = x * 2;
    fence();
    y.add_(1);
    return y * first_seen_elsewhere(y);
  });
  auto after_a_question = compile([](const Tensor& x) {
    Tensor y = x * 2, t = y.t();
    const float before = first_seen_elsewhere(y);
    y.add_(1);
    t.add_(before);
    return t * first_seen_elsewhere(y);
  });
  for (int call = 0; call < 4; ++call) {
    EXPECT_VALUES(after_a_segment(f32({1, 2})), 9, 15);
    EXPECT_VALUES(after_a_question(f32({1, 2})), 25, 35);
  }
}

TEST(LaterWrites, HappenOnceThoughAnOpAfterThemFails) {
  Tensor kept;
  auto f = compile([&](const Tensor& x, const Tensor& index) {
    Tensor y = x * 2;
    fence();
    kept = y;
    y.narrow(0, 0, 1).add_(1);
    return y.index_select(0, index);
  });
  const Tensor first = tensor({0}, kLong), missing = tensor({5}, kLong);
  for (int call = 0; call < 4; ++call) {
    EXPECT_VALUES(f(f32({1, 2}), first), 3);
    EXPECT_VALUES(kept, 3, 4);
    EXPECT_THROW(f(f32({1, 2}), missing), Error);
    EXPECT_VALUES(kept, 3, 4);
  }
}

}  // namespace
}  // namespace tailor
