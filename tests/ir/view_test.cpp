// Views: sizes, strides and offsets as torch gives them, and its messages.

#include "ir/ops/view.h"

#include <gtest/gtest.h>

#include "ir/graph.h"

namespace tailor::ir {
namespace {

const TensorSpec k345(kFloat32, {3, 4, 5});

ViewResult view(std::string_view name, const TensorSpec& x, std::vector<AttrRef> attrs) {
  const OpDef* op = find_op(name);
  EXPECT_NE(op, nullptr) << name;
  return op->view(x, attrs);
}

void expect_view(const ViewResult& got, Dims sizes, Dims strides, int64_t offset = 0) {
  EXPECT_EQ(got.sizes, sizes);
  EXPECT_EQ(got.strides, strides);
  EXPECT_EQ(got.offset, offset);
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const IndexError& e) { return std::string("IndexError: ") + e.what(); } catch (const Error& e) {
    return e.what();
  }
  return "";
}
std::string view_error(std::string_view name, const TensorSpec& x, std::vector<AttrRef> attrs) {
  return error_of([&] { view(name, x, attrs); });
}

using L = IntArrayRef;

TEST(View, ComputeStrides) {
  EXPECT_EQ(compute_view_strides({2, 3}, {3, 1}, {6}), (Dims{1}));
  EXPECT_EQ(compute_view_strides({2, 3}, {1, 2}, {6}), std::nullopt);
  EXPECT_EQ(compute_view_strides({4, 6}, {12, 1}, {2, 2, 3, 2}), (Dims{24, 12, 2, 1}));
  EXPECT_EQ(compute_view_strides({4, 6}, {12, 1}, {24}), std::nullopt);
  EXPECT_EQ(compute_view_strides({4, 1, 6}, {6, 99, 1}, {24}), (Dims{1}));
  EXPECT_EQ(compute_view_strides({3}, {0}, {3, 1}), (Dims{0, 0}));
  EXPECT_EQ(compute_view_strides({0, 3}, {3, 1}, {3, 0}), (Dims{1, 1}));
  EXPECT_EQ(compute_view_strides({}, {}, {1, 1}), (Dims{1, 1}));
  EXPECT_EQ(compute_view_strides({1}, {7}, {}), (Dims{}));
}

TEST(View, View) {
  expect_view(view("view", k345, {L{-1, 10}}), {6, 10}, {10, 1});
  EXPECT_EQ(view_error("view", k345, {L{7, 2}}), "shape '[7, 2]' is invalid for input of size 60");
  EXPECT_EQ(view_error("view", k345, {L{-1, -1}}), "only one dimension can be inferred");
  EXPECT_EQ(view_error("view", k345, {L{-2, 3}}), "invalid shape dimension -2 at index 0 of shape [-2, 3]");
  EXPECT_EQ(
      view_error("view", TensorSpec(kFloat32, {0}), {L{0, -1}}),
      "cannot reshape tensor of 0 elements into shape [0, -1] because the unspecified dimension size -1 can be any value and is ambiguous");
  EXPECT_EQ(
      view_error("view", TensorSpec(kFloat32, {5, 4}, {1, 5}, {}), {L{-1}}),
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). "
      "Use .reshape(...) instead.");
}

TEST(View, OrderOfDimensions) {
  expect_view(view("permute", k345, {L{2, 0, -2}}), {5, 3, 4}, {1, 20, 5});
  EXPECT_EQ(view_error("permute", k345, {L{0, 1}}),
            "permute: number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. "
            "input.dim() = 3 is not equal to len(dims) = 2");
  EXPECT_EQ(view_error("permute", k345, {L{0, 1, 1}}), "permute(): duplicate dims are not allowed.");
  expect_view(view("transpose", k345, {0, -1}), {5, 4, 3}, {1, 5, 20});
  expect_view(view("transpose", TensorSpec(kFloat32, {}), {0, -1}), {}, {});
  EXPECT_EQ(view_error("transpose", k345, {0, 3}), "IndexError: Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  expect_view(view("t", TensorSpec(kFloat32, {2, 3}), {}), {3, 2}, {1, 3});
  expect_view(view("t", TensorSpec(kFloat32, {2}), {}), {2}, {1});
  EXPECT_EQ(view_error("t", k345, {}), "t() expects a tensor with <= 2 dimensions, but self is 3D");
  expect_view(view("movedim", k345, {L{0}, L{-1}}), {4, 5, 3}, {5, 1, 20});
  expect_view(view("movedim", k345, {L{0, 2}, L{1, 0}}), {5, 3, 4}, {1, 20, 5});
  EXPECT_EQ(
      view_error("movedim", k345, {L{0, 1}, L{1}}),
      "movedim: Invalid source or destination dims: source ([0, 1] dims) should contain the same number of dims as destination ([1] dims)");
  EXPECT_EQ(view_error("movedim", k345, {L{0, 0}, L{1, 2}}), "movedim: repeated dim in `source` ([0, 0])");
}

TEST(View, Sizes) {
  const TensorSpec x(kFloat32, {3, 1});
  expect_view(view("expand", x, {L{2, -1, 4}}), {2, 3, 4}, {0, 1, 0});
  expect_view(view("expand", TensorSpec(kFloat32, {}), {L{3}}), {3}, {0});
  expect_view(view("expand", x, {L{3, 0}}), {3, 0}, {1, 0});
  EXPECT_EQ(view_error("expand", k345, {L{3, 4, 6}}),
            "The expanded size of the tensor (6) must match the existing size (5) at non-singleton dimension 2.  Target sizes: [3, 4, 6].  "
            "Tensor sizes: [3, 4, 5]");
  EXPECT_EQ(view_error("expand", k345, {L{3}}),
            "expand: the number of sizes provided (1) must be greater or equal to the number of dimensions in the tensor (3)");
  EXPECT_EQ(view_error("expand", x, {L{-1, 3, 1}}),
            "expand: The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension 0");
  const TensorSpec ones(kFloat32, {1, 3, 1});
  expect_view(view("squeeze", ones, {std::nullopt}), {3}, {1});
  expect_view(view("squeeze", ones, {L{0, 1}}), {3, 1}, {1, 1});
  EXPECT_EQ(view_error("squeeze", ones, {L{3}}), "IndexError: Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  EXPECT_EQ(view_error("squeeze", ones, {L{0, -3}}), "dim 0 appears multiple times in the list of dims");
  expect_view(view("unsqueeze", k345, {0}), {1, 3, 4, 5}, {60, 20, 5, 1});
  expect_view(view("unsqueeze", k345, {-1}), {3, 4, 5, 1}, {20, 5, 1, 1});
  EXPECT_EQ(view_error("unsqueeze", k345, {5}), "IndexError: Dimension out of range (expected to be in range of [-4, 3], but got 5)");
}

TEST(View, Parts) {
  expect_view(view("narrow", k345, {1, -2, 2}), {3, 2, 5}, {20, 5, 1}, 10);
  EXPECT_EQ(view_error("narrow", TensorSpec(kFloat32, {}), {0, 0, 1}), "narrow() cannot be applied to a 0-dim tensor.");
  EXPECT_EQ(view_error("narrow", k345, {0, 0, -1}), "narrow(): length must be non-negative.");
  EXPECT_EQ(view_error("narrow", k345, {0, 4, 1}), "IndexError: start out of range (expected to be in range of [-3, 3], but got 4)");
  EXPECT_EQ(view_error("narrow", k345, {0, 2, 2}), "start (2) + length (2) exceeds dimension size (3).");
  expect_view(view("slice", k345, {1, 1, std::nullopt, 2}), {3, 2, 5}, {20, 10, 1}, 5);
  expect_view(view("slice", k345, {2, -100, 100, 1}), {3, 4, 5}, {20, 5, 1});
  expect_view(view("slice", k345, {2, 4, 2, 1}), {3, 4, 0}, {20, 5, 1}, 4);
  expect_view(view("slice", k345, {0, std::nullopt, -1}), {2, 4, 5}, {20, 5, 1});
  EXPECT_EQ(view_error("slice", k345, {0, 0, 1, 0}), "slice step must be positive");
  expect_view(view("select", k345, {1, -1}), {3, 5}, {20, 1}, 15);
  EXPECT_EQ(view_error("select", k345, {1, 4}), "IndexError: select(): index 4 out of range for tensor of size [3, 4, 5] at dimension 1");
  EXPECT_EQ(view_error("select", TensorSpec(kFloat32, {}), {0, 0}), "IndexError: select() cannot be applied to a 0-dim tensor.");
}

TEST(View, Diagonals) {
  expect_view(view("diagonal", k345, {0, 0, 1}), {5, 3}, {1, 25});
  expect_view(view("diagonal", k345, {1, 1, 2}), {3, 4}, {20, 6}, 1);
  expect_view(view("diagonal", k345, {-2, 0, 2}), {4, 1}, {5, 21}, 40);
  expect_view(view("diagonal", k345, {9, 0, 1}), {5, 0}, {1, 25});
  EXPECT_EQ(view_error("diagonal", k345, {0, 1, 1}), "diagonal dimensions cannot be identical 1, 1");
  EXPECT_EQ(view_error("diagonal", TensorSpec(kFloat32, {3}), {0, 0, 1}),
            "IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 1)");
}

TEST(View, Windows) {
  expect_view(view("unfold", k345, {2, 3, 2}), {3, 4, 2, 3}, {20, 5, 2, 1});
  expect_view(view("unfold", TensorSpec(kFloat32, {}), {0, 1, 1}), {1}, {1});
  EXPECT_EQ(view_error("unfold", k345, {2, 6, 1}), "maximum size for tensor at dimension 2 is 5 but size is 6");
  EXPECT_EQ(view_error("unfold", k345, {2, -1, 1}), "size is -1 but must be >= 0");
  EXPECT_EQ(view_error("unfold", k345, {2, 1, 0}), "step is 0 but must be > 0");
  expect_view(view("as_strided", k345, {L{2, 2}, L{1, 2}, 3}), {2, 2}, {1, 2}, 3);
  EXPECT_EQ(view_error("as_strided", k345, {L{2}, L{-1}, 0}),
            "as_strided: Negative strides are not supported at the moment, got strides: [-1]");
  EXPECT_EQ(view_error("as_strided", k345, {L{2}, L{1, 1}, 0}), "as_strided: mismatch in length of strides and shape");
}

TEST(View, OtherDtypes) {
  expect_view(view("view_as_dtype", k345, {kInt32}), {3, 4, 5}, {20, 5, 1});
  expect_view(view("view_as_dtype", k345, {kInt16}), {3, 4, 10}, {40, 10, 1});
  expect_view(view("view_as_dtype", TensorSpec(kFloat32, {3, 4}), {kInt64}), {3, 2}, {2, 1});
  EXPECT_EQ(view_error("view_as_dtype", k345, {kInt64}),
            "self.size(-1) must be divisible by 2 to view Float as Long (different element sizes), but got 5");
  EXPECT_EQ(view_error("view_as_dtype", TensorSpec(kFloat32, {}), {kInt64}),
            "self.dim() cannot be 0 to view Float as Long (different element sizes)");
  EXPECT_EQ(view_error("view_as_dtype", TensorSpec(kFloat32, {4, 4}, {1, 4}, {}), {kInt16}),
            "self.stride(-1) must be 1 to view Float as Short (different element sizes), but got 4");
  GraphBuilder b;
  const int x = b.placeholder(k345, "x");
  EXPECT_EQ(b.spec(b.call("view_as_dtype", {x}, {kBFloat16})).dtype, kBFloat16);
}

TEST(View, FlattenAndUnflatten) {
  EXPECT_EQ(flatten_sizes({3, 4, 5}, 1, -1), (Dims{3, 20}));
  EXPECT_EQ(flatten_sizes({}, 0, -1), (Dims{1}));
  EXPECT_EQ(error_of([] { flatten_sizes({3, 4, 5}, 2, 1); }), "flatten() has invalid args: start_dim cannot come after end_dim");
  EXPECT_EQ(unflatten_sizes({3, 4, 5}, 1, {2, -1}), (Dims{3, 2, 2, 5}));
  EXPECT_EQ(error_of([] {
              unflatten_sizes({3, 4}, 1, {3, -1});
            }),
            "unflatten: Provided sizes [3, -1] don't multiply up to the size of dim 1 (4) in the input tensor");
}

// Trap A50: a view of a view of a strided tensor keeps its own strides.
TEST(View, ChainsOverStridedTensors) {
  GraphBuilder b;
  const int x = b.placeholder(TensorSpec(kFloat32, {3, 6}), "x");
  const int even = b.call("slice", {x}, {1, 0, std::nullopt, 2}), turned = b.call("t", {even});
  EXPECT_EQ(b.spec(even).strides, (Dims{6, 2}));
  EXPECT_EQ(b.spec(turned).strides, (Dims{2, 6}));
  EXPECT_EQ(b.spec(b.call("clone", {turned}, {false})).strides, (Dims{1, 3}));
  EXPECT_EQ(b.spec(b.call("clone", {turned}, {true})).strides, (Dims{3, 1}));
  EXPECT_EQ(b.spec(reshape(b, turned, {9})).strides, (Dims{1}));
  EXPECT_EQ(b.spec(b.call("expand", {b.call("select", {even}, {1, 0})}, {L{4, 3}})).strides, (Dims{0, 6}));
}

TEST(View, DetachDropsTheGradient) {
  TensorSpec x = k345;
  x.requires_grad = true;
  GraphBuilder b;
  const int v = b.placeholder(x, "x");
  EXPECT_FALSE(b.spec(b.call("detach", {v})).requires_grad);
  EXPECT_TRUE(b.spec(b.call("alias", {v})).requires_grad);
}

}  // namespace
}  // namespace tailor::ir
