// The movement kernels move the same bits as the reference, for every dtype and layout.

#include "ir/ops/movement.h"
#include "move_case.h"

namespace tailor::testing {
namespace {

/// The same values dense, permuted and with gaps.
std::vector<Strided> layouts(const ir::HostTensor& values) {
  std::vector<size_t> order(values.spec.sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  return {dense(values), permuted(values, order), spaced(values)};
}

TEST(Movement, EveryDtypeAndLayout) {
  for_all_dtypes([](ScalarType type) {
    for (Strided& x : layouts(random_values(type, {3, 4, 5}, 1))) {
      expect_as_reference({"clone", {x}, {false}});
      expect_as_reference({"clone", {x}, {true}});
      expect_as_reference({"flip", {x}, {IntArrayRef{0, 2}}});
      expect_as_reference({"flip", {x}, {IntArrayRef{}}});
      expect_as_reference({"roll", {x}, {IntArrayRef{7}, IntArrayRef{}}});
      expect_as_reference({"roll", {x}, {IntArrayRef{-1, 2}, IntArrayRef{0, 2}}});
      expect_as_reference({"roll", {x}, {IntArrayRef{1, 6}, IntArrayRef{1, -2}}});
      expect_as_reference({"repeat", {x}, {IntArrayRef{2, 1, 3, 2}}});
      expect_as_reference({"repeat", {x}, {IntArrayRef{1, 0, 1}}});
      expect_as_reference({"repeat_interleave", {x}, {3, 1}});
      expect_as_reference({"tril", {x}, {0}});
      expect_as_reference({"tril", {x}, {-2}});
      expect_as_reference({"triu", {x}, {1}});
      expect_as_reference({"triu", {x}, {100}});
      expect_as_reference({"pad", {x, Scalar(1)}, {IntArrayRef{1, 2}, int64_t(ir::PadMode::Constant)}});
      expect_as_reference({"pad", {x, std::nullopt}, {IntArrayRef{-1, 2, 3, -2}, int64_t(ir::PadMode::Constant)}});
      for (ir::PadMode mode : {ir::PadMode::Reflect, ir::PadMode::Replicate, ir::PadMode::Circular}) {
        expect_as_reference({"pad", {x, std::nullopt}, {IntArrayRef{2, 3}, int64_t(mode)}});
        expect_as_reference({"pad", {x, std::nullopt}, {IntArrayRef{1, 0, 2, 3}, int64_t(mode)}});
        expect_as_reference({"pad", {x, std::nullopt}, {IntArrayRef{-1, 2, 1, -1}, int64_t(mode)}});
      }
      Strided y = dense(random_values(type, {3, 2, 5}, 2)), empty = dense(random_values(type, {0}, 3));
      expect_as_reference({"cat", {x, y, x}, {1}});
      expect_as_reference({"cat", {x, empty, x}, {0}});
      expect_as_reference({"cat", {x, x}, {-1}});
    }
  });
}

TEST(Movement, CatPromotesAndKeepsChannelsLast) {
  Strided a = dense(ints(kInt32, {2, 2}, {1, 2, 3, 4})), b = dense(floats({2, 1}, {0.5, 1.5}, kBFloat16));
  const Case c{"cat", {a, b}, {1}};
  EXPECT_EQ(infer(c)[0].dtype, kBFloat16);
  EXPECT_EQ(list(kernel_result(c)), (std::vector<double>{1, 2, 0.5, 3, 4, 1.5}));
  Strided x = permuted(random_values(kFloat32, {2, 3, 4, 5}, 1), {0, 2, 3, 1});
  EXPECT_EQ(infer({"cat", {x, x}, {1}})[0].strides, (Dims{120, 1, 30, 6}));
  expect_as_reference({"cat", {x, x}, {1}});
}

TEST(Movement, LargeAndThreaded) {
  Strided x = dense(random_values(kFloat32, {300, 400}, 1)), t = permuted(random_values(kFloat32, {300, 400}, 1), {1, 0});
  for (Strided* s : {&x, &t}) {
    expect_as_reference({"cat", {*s, *s}, {1}});
    expect_as_reference({"pad", {*s, std::nullopt}, {IntArrayRef{7, 9, 3, 5}, int64_t(ir::PadMode::Reflect)}});
    expect_as_reference({"pad", {*s, Scalar(0.5)}, {IntArrayRef{7, 9, 3, 5}, int64_t(ir::PadMode::Constant)}});
    expect_as_reference({"tril", {*s}, {3}});
    expect_as_reference({"roll", {*s}, {IntArrayRef{101, -33}, IntArrayRef{0, 1}}});
    expect_as_reference({"flip", {*s}, {IntArrayRef{1}}});
  }
}

TEST(Movement, RepeatInterleaveByTensor) {
  Strided x = dense(random_values(kFloat32, {3, 2}, 1)), repeats = dense(ints(kInt64, {3}, {2, 0, 1})), one = dense(ints(kInt32, {}, {2}));
  expect_as_reference({"repeat_interleave_tensor", {x, repeats}, {0, 3}});
  expect_as_reference({"repeat_interleave_tensor", {x, one}, {1, 4}});
  Strided negative = dense(ints(kInt64, {3}, {2, -1, 1}));
  EXPECT_EQ(error_of([&] { kernel_result({"repeat_interleave_tensor", {x, negative}, {0, 2}}); }), "repeats can not be negative");
  EXPECT_EQ(error_of([&] {
              kernel_result({"repeat_interleave_tensor", {x, repeats}, {0, 4}});
            }),
            "repeat_interleave: allocated size does not match required size");
}

TEST(Movement, CopyFillZero) {
  for_all_dtypes([](ScalarType type) {
    for (Strided& x : layouts(random_values(type, {3, 4}, 1))) {
      Strided row = dense(random_values(kInt32, {4}, 2)), other = dense(random_values(type, {3, 4}, 3));
      const ir::HostTensor want = reference_result({"copy_", {x, row}, {}});
      EXPECT_TRUE(same_bits(inplace_result({"copy_", {x, row}, {}}), want));
      EXPECT_TRUE(same_bits(inplace_result({"copy_", {x, other}, {}}), other.values()));
      const ir::HostTensor filled = reference_result({"fill_", {x, Scalar(2.0)}, {}});
      EXPECT_TRUE(same_bits(inplace_result({"fill_", {x, Scalar(2.0)}, {}}), filled));
      EXPECT_TRUE(same_bits(inplace_result({"zero_", {x}, {}}), reference_result({"zero_", {x}, {}})));
    }
  });
}

// Trap A01: rows shifted inside one tensor, without and with threads.
TEST(Movement, CopyBetweenOverlappingViews) {
  for (int64_t rows : {5, 1024}) {
    const int64_t columns = rows == 5 ? 1 : 2048;
    ir::HostTensor values(ir::TensorSpec(kFloat32, {rows, columns}));
    for (int64_t i = 0; i < values.spec.numel(); ++i) values.set(i, static_cast<double>(i / columns + 1));
    for (int run = 0; run < 5; ++run) {
      Strided x = dense(values);
      const ir::TensorSpec part(kFloat32, {rows - 1, columns});
      const kernels::TensorArg from{x.data(), &part}, to{static_cast<float*>(x.data()) + columns, &part};
      const kernels::Operand operands[] = {to, from};
      const kernels::TensorArg outputs[] = {to};
      kernels::run({*ir::find_op("copy_"), operands, {}, outputs});
      const ir::HostTensor got = x.values();
      for (int64_t i = 0; i < got.spec.numel(); ++i) ASSERT_EQ(got.get(i), std::max<double>(1, static_cast<double>(i / columns))) << i;
    }
  }
}

TEST(Movement, InPlaceTriangle) {
  Strided x = permuted(random_values(kFloat32, {4, 5}, 1), {1, 0});
  const ir::HostTensor want = reference_result({"triu", {x}, {1}});
  EXPECT_TRUE(same_bits(inplace_result({"triu", {x}, {1}}), want));
}

TEST(Movement, Diag) {
  for_all_dtypes([](ScalarType type) {
    Strided v = dense(ints(type, {2}, {1, 1}));
    EXPECT_EQ(list(reference_result({"diag", {v}, {0}})), (std::vector<double>{1, 0, 0, 1}));
    EXPECT_EQ(list(reference_result({"diag", {v}, {1}})), (std::vector<double>{0, 1, 0, 0, 0, 1, 0, 0, 0}));
    EXPECT_EQ(list(reference_result({"diag", {v}, {-1}})), (std::vector<double>{0, 0, 0, 1, 0, 0, 0, 1, 0}));
    EXPECT_EQ(infer({"diag", {v}, {-1}})[0], ir::TensorSpec(type, {3, 3}));
  });
  Strided m = dense(floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(list(reference_result({"diag", {m}, {1}})), (std::vector<double>{2, 6}));
  EXPECT_EQ(error_of([] {
              Strided cube = dense(floats({1, 1, 1}, {1}));
              infer({"diag", {cube}, {0}});
            }),
            "diag(): Supports 1D or 2D tensors. Got 3D");
}

TEST(Movement, WithoutDimensions) {
  Strided x = dense(floats({}, {3}));
  expect_as_reference({"clone", {x}, {false}});
  expect_as_reference({"flip", {x}, {IntArrayRef{}}});
  expect_as_reference({"roll", {x}, {IntArrayRef{1}, IntArrayRef{}}});
  expect_as_reference({"repeat", {x}, {IntArrayRef{2, 3}}});
  expect_as_reference({"repeat_interleave", {x}, {3, 0}});
  expect_as_reference({"pad", {x, std::nullopt}, {IntArrayRef{}, 0}});
}

}  // namespace
}  // namespace tailor::testing
