#pragma once
// Families of programs against programs for one size each.

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "jit/family.h"
#include "jit/run_graph.h"

namespace tailor::jit::testing {

using ir::GraphBuilder;
using ir::TensorSpec;
using ir::ValueId;
using Sizes = std::span<const int64_t>;
using Build = std::function<std::vector<ValueId>(GraphBuilder&, Sizes)>;

inline GraphAt graph_of(const Build& build) {
  return [build](Sizes values) {
    GraphBuilder b("family");
    return b.finish(build(b, values));
  };
}

inline ValueId input(GraphBuilder& b, IntArrayRef sizes, ScalarType type = kFloat32) {
  return b.placeholder(TensorSpec(type, sizes), "x" + std::to_string(b.graph().values.size()));
}

inline std::shared_ptr<const Family> family_of(const GraphAt& graph_at, std::vector<SymbolRange> symbols, Backend backend = Backend::Llvm,
                                               const Family* before = nullptr) {
  CompileOptions options;
  options.backend = backend;
  options.check_bindings = true;
  return compile_family(graph_at, symbols, options, before);
}

inline void expect_same(const Executable& bound, const Executable& fixed) {
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
inline void check_at(const Family& family, const GraphAt& graph_at, Sizes values, double tolerance, Backend backend) {
  const ir::Graph graph = graph_at(values);
  SCOPED_TRACE("sizes " + to_string(TensorSpec(kBool, values)));
  const auto bound = family.bind(values);
  ASSERT_NE(bound, nullptr);
  CompileOptions options;
  options.backend = backend;
  const auto fixed = compile(graph, options);
  expect_same(*bound, *fixed);
  if (::testing::Test::HasFailure()) return;
  const std::vector<ir::HostTensor> inputs = random_inputs(graph, static_cast<uint32_t>(values[0]));
  const Result got = run(*bound, graph, inputs), expected = run(*fixed, graph, inputs);
  for (size_t i = 0; i < got.outputs.size(); ++i)
    expect_equal(got.outputs[i], expected.outputs[i], tolerance, "output " + std::to_string(i));
  for (size_t i = 0; i < got.inputs.size(); ++i) expect_equal(got.inputs[i], expected.inputs[i], tolerance, "input " + std::to_string(i));
}

}  // namespace tailor::jit::testing
