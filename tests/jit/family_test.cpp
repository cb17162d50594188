// One program for many sizes against programs for one size each.

#include "jit/family.h"

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "jit/run_graph.h"

namespace tailor::jit {
namespace {

using ir::GraphBuilder;
using ir::TensorSpec;
using ir::ValueId;
using Sizes = std::span<const int64_t>;
using Build = std::function<std::vector<ValueId>(GraphBuilder&, Sizes)>;

GraphAt graph_of(const Build& build) {
  return [build](Sizes values) {
    GraphBuilder b("family");
    return b.finish(build(b, values));
  };
}

ValueId input(GraphBuilder& b, IntArrayRef sizes, ScalarType type = kFloat32) {
  return b.placeholder(TensorSpec(type, sizes), "x" + std::to_string(b.graph().values.size()));
}

std::shared_ptr<const Family> family_of(const GraphAt& graph_at, std::vector<SymbolRange> symbols, Backend backend = Backend::Llvm) {
  CompileOptions options;
  options.backend = backend;
  options.check_bindings = true;
  return compile_family(graph_at, symbols, options);
}

void expect_same(const Executable& bound, const Executable& fixed) {
  ASSERT_EQ(bound.outputs().size(), fixed.outputs().size());
  for (size_t i = 0; i < fixed.outputs().size(); ++i) {
    const OutputPlan &a = bound.outputs()[i], &b = fixed.outputs()[i];
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.index, b.index);
    EXPECT_EQ(a.spec, b.spec);
    EXPECT_EQ(a.offset, b.offset);
    EXPECT_EQ(a.storage_bytes(), b.storage_bytes());
  }
}

// The family's program at these sizes against one compiled for them.
void check_at(const Family& family, const GraphAt& graph_at, Sizes values, double tolerance, Backend backend) {
  const ir::Graph graph = graph_at(values);
  SCOPED_TRACE("sizes " + to_string(TensorSpec(kBool, values)));
  const auto bound = family.bind(values);
  ASSERT_NE(bound, nullptr);
  CompileOptions options;
  options.backend = backend;
  const auto fixed = compile(graph, options);
  expect_same(*bound, *fixed);
  if (::testing::Test::HasFailure()) return;
  const std::vector<ir::HostTensor> inputs = testing::random_inputs(graph, static_cast<uint32_t>(values[0]));
  const testing::Result got = testing::run(*bound, graph, inputs), expected = testing::run(*fixed, graph, inputs);
  for (size_t i = 0; i < got.outputs.size(); ++i)
    testing::expect_equal(got.outputs[i], expected.outputs[i], tolerance, "output " + std::to_string(i));
  for (size_t i = 0; i < got.inputs.size(); ++i)
    testing::expect_equal(got.inputs[i], expected.inputs[i], tolerance, "input " + std::to_string(i));
}

struct Case {
  std::string name;
  Build build;
  double tolerance = 0;
  int64_t hint = 4;
  int64_t most_min = 2, least_max = 1000;  // what the family must serve at least
};

void check_case(const Case& c, Backend backend, int64_t step) {
  SCOPED_TRACE(c.name);
  const GraphAt graph_at = graph_of(c.build);
  const auto family = family_of(graph_at, {{c.hint}}, backend);
  ASSERT_NE(family, nullptr);
  const SymbolRange range = family->ranges()[0];
  EXPECT_LE(range.min, c.most_min);
  EXPECT_GE(range.max, c.least_max);
  for (int64_t n = range.min; n <= std::min<int64_t>(70, range.max); n += step) {
    check_at(*family, graph_at, {{n}}, c.tolerance, backend);
    if (::testing::Test::HasFailure()) return;
  }
  for (const int64_t n : {129, 400, 1000})
    if (n <= range.max) check_at(*family, graph_at, {{n}}, c.tolerance, backend);
  EXPECT_EQ(family->bind(std::vector<int64_t>{range.min - 1}), nullptr);
  EXPECT_EQ(family->bind(std::vector<int64_t>{range.max + 1}), nullptr);
}

const std::vector<int64_t> kLast{-1}, kFirst{0};

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({"pointwise", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 5}), y = input(b, {5});
                   return std::vector{b.call("relu", {b.call("add", {b.call("tanh", {x}), y})})};
                 }});
  all.push_back(
      {"mlp",
       [](GraphBuilder& b, Sizes s) {
         const ValueId x = input(b, {s[0], 24}), w = input(b, {40, 24}), v = input(b, {40}), w2 = input(b, {10, 40}), v2 = input(b, {10});
         return std::vector{b.call("linear", {b.call("relu", {b.call("linear", {x, w, v})}), w2, v2})};
       },
       1e-5});
  all.push_back({"layer_norm",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 48}), w = input(b, {48}), v = input(b, {48});
                   return std::vector{b.call("layer_norm", {x, w, v}, {IntArrayRef{48}, 1e-5})};
                 },
                 1e-5});
  all.push_back({"softmax over the symbol",
                 [](GraphBuilder& b, Sizes s) {
                   return std::vector{b.call("softmax", {input(b, {6, s[0]})}, {-1, std::nullopt})};
                 },
                 1e-5});
  all.push_back({"mean over the symbol",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 7});
                   return std::vector{b.call("mean", {x}, {kFirst, false, std::nullopt}),
                                      b.call("mean", {x}, {std::nullopt, false, std::nullopt}), b.call("var", {x}, {kFirst, 1, false})};
                 },
                 1e-5});
  all.push_back({"sums",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 70});
                   return std::vector{b.call("sum", {x}, {kFirst, false, std::nullopt}), b.call("sum", {x}, {kLast, true, std::nullopt}),
                                      b.call("sum", {b.call("exp", {x})}, {std::vector<int64_t>{0, 1}, false, std::nullopt}),
                                      b.call("amax", {x}, {kFirst, true}), b.call("argmax", {x}, {0, false})};
                 },
                 1e-4});
  return all;
}

TEST(Family, EverySizeIsAsIfCompiledForIt) {
  for (const Case& c : cases()) check_case(c, Backend::Llvm, 3);
}

TEST(Family, InterpretedLoopsTakeSizesToo) {
  for (const Case& c : cases()) check_case(c, Backend::LoopInterpreter, 17);
}

TEST(Family, EagerCallsTakeSizesToo) {
  for (const Case& c : cases()) check_case(c, Backend::Eager, 17);
}

}  // namespace
}  // namespace tailor::jit
