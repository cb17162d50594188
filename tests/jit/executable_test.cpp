#include "jit/executable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "jit/launch.h"
#include "jit/run_graph.h"
#include "runtime/thread_pool.h"

namespace tailor::jit {
namespace {

using ir::HostTensor;

HostTensor tensor(ScalarType type, IntArrayRef sizes, const std::vector<double>& values) {
  HostTensor t{ir::TensorSpec(type, sizes)};
  for (int64_t i = 0; i < t.spec.numel(); ++i) t.set(i, values[static_cast<size_t>(i) % values.size()]);
  return t;
}

std::vector<double> values(const HostTensor& t) {
  std::vector<double> v;
  for (int64_t i = 0; i < t.spec.numel(); ++i) v.push_back(t.get(i));
  return v;
}

constexpr Backend kBackends[] = {Backend::Interpreter, Backend::LoopInterpreter, Backend::Llvm, Backend::Eager};

/// Every back end gives `expected` (NaN equals NaN, zeros with their sign), repeated over lengths with full vectors and tails.
void expect_everywhere(const std::string& body, ScalarType type, const std::vector<double>& input, const std::vector<double>& expected) {
  for (int64_t repeat : {int64_t{1}, int64_t{5}, int64_t{19}}) {
    const auto n = static_cast<int64_t>(input.size()) * repeat;
    const std::string spec = std::string(short_name(type)) + "[" + std::to_string(n) + "]";
    const ir::Graph g = ir::parse_graph("graph \"g\" {\n %0: " + spec + " = placeholder \"x\"\n" + body + "\n}");
    for (Backend backend : kBackends) {
      const std::vector<double> got = values(testing::run(g, {tensor(type, {n}, input)}, backend).outputs[0]);
      for (size_t i = 0; i < got.size(); ++i) {
        const double e = expected[i % expected.size()];
        EXPECT_TRUE(std::isnan(e) ? std::isnan(got[i]) : got[i] == e && std::signbit(got[i]) == std::signbit(e))
            << testing::backend_name(backend) << " element " << i << " of " << n << ": " << got[i] << ", expected " << e << "\n"
            << body;
      }
    }
  }
}

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Numerics, HalfTypesRoundAfterEveryOp) {  // TRAPS A02
  expect_everywhere(" %1 = mul(%0, %0)\n %2 = to(%1, dtype=f32)\n return %2", kFloat16, {5000}, {kInf});
  expect_everywhere(" %1 = add(%0, 1)\n %2 = sub(%1, 2048)\n return %2", kFloat16, {2048}, {0});
  expect_everywhere(" %1 = add(%0, 0.001953125)\n %2 = eq(%1, %0)\n return %2", kBFloat16, {1}, {1});
}

TEST(Numerics, SignedZeros) {  // TRAPS A05
  expect_everywhere(" %1 = ceil(%0)\n %2 = add(%1, 0.0)\n %3 = reciprocal(%2)\n return %3", kFloat32, {-0.5}, {kInf});
  expect_everywhere(" %1 = mul(%0, 1.0)\n %2 = reciprocal(%1)\n return %2", kFloat32, {-0.0}, {-kInf});
  expect_everywhere(" %1 = sub(0.0, %0)\n return %1", kFloat32, {0.0}, {0.0});
  expect_everywhere(" %1 = sqrt(%0)\n return %1", kFloat32, {-0.0}, {-0.0});
}

TEST(Numerics, NothingIsContracted) {  // TRAPS A06
  expect_everywhere(" %1 = mul(%0, %0)\n %2 = add(%1, -1.00048828125)\n return %2", kFloat32, {1 + std::ldexp(1.0, -12)}, {0});
}

TEST(Numerics, NarrowIntegersWrap) {  // TRAPS A07, A26
  expect_everywhere(" %1 = add(%0, %0)\n %2 = to(%1, dtype=i16)\n return %2", kUInt8, {128, 200}, {0, 144});
  expect_everywhere(" %1 = neg(%0)\n %2 = lt(%1, 4)\n return %2", kUInt8, {6}, {0});
  expect_everywhere(" %1 = add(%0, %0)\n %2 = to(%1, dtype=i64)\n return %2", kInt32, {2147483647}, {-2});
  expect_everywhere(" %1 = add(%0, 1)\n %2 = gt(%1, %0)\n return %2", kInt32, {2147483647}, {0});
  expect_everywhere(" %1 = abs(%0)\n return %1", kInt32, {-2147483648.0}, {-2147483648.0});
}

TEST(Numerics, NothingCancelsNan) {  // TRAPS A30
  const std::vector<double> x{kInf, kNan, 2, -3};
  expect_everywhere(" %1 = mul(%0, 0)\n return %1", kFloat32, x, {kNan, kNan, 0, -0.0});
  expect_everywhere(" %1 = sub(%0, %0)\n return %1", kFloat32, x, {kNan, kNan, 0, 0});
  expect_everywhere(" %1 = div(%0, %0)\n return %1", kFloat32, x, {kNan, kNan, 1, 1});
  expect_everywhere(" %1 = pow(%0, 0)\n return %1", kFloat32, x, {1, 1, 1, 1});
  expect_everywhere(" %1 = ne(%0, %0)\n return %1", kFloat32, x, {0, 1, 0, 0});
}

TEST(Numerics, IndexReductionsTakeTheFirst) {  // TRAPS A11
  const auto arg = [](const std::string& op, const std::vector<double>& x, double expected) {
    for (int64_t repeat : {1, 10}) {
      const auto n = static_cast<int64_t>(x.size()) * repeat;
      const ir::Graph g = ir::parse_graph("graph \"g\" {\n %0: f32[" + std::to_string(n) + "] = placeholder \"x\"\n %1 = " + op +
                                          "(%0, dim=0, keepdim=false)\n return %1\n}");
      for (Backend backend : kBackends)
        EXPECT_EQ(values(testing::run(g, {tensor(kFloat32, {n}, x)}, backend).outputs[0])[0], expected)
            << op << testing::backend_name(backend);
    }
  };
  arg("argmax", {3, kNan, 1, 5}, 1);
  arg("argmin", {3, kNan, 1, 5}, 1);
  arg("argmax", {kInf, kNan, -kInf}, 1);
  arg("argmax", {7, 7, 1, 7}, 0);
  arg("argmin", {4, 1, 1, 1}, 1);
}

TEST(Executable, OneForManyThreads) {
  const ir::Graph graph = ir::parse_graph(R"(graph "g" {
    %0: f32[40, 40] = placeholder "x"
    %1 = exp(%0)
    %2 = matmul(%1, %0)
    %3 = softmax(%2, dim=1, dtype=none)
    return %3
  })");
  const auto exe = compile(graph, {});
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(8, std::vector<float>(1600));
  std::vector<float> x(1600);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 0.1f;
  for (size_t t = 0; t < results.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        void* in[] = {x.data()};
        void* out[] = {results[t].data()};
        exe->run(in, {}, out);
      }
    });
  for (std::thread& t : threads) t.join();
  for (const auto& r : results) EXPECT_EQ(r, results[0]);
}

TEST(Executable, ResultsDoNotDependOnTheNumberOfThreads) {
  const ir::Graph graph = ir::parse_graph(R"(graph "g" {
    %0: f32[300, 2000] = placeholder "x"
    %1 = mul(%0, %0)
    %2 = sum(%1, dim=[1], keepdim=false, dtype=none)
    %3 = sum(%1, dim=[0], keepdim=false, dtype=none)
    %4 = sum(%1, dim=none, keepdim=false, dtype=none)
    %5 = sigmoid(%0)
    return %2, %3, %4, %5
  })");
  const std::vector<HostTensor> inputs = testing::random_inputs(graph);
  const int before = get_num_threads();
  set_num_threads(1);
  const testing::Result one = testing::run(graph, inputs, Backend::Llvm);
  set_num_threads(3);
  const testing::Result three = testing::run(graph, inputs, Backend::Llvm);
  set_num_threads(before);
  for (size_t i = 0; i < one.outputs.size(); ++i) EXPECT_EQ(one.outputs[i].bytes, three.outputs[i].bytes) << i;
}

TEST(Executable, LongSumsAreExactEnough) {
  const ir::Graph graph = ir::parse_graph(R"(graph "g" {
    %0: f32[1048576] = placeholder "x"
    %1 = sum(%0, dim=none, keepdim=false, dtype=none)
    return %1
  })");
  const testing::Result r = testing::run(graph, {tensor(kFloat32, {1048576}, {0.1, 0.2, 0.7})}, Backend::Llvm);
  double exact = 0;
  for (int i = 0; i < 1048576; ++i) exact += static_cast<double>(std::vector<float>{0.1f, 0.2f, 0.7f}[static_cast<size_t>(i % 3)]);
  EXPECT_NEAR(r.outputs[0].get(0) / exact, 1, 1e-6);
}

TEST(Executable, ScalarsAreReadAtEveryRun) {
  const ir::Graph graph = ir::parse_graph(R"(graph "g" {
    %0: f32[3] = placeholder "x"
    %1 = scalar "s" 2.0
    %2 = scalar "i" 1
    %3 = mul(%0, %1)
    %4 = add(%3, %2)
    return %4
  })");
  for (Backend backend : kBackends) {
    CompileOptions options;
    options.backend = backend;
    const auto exe = compile(graph, options);
    float x[] = {1, 2, 3}, y[3];
    void* in[] = {x};
    void* out[] = {y};
    const int64_t scalars[] = {std::bit_cast<int64_t>(10.0), 5};
    exe->run(in, scalars, out);
    EXPECT_EQ(y[2], 35) << testing::backend_name(backend);
  }
}

TEST(Executable, KernelsThatDifferInTheLastDigitAreNotShared) {
  const auto graph = [](const std::string& factor) {
    return ir::parse_graph(
        "graph \"g\" { %0: f64[8] = placeholder \"x\" %1: f64[8] = placeholder \"y\" %2 = mul(%0, 0.12345678901) %3 = exp(%2) %4 = "
        "mul(%1, " +
        factor + ") %5 = exp(%4) return %3, %5 }");
  };
  testing::check_backends(graph("0.12345678902"));
  testing::check_backends(graph("-0.0"));
  testing::check_backends(graph("0.0"));
}

TEST(Executable, EqualKernelsAreCompiledOnce) {
  const auto text = "graph \"g\" { %0: f32[8] = placeholder \"x\" %1 = exp(%0) %2 = mul(%1, 0.777) return %2 }";
  const auto first = compile(ir::parse_graph(text), {});
  EXPECT_GT(first->report().code_bytes, 0);
  const auto second = compile(ir::parse_graph(text), {});
  EXPECT_EQ(second->report().code_bytes, 0) << "nothing was compiled";
}

TEST(Executable, ReportsAndDumps) {
  const auto exe = compile(ir::parse_graph("graph \"g\" { %0: f32[8] = placeholder \"x\" %1 = exp(%0) %2 = add(%1, 1) return %2 }"), {});
  EXPECT_EQ(exe->report().kernels, 1);
  EXPECT_EQ(exe->report().arena_bytes, 0);
  EXPECT_NE(exe->dump("graph").find("exp(%0)"), std::string::npos);
  EXPECT_NE(exe->dump("loops").find("exp_add"), std::string::npos);
  EXPECT_THROW(exe->dump("poetry"), Error);
}

TEST(NestLaunch, LanesAreCutAtWholeVectors) {
  static std::atomic<int64_t> covered;
  covered = 0;
  NestLaunch launch;
  launch.kernel = [](void* const*, const int64_t*, const int64_t*, int64_t begin, int64_t end) {
    EXPECT_EQ(begin % kCutMultiple, 0);
    covered += end - begin;
  };
  launch.extent = 64 * 10001 + 7;
  launch.work = launch.extent;
  launch.whole_vectors = true;
  launch.choose_grain();
  set_num_threads(3);
  launch.run(nullptr, nullptr);
  set_num_threads(1);
  EXPECT_EQ(covered, launch.extent);
}

}  // namespace
}  // namespace tailor::jit
