#include "ir/reference.h"

#include <gtest/gtest.h>

#include "ir/formula.h"
#include "ir/host_tensor.h"
#include "ir/interpreter.h"

namespace tailor::ir {
namespace {

HostTensor tensor(ScalarType type, IntArrayRef sizes, std::vector<double> values) {
  HostTensor t{TensorSpec(type, sizes)};
  for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), values[i]);
  return t;
}

std::vector<double> values(const HostTensor& t) {
  std::vector<double> v;
  for (int64_t i = 0; i < t.spec.numel(); ++i) v.push_back(t.get(i));
  return v;
}

Graph parse(std::string_view body) { return parse_graph("graph \"g\" {\n" + std::string(body) + "\n}"); }

TEST(HostTensor, GathersAndScattersStridedMemory) {
  const TensorSpec spec(kInt32, {2, 3}, {1, 4}, {});
  std::vector<int32_t> memory(10);
  for (int i = 0; i < 10; ++i) memory[static_cast<size_t>(i)] = i;
  const HostTensor t = gather(memory.data(), spec);
  EXPECT_EQ(values(t), (std::vector<double>{0, 4, 8, 1, 5, 9}));
  scatter(tensor(kInt32, {2, 3}, {10, 20, 30, 40, 50, 60}), memory.data(), spec);
  EXPECT_EQ(memory, (std::vector<int32_t>{10, 40, 2, 3, 20, 50, 6, 7, 30, 60}));
}

TEST(HostTensor, CastsAsTorchDoes) {
  EXPECT_EQ(values(cast(tensor(kFloat32, {4}, {1.7, -1.7, 0.5, 0}), kInt64)), (std::vector<double>{1, -1, 0, 0}));
  EXPECT_EQ(values(cast(tensor(kFloat32, {3}, {0.5, 0, -2}), kBool)), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(values(cast(tensor(kInt64, {2}, {300, -1}), kUInt8)), (std::vector<double>{44, 255}));
  HostTensor big{TensorSpec(kInt64, {1})};
  big.set_int(0, INT64_MAX - 1);
  EXPECT_EQ(cast(big, kInt64).get_int(0), INT64_MAX - 1) << "integers do not pass through double";
}

TEST(Evaluate, PointwiseBroadcastsAndPromotes) {
  const HostTensor a = tensor(kInt32, {2, 1}, {1, 2}), b = tensor(kFloat32, {3}, {0.5, 1.5, 2.5});
  const HostOperand operands[] = {&a, &b};
  const HostTensor c = evaluate(*find_op("add"), operands, {}).at(0);
  EXPECT_EQ(c.spec, TensorSpec(kFloat32, {2, 3}));
  EXPECT_EQ(values(c), (std::vector<double>{1.5, 2.5, 3.5, 2.5, 3.5, 4.5}));
}

TEST(Evaluate, NarrowIntegersWrapAfterEveryOp) {
  const HostTensor a = tensor(kUInt8, {1}, {128});
  const HostOperand operands[] = {&a, &a};
  EXPECT_EQ(values(evaluate(*find_op("add"), operands, {}).at(0)), (std::vector<double>{0}));
}

TEST(Evaluate, IntegerDivisionByZeroIsAnError) {
  const HostTensor a = tensor(kInt32, {3}, {1, 2, 3}), b = tensor(kInt32, {3}, {1, 0, 1});
  const HostOperand operands[] = {&a, &b};
  EXPECT_THROW(evaluate(*find_op("remainder"), operands, {}), Error);
  const HostTensor c = tensor(kInt32, {1}, {-2147483648.0}), d = tensor(kInt32, {1}, {-1});
  const HostOperand limits[] = {&c, &d};
  EXPECT_EQ(values(evaluate(*find_op("remainder"), limits, {}).at(0)), (std::vector<double>{0}));
}

TEST(Evaluate, ViewsAndComposites) {
  const HostTensor a = tensor(kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const HostOperand operands[] = {&a};
  EXPECT_EQ(values(evaluate(*find_op("t"), operands, {}).at(0)), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  const AttrRef attrs[] = {1, std::nullopt};
  const std::vector<double> s = values(evaluate(*find_op("softmax"), operands, attrs).at(0));
  EXPECT_NEAR(s[0] + s[1] + s[2], 1, 1e-6);
}

TEST(Evaluate, EveryPointwiseOpHasAFormulaForItsDtypes) {
  for (const OpDef* op : all_ops()) {
    if (op->kind != OpKind::Pointwise) continue;
    if (op->pointwise.rule == DTypeRule::Logical) {
      EXPECT_NE(find_formula(*op, kBool), nullptr) << op->name;
      continue;
    }
    for (ScalarType t : {kFloat32, kFloat64}) {
      if (!(op->pointwise.dtypes & dtype_bit(t)) || op->pointwise.rule == DTypeRule::Integral) continue;
      EXPECT_NE(find_formula(*op, t), nullptr) << op->name;
    }
  }
}

TEST(Interpret, WritesAreSeenThroughEveryView) {
  std::vector<HostTensor> inputs{tensor(kFloat32, {2, 3}, {1, 2, 3, 4, 5, 6})};
  const std::vector<HostTensor> out = interpret(parse(R"(
    %0: f32[2, 3] = placeholder "x"
    %1 = t(%0)
    %2 = select(%0, dim=0, index=1)
    %3 = exp(%2)
    %4 = fill_(%2, 9)
    %5 = neg(%1)
    return %5, %1)"),
                                                inputs);
  EXPECT_EQ(values(out[0]), (std::vector<double>{-1, -9, -2, -9, -3, -9}));
  EXPECT_EQ(values(out[1]), (std::vector<double>{1, 9, 2, 9, 3, 9}));
  EXPECT_EQ(values(inputs[0]), (std::vector<double>{1, 2, 3, 9, 9, 9})) << "the caller's tensor changes";
}

TEST(Interpret, OverlappingInputsShareMemory) {
  // TRAPS A04: x *= 2; return x + y, where x and y are overlapping parts of one base.
  std::vector<float> base(8, 1.0f);
  void* inputs[] = {base.data(), base.data() + 2};
  const Graph g = parse(R"(
    %0: f32[4] = placeholder "x"
    %1: f32[4] = placeholder "y"
    %2: f32[4] = inplace mul(%0, 2.0)
    %3 = add(%0, %1)
    return %3)");
  const std::vector<MemoryTensor> out = interpret_memory(g, inputs, {});
  EXPECT_EQ(values(gather(out[0].data, out[0].spec)), (std::vector<double>{4, 4, 3, 3}));
  EXPECT_EQ(base, (std::vector<float>{2, 2, 2, 2, 1, 1, 1, 1}));
}

TEST(Interpret, ScalarsVary) {
  const Graph g = parse(R"(
    %0: f32[2] = placeholder "x"
    %1 = scalar "s" 2.0
    %2 = mul(%0, %1)
    return %2)");
  std::vector<HostTensor> inputs{tensor(kFloat32, {2}, {1, 2})};
  const tailor::Scalar ten[] = {tailor::Scalar(10.0)}, wrong[] = {tailor::Scalar(10)};
  EXPECT_EQ(values(interpret(g, inputs, ten)[0]), (std::vector<double>{10, 20}));
  EXPECT_EQ(values(interpret(g, inputs)[0]), (std::vector<double>{2, 4}));
  EXPECT_THROW(interpret(g, inputs, wrong), InternalError) << "the kind is part of the graph";
}

}  // namespace
}  // namespace tailor::ir
