// Pooling and resampling kernels against the reference.
#include "ir/ops/pooling.h"
#include "kernels/kernel_case.h"

namespace tailor::testing {
namespace {

using Attrs = std::vector<ir::AttrRef>;
constexpr std::nullopt_t none = std::nullopt;

void expect_reference(std::string_view op, ScalarType type, std::vector<int64_t> sizes, const Attrs& attrs, double tolerance,
                      Filling filling = Filling::Normal) {
  const ir::HostTensor values = random_values(type, sizes, 7, filling);
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  for (int layout = 0; layout < 3; ++layout) {
    Strided x = layout == 0 ? dense(values) : layout == 1 ? spaced(values) : permuted(values, order);
    const auto got = run_kernel(op, {&x}, attrs), want = run_reference(op, {&x}, attrs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(close(got[i], want[i], tolerance, is_half_type(type) ? 0.1 : 1)) << op << " layout " << layout << " " << type;
  }
}

const std::vector<int64_t> k3 = {3, 3}, k32 = {3, 2}, s2 = {2, 2}, p1 = {1, 1}, d2 = {2, 1};

TEST(MaxPool, EveryDtypeAndWindow) {
  for (const ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8})
    for (const Filling filling : {Filling::Normal, Filling::Ties, Filling::WithNan})
      for (const std::string_view op : {"max_pool2d", "max_pool2d_with_indices"}) {
        expect_reference(op, type, {2, 3, 8, 8}, {2, none, none, none, none}, 0, filling);
        expect_reference(op, type, {2, 3, 17, 23}, {k3, s2, p1, none, true}, 0, filling);
        expect_reference(op, type, {3, 9, 11}, {k32, none, p1, d2, false}, 0, filling);
        expect_reference(op, type, {1, 1, 6, 6}, {k3, 1, none, 2, true}, 0, filling);
        expect_reference(op, type, {0, 2, 6, 6}, {2, 2, none, none, none}, 0, filling);
        expect_reference(op == "max_pool2d" ? "max_pool1d" : "max_pool1d_with_indices", type, {2, 3, 33}, {3, 2, 1, 1, true}, 0, filling);
      }
}

TEST(AvgPool, EveryDtypeAndWindow) {
  for (const ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64}) {
    const double tolerance = epsilon_of(type) * 8;
    expect_reference("avg_pool2d", type, {2, 3, 8, 8}, {2, none, none, false, true, none}, tolerance);
    expect_reference("avg_pool2d", type, {2, 3, 17, 23}, {k3, s2, p1, true, false, none}, tolerance);
    expect_reference("avg_pool2d", type, {2, 3, 17, 23}, {k3, s2, p1, true, true, none}, tolerance);
    expect_reference("avg_pool2d", type, {3, 9, 11}, {k32, none, p1, false, true, 5}, tolerance);
    expect_reference("avg_pool2d", type, {3, 40, 40}, {std::vector<int64_t>{40, 40}, none, none, false, true, none}, tolerance);
    expect_reference("avg_pool1d", type, {2, 3, 33}, {3, 2, 1, true, false}, tolerance);
    if (is_integral(type)) continue;
    for (const std::vector<int64_t>& size : {std::vector<int64_t>{1, 1}, {3, 5}, {-1, 2}, {0, 2}}) {
      expect_reference("adaptive_avg_pool2d", type, {2, 3, 7, 11}, {size}, tolerance);
      expect_reference("adaptive_max_pool2d", type, {2, 3, 7, 11}, {size}, 0, Filling::WithNan);
      expect_reference("adaptive_max_pool2d_with_indices", type, {3, 7, 11}, {size}, 0, Filling::Ties);
    }
  }
}

TEST(Interpolate, EveryMode) {
  for (const ScalarType type : {kFloat32, kFloat64, kFloat16, kBFloat16, kUInt8}) {
    const double tolerance = epsilon_of(type) * 8;
    for (const std::vector<int64_t>& size : {std::vector<int64_t>{3, 9}, {8, 12}, {5, 5}, {1, 1}}) {
      for (const std::string_view op : {"interpolate_nearest", "interpolate_nearest_exact"}) {
        expect_reference(op, type, {2, 3, 4, 6}, {size, none, none, none}, 0);
        expect_reference(op, type, {2, 3, 4, 6}, {size, 1.7, 0.6, none}, 0);
      }
      for (const bool corners : {false, true})
        for (const std::string_view op : {"interpolate_linear", "interpolate_cubic"}) {
          expect_reference(op, type, {2, 3, 4, 6}, {size, corners, none, none, none}, tolerance);
          expect_reference(op, type, {2, 3, 4, 6}, {size, corners, 1.7, 2.5, none}, tolerance);
        }
    }
    expect_reference("interpolate_linear", type, {2, 3, 10}, {std::vector<int64_t>{17}, false, none, none, none}, tolerance);
    expect_reference("interpolate_linear", type, {1, 2, 3, 4, 5}, {std::vector<int64_t>{5, 4, 7}, false, none, none, none}, tolerance);
    expect_reference("interpolate_nearest", type, {1, 2, 3, 4, 5}, {std::vector<int64_t>{5, 4, 7}, none, none, none}, 0);
  }
}

std::string message(const char* name, std::vector<int64_t> sizes, const Attrs& attrs) {
  const ir::TensorSpec x(kFloat32, sizes);
  const ir::SpecOperand operands[] = {&x};
  const ir::OpDef& op = *ir::find_op(name);
  try {
    op.infer(op, {operands, attrs});
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

TEST(PoolingErrors, AreTorchs) {
  EXPECT_EQ(message("max_pool2d", {1, 1, 4, 4}, {2, 0, none, none, none}), "max_pool2d: stride should not be zero");
  EXPECT_EQ(message("max_pool2d", {1, 1, 4, 4}, {2, none, 2, none, none}),
            "max_pool2d: pad should be at most half of effective kernel size, but got pad=2, kernel_size=2 and dilation=1");
  EXPECT_EQ(message("max_pool2d", {1, 0, 10}, {1, none, none, none, none}),
            "max_pool2d: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:[1, 0, 10]");
  EXPECT_EQ(message("max_pool1d", {1, 4}, {5, none, none, none, none}), "max_pool1d: Invalid computed output size: 0");
  EXPECT_EQ(message("max_pool1d", {1, 4}, {INT64_MAX, INT64_MAX, none, none, none}), "max_pool1d: Invalid computed output size: 0");
  EXPECT_EQ(message("avg_pool2d", {1, 4, 4}, {2, none, -1, none, none, none}), "avg_pool2d: pad must be non-negative, but got pad: -1");
  EXPECT_EQ(message("avg_pool2d", {1, 4, 4}, {2, none, none, none, none, 0}), "avg_pool2d: divisor must be not zero");
  EXPECT_EQ(message("avg_pool2d", {1, 4, 4}, {5, none, none, none, none, none}),
            "avg_pool2d: Given input size: (4x4). Calculated output size: (0x0). Output size is too small");
  EXPECT_EQ(message("adaptive_avg_pool2d", {4, 4}, {std::vector<int64_t>{2, 2}}),
            "adaptive_avg_pool2d: Input dimension should be at least 3");
  EXPECT_EQ(message("adaptive_avg_pool2d", {1, 4, 4}, {std::vector<int64_t>{-1, 0}}),
            "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received {-1, 0}");
  EXPECT_EQ(message("interpolate_nearest", {1, 1, 4, 4}, {std::vector<int64_t>{0, 2}, none, none, none}),
            "interpolate_nearest: Input and output sizes should be greater than 0, but got input (H: 4) output (H: 0)");
}

}  // namespace
}  // namespace tailor::testing
