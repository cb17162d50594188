#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/memory.h"

namespace tailor::ir {
namespace {

template <class E, class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const E& e) { return e.what(); }
  return "no error";
}

TEST(Spec, ContiguityIgnoresDimsOfSizeOne) {
  EXPECT_TRUE(TensorSpec(kFloat32, {2, 3}).is_contiguous());
  EXPECT_FALSE(TensorSpec(kFloat32, {2, 3}, {1, 2}, {}).is_contiguous());
  EXPECT_TRUE(TensorSpec(kFloat32, {2, 1, 3}, {3, 77, 1}, {}).is_contiguous());
  EXPECT_TRUE(TensorSpec(kFloat32, {0, 3}, {1, 9}, {}).is_contiguous());
  EXPECT_TRUE(TensorSpec(kFloat32, {2, 3}, {1, 2}, {}).is_non_overlapping_and_dense());
  EXPECT_FALSE(TensorSpec(kFloat32, {2, 3}, {0, 1}, {}).is_non_overlapping_and_dense());
  EXPECT_FALSE(TensorSpec(kFloat32, {2, 3}, {6, 2}, {}).is_non_overlapping_and_dense());
}

TEST(Spec, PointwiseStridesFollowTensorIterator) {
  const TensorSpec contiguous(kFloat32, {2, 3, 4}), transposed(kFloat32, {2, 3, 4}, {1, 8, 2}, {}), row(kFloat32, {4});
  const TensorSpec gaps(kFloat32, {2, 3, 4}, {48, 16, 2}, {});
  const auto strides = [](IntArrayRef sizes, std::vector<const TensorSpec*> operands) { return pointwise_output_strides(sizes, operands); };
  EXPECT_EQ(strides({2, 3, 4}, {&contiguous, &contiguous}), (Dims{12, 4, 1}));
  EXPECT_EQ(strides({2, 3, 4}, {&transposed}), (Dims{1, 8, 2}));
  EXPECT_EQ(strides({2, 3, 4}, {&transposed, &row}), (Dims{1, 8, 2}));
  EXPECT_EQ(strides({2, 3, 4}, {&contiguous, &transposed}), (Dims{12, 4, 1})) << "the first operand decides";
  EXPECT_EQ(strides({2, 3, 4}, {&transposed, &contiguous}), (Dims{1, 8, 2}));
  EXPECT_EQ(strides({2, 3, 4}, {&gaps}), (Dims{12, 4, 1})) << "gaps are closed";
  EXPECT_EQ(strides({2, 3, 4}, {}), (Dims{12, 4, 1}));
}

TEST(Spec, BroadcastingHasTorchsText) {
  EXPECT_EQ(broadcast_shapes({2, 1, 4}, {3, 1}), (Dims{2, 3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {0}), (Dims{0}));
  EXPECT_EQ(message<Error>([] {
              broadcast_shapes({2, 3}, {2, 4});
            }),
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
}

TEST(Spec, Prints) {
  EXPECT_EQ(to_string(TensorSpec(kFloat32, {2, 3})), "f32[2, 3]");
  EXPECT_EQ(to_string(TensorSpec(kBool, {2, 3}, {1, 2}, {})), "bool[2, 3]{1, 2}");
  TensorSpec s(kBFloat16, {});
  s.requires_grad = true;
  EXPECT_EQ(to_string(s), "bf16[] grad");
}

TEST(GraphBuilder, InfersSpecsAndFillsArguments) {
  GraphBuilder b("g");
  const int x = b.placeholder(TensorSpec(kFloat32, {2, 3}), "x");
  const int y = b.call("add", {x, tailor::Scalar(1)});
  const int s = b.call("sum", {y}, {IntArrayRef{1}, false});
  EXPECT_EQ(b.spec(s).sizes, (Dims{2}));
  const Graph g = b.finish({s});
  EXPECT_EQ(g.nodes[2].attrs.size(), 3u);
  EXPECT_NO_THROW(verify(g));
}

TEST(GraphBuilder, ErrorsNameTheUsersLine) {
  GraphBuilder b;
  const int x = b.placeholder(TensorSpec(kFloat32, {2, 3}), "x"), y = b.placeholder(TensorSpec(kFloat32, {2, 4}), "y");
  b.set_source({"/somewhere/model.cpp", 42});
  EXPECT_EQ(message<Error>([&] {
              b.call("add", {x, y});
            }),
            "add: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1, at model.cpp:42");
  EXPECT_EQ(message<IndexError>([&] {
              b.call("sum", {x}, {IntArrayRef{5}, false, std::nullopt});
            }),
            "Dimension out of range (expected to be in range of [-2, 1], but got 5), at model.cpp:42");
}

TEST(GraphBuilder, InPlaceKeepsTheSpecOfItsTarget) {
  GraphBuilder b;
  const int x = b.placeholder(TensorSpec(kFloat16, {3}), "x"), y = b.placeholder(TensorSpec(kFloat32, {3}), "y");
  const Value operands[] = {x, y};
  const int z = b.call_inplace(*find_op("add"), operands, {});
  EXPECT_EQ(b.spec(z).dtype, kFloat16);
  const int wide = b.placeholder(TensorSpec(kFloat32, {2, 3}), "wide");
  const Value wider[] = {x, wide};
  EXPECT_EQ(message<Error>([&] { b.call_inplace(*find_op("add"), wider, {}); }),
            "output with shape [3] doesn't match the broadcast shape [2, 3]");
}

TEST(MemoryMap, FollowsViewsAndWrites) {
  GraphBuilder b;
  const int x = b.placeholder(TensorSpec(kFloat32, {4, 6}), "x");
  const int row = b.call("select", {x}, {0, 2});
  const int part = b.call("slice", {row}, {0, 1, 5, 2});
  const int fresh = b.call("add", {part, tailor::Scalar(1)});
  const Value operands[] = {part, tailor::Scalar(2)};
  const int written = b.call_inplace(*find_op("mul"), operands, {});
  const Graph g = b.finish({fresh, written});
  const MemoryMap m(g);
  EXPECT_EQ(m.root(part), x);
  EXPECT_EQ(m.byte_offset(part), 13 * 4);
  EXPECT_EQ(m.root(written), x);
  EXPECT_TRUE(m.is_written(m.of(x)));
  EXPECT_TRUE(m.is_external(m.of(written)));
  EXPECT_FALSE(m.is_external(m.of(fresh)));
  EXPECT_TRUE(m.same_place(g, part, written));
  EXPECT_FALSE(m.same_place(g, row, part));
}

TEST(ContentHash, SeesWhatDeterminesCodeAndNothingElse) {
  const auto graph = [](double value, std::string name, int line, int64_t size) {
    GraphBuilder b(name);
    const int x = b.placeholder(TensorSpec(kFloat32, {size}), name);
    b.set_source({"a.cpp", line});
    return b.finish({b.call("mul", {x, tailor::Scalar(value)})});
  };
  const uint64_t h = content_hash(graph(2, "a", 1, 3));
  EXPECT_EQ(h, content_hash(graph(2, "b", 9, 3)));
  EXPECT_NE(h, content_hash(graph(3, "a", 1, 3)));
  EXPECT_NE(h, content_hash(graph(2, "a", 1, 4)));
  EXPECT_NE(content_hash(graph(0.0, "a", 1, 3)), content_hash(graph(-0.0, "a", 1, 3)));
}

}  // namespace
}  // namespace tailor::ir
