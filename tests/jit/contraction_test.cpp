#include "jit/contraction.h"

#include <functional>

#include "ir/passes/passes.h"
#include "jit/run_graph.h"
#include "runtime/thread_pool.h"

namespace tailor::jit {
namespace {

using ir::Graph;
using ir::GraphBuilder;
using ir::TensorSpec;
using ir::Value;
using ir::ValueId;
using testing::Result;

struct Fused {
  std::vector<std::string> contractions;  // ops of each, in program order
  int calls = 0;                          // library calls of their own
};
Fused fused(const Graph& graph) {
  const Graph g = ir::optimize(graph);
  const ir::MemoryMap memory(g);
  std::vector<Group> groups = fuse(g, memory);
  attach_tails(g, memory, {}, groups);
  Fused f;
  for (const Group& group : groups) {
    f.calls += group.library ? 1 : 0;
    if (group.anchor < 0) continue;
    std::string text;
    for (int n : group.nodes) text += (text.empty() ? "" : " ") + std::string(g.nodes[static_cast<size_t>(n)].op->name);
    f.contractions.push_back(text);
  }
  return f;
}

// The pointwise part has eager's bits, for the contraction's result is eager's own.
void expect_eager_bits(const Graph& graph, double tolerance = 0) {
  ir::verify(graph);
  const std::vector<ir::HostTensor> inputs = testing::random_inputs(graph);
  const Result eager = testing::run(graph, inputs, Backend::Eager);
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const Backend backend : {Backend::LoopInterpreter, Backend::Llvm}) {
      SCOPED_TRACE(std::string(testing::backend_name(backend)) + " on " + std::to_string(threads) + " threads of\n" + ir::print(graph));
      const Result got = testing::run(graph, inputs, backend);
      ASSERT_EQ(got.outputs.size(), eager.outputs.size());
      for (size_t i = 0; i < got.outputs.size(); ++i)
        testing::expect_equal(got.outputs[i], eager.outputs[i], tolerance, "output " + std::to_string(i));
      for (size_t i = 0; i < got.inputs.size(); ++i) testing::expect_equal(got.inputs[i], eager.inputs[i], 0, "input " + std::to_string(i));
    }
  }
  set_num_threads(1);
}

TensorSpec f32(const Dims& sizes) { return TensorSpec(kFloat32, sizes); }
TensorSpec transposed(Dims sizes) {  // of a matrix: rows lie together
  TensorSpec s(kFloat32, sizes);
  s.strides = {1, sizes[0]};
  return s;
}

constexpr bool kConv = true;
struct Anchor {
  const char* name;
  std::function<ValueId(GraphBuilder&)> build;
  bool conv = false;
};
const std::vector<int64_t> kOne{1, 1};

const std::vector<Anchor>& anchors() {
  const auto product = [](const char* op, TensorSpec a, TensorSpec b) {
    return [=](GraphBuilder& g) { return g.call(op, {g.placeholder(a, "a"), g.placeholder(b, "b")}); };
  };
  const auto linear = [](TensorSpec x, TensorSpec w, bool bias) {
    return [=](GraphBuilder& g) {
      const ValueId input = g.placeholder(x, "x"), weight = g.placeholder(w, "w");
      return g.call("linear", {input, weight, bias ? Value(g.placeholder(TensorSpec(w.dtype, {w.sizes[0]}), "b")) : Value()});
    };
  };
  const auto conv = [](TensorSpec x, TensorSpec w, bool bias, std::vector<int64_t> stride, std::vector<int64_t> padding, int64_t groups) {
    return [=](GraphBuilder& g) {
      const ValueId input = g.placeholder(x, "x"), weight = g.placeholder(w, "w");
      const Value b = bias ? Value(g.placeholder(TensorSpec(w.dtype, {w.sizes[0]}), "b")) : Value();
      const std::vector<int64_t> dilation(stride.size(), 1);
      return g.call(stride.size() == 1 ? "conv1d" : "conv2d", {input, weight, b},
                    {IntArrayRef(stride), IntArrayRef(padding), IntArrayRef(dilation), groups});
    };
  };
  static const std::vector<Anchor> all{
      {"mm", product("mm", f32({37, 29}), f32({29, 70}))},
      {"mm_by_transposed", product("mm", f32({67, 129}), transposed({129, 190}))},
      {"mm_of_transposed", product("mm", transposed({67, 129}), f32({129, 90}))},
      {"mm_large", product("mm", f32({300, 301}), f32({301, 130}))},
      {"linear", linear(f32({3, 11, 65}), f32({50, 65}), true)},
      {"linear_of_one_row", linear(f32({1, 300}), f32({130, 300}), true)},
      {"linear_to_few_columns", linear(f32({150, 64}), f32({5, 64}), false)},
      {"linear_of_few_rows", linear(f32({7, 64}), f32({200, 64}), false)},
      {"linear_f64", linear(TensorSpec(kFloat64, {13, 40}), TensorSpec(kFloat64, {33, 40}), true)},
      {"linear_bf16", linear(TensorSpec(kBFloat16, {13, 40}), TensorSpec(kBFloat16, {33, 40}), true)},
      {"linear_f16", linear(TensorSpec(kFloat16, {13, 40}), TensorSpec(kFloat16, {33, 40}), false)},
      {"bmm", product("bmm", f32({5, 20, 33}), f32({5, 33, 34}))},
      {"matmul_by_one_matrix", product("matmul", f32({2, 3, 20, 33}), f32({33, 34}))},
      {"matmul_broadcast", product("matmul", f32({4, 1, 20, 33}), f32({3, 33, 34}))},
      {"matmul_by_vector", product("matmul", f32({4, 20, 64}), f32({64}))},
      {"addmm",
       [](GraphBuilder& g) {
         const ValueId c = g.placeholder(f32({70}), "c"), a = g.placeholder(f32({37, 29}), "a"), b = g.placeholder(f32({29, 70}), "b");
         return g.call("addmm", {c, a, b, tailor::Scalar(0.5), tailor::Scalar(2.0)});
       }},
      {"conv2d", conv(f32({3, 5, 11, 13}), f32({17, 5, 3, 3}), true, {1, 1}, {1, 1}, 1), kConv},
      {"conv2d_one_tap", conv(f32({2, 8, 8, 8}), f32({16, 8, 1, 1}), false, {1, 1}, {0, 0}, 1), kConv},
      {"conv2d_large_in_groups", conv(f32({1, 4, 70, 75}), f32({18, 2, 3, 3}), false, {1, 1}, {1, 1}, 2), kConv},
      {"conv2d_bf16", conv(TensorSpec(kBFloat16, {2, 3, 9, 9}), TensorSpec(kBFloat16, {4, 3, 3, 3}), true, {2, 2}, {1, 1}, 1), kConv},
      {"conv1d", conv(f32({2, 6, 40}), f32({7, 6, 5}), false, {2}, {2}, 1), kConv},
  };
  return all;
}

/// Operands of a tail: the contraction's result, a value of its shape, one that broadcasts, a run-time scalar.
struct Operands {
  ValueId y, residual, spread, scalar;
};
struct Tail {
  const char* name;
  std::function<ValueId(GraphBuilder&, const Operands&)> build;
};
const std::vector<Tail>& tails() {
  static const std::vector<Tail> all{
      {"relu", [](GraphBuilder& g, const Operands& o) { return g.call("relu", {o.y}); }},
      {"gelu", [](GraphBuilder& g, const Operands& o) { return g.call("gelu", {o.y}); }},
      {"gelu_tanh", [](GraphBuilder& g, const Operands& o) { return g.call("gelu_tanh", {o.y}); }},
      {"bias_sigmoid",
       [](GraphBuilder& g, const Operands& o) {
         return g.call("sigmoid", {g.call("add", {o.y, o.spread})});
       }},
      {"bias_silu_residual",
       [](GraphBuilder& g, const Operands& o) {
         return g.call("add", {g.call("silu", {g.call("add", {o.y, o.spread})}), o.residual});
       }},
      {"tanh_scale",
       [](GraphBuilder& g, const Operands& o) {
         return g.call("sub", {o.residual, g.call("mul", {g.call("tanh", {o.y}), tailor::Scalar(0.125)})});
       }},
      {"run_time_scale",
       [](GraphBuilder& g, const Operands& o) {
         return g.call("mul", {g.call("mul", {o.y, o.scalar}), o.spread});
       }},
  };
  return all;
}

Graph with_tail(const Anchor& anchor, const Tail& tail) {
  GraphBuilder g(std::string(anchor.name) + "_" + tail.name);
  Operands o;
  o.y = anchor.build(g);
  const TensorSpec y = g.spec(o.y);
  Dims spread{y.sizes.back()};
  if (anchor.conv) {
    spread = y.sizes;
    for (size_t d = 0; d < spread.size(); ++d) spread[d] = d == 1 ? spread[d] : 1;
  }
  o.residual = g.placeholder(TensorSpec(y.dtype, y.sizes), "residual");
  o.spread = g.placeholder(TensorSpec(y.dtype, spread), "spread");
  o.scalar = g.scalar(tailor::Scalar(0.7), "scale");
  const ValueId result = tail.build(g, o);
  return g.finish({result});
}

class EveryAnchor : public ::testing::TestWithParam<size_t> {};

TEST_P(EveryAnchor, TakesEveryTail) {
  const Anchor& anchor = anchors()[GetParam()];
  for (const Tail& tail : tails()) {
    const Graph graph = with_tail(anchor, tail);
    const Fused f = fused(graph);
    EXPECT_EQ(f.contractions.size(), 1u) << ir::print(ir::optimize(graph));
    EXPECT_EQ(f.calls, 0);
    expect_eager_bits(graph);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Contraction, EveryAnchor, ::testing::Range(size_t{0}, anchors().size()),
                         [](const auto& i) { return std::string(anchors()[i.param].name); });

// ---- what may be fused, and what may not ----

struct Layer {
  GraphBuilder g{"layer"};
  ValueId x = g.placeholder(f32({24, 40}), "x"), w = g.placeholder(f32({48, 40}), "w");
  ValueId linear() { return g.call("linear", {x, w, Value()}); }
};

TEST(Contraction, BatchNormReluAndResidualFollowAConvolution) {
  GraphBuilder g("block");
  const ValueId x = g.placeholder(f32({2, 8, 10, 10}), "x"), w = g.placeholder(f32({8, 8, 3, 3}), "w");
  ValueId p[4];
  for (ValueId& v : p) v = g.placeholder(f32({8}), "p");
  const ValueId positive = g.call("abs", {p[3]});
  const ValueId y = g.call("conv2d", {x, w, Value()}, {IntArrayRef(kOne), IntArrayRef(kOne), IntArrayRef(kOne), int64_t{1}});
  const ValueId n = g.call("batch_norm", {y, p[0], p[1], p[2], positive}, {1e-5});
  const Graph graph = g.finish({g.call("relu", {g.call("add", {n, x})})});
  EXPECT_EQ(fused(graph).contractions.size(), 1u);
  EXPECT_EQ(fused(graph).calls, 0);
  expect_eager_bits(graph, 1e-5);  // eager has a kernel of its own for batch_norm
}

TEST(Contraction, TheLastOfTwoProductsTakesTheirSum) {
  Layer l;
  const ValueId a = l.linear(), h = l.g.placeholder(f32({24, 16}), "h"), u = l.g.placeholder(f32({48, 16}), "u");
  const ValueId b = l.g.call("linear", {h, u, Value()});
  const Graph graph = l.g.finish({l.g.call("tanh", {l.g.call("add", {a, b})})});
  EXPECT_EQ(fused(graph).contractions, (std::vector<std::string>{"linear add tanh"}));
  EXPECT_EQ(fused(graph).calls, 1);
  expect_eager_bits(graph);
}

TEST(Contraction, SeveralResultsOfOneTail) {
  Layer l;
  const ValueId y = l.linear(), r = l.g.call("relu", {y}), s = l.g.call("sigmoid", {y});
  const Graph graph = l.g.finish({s, r});
  EXPECT_EQ(fused(graph).contractions.size(), 1u);
  expect_eager_bits(graph);
}

TEST(Contraction, AResultOfAnotherTypeOrLayout) {
  {
    Layer l;
    const Graph graph = l.g.finish({l.g.call("to", {l.g.call("relu", {l.linear()})}, {kBFloat16})});
    EXPECT_EQ(fused(graph).contractions.size(), 1u);
    expect_eager_bits(graph);
  }
  Layer l;  // the tail is computed in the layout of its residual
  const ValueId residual = l.g.placeholder(transposed({24, 48}), "residual");
  expect_eager_bits(l.g.finish({l.g.call("add", {l.linear(), residual})}));
}

TEST(Contraction, AResultThatIsWantedItselfStaysACall) {
  Layer l;
  const ValueId y = l.linear();
  const Graph graph = l.g.finish({y, l.g.call("relu", {y})});
  EXPECT_TRUE(fused(graph).contractions.empty());
  expect_eager_bits(graph);
}

TEST(Contraction, ATransposedReadStaysApart) {
  GraphBuilder g("square");
  const ValueId x = g.placeholder(f32({24, 40}), "x"), w = g.placeholder(f32({24, 40}), "w");
  const ValueId y = g.call("linear", {x, w, Value()});
  expect_eager_bits(g.finish({g.call("add", {y, g.call("transpose", {y}, {int64_t{0}, int64_t{1}})})}));
}

TEST(Contraction, ReadsThroughViewsOfTheSameOrder) {
  Layer l;
  const std::vector<int64_t> sizes{24, 4, 12}, flat{288, 4};
  const ValueId heads = l.g.call("view", {l.linear()}, {IntArrayRef(sizes)});
  const ValueId scale = l.g.placeholder(f32({4, 12}), "scale");
  const Graph graph = l.g.finish({l.g.call("exp", {l.g.call("mul", {heads, scale})})});
  EXPECT_EQ(fused(graph).contractions.size(), 1u);
  expect_eager_bits(graph);
  Layer other;
  expect_eager_bits(other.g.finish({other.g.call("exp", {other.g.call("view", {other.linear()}, {IntArrayRef(flat)})})}));
}

TEST(Contraction, TailsThatLookAtTheirPositionStayApart) {
  Layer l;
  const std::vector<int64_t> sides{2, 3};
  const ValueId padded = l.g.call("pad", {l.linear(), tailor::Scalar(0.5)}, {IntArrayRef(sides), int64_t{0}});
  expect_eager_bits(l.g.finish({l.g.call("relu", {padded})}));
  Layer other;  // narrower and then as wide as before
  const std::vector<int64_t> crop{-2, 2};
  const ValueId moved = other.g.call("pad", {other.linear(), tailor::Scalar(0.5)}, {IntArrayRef(crop), int64_t{0}});
  const Graph graph = other.g.finish({other.g.call("relu", {moved})});
  expect_eager_bits(graph);
}

TEST(Contraction, WritesIntoItsResidual) {
  Layer l;
  const ValueId state = l.g.placeholder(f32({24, 48}), "state");
  const ValueId operands[] = {state, l.linear()};
  const Value values[] = {operands[0], operands[1]};
  const ValueId sum = l.g.call_inplace(*ir::find_op("add"), values, {});
  expect_eager_bits(l.g.finish({l.g.call("relu", {sum})}));
}

TEST(Contraction, KeepsItsPlaceBeforeAWriteToItsInput) {
  Layer l;
  const ValueId y = l.linear();
  const Value values[] = {l.x, tailor::Scalar(1.0)};
  l.g.call_inplace(*ir::find_op("add"), values, {});
  const Graph graph = l.g.finish({l.g.call("relu", {y})});
  EXPECT_TRUE(fused(graph).contractions.empty());
  expect_eager_bits(graph);
}

TEST(Contraction, OnlyKernelsThatTakeEpiloguesAreAnchors) {
  EXPECT_EQ(kernels::find_contraction(*ir::find_op("relu")), nullptr);
  EXPECT_NE(kernels::find_contraction(*ir::find_op("conv2d")), nullptr);
  EXPECT_EQ(kernels::find_contraction(*ir::find_op("conv_transpose2d")), nullptr);
}

}  // namespace
}  // namespace tailor::jit
