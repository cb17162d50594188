#include "ir/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tailor::ir {
namespace {

Graph parse(std::string_view body) { return parse_graph("graph \"g\" {\n" + std::string(body) + "\n}"); }

int64_t count(const Graph& g, std::string_view op) {
  verify(g);
  return std::count_if(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.op != nullptr && n.op->name == op; });
}

TEST(DeadCode, DropsWhatNobodySees) {
  const Graph g = eliminate_dead_code(parse(R"(
    %0: f32[3] = placeholder "x"
    %1 = exp(%0)
    %2 = neg(%0)
    %3 = add(%2, %1)
    return %2)"));
  EXPECT_EQ(count(g, "exp") + count(g, "add"), 0);
  EXPECT_EQ(count(g, "neg"), 1);
}

TEST(DeadCode, KeepsEffectsOnInputsAndFailures) {
  const Graph g = eliminate_dead_code(parse(R"(
    %0: f32[3] = placeholder "x"
    %1: i64[3] = placeholder "i"
    %2: f32[3] = inplace mul(%0, 2.0)
    %3 = remainder(%1, %1)
    %4 = select(%0, dim=0, index=1)
    %5 = fill_(%4, 1)
    return)"));
  EXPECT_EQ(count(g, "mul"), 1);
  EXPECT_EQ(count(g, "remainder"), 1);
  EXPECT_EQ(count(g, "fill_"), 1);
}

TEST(DeadCode, KeepsWritesThroughViewsOfWhatIsSeen) {
  const Graph g = eliminate_dead_code(parse(R"(
    %0: f32[3] = placeholder "x"
    %1 = neg(%0)
    %2 = select(%1, dim=0, index=1)
    %3 = fill_(%2, 1)
    %4 = exp(%0)
    %5 = fill_(%4, 1)
    return %1)"));
  EXPECT_EQ(count(g, "fill_"), 1);
  EXPECT_EQ(count(g, "exp"), 0);
}

TEST(DeadCode, FloatDivisionCannotFail) {
  const Graph g = eliminate_dead_code(parse(R"(
    %0: f32[3] = placeholder "x"
    %1 = remainder(%0, %0)
    return %0)"));
  EXPECT_EQ(count(g, "remainder"), 0);
}

TEST(CommonSubexpressions, MergesEqualCalls) {
  const Graph g = eliminate_common_subexpressions(parse(R"(
    %0: f32[3] = placeholder "x"
    %1 = exp(%0)
    %2 = exp(%0)
    %3 = add(%1, %2)
    return %3)"));
  EXPECT_EQ(count(g, "exp"), 1);
}

TEST(CommonSubexpressions, RespectsWritesAndOutputs) {
  const Graph written = eliminate_common_subexpressions(parse(R"(
    %0: f32[3] = placeholder "x"
    %1 = exp(%0)
    %2: f32[3] = inplace mul(%0, 2.0)
    %3 = exp(%0)
    %4 = add(%1, %3)
    return %4)"));
  EXPECT_EQ(count(written, "exp"), 2);
  const Graph outputs = eliminate_common_subexpressions(parse(R"(
    %0: f32[3] = placeholder "x"
    %1 = exp(%0)
    %2 = exp(%0)
    return %1, %2)"));
  EXPECT_EQ(count(outputs, "exp"), 2) << "two outputs never share memory";
  const Graph zeros = eliminate_common_subexpressions(parse(R"(
    %0: f32[3] = placeholder "x"
    %1 = mul(%0, 0.0)
    %2 = mul(%0, -0.0)
    %3 = add(%1, %2)
    return %3)"));
  EXPECT_EQ(count(zeros, "mul"), 2) << "literals are equal by bits";
}

TEST(ConstantFolding, EvaluatesCallsOnConstants) {
  const Graph g = fold_constants(parse(R"(
    %0: f32[2] = placeholder "x"
    %1: f32[2] = constant [1.0, 2.0]
    %2 = mul(%1, 3.0)
    %3 = unsqueeze(%2, dim=0)
    %4 = add(%0, %3)
    %5 = exp(%1)
    return %4, %5)"));
  EXPECT_EQ(count(g, "mul"), 0);
  EXPECT_EQ(count(g, "exp"), 1) << "an output is never shared with a constant";
  EXPECT_NE(print(g).find("constant [3.0, 6.0]"), std::string::npos) << print(g);
}

TEST(Simplify, OnlyIdentitiesThatKeepBits) {
  const Graph g = simplify(parse(R"(
    %0: f32[2, 3] = placeholder "x"
    %1 = mul(%0, 1.0)
    %2 = neg(%1)
    %3 = neg(%2)
    %4 = to(%3, dtype=f32)
    %5 = view(%4, size=[2, 3])
    %6 = add(%5, 0.0)
    %7 = mul(%6, 0.0)
    %8 = sub(%7, %7)
    return %8)"));
  const Graph d = eliminate_dead_code(g);
  EXPECT_EQ(count(d, "mul"), 1);
  EXPECT_EQ(count(d, "neg") + count(d, "to") + count(d, "view"), 0);
  EXPECT_EQ(count(d, "add"), 1) << "-0 + 0 is 0";
  EXPECT_EQ(count(d, "sub"), 1) << "inf - inf is NaN";
}

TEST(Simplify, OutputsStayCopies) {
  const Graph g = eliminate_dead_code(simplify(parse(R"(
    %0: f32[2] = placeholder "x"
    %1 = mul(%0, 1.0)
    return %1)")));
  EXPECT_EQ(count(g, "mul"), 1);
}

TEST(Functionalize, WholeIntermediatesOnly) {
  const Graph g = functionalize(parse(R"(
    %0: f16[3] = placeholder "x"
    %1: f32[3] = placeholder "y"
    %2 = exp(%0)
    %3: f16[3] = inplace add(%2, %1)
    %4 = neg(%2)
    return %4)"));
  verify(g);
  EXPECT_TRUE(std::none_of(g.nodes.begin(), g.nodes.end(), [](const Node& n) { return n.inplace; }));
  EXPECT_EQ(count(g, "to"), 1) << "the result is rounded to the dtype of what is written";
  const Graph viewed = functionalize(parse(R"(
    %0: f32[3] = placeholder "x"
    %1 = exp(%0)
    %2 = select(%1, dim=0, index=0)
    %3: f32[3] = inplace add(%1, 1.0)
    return %2)"));
  EXPECT_TRUE(std::any_of(viewed.nodes.begin(), viewed.nodes.end(), [](const Node& n) { return n.inplace; }));
}

TEST(ForwardWrites, NamesTheResultOfTheWrite) {
  const Graph g = forward_writes(parse(R"(
    %0: f32[4] = placeholder "x"
    %1: f32[4] = inplace add(%0, 1.0)
    %2 = neg(%0)
    return %2)"));
  EXPECT_EQ(g.nodes[2].operands[0].tensor, g.nodes[1].outputs[0]);
}

TEST(Decompose, CompositesBecomePrimitivesOfTheSameSpec) {
  const Graph g = decompose(parse(R"(
    %0: f32[2, 3] = placeholder "x"
    %1 = softmax(%0, dim=1, dtype=none)
    return %1)"));
  EXPECT_EQ(count(g, "softmax"), 0);
  EXPECT_EQ(count(g, "amax"), 1);
  EXPECT_EQ(g.spec(g.outputs[0]), TensorSpec(kFloat32, {2, 3}));
  const Graph kept = decompose(parse(R"(
    %0: f32[2, 3] = placeholder "x"
    %1 = softmax(%0, dim=1, dtype=none)
    return %1)"),
                               [](const Graph&, const Node& n) { return n.op->name == "softmax"; });
  EXPECT_EQ(count(kept, "softmax"), 1);
}

TEST(SplitReductions, LongFoldsGoByRows) {
  const Graph g = split_reductions(parse(R"(
    %0: f16[2048, 64] = placeholder "x"
    %1: f32[100] = placeholder "y"
    %2 = sum(%0, dim=none, keepdim=true, dtype=none)
    %3 = sum(%1, dim=none, keepdim=false, dtype=none)
    return %2, %3)"));
  EXPECT_EQ(count(g, "sum"), 3);
  EXPECT_EQ(to_string(g.spec(g.outputs[0])), "f16[1, 1]");
}

TEST(SplitReductions, FoldsOfRowsGoByPartsWhereColumnsAreFoldedToo) {
  const Graph g = split_reductions(parse(R"(
    %0: f32[2048, 1024] = placeholder "x"
    %1: f32[2048, 1024] = placeholder "y"
    %2 = sum(%0, dim=[0], keepdim=true, dtype=none)
    %3 = sum(%0, dim=[1], keepdim=false, dtype=none)
    %4 = sum(%1, dim=[0], keepdim=false, dtype=none)
    return %2, %3, %4)"));
  EXPECT_EQ(count(g, "sum"), 4);
  EXPECT_EQ(to_string(g.spec(g.outputs[0])), "f32[1, 1024]");
}

}  // namespace
}  // namespace tailor::ir
