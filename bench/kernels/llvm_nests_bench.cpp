// Compiled loop nests alone, on warm memory and one thread: the kernel classes that fusion produces. GB/s counts each array once.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <random>

#include "jit/llvm/compile.h"
#include "jit/nest_builder.h"

namespace {

using namespace tailor;
using namespace tailor::jit;

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Block = std::unique_ptr<float[], Free>;

Block numbers(int64_t n, float low = -1, float high = 1) {
  Block block(static_cast<float*>(std::aligned_alloc(2 << 20, static_cast<size_t>((n * 4 + (2 << 20) - 1) >> 21 << 21))));
  std::mt19937 random(7);
  std::uniform_real_distribution<float> d(low, high);
  for (int64_t i = 0; i < n; ++i) block[static_cast<size_t>(i)] = d(random);
  return block;
}

struct Ops {
  NestBuilder& b;
  int f(const char* name, int x) { return b.op(name, {x}, kFloat32); }
  int f(const char* name, int x, int y) { return b.op(name, {x, y}, kFloat32); }
  int lit(double v) { return b.literal(v, kFloat32); }
};

void run(benchmark::State& state, const LoopNest& nest, std::vector<void*> buffers, int64_t end, double bytes) {
  const auto module = compile_nests({&nest, 1}, {});
  const KernelFn kernel = module->kernel(0);
  while (buffers.size() < nest.buffers.size()) buffers.push_back(nullptr);
  kernel(buffers.data(), nullptr, nullptr, 0, end);
  for (auto _ : state) kernel(buffers.data(), nullptr, nullptr, 0, end);
  state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["compile_ms"] = module->times().emit_ms + module->times().llvm_ms + module->times().link_ms;
}

/// sigmoid(x * 1.5 + y) * tanh(y) + exp(-x * x)
void pointwise_4m(benchmark::State& state) {
  constexpr int64_t n = 4 << 20;
  NestBuilder b;
  Ops o{b};
  b.vectorise(b.outer(n));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}));
  const int y = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}));
  const int s = o.f("sigmoid", o.f("add", o.f("mul", x, o.lit(1.5)), y));
  const int v = o.f("add", o.f("mul", s, o.f("tanh", y)), o.f("exp", o.f("mul", o.f("neg", x), x)));
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), v);
  const Block p = numbers(n, -3, 3), q = numbers(n, -3, 3), r = numbers(n);
  run(state, b.nest(), {p.get(), q.get(), r.get()}, n, 12.0 * n);
}

/// relu(x * 1.5 + y) - 0.25 * y
void cheap_pointwise_4m(benchmark::State& state) {
  constexpr int64_t n = 4 << 20;
  NestBuilder b;
  Ops o{b};
  b.nest().nontemporal = state.range(0) != 0;
  b.vectorise(b.outer(n));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}));
  const int y = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}));
  const int v = o.f("sub", o.f("relu", o.f("add", o.f("mul", x, o.lit(1.5)), y)), o.f("mul", y, o.lit(0.25)));
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), v);
  const Block p = numbers(n), q = numbers(n), r = numbers(n);
  run(state, b.nest(), {p.get(), q.get(), r.get()}, n, 12.0 * n);
}

void black_scholes_1m(benchmark::State& state) {
  constexpr int64_t n = 1 << 20;
  NestBuilder b;
  Ops o{b};
  b.vectorise(b.outer(n));
  b.stage();
  int in[5];
  for (int& i : in) i = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}));
  const auto [s, k, t, r, v] = std::tuple(in[0], in[1], in[2], in[3], in[4]);
  auto cdf = [&](int z) { return o.f("mul", o.f("add", o.f("erf", o.f("div", z, o.lit(1.4142135623730951))), o.lit(1)), o.lit(0.5)); };
  const int sq = o.f("mul", v, o.f("sqrt", t));
  const int drift = o.f("mul", o.f("add", r, o.f("mul", o.f("mul", v, o.lit(0.5)), v)), t);
  const int d1 = o.f("div", o.f("add", o.f("log", o.f("div", s, k)), drift), sq);
  const int d2 = o.f("sub", d1, sq);
  const int discounted = o.f("mul", k, o.f("exp", o.f("mul", o.f("neg", r), t)));
  const int call = o.f("sub", o.f("mul", s, cdf(d1)), o.f("mul", discounted, cdf(d2)));
  const int put = o.f("add", o.f("sub", call, s), discounted);
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), call);
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), put);
  const Block ps = numbers(n, 10, 100), pk = numbers(n, 10, 100), pt = numbers(n, 0.1f, 2.1f), pr = numbers(n, 0.03f, 0.030001f),
              pv = numbers(n, 0.1f, 0.5f), c = numbers(n), p = numbers(n);
  run(state, b.nest(), {ps.get(), pk.get(), pt.get(), pr.get(), pv.get(), c.get(), p.get()}, n, 28.0 * n);
}

void softmax(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1);
  NestBuilder b;
  Ops o{b};
  b.nest().nontemporal = m * n >= (2 << 20);
  b.outer(m);
  b.vectorise(b.inner(n));
  const IndexMap at = b.map({n, 1}), row = b.map({0, 1});
  const int in = b.buffer(BufferKind::Input, kFloat32), out = b.buffer(BufferKind::Output, kFloat32),
            scratch = b.buffer(BufferKind::Scratch, kFloat32, n);
  b.stage({1});
  const int most = b.reduce(ReduceOp::Max, b.load(in, at), kFloat32);
  b.stage({1});
  const int e = o.f("exp", o.f("sub", b.load(in, at), b.reduced(most, kFloat32)));
  b.store(scratch, row, e);
  const int sum = b.reduce(ReduceOp::Sum, e, kFloat32);
  b.stage({1});
  b.store(out, at, o.f("div", b.load(scratch, row), b.reduced(sum, kFloat32)));
  const Block x = numbers(m * n, -3, 3), y = numbers(m * n);
  run(state, b.nest(), {x.get(), y.get()}, m, 8.0 * static_cast<double>(m * n));
}

/// gelu(layer_norm(x, w, b)) over rows
void layernorm_gelu(benchmark::State& state) {
  constexpr int64_t m = 4096, n = 1024;
  NestBuilder b;
  Ops o{b};
  b.nest().nontemporal = true;
  b.outer(m);
  b.vectorise(b.inner(n));
  const IndexMap at = b.map({n, 1}), row = b.map({0, 1});
  const int in = b.buffer(BufferKind::Input, kFloat32), weight = b.buffer(BufferKind::Input, kFloat32),
            bias = b.buffer(BufferKind::Input, kFloat32), out = b.buffer(BufferKind::Output, kFloat32);
  b.stage({1});
  const int total = b.reduce(ReduceOp::Sum, b.load(in, at), kFloat32);
  b.stage();
  const int mean = o.f("mul", b.reduced(total, kFloat32), o.lit(1.0 / n));
  b.stage({1});
  const int d = o.f("sub", b.load(in, at), mean);
  const int squares = b.reduce(ReduceOp::Sum, o.f("mul", d, d), kFloat32);
  b.stage();
  const int scale = o.f("rsqrt", o.f("add", o.f("mul", b.reduced(squares, kFloat32), o.lit(1.0 / n)), o.lit(1e-5)));
  b.stage({1});
  const int z = o.f("mul", o.f("sub", b.load(in, at), mean), scale);
  const int y = o.f("add", o.f("mul", z, b.load(weight, row)), b.load(bias, row));
  b.store(out, at, o.f("gelu", y));
  const Block x = numbers(m * n, -3, 3), w = numbers(n), c = numbers(n), r = numbers(m * n);
  run(state, b.nest(), {x.get(), w.get(), c.get(), r.get()}, m, 8.0 * static_cast<double>(m * n));
}

void row_sum(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1);
  NestBuilder b;
  b.outer(m);
  b.vectorise(b.inner(n));
  b.stage({1});
  const int r = b.reduce(ReduceOp::Sum, b.load(b.buffer(BufferKind::Input, kFloat32), b.map({n, 1})), kFloat32);
  b.stage();
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), b.reduced(r, kFloat32));
  const Block x = numbers(m * n), y = numbers(m);
  run(state, b.nest(), {x.get(), y.get()}, m, 4.0 * static_cast<double>(m * n));
}

void column_sum(benchmark::State& state) {
  const int64_t m = state.range(0), n = state.range(1);
  NestBuilder b;
  b.vectorise(b.outer(n));
  b.inner(m);
  b.stage({1});
  const int r = b.reduce(ReduceOp::Sum, b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1, n})), kFloat32);
  b.stage();
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), b.reduced(r, kFloat32));
  const Block x = numbers(m * n), y = numbers(n);
  run(state, b.nest(), {x.get(), y.get()}, n, 4.0 * static_cast<double>(m * n));
}

/// x + transpose(y)
void transpose_add(benchmark::State& state) {
  const int64_t n = state.range(0);
  NestBuilder b;
  b.nest().nontemporal = n >= 2048;
  b.outer(n);
  b.vectorise(b.outer(n));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({n, 1}));
  const int y = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1, n}));
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({n, 1}), b.op("add", {x, y}, kFloat32));
  const Block p = numbers(n * n), q = numbers(n * n), r = numbers(n * n);
  run(state, b.nest(), {p.get(), q.get(), r.get()}, n, 12.0 * static_cast<double>(n * n));
}

BENCHMARK(pointwise_4m)->Unit(benchmark::kMicrosecond);
BENCHMARK(cheap_pointwise_4m)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);
BENCHMARK(black_scholes_1m)->Unit(benchmark::kMicrosecond);
BENCHMARK(softmax)->Args({1024, 4096})->Args({64, 128})->Args({4096, 17})->Unit(benchmark::kMicrosecond);
BENCHMARK(layernorm_gelu)->Unit(benchmark::kMicrosecond);
BENCHMARK(row_sum)->Args({1024, 4096})->Args({256, 256})->Args({4096, 20})->Unit(benchmark::kMicrosecond);
BENCHMARK(column_sum)->Args({4096, 4096})->Args({256, 256})->Args({1024, 20})->Unit(benchmark::kMicrosecond);
BENCHMARK(transpose_add)->Arg(2048)->Arg(128)->Unit(benchmark::kMicrosecond);

}  // namespace
