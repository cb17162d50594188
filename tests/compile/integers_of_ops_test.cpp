// Ops with an integer that differs from call to call: whatever it means to the op, results are those of eager code.

#include <gtest/gtest.h>

#include <functional>

#include "support/expect.h"

namespace tailor {
namespace {

struct Case {
  const char* name;
  std::function<Tensor(const Tensor&, int64_t)> body;
};

std::vector<Case> all_cases() {
  const Tensor w = arange(3 * 4 * 3 * 3, kFloat32).view({3, 4, 3, 3}) / 50;
  return {
      {"topk", [](const Tensor& x, int64_t k) { return std::get<0>(x.flatten().topk(k)) * 2; }},
      {"topk_indices", [](const Tensor& x, int64_t k) { return std::get<1>(x.flatten().topk(k)) * 2; }},
      {"repeat", [](const Tensor& x, int64_t k) { return x.flatten().repeat({k}) + 1; }},
      {"eye", [](const Tensor& x, int64_t k) { return eye(k) * 3 + x.flatten()[0]; }},
      {"unfold", [](const Tensor& x, int64_t k) { return x.flatten().unfold(0, k, 2).sum(1); }},
      {"unfold_step", [](const Tensor& x, int64_t k) { return x.flatten().unfold(0, 3, k) * 2; }},
      {"linspace", [](const Tensor& x, int64_t k) { return linspace(0, 1, k) + x.flatten()[0]; }},
      {"narrow_from", [](const Tensor& x, int64_t k) { return x.flatten().slice(0, k) * 2; }},
      {"slice_step", [](const Tensor& x, int64_t k) { return x.flatten().slice(0, 0, 64, k) * 2; }},
      {"pool",
       [](const Tensor& x, int64_t k) {
         return avg_pool1d(x.view({1, 1, -1}), k) + 1;
       }},
      {"maxpool",
       [](const Tensor& x, int64_t k) {
         return max_pool1d(x.view({1, 1, -1}), k) + 1;
       }},
      {"triu",
       [](const Tensor& x, int64_t k) {
         return x.view({8, 8}).triu(k) + 1;
       }},
      {"diagonal",
       [](const Tensor& x, int64_t k) {
         return x.view({8, 8}).diagonal(k) + 1;
       }},
      {"roll", [](const Tensor& x, int64_t k) { return x.flatten().roll(k, 0) + 1; }},
      {"view",
       [](const Tensor& x, int64_t k) {
         return x.flatten().slice(0, 0, k * 2).view({k, 2}).sum(1);
       }},
      {"expand",
       [](const Tensor& x, int64_t k) {
         return (x.flatten().unsqueeze(0).expand({k, 64}) * 2).sum(0);
       }},
      {"pad",
       [](const Tensor& x, int64_t k) {
         return constant_pad_nd(x.flatten(), {k, 1}, 0.5) * 2;
       }},
      {"conv_stride",
       [w](const Tensor& x, int64_t k) {
         return conv2d(x.view({1, 4, 4, 4}).repeat({1, 1, 8, 8}), w, {}, k);
       }},
      {"conv_pad",
       [w](const Tensor& x, int64_t k) {
         return conv2d(x.view({1, 4, 4, 4}), w, {}, 1, k);
       }},
      {"rand", [](const Tensor& x, int64_t k) { return rand({k}) * 2 + x.flatten()[0]; }},
      {"randn2",
       [](const Tensor& x, int64_t k) {
         return (randn({k, 3}) * 2 + x.flatten()[0]).sum(1);
       }},
      {"cumsum", [](const Tensor& x, int64_t k) { return x.flatten().slice(0, 0, k).cumsum(0); }},
      {"sort", [](const Tensor& x, int64_t k) { return std::get<0>((x.flatten().slice(0, 0, k) * 7).cos().sort()); }},
      {"softmax", [](const Tensor& x, int64_t k) { return softmax(x.flatten().slice(0, 0, k), 0); }},
      {"mean_var", [](const Tensor& x, int64_t k) { return x.flatten().slice(0, 0, k).var() + x.flatten().slice(0, 0, k).mean(); }},
      {"tile_cat",
       [](const Tensor& x, int64_t k) {
         Tensor a = zeros({k});
         return cat({a, x.flatten(), a}) + 1;
       }},
      {"inplace_view",
       [](const Tensor& x, int64_t k) {
         Tensor y = x.flatten().clone();
         y.slice(0, 0, k).add_(3);
         return y * 2;
       }},
      {"flip", [](const Tensor& x, int64_t k) { return x.flatten().slice(0, 0, k).flip({0}) + 1; }},
      {"split",
       [](const Tensor& x, int64_t k) {
         auto p = x.flatten().split(k);
         return p[0].sum() + p.back().sum();
       }},
      {"one_hot", [](const Tensor& x, int64_t k) { return one_hot(x.flatten().to(kInt64).remainder(2), k).sum(1); }},
  };
}

TEST(IntegersOfOps, GiveWhatEagerGives) {
  const Tensor x = arange(64, kFloat32) / 7;
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    const auto f = compile([&](const Tensor& t, int64_t k) { return c.body(t, k); });
    for (int64_t call = 0; call < 60; ++call) {
      const int64_t k = call * 11 % 30 + 1;
      const auto outcome = [&](const auto& body) -> std::optional<Tensor> {
        manual_seed(static_cast<uint64_t>(call));
        try {
          return body(x, k);
        } catch (const Error&) { return std::nullopt; }
      };
      const auto expected = outcome(c.body), got = outcome(f);
      ASSERT_EQ(expected.has_value(), got.has_value()) << k;
      if (!expected) continue;
      ASSERT_EQ(expected->sizes(), got->sizes()) << k;
      EXPECT_TRUE(allclose(*got, *expected, 1e-5, 1e-5, true)) << k;
    }
    EXPECT_GT(f.stats().hits, 0u);
  }
}

}  // namespace
}  // namespace tailor
