// The normalising kernels at every instruction set, against their own decompositions run by the reference.
#include <limits>

#include "kernel_case.h"

namespace tailor::testing {
namespace {

using ir::AttrRef;
using ir::HostTensor;

constexpr ScalarType kFloats[] = {kFloat32, kFloat64, kFloat16, kBFloat16};

/// A few roundings of the compute type, and one of the result's.
double tolerance(ScalarType type, double n) {
  return epsilon_of(type) * (is_half_type(type) ? 1 : type == kFloat64 ? 8 + std::sqrt(n) : 6 + std::sqrt(n));
}

void check_kernel(std::string_view op, std::vector<Strided*> in, const std::vector<AttrRef>& attrs, double n) {
  const auto got = run_kernel(op, in, attrs), want = run_reference(op, in, attrs);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(close(got[i], want[i], tolerance(got[i].spec.dtype, n))) << op << " of " << in[0]->spec() << ", output " << i;
}

TEST(Normalize, SoftmaxOfEveryLength) {
  at_every_isa([] {
    for (ScalarType type : kFloats)
      for (std::string_view op : {"softmax", "log_softmax"})
        for (int64_t n = 0; n <= 70; ++n) {
          Strided rows = dense(random_values(type, {3, n}, static_cast<unsigned>(n)));
          check_kernel(op, {&rows}, {int64_t{-1}, std::nullopt}, static_cast<double>(n));
          Strided columns = dense(random_values(type, {5, n}, static_cast<unsigned>(n)));
          check_kernel(op, {&columns}, {int64_t{0}, std::nullopt}, 5);
        }
  });
}

TEST(Normalize, SoftmaxOfEveryLayout) {
  at_every_isa([] {
    const HostTensor values = random_values(kFloat32, {4, 33, 70}, 3);
    for (std::string_view op : {"softmax", "log_softmax"})
      for (int64_t dim : {0, 1, 2}) {
        for (const auto& order : std::vector<std::vector<size_t>>{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
          Strided in = permuted(values, order);
          check_kernel(op, {&in}, {dim, std::nullopt}, 70);
          check_kernel(op, {&in}, {dim, kFloat64}, 70);
        }
        Strided in = spaced(values);
        check_kernel(op, {&in}, {dim, std::nullopt}, 70);
      }
    Strided line = dense(random_values(kFloat32, {20000}, 4)), point = dense(random_values(kFloat32, {}, 4));
    check_kernel("softmax", {&line}, {int64_t{0}, std::nullopt}, 20000);
    check_kernel("log_softmax", {&point}, {int64_t{0}, std::nullopt}, 1);
  });
}

HostTensor row_of(std::initializer_list<double> values) {
  HostTensor t(ir::TensorSpec(kFloat32, {static_cast<int64_t>(values.size())}));
  int64_t i = 0;
  for (double v : values) t.set(i++, v);
  return t;
}

TEST(Normalize, SoftmaxAtTheEdges) {
  const double inf = INFINITY;
  at_every_isa([&] {
    const auto softmax = [](std::string_view op, HostTensor x) {
      Strided in = dense(x);
      return run_kernel(op, {&in}, {int64_t{0}, std::nullopt})[0];
    };
    EXPECT_TRUE(close(softmax("softmax", row_of({1e14, 2e14, 3e14})), row_of({0, 0, 1}), 0));
    EXPECT_TRUE(close(softmax("softmax", row_of({1e38, 2e38, inf})), row_of({NAN, NAN, NAN}), 0));
    EXPECT_TRUE(close(softmax("softmax", row_of({-inf, -inf})), row_of({NAN, NAN}), 0));
    EXPECT_TRUE(close(softmax("softmax", row_of({-inf, 0})), row_of({0, 1}), 0));
    EXPECT_TRUE(close(softmax("log_softmax", row_of({0, 200})), row_of({-200, 0}), 0));
    EXPECT_TRUE(std::isnan(softmax("softmax", row_of({1, NAN, 2})).get(0)));
  });
}

TEST(Normalize, LayerNormAndRmsNorm) {
  at_every_isa([] {
    for (ScalarType type : kFloats)
      for (int64_t n : {1, 2, 5, 16, 31, 70, 5000}) {
        Strided x = dense(random_values(type, {3, 2, n}, 1)), w = dense(random_values(type, {n}, 2)),
                b = dense(random_values(type, {n}, 3));
        const std::vector<int64_t> shape{n};
        const double count = static_cast<double>(n);
        check_kernel("layer_norm", {&x, &w, &b}, {shape, 1e-5}, count);
        check_kernel("layer_norm", {&x, nullptr, nullptr}, {shape, 1e-5}, count);
        check_kernel("layer_norm", {&x, &w, nullptr}, {shape, 1e-5}, count);
        check_kernel("layer_norm", {&x, nullptr, &b}, {shape, 1e-5}, count);
        check_kernel("rms_norm", {&x, &w}, {shape, 1e-6}, count);
        check_kernel("rms_norm", {&x, nullptr}, {shape, std::nullopt}, count);
      }
    Strided x = permuted(random_values(kFloat32, {3, 4, 6}, 1), {2, 0, 1}), w = permuted(random_values(kFloat32, {4, 6}, 2), {1, 0});
    check_kernel("layer_norm", {&x, &w, nullptr}, {std::vector<int64_t>{4, 6}, 1e-5}, 24);
    Strided half = dense(random_values(kBFloat16, {3, 8}, 1)), wide = dense(random_values(kFloat32, {8}, 2));
    check_kernel("layer_norm", {&half, &wide, nullptr}, {std::vector<int64_t>{8}, 1e-5}, 8);
  });
}

TEST(Normalize, GroupBatchAndInstanceNorm) {
  at_every_isa([] {
    for (ScalarType type : kFloats)
      for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{3, 6, 5, 7}, {300, 6}, {2, 6, 90}, {2, 6, 3000}}) {
        const double count = static_cast<double>(product(sizes)) / 6;
        Strided x = dense(random_values(type, sizes, 1)), w = dense(random_values(type, {6}, 2)), b = dense(random_values(type, {6}, 3));
        Strided mean = dense(random_values(type, {6}, 4)), var = dense(random_values(type, {6}, 5, Filling::Small));
        check_kernel("group_norm", {&x, &w, &b}, {int64_t{3}, 1e-5}, count);
        check_kernel("group_norm", {&x, nullptr, &b}, {int64_t{1}, 1e-5}, count);
        check_kernel("batch_norm", {&x, &w, &b, &mean, &var}, {1e-5}, count);
        check_kernel("batch_norm", {&x, nullptr, nullptr, &mean, &var}, {1e-5}, count);
        check_kernel("batch_norm_train", {&x, &w, &b}, {1e-5}, count);
        if (sizes.size() > 2) check_kernel("instance_norm", {&x, &w, nullptr}, {1e-5}, count);
      }
  });
}

TEST(Normalize, VarianceOverAnyDimensions) {
  at_every_isa([] {
    for (ScalarType type : kFloats) {
      const HostTensor values = random_values(type, {9, 70, 35}, 6);
      for (const auto& order : std::vector<std::vector<size_t>>{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}) {
        Strided in = permuted(values, order);
        for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}})
          for (std::string_view op : {"var", "std", "var_mean"}) {
            check_kernel(op, {&in}, {dims, 1.0, false}, 700);
            check_kernel(op, {&in}, {dims, std::nullopt, true}, 700);
          }
      }
    }
    Strided tall = dense(random_values(kFloat32, {3000, 130}, 7)), line = dense(random_values(kFloat32, {100000}, 8));
    check_kernel("var", {&tall}, {int64_t{0}, 0.0, false}, 3000);
    check_kernel("std", {&line}, {std::nullopt, 1.0, false}, 1000);
    Strided one = dense(random_values(kFloat32, {3, 1}, 9)), none = dense(random_values(kFloat32, {3, 0}, 9));
    check_kernel("var", {&one}, {int64_t{1}, 1.0, false}, 1);
    check_kernel("var_mean", {&none}, {int64_t{1}, 1.0, false}, 1);
  });
}

TEST(Normalize, VarianceFarFromZero) {
  at_every_isa([] {
    HostTensor x(ir::TensorSpec(kFloat32, {1000}));
    for (int64_t i = 0; i < 1000; ++i) x.set(i, 1e6 + static_cast<double>(i % 3));
    Strided in = dense(x);
    EXPECT_NEAR(run_kernel("var", {&in}, {std::nullopt, 0.0, false})[0].get(0), 0.666999, 1e-5);
  });
}

TEST(Normalize, MeansOfInfiniteNumbers) {
  at_every_isa([] {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    for (const ir::TensorSpec& spec :
         {ir::TensorSpec(kFloat32, {20000}), ir::TensorSpec(kFloat64, {5}), ir::TensorSpec(kFloat32, {300, 7})}) {
      for (const double other : {1.0, kInf, -kInf}) {
        HostTensor x(spec);
        for (int64_t i = 0; i < spec.numel(); ++i) x.set(i, other == -kInf ? 1.0 : other);
        x.set(2, kInf);
        if (other == -kInf) x.set(spec.numel() - (spec.rank() == 2 ? 5 : 1), other);  // in the same column
        Strided in = dense(x);
        const auto out = run_kernel("var_mean", {&in}, {std::vector<int64_t>{0}, 1.0, false});
        const double mean = out[1].get(spec.rank() == 2 ? 2 : 0);
        EXPECT_TRUE(other == -kInf ? std::isnan(mean) : mean == kInf) << mean;
        EXPECT_TRUE(std::isnan(out[0].get(spec.rank() == 2 ? 2 : 0)));
      }
    }
  });
}

}  // namespace
}  // namespace tailor::testing
