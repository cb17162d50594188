// Programs for all sizes beside programs for one size, at that size: running them, and what it takes to compile and to bind them.
// Static and symbolic runs take turns within one benchmark, so that a noisy machine slows both; `ratio` is symbolic / static time.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>

#include "ir/graph.h"
#include "ir/host_tensor.h"
#include "jit/family.h"
#include "jit/program.h"

namespace {

using namespace tailor;
using namespace tailor::jit;
using ir::GraphBuilder;
using ir::ValueId;

ValueId input(GraphBuilder& b, IntArrayRef sizes) {
  return b.placeholder(ir::TensorSpec(kFloat32, sizes), "x" + std::to_string(b.graph().values.size()));
}
ValueId linear(GraphBuilder& b, ValueId x, int64_t in, int64_t out) {
  const ValueId w = input(b, {out, in}), v = input(b, {out});
  return b.call("linear", {x, w, v});
}
ValueId layer_norm(GraphBuilder& b, ValueId x, int64_t n) {
  const ValueId w = input(b, {n}), v = input(b, {n});
  return b.call("layer_norm", {x, w, v}, {IntArrayRef(n), 1e-5});
}

ir::Graph pointwise_chain(std::span<const int64_t> s) {
  GraphBuilder b;
  const ValueId x = input(b, {s[0], 512}), y = input(b, {s[0], 512});
  const ValueId g = b.call("sigmoid", {b.call("add", {b.call("mul", {x, tailor::Scalar(1.5)}), y})});
  return b.finish({b.call("add", {b.call("mul", {g, b.call("tanh", {y})}), b.call("exp", {b.call("neg", {b.call("mul", {x, x})})})})});
}
ir::Graph softmax_rows(std::span<const int64_t> s) {
  GraphBuilder b;
  return b.finish({b.call("softmax", {input(b, {s[0], 512})}, {-1, std::nullopt})});
}
ir::Graph softmax_columns(std::span<const int64_t> s) {
  GraphBuilder b;
  return b.finish({b.call("softmax", {input(b, {128, s[0]})}, {-1, std::nullopt})});
}
ir::Graph row_sums(std::span<const int64_t> s) {
  GraphBuilder b;
  return b.finish({b.call("sum", {input(b, {128, s[0]})}, {IntArrayRef{-1}, false, std::nullopt})});
}
ir::Graph norm(std::span<const int64_t> s) {
  GraphBuilder b;
  return b.finish({layer_norm(b, input(b, {s[0], 512}), 512)});
}
ir::Graph mlp(std::span<const int64_t> s) {
  GraphBuilder b;
  const ValueId x = input(b, {s[0], 256});
  return b.finish({linear(b, b.call("relu", {linear(b, b.call("relu", {linear(b, x, 256, 512)}), 512, 512)}), 512, 64)});
}
ir::Graph encoder(std::span<const int64_t> s) {
  GraphBuilder b;
  constexpr int64_t kWidth = 384, kHeads = 12;
  const int64_t t = s[0];
  ValueId x = input(b, {2, t, kWidth});
  for (int layer = 0; layer < 6; ++layer) {
    const auto heads = [&](ValueId v) {
      return b.call("transpose", {b.call("view", {v}, {IntArrayRef{2, t, kHeads, kWidth / kHeads}})}, {1, 2});
    };
    const ValueId q = heads(linear(b, x, kWidth, kWidth)), k = heads(linear(b, x, kWidth, kWidth)), v = heads(linear(b, x, kWidth, kWidth));
    const ValueId a = b.call("scaled_dot_product_attention", {q, k, v, std::nullopt}, {false, std::nullopt, false});
    const ValueId joined = b.call("view", {b.call("clone", {b.call("transpose", {a}, {1, 2})}, {true})}, {IntArrayRef{2, t, kWidth}});
    x = layer_norm(b, b.call("add", {x, linear(b, joined, kWidth, kWidth)}), kWidth);
    x = layer_norm(b, b.call("add", {x, linear(b, b.call("gelu", {linear(b, x, kWidth, 1536)}), 1536, kWidth)}), kWidth);
  }
  return b.finish({x});
}

std::vector<ir::HostTensor> random_inputs(const ir::Graph& graph) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<ir::HostTensor> inputs;
  for (const ir::Node& node : graph.nodes)
    if (node.kind == ir::NodeKind::Placeholder) {
      ir::HostTensor& t = inputs.emplace_back(graph.spec(node.outputs[0]));
      for (int64_t i = 0; i < t.spec.numel(); ++i) t.set(i, real(random));
    }
  return inputs;
}

struct Ready {
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> in, out;
  Ready(const Executable& exe, const ir::Graph& graph, const std::vector<ir::HostTensor>& inputs) {
    const auto room = [&](int64_t bytes) -> void* {
      auto& m = memory.emplace_back(static_cast<size_t>(bytes) + 64);
      return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(m.data()) + 63) / 64 * 64);
    };
    for (const ir::Node& node : graph.nodes)
      if (node.kind == ir::NodeKind::Placeholder) {
        const ir::HostTensor& t = inputs[in.size()];
        in.push_back(room(static_cast<int64_t>(t.bytes.size())));
        std::copy(t.bytes.begin(), t.bytes.end(), static_cast<std::byte*>(in.back()));
      }
    for (const OutputPlan& plan : exe.outputs()) out.push_back(room(plan.storage_bytes()));
  }
  double run(const Executable& exe, int times) const {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) exe.run(in, {}, out);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
  }
};

void compare(benchmark::State& state, ir::Graph (*graph_at)(std::span<const int64_t>), int64_t hint) {
  const std::array<int64_t, 1> size{state.range(0)};
  const SymbolRange symbol[] = {{hint}};
  const auto family = compile_family(graph_at, symbol, {});
  if (family == nullptr) return state.SkipWithError("no family");
  const ir::Graph graph = graph_at(size);
  const auto inputs = random_inputs(graph);
  const auto fixed = compile(graph, {}), bound = family->bind(size);
  const Ready ready(*fixed, graph, inputs);  // the same memory for both
  const int times = std::max(1, static_cast<int>(2e-4 / std::max(ready.run(*fixed, 3), 1e-7)));
  std::vector<double> ratios;
  for (auto _ : state) {
    const double a = ready.run(*fixed, times), b = ready.run(*bound, times);
    ratios.push_back(b / a);
    state.SetIterationTime(b);
  }
  std::sort(ratios.begin(), ratios.end());
  state.counters["ratio"] = ratios[ratios.size() / 2];
}

void bind_family(benchmark::State& state, ir::Graph (*graph_at)(std::span<const int64_t>), int64_t hint) {
  const SymbolRange symbol[] = {{hint}};
  const auto family = compile_family(graph_at, symbol, {});
  std::array<int64_t, 1> size{hint};
  for (auto _ : state) {
    size[0] = size[0] == hint ? hint + 1 : hint;
    benchmark::DoNotOptimize(family->bind(size));
  }
  state.counters["launches"] = family->report().kernels;
}

/// What compiling takes besides code generation, in lowerings of one size.
void lower_family(benchmark::State& state, ir::Graph (*graph_at)(std::span<const int64_t>), int64_t hint) {
  const SymbolRange symbol[] = {{hint}};
  const std::array<int64_t, 1> size{hint};
  CompileOptions loops;
  loops.backend = Backend::LoopInterpreter;
  std::vector<double> ratios;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(lower_program(graph_at(size), loops));
    const auto middle = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(compile_family(graph_at, symbol, loops));
    const auto end = std::chrono::steady_clock::now();
    ratios.push_back(std::chrono::duration<double>(end - middle) / std::chrono::duration<double>(middle - start));
    state.SetIterationTime(std::chrono::duration<double>(end - middle).count());
  }
  std::sort(ratios.begin(), ratios.end());
  state.counters["lowerings"] = ratios[ratios.size() / 2];
}

BENCHMARK_CAPTURE(compare, pointwise_chain, pointwise_chain, 64)->Arg(4)->Arg(64)->Arg(1000)->UseManualTime();
BENCHMARK_CAPTURE(compare, softmax_rows, softmax_rows, 64)->Arg(4)->Arg(64)->Arg(1000)->UseManualTime();
BENCHMARK_CAPTURE(compare, softmax_columns, softmax_columns, 128)->Arg(16)->Arg(100)->Arg(128)->Arg(1000)->UseManualTime();
BENCHMARK_CAPTURE(compare, row_sums, row_sums, 128)->Arg(16)->Arg(100)->Arg(128)->Arg(1000)->Arg(4096)->UseManualTime();
BENCHMARK_CAPTURE(compare, layer_norm, norm, 64)->Arg(4)->Arg(64)->Arg(1000)->UseManualTime();
BENCHMARK_CAPTURE(compare, mlp, mlp, 16)->Arg(1 + 1)->Arg(16)->Arg(64)->UseManualTime();
BENCHMARK_CAPTURE(bind_family, mlp, mlp, 16)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(bind_family, encoder, encoder, 32)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(lower_family, mlp, mlp, 16)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lower_family, encoder, encoder, 32)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
