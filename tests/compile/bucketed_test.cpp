// Padded calls give what unpadded ones give, with few sizes; the report says what it cost.

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "frontend/compile/bucket_chooser.h"
#include "support/expect.h"

namespace tailor {
namespace {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

std::vector<int64_t> chosen(BucketPolicy policy, const std::vector<int64_t>& sizes) {
  BucketChooser chooser(std::move(policy));
  std::vector<int64_t> all;
  for (const int64_t size : sizes) all.push_back(chooser.choose(size));
  return all;
}

TEST(Bucketed, Policies) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(chosen(BucketPolicy::powers_of_two(), {0, 1, 2, 3, 8, 9}), (Sizes{1, 1, 2, 4, 8, 16}));
  EXPECT_EQ(chosen(BucketPolicy::powers_of_two(16), {1, 17}), (Sizes{16, 32}));
  EXPECT_EQ(chosen(BucketPolicy::multiples_of(24), {0, 1, 24, 25}), (Sizes{0, 24, 24, 48}));
  EXPECT_EQ(chosen(BucketPolicy::sizes({77, 16, 128}), {3, 16, 17, 100, 200}), (Sizes{16, 16, 77, 128, 200}));
  EXPECT_EQ(error_of([] { BucketPolicy::multiples_of(0); }), "bucketed: multiples of a positive number, got 0");
  EXPECT_EQ(error_of([] { BucketPolicy::sizes({}); }), "bucketed: no sizes are given");
  EXPECT_EQ(error_of([] { BucketPolicy::sizes({3, -1}); }), "bucketed: a size is negative: -1");
}

/// The least padding over all choices of at most `count` sizes, by trying all.
int64_t least_padding(const std::map<int64_t, int64_t>& seen, int count) {
  std::vector<std::pair<int64_t, int64_t>> all(seen.begin(), seen.end());
  int64_t least = INT64_MAX;
  for (uint32_t chosen = 0; chosen < (1u << all.size()); ++chosen) {
    if (!(chosen >> (all.size() - 1) & 1) || std::popcount(chosen) > count) continue;
    int64_t padding = 0, bucket = 0;
    for (size_t i = all.size(); i-- > 0;) {
      if (chosen >> i & 1) bucket = all[i].first;
      padding += (bucket - all[i].first) * all[i].second;
    }
    least = std::min(least, padding);
  }
  return least;
}

TEST(Bucketed, LearnsTheSizesThatNeedTheLeastPadding) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::map<int64_t, int64_t> seen;
    for (int i = 0; i < 9; ++i) seen[static_cast<int64_t>(random() % 60)] += 1 + static_cast<int64_t>(random() % 5);
    const int count = 1 + static_cast<int>(random() % 6);
    const std::vector<int64_t> buckets = best_buckets(seen, count);
    ASSERT_LE(buckets.size(), static_cast<size_t>(count));
    ASSERT_EQ(buckets.back(), seen.rbegin()->first);
    int64_t padding = 0;
    for (const auto& [size, calls] : seen) padding += (*std::lower_bound(buckets.begin(), buckets.end(), size) - size) * calls;
    EXPECT_EQ(padding, least_padding(seen, count)) << "round " << round;
  }
  BucketChooser chooser(BucketPolicy::learned(2, 10));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(chooser.choose(i % 2 ? 33 : 70), i % 2 ? 64 : 128);
  EXPECT_EQ(chooser.choose(33), 33);  // learned
  EXPECT_EQ(chooser.choose(34), 70);
  EXPECT_EQ(chooser.choose(71), 128);  // larger than any seen before
  EXPECT_EQ(chooser.learned(), 1);
}

Tensor attend(const Tensor& x, const Tensor& mask) {
  const Tensor scores = matmul(x, x.transpose(-2, -1)).masked_fill(mask.logical_not(), -1e30);
  return matmul(softmax(scores, -1), x);
}

TEST(Bucketed, MaskedAttentionOfEveryLengthAndBatch) {
  const auto fast =
      bucketed(attend, {{.name = "length",
                         .policy = BucketPolicy::powers_of_two(4),
                         .arguments = {{.tensor = 0, .dim = 1, .value = 7}},  // padding must not matter
                         .mask = 1,
                         .results = {{.tensor = 0, .dim = -2}}},
                        {.name = "batch", .policy = BucketPolicy::multiples_of(4), .arguments = {{0, 0}}, .results = {{0, 0}}}});
  manual_seed(1);
  int64_t real = 0, padded = 0;
  for (int64_t batch : {1, 3, 4, 6}) {
    for (int64_t length = 1; length <= 17; ++length) {
      const Tensor x = randn({batch, length, 8});
      const Tensor got = fast(x, Tensor()), want = attend(x, ones({length}, TensorOptions(kBool)));
      ASSERT_EQ(got.sizes(), want.sizes());
      ASSERT_TRUE(allclose(got, want, 1e-5, 1e-6)) << batch << " x " << length;
      real += batch * length * 8;
      padded += (batch + 3) / 4 * 4 * static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(length, 4)))) * 8;
    }
  }
  const PaddingStats stats = fast.padding();
  EXPECT_EQ(stats.calls, 68u);
  EXPECT_EQ(stats.real_elements, real);
  EXPECT_EQ(stats.padded_elements, padded);
  EXPECT_DOUBLE_EQ(stats.waste(), static_cast<double>(padded - real) / static_cast<double>(real));
  ASSERT_EQ(stats.dims.size(), 2u);
  ASSERT_EQ(stats.dims[0].buckets.size(), 4u);  // 4, 8, 16, 32
  EXPECT_EQ(stats.dims[0].buckets[0].size, 4);
  EXPECT_EQ(stats.dims[0].buckets[0].calls, 16u);
  EXPECT_EQ(stats.dims[0].buckets[0].real, 4 * (1 + 2 + 3 + 4));
  const auto json = nlohmann::json::parse(stats.json());
  EXPECT_EQ(json["dims"][1]["name"], "batch");
  EXPECT_EQ(json["dims"][1]["buckets"][0]["calls"], 51);
  EXPECT_NE(stats.text().find("length: 4 sizes"), std::string::npos) << stats;
}

TEST(Bucketed, LengthsStructsAndUnpaddedSizes) {
  struct Batch {
    Tensor ids;
    std::vector<Tensor> parts;
    Tensor length;
  };
  const auto mean = [](const Batch& b, double scale) { return std::make_pair(b.ids.sum() * scale / b.length, b.parts[0] + b.ids); };
  const auto fast = bucketed(
      mean, {{.policy = BucketPolicy::sizes({4, 16}), .arguments = {{0, 0}, {1, 0}}, .length = 2, .results = {{.tensor = 1, .dim = 0}}}});
  for (int64_t n : {1, 4, 5, 16, 20}) {
    const Tensor x = arange(n).to(kFloat32);
    const auto [got, sum] = fast({x, {x * 2}, {}}, 2.0);
    EXPECT_FLOAT_EQ(got.item<float>(), static_cast<float>(n - 1));
    testing::expect_same_bits(sum, x * 3);
  }
  EXPECT_EQ(fast.padding().dims[0].unpadded, 1u);
  EXPECT_EQ(fast.padding().dims[0].buckets.size(), 2u);
}

TEST(Bucketed, SaysWhatDoesNotFit) {
  const auto two = [](const Tensor& x, const Tensor& y) { return x.sum() + y.sum(); };
  const auto fast = bucketed(two, {{.name = "n", .arguments = {{0, 0}, {1, 0}}, .results = {{0, 0}}}});
  EXPECT_EQ(error_of([&] { fast(ones({3}), ones({4})); }), "bucketed: n is 3 in argument tensor 0 but 4 in tensor 1");
  EXPECT_EQ(error_of([&] { fast(ones({3}), Tensor()); }), "bucketed: argument tensor 1 is undefined");
  EXPECT_EQ(error_of([&] { fast(ones({}), ones({})); }), "bucketed: argument tensor 0 has rank 0, dim 0 is named");
  EXPECT_EQ(error_of([&] { fast(ones({3}), ones({3})); }), "bucketed: result tensor 0 has rank 0, dim 0 is named");
  const auto more = bucketed(two, {{.arguments = {{2, 0}}}});
  EXPECT_EQ(error_of([&] { more(ones({3}), ones({3})); }), "bucketed: argument tensor 2 is named, but there are 2");
  const auto other = bucketed([](const Tensor& x) { return cat({x, x}); }, {{.name = "n", .arguments = {{0, 0}}, .results = {{0, 0}}}});
  EXPECT_EQ(error_of([&] { other(ones({3})); }), "bucketed: result tensor 0 has 8 in dim 0, where n was padded to 4");
  EXPECT_EQ(error_of([&] { bucketed(two, {{.name = "n"}}); }), "bucketed: n occurs in no argument");
}

TEST(Bucketed, FewSpecializationsForManySizes) {
  const auto fast =
      bucketed([](const Tensor& x) { return (x * 2 + 1).relu(); },
               {{.policy = BucketPolicy::powers_of_two(), .arguments = {{0, 0}}, .results = {{0, 0}}}}, {.dynamic = Dynamic::Never});
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n <= 64; ++n) testing::expect_same_bits(fast(arange(n)), arange(n) * 2 + 1);
  }
  EXPECT_EQ(fast.stats().misses, 7u);
  EXPECT_EQ(fast.stats().hits, 128u - 7u);
}

TEST(Bucketed, ManyThreads) {
  const auto fast = bucketed([](const Tensor& x) { return x * 2 + 1; },
                             {{.policy = BucketPolicy::learned(4, 20), .arguments = {{0, 0}}, .results = {{0, 0}}}});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      for (int i = 0; i < 200; ++i) {
        const int64_t n = 1 + static_cast<int64_t>(random() % 50);
        if (!equal(fast(arange(n)), arange(n) * 2 + 1)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fast.padding().calls, 800u);
  EXPECT_GE(fast.padding().dims[0].learned, 1);
}

}  // namespace
}  // namespace tailor
