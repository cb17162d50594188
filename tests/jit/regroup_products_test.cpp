// Linear layers regrouped: biases as pointwise ops, the steps of a sequence as one product.
#include "jit/regroup_products.h"

#include "ir/passes/passes.h"
#include "jit/run_graph.h"
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
Graph regrouped(const Graph& g) { return regroup_products(ir::optimize(g)); }

void expect_eager(const Graph& graph, double tolerance = 1e-5) {
  ir::verify(graph);
  const std::vector<ir::HostTensor> inputs = testing::random_inputs(graph);
  const Result eager = testing::run(graph, inputs, Backend::Eager);
  for (const int threads : {1, 2})
    for (const Backend backend : {Backend::LoopInterpreter, Backend::Llvm}) {
      set_num_threads(threads);
      const Result got = testing::run(graph, inputs, backend);
      ASSERT_EQ(got.outputs.size(), eager.outputs.size());
      for (size_t i = 0; i < got.outputs.size(); ++i)
        testing::expect_equal(got.outputs[i], eager.outputs[i], tolerance, "output " + std::to_string(i) + " of\n" + ir::print(graph));
    }
  set_num_threads(1);
}

TEST(RegroupProducts, BiasesBecomePointwise) {
  for (const char* type : {"f32", "f64", "bf16"}) {
    std::string text = R"(graph "layers" {
    %0: T[5, 7, 40] = placeholder "x"
    %1: T[33, 40] = placeholder "w"
    %2: T[33] = placeholder "b"
    %3 = linear(%0, %1, %2)
    %4 = relu(%3)
    %5 = linear(%0, %1, none)
    return %4, %3, %5
  })";
    for (size_t at; (at = text.find(": T[")) != std::string::npos;) text.replace(at + 2, 1, type);
    const Graph g = ir::parse_graph(text), after = regrouped(g);
    EXPECT_EQ(count(after, "add"), std::string_view(type) == "bf16" ? 0 : 1);
    EXPECT_EQ(count(after, "linear"), 2);
    expect_eager(g, std::string_view(type) == "bf16" ? 0.02 : 1e-5);
  }
}

// Eight steps of two layers; some results are returned, and stay tensors of their own.
TEST(RegroupProducts, StepsOfASequenceAreMultipliedAtOnce) {
  std::string text = R"(graph "steps" {
    %0: f32[8, 6, 24] = placeholder "x"
    %1: f32[40, 24] = placeholder "w"
    %2: f32[40] = placeholder "b"
    %3: f32[40, 40] = placeholder "v"
    %4: f32[6, 40] = placeholder "h"
)";
  int next = 5, state = 4;
  std::string results;
  for (int step = 0; step < 8; ++step) {
    const auto value = [&](int v) { return "%" + std::to_string(v); };
    text += value(next) + " = select(%0, dim=0, index=" + std::to_string(step) + ")\n";
    text += value(next + 1) + " = linear(" + value(next) + ", %1, " + (step % 2 == 0 ? "%2" : "none") + ")\n";
    text += value(next + 2) + " = linear(" + value(state) + ", %3, none)\n";
    text += value(next + 3) + " = add(" + value(next + 1) + ", " + value(next + 2) + ", none)\n";
    text += value(next + 4) + " = tanh(" + value(next + 3) + ")\n";
    if (step < 3) results += value(next + 1) + ", ";
    state = next + 4;
    next += 5;
  }
  text += "return " + results + "%" + std::to_string(state) + "\n}";
  const Graph g = ir::parse_graph(text);
  EXPECT_EQ(count(regrouped(g), "linear"), 9) << ir::print(regrouped(g));
  CompileOptions options;
  const auto executable = compile(g, options);
  for (const OutputPlan& plan : executable->outputs()) EXPECT_EQ(plan.kind, OutputPlan::Kind::Fresh);
  expect_eager(g, 1e-3);  // each step enlarges what the last bits of the one before differ by
}

TEST(RegroupProducts, OtherGraphsStayAsTheyAre) {
  const Graph g = ir::parse_graph(R"(graph "writes" {
    %0: f32[8, 24] = placeholder "x"
    %1: f32[40, 24] = placeholder "w"
    %2: f32[40] = placeholder "b"
    %3 = linear(%0, %1, %2)
    %4 = fill_(%0, 1)
    return %3, %4
  })");
  EXPECT_EQ(count(regrouped(g), "add"), 0);
  expect_eager(g);
}

}  // namespace
}  // namespace tailor::jit
