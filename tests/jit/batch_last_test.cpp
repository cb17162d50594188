// Convolutional networks with the batch innermost: which values take that layout, and that results stay eager's.
#include "jit/batch_last.h"

#include "ir/passes/passes.h"
#include "jit/run_graph.h"
#include "kernels/kernels.h"
#include "runtime/thread_pool.h"

namespace tailor::jit {
namespace {

using ir::Graph;
using testing::Result;

int count(const Graph& g, std::string_view op) {
  int n = 0;
  for (const ir::Node& node : g.nodes) n += node.kind == ir::NodeKind::CallOp && node.op->name == op;
  return n;
}

void expect_eager(const Graph& graph, double tolerance = 2e-6) {
  ir::verify(graph);
  const std::vector<ir::HostTensor> inputs = testing::random_inputs(graph);
  const kernels::Isa best = kernels::isa();
  for (const kernels::Isa isa : {kernels::Isa::Sse2, kernels::Isa::Avx2, kernels::Isa::Avx512}) {
    if (isa > best) break;
    kernels::set_isa(isa);
    const Result eager = testing::run(graph, inputs, Backend::Eager);
    for (const int threads : {1, 2})
      for (const Backend backend : {Backend::LoopInterpreter, Backend::Llvm}) {
        set_num_threads(threads);
        const Result got = testing::run(graph, inputs, backend);
        ASSERT_EQ(got.outputs.size(), eager.outputs.size());
        for (size_t i = 0; i < got.outputs.size(); ++i)
          testing::expect_equal(got.outputs[i], eager.outputs[i], tolerance, "output " + std::to_string(i) + " of\n" + ir::print(graph));
      }
  }
  kernels::set_isa(best);
  set_num_threads(1);
}

Graph moved(const Graph& g) { return put_batch_last(ir::optimize(g)); }

TEST(BatchLast, NetworksWithResidualsPoolingAndMeans) {
  const Graph g = ir::parse_graph(R"(graph "net" {
    %0: f32[16, 3, 10, 10] = placeholder "x"
    %1: f32[8, 3, 3, 3] = placeholder "w1"
    %2: f32[8] = placeholder "b1"
    %3 = conv2d(%0, %1, %2, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
    %4: f32[8] = placeholder "gamma"
    %5: f32[8] = placeholder "beta"
    %6: f32[8] = placeholder "mean"
    %20: f32[8] = placeholder "deviation"
    %21 = mul(%20, %20)
    %22 = add(%21, 0.5, none)
    %7 = batch_norm(%3, %4, %5, %6, %22, eps=1e-05)
    %8 = relu(%7)
    %9: f32[8, 8, 3, 3] = placeholder "w2"
    %10 = conv2d(%8, %9, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
    %11 = add(%10, %8, none)
    %12 = max_pool2d(%11, kernel_size=[2], stride=[], padding=[0], dilation=[1], ceil_mode=false)
    %13: f32[12, 8, 3, 3] = placeholder "w3"
    %14 = conv2d(%12, %13, none, stride=[2, 2], padding=[1, 1], dilation=[1, 1], groups=1)
    %15 = mul(%14, 0.001)
    %16 = mean(%15, dim=[2, 3], keepdim=false, dtype=none)
    %17 = mean(%15, dim=[2, 3], keepdim=true, dtype=none)
    %18 = sub(%15, %17, none)
    %19 = view(%18, size=[16, 108])
    return %16, %19
  })");
  const Graph after = moved(g);
  EXPECT_EQ(count(after, "conv2d_batch_last"), 3);
  EXPECT_EQ(count(after, "conv2d"), 0);
  EXPECT_EQ(count(after, "max_pool2d"), 0);
  EXPECT_EQ(count(after, "clone"), 3) << "the input and two results\n" << ir::print(after);
  expect_eager(g, 5e-5);  // batch_norm's own kernel multiplies and adds in another order
}

TEST(BatchLast, EveryBatchOfManyImages) {
  for (const int64_t n : {17, 23, 33, 47}) {
    std::string text = R"(graph "net" {
    %0: f32[N, 1, 8, 8] = placeholder "x"
    %1: f32[6, 1, 3, 3] = placeholder "w1"
    %2: f32[6] = placeholder "b1"
    %3 = conv2d(%0, %1, %2, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
    %4 = relu(%3)
    %5 = max_pool2d(%4, kernel_size=[2], stride=[], padding=[0], dilation=[1], ceil_mode=false)
    %6: f32[9, 6, 3, 3] = placeholder "w2"
    %7 = conv2d(%5, %6, none, stride=[2, 2], padding=[1, 1], dilation=[1, 1], groups=1)
    %8 = mean(%7, dim=[2, 3], keepdim=false, dtype=none)
    return %7, %8
  })";
    text.replace(text.find("[N") + 1, 1, std::to_string(n));
    const Graph g = ir::parse_graph(text);
    EXPECT_EQ(count(moved(g), "conv2d_batch_last"), 2);
    expect_eager(g);
  }
}

TEST(BatchLast, OperandsFromElsewhere) {
  expect_eager(ir::parse_graph(R"(graph "net" {
    %0: f32[32, 2, 5, 6] = placeholder "x"
    %1: f32[4, 2, 3, 3] = placeholder "w"
    %2 = conv2d(%0, %1, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
    %3: f32[32, 4, 5, 6] = placeholder "residual"
    %4 = add(%2, %3, none)
    %5: f32[32, 1, 5, 1] = placeholder "broadcast"
    %6 = mul(%4, %5)
    %7: f32[6] = placeholder "columns"
    %8 = add(%6, %7, none)
    %9: f32[1] = placeholder "one"
    %10 = mul(%4, %9)
    %11 = gt(%10, 0)
    %12 = where(%11, %10, %2)
    %13 = softmax(%12, dim=1, dtype=none)
    %14 = max_pool2d(%12, kernel_size=[3], stride=[2], padding=[1], dilation=[1], ceil_mode=false)
    %15 = max_pool2d(%12, kernel_size=[3, 2], stride=[1, 2], padding=[0], dilation=[1], ceil_mode=true)
    return %8, %13, %2, %14, %15, %12
  })"));
}

TEST(BatchLast, MaximaKeepNanAndTheFirstOfEqualValues) {
  const Graph g = ir::parse_graph(R"(graph "net" {
    %0: f32[16, 1, 4, 4] = placeholder "x"
    %1: f32[1, 1, 1, 1] = placeholder "w"
    %2 = conv2d(%0, %1, none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
    %3 = max_pool2d(%2, kernel_size=[2], stride=[], padding=[0], dilation=[1], ceil_mode=false)
    %4 = signbit(%3)
    return %3, %4
  })");
  std::vector<ir::HostTensor> inputs = testing::random_inputs(g);
  for (int64_t i = 0; i < inputs[0].spec.numel(); ++i)
    inputs[0].set(i, i % 7 == 0 ? NAN : i % 5 == 0 ? INFINITY : i % 3 == 0 ? -0.0 : i % 2 == 0 ? 0.0 : -1.0);
  inputs[1].set(0, 1);
  const Result eager = testing::run(g, inputs, Backend::Eager), got = testing::run(g, inputs, Backend::Llvm);
  testing::expect_equal(got.outputs[0], eager.outputs[0], 0, "maxima");
  testing::expect_equal(got.outputs[1], eager.outputs[1], 0, "signs");
}

TEST(BatchLast, OtherGraphsStayAsTheyAre) {
  for (const char* text : {R"(graph "small batch" {
    %0: f32[15, 2, 5, 6] = placeholder "x"
    %1: f32[4, 2, 3, 3] = placeholder "w"
    %2 = conv2d(%0, %1, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
    return %2
  })",
                           R"(graph "groups" {
    %0: f32[16, 2, 5, 6] = placeholder "x"
    %1: f32[4, 1, 3, 3] = placeholder "w"
    %2 = conv2d(%0, %1, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=2)
    return %2
  })",
                           R"(graph "double" {
    %0: f64[16, 2, 5, 6] = placeholder "x"
    %1: f64[4, 2, 3, 3] = placeholder "w"
    %2 = conv2d(%0, %1, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
    return %2
  })",
                           R"(graph "writes" {
    %0: f32[16, 2, 5, 6] = placeholder "x"
    %1: f32[4, 2, 3, 3] = placeholder "w"
    %2 = conv2d(%0, %1, none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
    %3 = fill_(%0, 9)
    return %2, %3
  })"}) {
    const Graph g = ir::parse_graph(text);
    EXPECT_EQ(count(moved(g), "conv2d"), 1) << text;
    EXPECT_EQ(count(moved(g), "conv2d_batch_last"), 0) << text;
    expect_eager(g);
  }
}

}  // namespace
}  // namespace tailor::jit
