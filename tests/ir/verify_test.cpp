#include <gtest/gtest.h>

#include "ir/graph.h"

namespace tailor::ir {
namespace {

std::string fault(const Graph& g) {
  try {
    verify(g);
  } catch (const InternalError& e) { return e.what(); }
  return "sound";
}

Graph sound() {
  GraphBuilder b("g");
  const int x = b.placeholder(TensorSpec(kFloat32, {2, 3}), "x");
  b.set_source({"model.cpp", 7});
  const int y = b.call("add", {x, tailor::Scalar(1)});
  return b.finish({b.call("t", {y})});
}

#define EXPECT_FAULT(graph, text) EXPECT_NE(fault(graph).find(text), std::string::npos) << fault(graph)

TEST(Verify, AcceptsWhatBuildersMake) { EXPECT_EQ(fault(sound()), "sound"); }

TEST(Verify, NamesNodeAndFault) {
  Graph g = sound();
  g.values[1].spec.sizes = {2, 4};
  EXPECT_FAULT(g, "graph g, node 1 (add, at model.cpp:7): add gives f32[2, 3], not f32[2, 4]");
  g = sound();
  g.nodes[1].operands[0] = Value(2);
  EXPECT_FAULT(g, "%2 is used before it is defined");
  g = sound();
  g.nodes[1].operands[0] = Value(17);
  EXPECT_FAULT(g, "%17 is no value of the graph");
  g = sound();
  g.nodes[1].operands.pop_back();
  EXPECT_FAULT(g, "add takes 3 operands, has 2");
  g = sound();
  g.nodes[2].inplace = true;
  EXPECT_FAULT(g, "view t cannot be in-place");
  g = sound();
  g.values[2].spec.strides = {3, 1};
  EXPECT_FAULT(g, "t gives f32[3, 2]{1, 3}, not f32[3, 2]{3, 1}");
  g = sound();
  g.values[2].node = 0;
  EXPECT_FAULT(g, "%2 does not point back to its node");
  g = sound();
  g.outputs.push_back(99);
  EXPECT_FAULT(g, "output %99 is no value");
}

TEST(Verify, LayoutOfFreshMemoryIsFree) {
  Graph g = sound();
  g.values[1].spec.strides = {1, 2};
  g.values[2].spec.strides = {2, 1};
  EXPECT_EQ(fault(g), "sound");
  g.values[1].spec.strides = {6, 2};
  EXPECT_FAULT(g, "add gives");
}

TEST(Verify, ConstantsHaveTheirBytes) {
  GraphBuilder b;
  auto data = std::make_shared<ConstantData>();
  data->bytes.resize(12);
  Graph g = b.finish({b.constant(TensorSpec(kFloat32, {3}), data)});
  EXPECT_EQ(fault(g), "sound");
  g.values[0].spec = TensorSpec(kFloat32, {4});
  EXPECT_FAULT(g, "constant f32[4] has 12 bytes");
}

}  // namespace
}  // namespace tailor::ir
