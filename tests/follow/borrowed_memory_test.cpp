// Tensors that the function makes on memory of its own (from_blob without a deleter): the memory may be gone, or changed, before the
// segment ends. Results are eager's on each call.

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

/// Reads `values` through a buffer that is filled anew and freed before the caller goes on.
Tensor from_buffer(std::vector<float> values) {
  Tensor copy = from_blob(values.data(), {static_cast<int64_t>(values.size())}).clone();
  std::fill(values.begin(), values.end(), -1e30f);
  return copy;
}

TEST(BorrowedMemory, MayBeFreedOnceItWasCopied) {
  float a = 0;
  auto f = compile([&](const Tensor& x) {
    a += 1;
    return x * 2 + from_buffer({a, 2 * a}) + from_buffer({10, 20});
  });
  for (int i = 1; i <= 10; ++i) EXPECT_VALUES(f(f32({1, 1})), static_cast<float>(12 + i), static_cast<float>(22 + 2 * i));
  EXPECT_EQ(f.stats().hits, 9u);
  EXPECT_EQ(f.stats().recompiles, 0u);
}

TEST(BorrowedMemory, MayBeWrittenBetweenOps) {
  auto f = compile([](const Tensor& x) {
    std::vector<float> buffer{1, 2};
    const Tensor view = from_blob(buffer.data(), {2}).view({2, 1}).squeeze(1);
    Tensor y = x + view;
    buffer[0] = 5;
    Tensor z = y * view;
    buffer.assign({100, 100});
    return z + y;
  });
  for (int i = 0; i < 4; ++i) EXPECT_VALUES(f(f32({1, 1})), 12, 9);
}

TEST(BorrowedMemory, IsWrittenAtOnce) {
  std::vector<float> seen;
  auto f = compile([&](const Tensor& x) {
    std::vector<float> buffer(2);
    from_blob(buffer.data(), {2}).copy_(x * 3);
    seen = buffer;
    from_blob(buffer.data(), {2}).add_(1);
    seen.insert(seen.end(), buffer.begin(), buffer.end());
    return x + 1;
  });
  for (int i = 0; i < 4; ++i) {
    EXPECT_VALUES(f(f32({1, 2})), 2, 3);
    EXPECT_EQ(seen, (std::vector<float>{3, 6, 4, 7}));
  }
}

// What was asked of a tensor before something else is copied over it comes first.
TEST(BorrowedMemory, IsCopiedOverWhatWasReadBefore) {
  auto f = compile([](const Tensor& x, Tensor state) {
    Tensor before = state * 2;
    std::vector<float> buffer{7, 8};
    state.copy_(from_blob(buffer.data(), {2}));
    buffer.assign({0, 0});
    return before + state + x;
  });
  for (int i = 0; i < 4; ++i) {
    Tensor state = f32({1, 1});
    EXPECT_VALUES(f(f32({0, 0}), state), 9, 10);
    EXPECT_VALUES(state, 7, 8);
  }
}

TEST(BorrowedMemory, OfArgumentsIsFollowed) {
  std::vector<float> buffer{1, 2};
  auto f = compile([](const Tensor& x) { return (x + 1) * x; });
  for (int i = 0; i < 4; ++i) { EXPECT_VALUES(f(from_blob(buffer.data(), {2})), 2, 6); }
  EXPECT_EQ(f.stats().hits, 3u);
}

TEST(BorrowedMemory, OfPureFunctionsIsReadInEachCall) {
  auto f = compile(
      [](const Tensor& x, const std::vector<float>& bias) {
        std::vector<float> scaled(bias);
        for (float& b : scaled) b *= 2;
        return x + from_blob(scaled.data(), {2}).clone();
      },
      {.pure = true});
  for (int i = 0; i < 6; ++i) EXPECT_VALUES(f(f32({1, 1}), {static_cast<float>(i), 1}), static_cast<float>(1 + 2 * i), 3);
}

TEST(BorrowedMemory, SizesMayVary) {
  auto f = compile([](const Tensor& x) {
    std::vector<float> ramp(static_cast<size_t>(x.size(0)));
    std::iota(ramp.begin(), ramp.end(), 0.0f);
    Tensor t = from_blob(ramp.data(), {x.size(0)}).clone();
    ramp.assign(ramp.size(), 1e30f);
    return x * 2 + t;
  });
  for (int64_t n : {4, 4, 6, 9, 5, 31, 4, 17}) EXPECT_TRUE(equal(f(ones({n})), arange(n).to(kFloat32) + 2)) << n;
}

}  // namespace
}  // namespace tailor
