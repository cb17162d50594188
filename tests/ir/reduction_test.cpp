// Shape and dtype rules of reductions, scans, normalising ops and losses: results, defaults, and what each error says.
#include "ir/ops/reduction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/reference.h"

namespace tailor::ir {
namespace {

using Specs = std::vector<TensorSpec>;

/// Operands: specs, or an empty one (undefined dtype) for an absent operand.
Specs infer(std::string_view name, std::vector<TensorSpec> operands, std::vector<AttrRef> attrs) {
  std::vector<SpecOperand> refs;
  for (const TensorSpec& s : operands) refs.push_back(s.dtype == ScalarType::Undefined ? SpecOperand() : SpecOperand(&s));
  const OpDef& op = *find_op(name);
  return op.infer(op, {refs, attrs});
}

template <class E = Error>
std::string error_of(std::string_view name, std::vector<TensorSpec> operands, std::vector<AttrRef> attrs) {
  try {
    infer(name, std::move(operands), std::move(attrs));
  } catch (const E& e) { return e.what(); }
  ADD_FAILURE() << name << " threw nothing";
  return "";
}

const TensorSpec kNone{};
TensorSpec f32(IntArrayRef sizes) { return TensorSpec(kFloat32, sizes); }
TensorSpec i64(IntArrayRef sizes) { return TensorSpec(kInt64, sizes); }

HostTensor values(ScalarType type, IntArrayRef sizes, std::initializer_list<double> list) {
  HostTensor t(TensorSpec(type, sizes));
  int64_t i = 0;
  for (double v : list) t.set(i++, v);
  return t;
}

std::vector<HostTensor> run(std::string_view name, const HostTensor& x, std::vector<AttrRef> attrs) {
  const HostOperand operand(&x);
  return evaluate(*find_op(name), {&operand, 1}, attrs);
}

TEST(ReductionRules, Shapes) {
  const std::vector<int64_t> both{0, -1}, none;
  EXPECT_EQ(infer("sum", {f32({2, 3, 4})}, {int64_t{1}, false, std::nullopt})[0], f32({2, 4}));
  EXPECT_EQ(infer("sum", {f32({2, 3, 4})}, {both, true, std::nullopt})[0], f32({1, 3, 1}));
  EXPECT_EQ(infer("sum", {f32({2, 3})}, {none, false, std::nullopt})[0], f32({}));
  EXPECT_EQ(infer("sum", {f32({2, 3})}, {std::nullopt, true, std::nullopt})[0], f32({1, 1}));
  EXPECT_EQ(infer("all", {f32({2, 3})}, {none, false})[0], TensorSpec(kBool, {2, 3}));
  EXPECT_EQ(infer("amax", {f32({})}, {int64_t{-1}, true})[0], f32({}));
  EXPECT_EQ(infer("var_mean", {f32({2, 3})}, {int64_t{0}, 1.0, true}), (Specs{f32({1, 3}), f32({1, 3})}));
}

TEST(ReductionRules, Dtypes) {
  for (ScalarType t : {kUInt8, kInt8, kInt16, kInt32, kInt64, kBool}) {
    EXPECT_EQ(infer("sum", {TensorSpec(t, {3})}, {std::nullopt, false, std::nullopt})[0].dtype, kInt64);
    EXPECT_EQ(infer("cumsum", {TensorSpec(t, {3})}, {int64_t{0}, std::nullopt})[0].dtype, kInt64);
    EXPECT_EQ(infer("amax", {TensorSpec(t, {3})}, {std::nullopt, false})[0].dtype, t);
    EXPECT_EQ(infer("any", {TensorSpec(t, {3})}, {std::nullopt, false})[0].dtype, t == kUInt8 ? kUInt8 : kBool);
  }
  EXPECT_EQ(infer("sum", {TensorSpec(kFloat16, {3})}, {std::nullopt, false, std::nullopt})[0].dtype, kFloat16);
  EXPECT_EQ(infer("mean", {i64({3})}, {std::nullopt, false, kFloat32})[0].dtype, kFloat32);
  EXPECT_EQ(infer("logsumexp", {i64({3})}, {int64_t{0}, false})[0].dtype, kFloat32);
  EXPECT_EQ(infer("max_dim", {f32({2, 3})}, {int64_t{1}, false}), (Specs{f32({2}), i64({2})}));
  EXPECT_EQ(infer("count_nonzero", {f32({2, 3})}, {int64_t{1}})[0], i64({2}));
}

TEST(ReductionRules, Errors) {
  EXPECT_EQ(error_of<IndexError>("sum", {f32({2, 3})}, {int64_t{2}, false, std::nullopt}),
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  const std::vector<int64_t> twice{0, -2};
  EXPECT_EQ(error_of("sum", {f32({2, 3})}, {twice, false, std::nullopt}), "dim 0 appears multiple times in the list of dims");
  EXPECT_EQ(error_of<NotImplementedError>("mean", {i64({2})}, {std::nullopt, false, std::nullopt}),
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long");
  EXPECT_EQ(error_of<NotImplementedError>("std", {i64({2})}, {std::nullopt, 1.0, false}),
            "std and var only support floating point and complex dtypes");
  EXPECT_EQ(error_of("amax", {f32({0})}, {std::nullopt, false}),
            "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
  EXPECT_EQ(error_of<IndexError>("amin", {f32({2, 0})}, {int64_t{1}, false}), "amin(): Expected reduction dim 1 to have non-zero size.");
  EXPECT_EQ(error_of<IndexError>("argmax", {f32({0})}, {std::nullopt, false}),
            "argmax(): Expected reduction dim to be specified for input.numel() == 0.");
  EXPECT_EQ(error_of<IndexError>("max_dim", {f32({0, 3})}, {int64_t{0}, false}), "max(): Expected reduction dim 0 to have non-zero size.");
  EXPECT_EQ(infer("amax", {f32({2, 0})}, {int64_t{0}, false})[0], f32({0}));
  EXPECT_EQ(error_of("topk", {f32({5})}, {int64_t{6}, int64_t{0}, true, true}),
            "topk: selected index k out of range: k is 6, dimension 0 has size 5");
  EXPECT_EQ(error_of<NotImplementedError>("logcumsumexp", {i64({2})}, {int64_t{0}}), "\"logcumsumexp_out_cpu\" not implemented for 'Long'");
}

TEST(NormalizeRules, Errors) {
  const std::vector<int64_t> none, two{2, 2}, four{4};
  EXPECT_EQ(error_of("layer_norm", {f32({2, 3}), kNone, kNone}, {none, 1e-5}),
            "layer_norm: Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []");
  EXPECT_EQ(error_of("rms_norm", {f32({2, 2, 3}), kNone}, {two, 1e-5}),
            "rms_norm: Given normalized_shape=[2, 2], expected input with shape [*, 2, 2], but got input of size [2, 2, 3]");
  EXPECT_EQ(error_of("layer_norm", {f32({3, 4}), f32({3}), kNone}, {four, 1e-5}),
            "layer_norm: Expected weight to be of same shape as normalized_shape, but got weight of shape [3] and normalized_shape = [4]");
  EXPECT_EQ(error_of("group_norm", {f32({3}), kNone, kNone}, {int64_t{1}, 1e-5}),
            "group_norm: Expected at least 2 dimensions for input tensor but received 1");
  EXPECT_EQ(
      error_of("group_norm", {f32({1, 4}), kNone, kNone}, {int64_t{3}, 1e-5}),
      "group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape [1, 4] and num_groups = 3");
  EXPECT_EQ(error_of("batch_norm", {f32({2, 3}), kNone, kNone, kNone, kNone}, {1e-5}),
            "batch_norm: running_mean must be defined in evaluation mode");
  EXPECT_EQ(error_of("batch_norm_train", {f32({1, 4}), kNone, kNone}, {1e-5}),
            "batch_norm: Expected more than 1 value per channel when training, got input size [1, 4]");
  EXPECT_EQ(error_of("instance_norm", {f32({2, 4}), kNone, kNone}, {1e-5}),
            "instance_norm: Expected more than 1 spatial element when training, got input size [2, 4]");
  EXPECT_EQ(error_of<NotImplementedError>("softmax", {i64({2})}, {int64_t{0}, std::nullopt}),
            "\"softmax_kernel_impl\" not implemented for 'Long'");
}

TEST(LossRules, Errors) {
  const int64_t mean = 1;
  EXPECT_EQ(error_of("cross_entropy", {f32({4, 5}), i64({4}), f32({4})}, {mean, int64_t{-100}, 0.0}),
            "cross_entropy: weight tensor should be defined either for all 5 classes or no classes but got weight tensor of shape: [4]");
  EXPECT_EQ(error_of("cross_entropy", {f32({4, 5}), i64({3}), kNone}, {mean, int64_t{-100}, 0.0}),
            "cross_entropy: expected a target of shape [4] for an input of shape [4, 5], got [3]");
  EXPECT_EQ(error_of("huber_loss", {f32({2}), f32({2})}, {mean, 0.0}), "huber_loss does not support non-positive values for delta.");
  EXPECT_EQ(error_of("mse_loss", {f32({2}), f32({2})}, {int64_t{7}}), "mse_loss: 7 is not a valid value for reduction");
  EXPECT_EQ(error_of("binary_cross_entropy_with_logits", {f32({4, 5}), f32({4, 4}), kNone, kNone}, {mean}),
            "binary_cross_entropy_with_logits: Target size ([4, 4]) must be the same as input size ([4, 5])");
  EXPECT_EQ(error_of("cosine_embedding_loss", {f32({4, 5}), f32({4, 5}), f32({4, 5})}, {0.0, mean}),
            "cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported");
}

TEST(ReductionValues, EmptyAndSingle) {
  const HostTensor empty = values(kFloat32, {0}, {});
  EXPECT_EQ(run("sum", empty, {std::nullopt, false, std::nullopt})[0].get(0), 0);
  EXPECT_EQ(run("prod", empty, {std::nullopt, false, std::nullopt})[0].get(0), 1);
  EXPECT_TRUE(std::isnan(run("mean", empty, {std::nullopt, false, std::nullopt})[0].get(0)));
  EXPECT_EQ(run("all", empty, {std::nullopt, false})[0].get_int(0), 1);
  EXPECT_EQ(run("any", empty, {std::nullopt, false})[0].get_int(0), 0);
  EXPECT_TRUE(std::isnan(run("var", values(kFloat32, {1}, {3}), {std::nullopt, 1.0, false})[0].get(0)));
  EXPECT_EQ(run("logsumexp", empty, {int64_t{0}, false})[0].get(0), -INFINITY);
  EXPECT_EQ(run("median", HostTensor(TensorSpec(kInt64, {0})), {})[0].get_int(0), INT64_MIN);
}

TEST(ReductionValues, NanTiesAndInfinities) {
  EXPECT_EQ(run("argmax", values(kFloat32, {4}, {3, NAN, 1, 5}), {std::nullopt, false})[0].get_int(0), 1);
  EXPECT_EQ(run("argmax", values(kFloat32, {4}, {7, 7, 1, 7}), {std::nullopt, false})[0].get_int(0), 0);
  EXPECT_EQ(run("argmin", values(kFloat32, {4}, {4, 1, 1, 1}), {std::nullopt, false})[0].get_int(0), 1);
  EXPECT_NEAR(run("logsumexp", values(kFloat32, {2}, {1000, 1000}), {int64_t{0}, false})[0].get(0), 1000.69318, 1e-4);
  EXPECT_EQ(run("logsumexp", values(kFloat32, {2}, {-INFINITY, -INFINITY}), {int64_t{0}, false})[0].get(0), -INFINITY);
  EXPECT_EQ(run("logsumexp", values(kFloat32, {2}, {INFINITY, 1}), {int64_t{0}, false})[0].get(0), INFINITY);
  const HostTensor cummax = run("cummax", values(kFloat32, {4}, {1, 3, 3, 2}), {int64_t{0}})[1];
  EXPECT_EQ(cummax.get_int(2), 2);  // of equal elements the last
}

TEST(ReductionValues, SumsOfNarrowTypesAreWide) {
  EXPECT_EQ(run("sum", values(kUInt8, {2}, {200, 200}), {std::nullopt, false, std::nullopt})[0].get_int(0), 400);
  EXPECT_EQ(run("prod", values(kInt8, {2}, {100, 100}), {std::nullopt, false, std::nullopt})[0].get_int(0), 10000);
  EXPECT_EQ(run("cumsum", values(kInt8, {2}, {120, 120}), {int64_t{0}, std::nullopt})[0].get_int(1), 240);
  EXPECT_EQ(run("cumsum", values(kBool, {4}, {1, 1, 1, 1}), {int64_t{0}, kBFloat16})[0].get(3), 4);
}

TEST(LossValues, TargetsOutOfRangeAndIgnored) {
  const HostTensor x = values(kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6}), bad = values(kInt64, {2}, {0, 3}),
                   ignored = values(kInt64, {2}, {-100, -100});
  const auto loss = [&](const HostTensor& target) {
    const HostOperand operands[] = {&x, &target, {}};
    const AttrRef attrs[] = {int64_t{1}, int64_t{-100}};
    return evaluate(*find_op("nll_loss"), operands, attrs)[0].get(0);
  };
  EXPECT_THROW(loss(bad), IndexError);
  EXPECT_TRUE(std::isnan(loss(ignored)));
  EXPECT_EQ(loss(values(kInt64, {2}, {2, -100})), -3);
}

}  // namespace
}  // namespace tailor::ir
