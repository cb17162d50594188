// Random and creation kernels: the numbers are those of the reference at every instruction set, a function of (seed, offset, index).

#include "ir/ops/random.h"

#include "ir/ops/creation.h"
#include "move_case.h"
#include "runtime/thread_pool.h"

namespace tailor::testing {
namespace {

// Known answers of the paper's authors (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox::block({0, 0, 0, 0}, 0, 0), (Philox::Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::block({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff),
            (Philox::Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Philox::Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Generator, DrawsAreDisjointAndFollowTheSeed) {
  Generator g(5);
  const PhiloxState a = g.draw(1), b = g.draw(100), c = g.draw(0), d = g.draw(1);
  EXPECT_EQ(a.seed, 5);
  EXPECT_EQ(a.offset, 0);
  EXPECT_EQ(b.offset, 16);
  EXPECT_EQ(c.offset, 80);
  EXPECT_EQ(d.offset, 80);
  g.manual_seed(7);
  EXPECT_EQ(g.draw(3).offset, 0);
  EXPECT_EQ(g.draw(3).seed, 7);
  const PhiloxState saved = g.state();
  g.draw(1000);
  g.set_state(saved);
  EXPECT_EQ(g.draw(1).offset, saved.offset);
  manual_seed(11);
  EXPECT_EQ(default_generator().seed(), 11u);
}

TEST(Random, UniformIsTheReferenceEverywhere) {
  at_every_isa([] {
    for (ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16})
      for (int64_t n : {0, 1, 31, 64, 65, 1000})
        for (int64_t offset : {int64_t{0}, int64_t{16}, int64_t{7}, int64_t{0xfffffff8}})
          expect_as_reference({"rand", {Scalar(int64_t{-3}), Scalar(offset)}, {IntArrayRef{n}, type, 0}});
  });
  expect_as_reference({"rand", {Scalar(1), Scalar(0)}, {IntArrayRef{3, 5}, kFloat32, 1}});
}

TEST(Random, DoesNotDependOnThreads) {
  const Case c{"rand", {Scalar(1), Scalar(0)}, {int64_t{0}, kFloat32, 0}};
  const std::vector<int64_t> size{200001};
  Case large = c;
  large.attrs[0] = size;
  const int threads = get_num_threads();
  set_num_threads(1);
  const ir::HostTensor one = kernel_result(large);
  set_num_threads(4);
  EXPECT_TRUE(same_bits(kernel_result(large), one));
  set_num_threads(threads);
  double sum = 0, low = 1, high = 0;
  for (double u : list(one)) sum += u, low = std::min(low, u), high = std::max(high, u);
  EXPECT_NEAR(sum / 200001, 0.5, 0.005);
  EXPECT_GE(low, 0);
  EXPECT_LT(high, 1);
}

TEST(Random, StreamsAndOffsetsDiffer) {
  const auto draw = [](int64_t seed, int64_t offset, int64_t stream) {
    return list(kernel_result({"rand", {Scalar(seed), Scalar(offset)}, {IntArrayRef{64}, kFloat32, stream}}));
  };
  const auto base = draw(0, 0, 0);
  EXPECT_EQ(draw(0, 0, 0), base);
  EXPECT_NE(draw(0, 16, 0), base);
  EXPECT_NE(draw(1, 0, 0), base);
  EXPECT_NE(draw(0, 0, 1), base);
}

TEST(Random, Integers) {
  for_all_dtypes([](ScalarType type) {
    const int64_t high = type == kBool ? 2 : 100;
    expect_as_reference({"randint", {Scalar(0), Scalar(high), Scalar(9), Scalar(16)}, {IntArrayRef{5, 20}, type}});
  });
  const ir::HostTensor wide =
      kernel_result({"randint", {Scalar(INT64_MIN), Scalar(INT64_MAX), Scalar(9), Scalar(0)}, {IntArrayRef{100}, kInt64}});
  int negative = 0;
  for (double v : list(wide)) negative += v < 0;
  EXPECT_GT(negative, 25);
  EXPECT_LT(negative, 75);
  EXPECT_EQ(error_of([] {
              infer({"randint", {Scalar(5), Scalar(5), Scalar(0), Scalar(0)}, {IntArrayRef{1}, kInt64}});
            }),
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=5");
}

TEST(Random, Permutation) {
  expect_as_reference({"randperm", {Scalar(3), Scalar(0)}, {100, kInt64}});
  std::vector<double> order = list(kernel_result({"randperm", {Scalar(3), Scalar(0)}, {100, kInt32}}));
  std::sort(order.begin(), order.end());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(Random, Bernoulli) {
  for (ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    ir::HostTensor p(ir::TensorSpec(type, {4, 50}));
    for (int64_t i = 0; i < 200; ++i) p.set(i, static_cast<double>(i % 5) / 4);
    Strided x = permuted(p, {1, 0});
    expect_as_reference({"bernoulli", {x, std::nullopt, Scalar(1), Scalar(0)}, {}});
    expect_as_reference({"bernoulli", {x, Scalar(0.25), Scalar(1), Scalar(0)}, {}});
  }
  Strided bad = dense(floats({2}, {0.5, 1.5}));
  EXPECT_EQ(error_of([&] {
              kernel_result({"bernoulli", {bad, std::nullopt, Scalar(1), Scalar(0)}, {}});
            }),
            "bernoulli: expected probabilities in [0, 1], but got 1.5");
}

TEST(Random, Multinomial) {
  Strided p = dense(floats({2, 4}, {0, 1, 2, 1, 5, 0, 0, 1}));
  expect_as_reference({"multinomial", {p, Scalar(4), Scalar(0)}, {50, true}});
  expect_as_reference({"multinomial", {p, Scalar(4), Scalar(0)}, {2, false}});
  for (double c : list(kernel_result({"multinomial", {p, Scalar(4), Scalar(0)}, {50, true}})))
    EXPECT_TRUE(c == 0 || c == 1 || c == 2 || c == 3);
  Strided wrong = dense(floats({2}, {1, -1})), none = dense(floats({2}, {0, 0})), nan = dense(floats({2}, {NAN, 1}));
  EXPECT_EQ(error_of([&] {
              kernel_result({"multinomial", {wrong, Scalar(4), Scalar(0)}, {1, false}});
            }),
            "probability tensor contains either `inf`, `nan` or element < 0");
  EXPECT_EQ(error_of([&] {
              kernel_result({"multinomial", {nan, Scalar(4), Scalar(0)}, {1, false}});
            }),
            "probability tensor contains either `inf`, `nan` or element < 0");
  EXPECT_EQ(error_of([&] {
              kernel_result({"multinomial", {none, Scalar(4), Scalar(0)}, {1, true}});
            }),
            "invalid multinomial distribution (sum of probabilities <= 0)");
}

// Trap A35: the fused kernel gives the decomposition's bits; p = 0 keeps all, p = 1 gives exact zeros.
TEST(Random, Dropout) {
  for (ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    const ir::HostTensor values = random_values(type, {7, 30}, 1, Filling::WithNan);
    for (Strided x : {dense(values), permuted(values, {1, 0})}) {
      for (double p : {0.0, 0.1, 0.5, 1.0})
        expect_as_reference({"dropout", {x, Scalar(p), Scalar(ir::dropout_scale(p)), Scalar(2), Scalar(32)}, {}});
      EXPECT_TRUE(same_bits(kernel_result({"dropout", {x, Scalar(0.0), Scalar(1.0), Scalar(2), Scalar(32)}, {}}), values));
    }
    Strided x = dense(values);
    for (double v : list(kernel_result({"dropout", {x, Scalar(1.0), Scalar(0.0), Scalar(2), Scalar(32)}, {}}))) EXPECT_EQ(v, 0);
  }
  Strided ones = dense(floats({100000}, std::vector<double>(100000, 1)));
  int64_t kept = 0;
  for (double v : list(kernel_result({"dropout", {ones, Scalar(0.5), Scalar(2.0), Scalar(2), Scalar(32)}, {}}))) {
    EXPECT_TRUE(v == 0 || v == 2);
    kept += v != 0;
  }
  EXPECT_NEAR(static_cast<double>(kept), 50000, 800);
  EXPECT_EQ(error_of([] { ir::dropout_scale(1.5); }), "dropout probability has to be between 0 and 1, but got 1.5");
}

// The fused kernel gives the decomposition's bits.
TEST(Random, NormalIsTheDecomposition) {
  for (ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16})
    for (int64_t n : {0, 1, 63, 2048, 5001}) expect_as_reference({"randn", {Scalar(3), Scalar(16)}, {IntArrayRef{n}, type}});
}

TEST(Random, NormalIsStandard) {
  const std::vector<int64_t> size{20000};
  const ir::HostTensor z = reference_result({"randn", {Scalar(1), Scalar(0)}, {size, kFloat32}});
  double sum = 0, squares = 0;
  for (double v : list(z)) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 20000, 0, 0.03);
  EXPECT_NEAR(squares / 20000, 1, 0.05);
  EXPECT_EQ(reference_result({"randn", {Scalar(1), Scalar(0)}, {size, kBFloat16}}).spec.dtype, kBFloat16);
  Strided mean = dense(floats({2}, {100, -100}));
  for (double v : list(reference_result({"normal", {mean, Scalar(0.0), Scalar(1), Scalar(0)}, {IntArrayRef{2}, kFloat64}})))
    EXPECT_EQ(std::abs(v), 100);
  EXPECT_EQ(error_of([] {
              infer({"normal", {Scalar(0.0), Scalar(-1.0), Scalar(1), Scalar(0)}, {IntArrayRef{2}, kFloat32}});
            }),
            "normal expects std >= 0.0, but found std -1");
}

TEST(Creation, EveryDtype) {
  for_all_dtypes([](ScalarType type) {
    expect_as_reference({"full", {Scalar(1)}, {IntArrayRef{2, 3}, type, std::nullopt}});
    expect_as_reference({"full", {Scalar(-2.5)}, {IntArrayRef{2, 3}, is_floating_point(type) ? type : kInt32, IntArrayRef{1, 2}}});
    expect_as_reference({"eye", {}, {3, 4, type}});
    expect_as_reference({"eye", {}, {3, std::nullopt, type}});
    if (type == kBool) return;
    expect_as_reference({"arange", {Scalar(3), Scalar(2)}, {17, type}});
    expect_as_reference({"linspace", {Scalar(0), Scalar(10)}, {5, type}});
    for (int64_t offset : {-2, 0, 1, 5}) {
      expect_as_reference({"tril_indices", {}, {3, 4, offset, type}});
      expect_as_reference({"triu_indices", {}, {4, 3, offset, type}});
    }
  });
  EXPECT_EQ(reference_result({"zeros", {}, {IntArrayRef{2}, kInt8}}).get_int(1), 0);
  EXPECT_EQ(reference_result({"ones", {}, {IntArrayRef{2}, kBool}}).get_int(1), 1);
}

// Trap A74: counts in double, ends exact.
TEST(Creation, Ranges) {
  EXPECT_EQ(ir::arange_size(0.1, 0.5, 0.05, kFloat32), 8);
  EXPECT_EQ(ir::arange_size(0.6, 0.9, 0.1, kFloat32), 4);
  EXPECT_EQ(ir::arange_size(512, -512, -1.0, kFloat32), 1024);
  EXPECT_EQ(ir::arange_size(2, 2, 1, kInt64), 0);
  EXPECT_EQ(ir::arange_size(INT64_MIN, INT64_MAX, INT64_MAX, kInt64), 3);
  EXPECT_EQ(list(kernel_result({"linspace", {Scalar(0), Scalar(1)}, {1, kFloat32}})), std::vector<double>{0});
  EXPECT_EQ(list(kernel_result({"linspace", {Scalar(0), Scalar(1)}, {11, kFloat32}}))[10], 1.0);
  const ir::HostTensor large = kernel_result({"arange", {Scalar(0), Scalar(1)}, {10000000, kFloat32}});
  EXPECT_EQ(large.get(9999999), 9999999);
}

TEST(Creation, Errors) {
  EXPECT_EQ(error_of([] { ir::arange_size(0, 3, 0, kInt64); }), "step must be nonzero");
  EXPECT_EQ(error_of([] { ir::arange_size(0.0, 3.0, 0.0, kFloat32); }), "step must be nonzero");
  EXPECT_EQ(error_of([] { ir::arange_size(0, 5, -1, kInt64); }), "upper bound and lower bound inconsistent with step sign");
  EXPECT_EQ(error_of([] { ir::arange_size(0, INFINITY, 2, kFloat32); }), "unsupported range: 0 -> inf");
  EXPECT_EQ(error_of([] {
              infer({"full", {Scalar(1)}, {IntArrayRef{-1}, kFloat32, std::nullopt}});
            }),
            "Trying to create tensor with negative dimension -1: [-1]");
  EXPECT_EQ(error_of([] { infer({"eye", {}, {-1, std::nullopt, kFloat32}}); }), "n must be greater or equal to 0, got -1");
  EXPECT_EQ(error_of([] { infer({"linspace", {Scalar(0), Scalar(1)}, {-1, kFloat32}}); }), "number of steps must be non-negative");
}

}  // namespace
}  // namespace tailor::testing
