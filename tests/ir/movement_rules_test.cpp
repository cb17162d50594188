// Shape rules of movement and indexing ops: results and torch's messages.

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ir/ops/indexing.h"
#include "ir/ops/movement.h"

namespace tailor::ir {
namespace {

using L = IntArrayRef;

struct Operand {
  std::optional<TensorSpec> spec;
  std::optional<Scalar> scalar;
  Operand(TensorSpec s) : spec(std::move(s)) {}
  Operand(Scalar s) : scalar(s) {}
  Operand(std::nullopt_t) {}
};

TensorSpec infer(std::string_view name, const std::vector<Operand>& operands, std::vector<AttrRef> attrs = {}) {
  const OpDef& op = *find_op(name);
  std::vector<SpecOperand> specs;
  for (const Operand& o : operands) specs.push_back(o.spec ? SpecOperand(&*o.spec) : o.scalar ? SpecOperand(*o.scalar) : SpecOperand());
  return infer_one(op, {specs, attrs});
}

std::string error(std::string_view name, const std::vector<Operand>& operands, std::vector<AttrRef> attrs = {}) {
  try {
    infer(name, operands, attrs);
  } catch (const IndexError& e) { return std::string("IndexError: ") + e.what(); } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TensorSpec f32(IntArrayRef sizes) { return TensorSpec(kFloat32, sizes); }
TensorSpec i64(IntArrayRef sizes) { return TensorSpec(kInt64, sizes); }

TEST(MovementRules, Clone) {
  EXPECT_EQ(infer("clone", {TensorSpec(kFloat32, {5, 5, 2}, {4, 5, 7}, {})}, {false}).strides, (Dims{1, 5, 25}));
  EXPECT_EQ(infer("clone", {TensorSpec(kFloat32, {4, 3}, {0, 1}, {})}, {false}).strides, (Dims{3, 1}));
}

TEST(MovementRules, Copy) {
  EXPECT_EQ(error("copy_", {f32({3, 4}), f32({5})}),
            "copy_: The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 1");
  EXPECT_EQ(error("copy_", {f32({4}), f32({3, 4})}), "copy_: output with shape [4] doesn't match the broadcast shape [3, 4]");
  EXPECT_EQ(error("fill_", {f32({4}), f32({3})}), "fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions.");
}

TEST(MovementRules, Cat) {
  EXPECT_EQ(infer("cat", {f32({0}), f32({2, 3}), f32({1, 3})}, {0}).sizes, (Dims{3, 3}));
  EXPECT_EQ(infer("cat", {f32({2}), i64({2})}, {0}).dtype, kFloat32);
  EXPECT_EQ(error("cat", {}, {0}), "torch.cat(): expected a non-empty list of Tensors");
  EXPECT_EQ(error("cat", {f32({}), f32({2})}, {0}), "zero-dimensional tensor (at position 0) cannot be concatenated");
  EXPECT_EQ(error("cat", {f32({2, 3}), f32({2})}, {0}), "Tensors must have same number of dimensions: got 2 and 1");
  EXPECT_EQ(error("cat", {f32({2, 3}), f32({2, 4})}, {0}),
            "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list.");
  EXPECT_EQ(error("cat", {f32({2, 3})}, {2}), "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  EXPECT_EQ(infer("stack", {f32({2, 3}), f32({2, 3})}, {-1}).sizes, (Dims{2, 3, 2}));
  EXPECT_EQ(error("stack", {}, {0}), "stack expects a non-empty TensorList");
  EXPECT_EQ(error("stack", {f32({2}), f32({3})}, {0}),
            "stack expects each tensor to be equal size, but got [2] at entry 0 and [3] at entry 1");
}

TEST(MovementRules, Repeat) {
  EXPECT_EQ(error("repeat", {f32({3, 4, 5})}, {L{1, -1, 1}}), "Trying to create tensor with negative dimension -4: [3, -4, 5]");
  EXPECT_EQ(error("repeat", {f32({3, 4})}, {L{2}}),
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  EXPECT_EQ(infer("tile", {f32({3, 4})}, {L{2}}).sizes, (Dims{3, 8}));
  EXPECT_EQ(error("repeat_interleave", {f32({3})}, {-1, 0}), "repeats can not be negative");
  EXPECT_EQ(error("repeat_interleave_tensor", {f32({3, 4, 5}), i64({2})}, {1, 3}),
            "repeats must have the same size as input along dim, but got repeats.size(0) = 2 and input.size(1) = 4");
}

TEST(MovementRules, FlipRollTriangle) {
  EXPECT_EQ(error("flip", {f32({3, 4, 5})}, {L{3}}), "IndexError: Dimension out of range (expected to be in range of [-3, 2], but got 3)");
  EXPECT_EQ(error("flip", {f32({3, 4})}, {L{0, -2}}), "dim 0 appears multiple times in the list of dims");
  EXPECT_EQ(error("roll", {f32({3})}, {L{}, L{}}), "`shifts` required");
  EXPECT_EQ(error("roll", {f32({3})}, {L{1, 2}, L{0}}), "shifts and dimensions must align. shifts: 2, dims:1");
  EXPECT_EQ(error("tril", {f32({3})}, {0}), "tril: input tensor must have at least 2 dimensions");
}

TEST(MovementRules, Pad) {
  const auto mode = [](PadMode m) { return static_cast<int64_t>(m); };
  EXPECT_EQ(infer("pad", {f32({3, 4}), std::nullopt}, {L{1, -2}, mode(PadMode::Constant)}).sizes, (Dims{3, 3}));
  EXPECT_EQ(
      error("pad", {f32({3, 4, 5}), std::nullopt}, {L{5, 5}, mode(PadMode::Reflect)}),
      "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (5, 5) at dimension 2 of input "
      "[3, 4, 5]");
  EXPECT_EQ(error("pad", {f32({3, 4, 5}), std::nullopt}, {L{6, 0}, mode(PadMode::Circular)}),
            "Padding value causes wrapping around more than once.");
  EXPECT_EQ(error("pad", {f32({3}), std::nullopt}, {L{1}, mode(PadMode::Constant)}), "Padding length must be divisible by 2");
  EXPECT_EQ(
      error("pad", {f32({3}), std::nullopt}, {L{-2, -2}, mode(PadMode::Constant)}),
      "The input size 3, plus negative padding -2 and -2 resulted in a negative output size, which is invalid. Check dimension 0 of your "
      "input.");
}

TEST(MovementRules, PixelShuffle) {
  EXPECT_EQ(infer("pixel_shuffle", {f32({2, 8, 3, 4})}, {2}).sizes, (Dims{2, 2, 6, 8}));
  EXPECT_EQ(
      error("pixel_shuffle", {f32({3, 2, 2})}, {2}),
      "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)=3 is "
      "not divisible by 4");
  GraphBuilder b;
  const int x = b.placeholder(f32({2, 8, 3, 4}), "x");
  for (std::string_view name : {"pixel_shuffle", "pixel_unshuffle"}) {
    const OpDef& op = *find_op(name);
    const Value operand = name == "pixel_shuffle" ? x : b.call("pixel_shuffle", {x}, {2});
    const AttrRef factor = 2;
    const int result = op.decompose(b, {&operand, 1}, {&factor, 1}).at(0);
    EXPECT_EQ(b.spec(result), b.spec(b.call(name, {operand}, {2}))) << name;
  }
}

TEST(IndexingRules, Index) {
  EXPECT_EQ(infer("index", {f32({4, 5, 6}), i64({2, 3})}).sizes, (Dims{2, 3, 5, 6}));
  EXPECT_EQ(infer("index", {f32({4, 5, 6}), std::nullopt, i64({2, 1}), i64({3})}).sizes, (Dims{4, 2, 3}));
  EXPECT_EQ(infer("index", {f32({4, 5, 6}), i64({2}), std::nullopt, i64({2})}).sizes, (Dims{2, 5}));
  EXPECT_EQ(error("index", {f32({4}), i64({1}), i64({1})}), "IndexError: too many indices for tensor of dimension 1");
  EXPECT_EQ(error("index", {f32({4}), f32({1})}), "IndexError: tensors used as indices must be long, int, byte or bool tensors");
  EXPECT_EQ(error("index", {f32({4, 5}), i64({2}), i64({3})}),
            "IndexError: shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]");
  EXPECT_EQ(error("index", {f32({0, 5}), i64({2})}), "IndexError: index is out of bounds for dimension with size 0");
  EXPECT_EQ(error("index_put", {f32({4, 5, 3}), f32({2}), i64({2})}, {false}),
            "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [2, 5, 3]");
  EXPECT_EQ(error("index_put", {f32({4}), i64({}), i64({2})}, {false}),
            "Index put requires the source and destination dtypes match, got Float for the destination and Long for the source.");
}

TEST(IndexingRules, AlongADimension) {
  EXPECT_EQ(error("index_select", {f32({4, 5}), i64({2, 2})}, {0}), "IndexError: index_select(): Index is supposed to be a vector");
  EXPECT_EQ(error("index_select", {f32({4, 5}), f32({2})}, {0}),
            "IndexError: index_select(): Expected dtype int32/int64 for index, but got Float");
  EXPECT_EQ(error("gather", {f32({1, 1}), i64({2, 2})}, {1}),
            "Size does not match at dimension 0 expected index [2, 2] to be no larger than self [1, 1] apart from dimension 1");
  EXPECT_EQ(error("gather", {f32({2, 2}), i64({2})}, {0}), "Index tensor must have the same number of dimensions as input tensor");
  EXPECT_EQ(error("gather", {f32({2}), f32({2})}, {0}), "gather(): Expected dtype int32/int64 for index");
  EXPECT_EQ(error("scatter", {f32({2, 2}), i64({2}), f32({2})}, {0}),
            "Index tensor must have the same number of dimensions as self tensor");
  EXPECT_EQ(error("scatter", {f32({2}), i64({2}), i64({2})}, {0}), "scatter(): Expected self.dtype to be equal to src.dtype");
  EXPECT_EQ(error("scatter_add", {f32({4}), i64({3}), f32({2})}, {0}),
            "Size does not match at dimension 0 expected index [3] to be no larger than src [2]");
  EXPECT_EQ(error("scatter_reduce", {f32({4}), i64({2}), f32({2})}, {0, 9, true}),
            "reduce argument must be either sum, prod, mean, amax or amin");
}

TEST(IndexingRules, Others) {
  EXPECT_EQ(error("embedding", {f32({4}), i64({2})}), "'weight' must be 2-D");
  EXPECT_EQ(error("embedding", {f32({4, 2}), f32({2})}),
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got Float instead (while "
            "checking arguments for embedding)");
  EXPECT_EQ(error("take", {f32({0}), i64({1})}), "IndexError: take(): tried to take from an empty tensor");
  EXPECT_EQ(error("masked_select", {f32({2}), i64({2})}, {1}), "masked_select: expected BoolTensor for mask");
  EXPECT_EQ(infer("nonzero", {f32({4, 5})}, {7}).strides, (Dims{1, 7}));
  EXPECT_EQ(error("one_hot", {f32({2})}, {3}), "one_hot is only applicable to index tensor of type LongTensor.");
}

}  // namespace
}  // namespace tailor::ir
