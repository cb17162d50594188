// What a call costs besides its arithmetic: eager dispatch, following, guard checks, look-up, skipping.

#include <benchmark/benchmark.h>
#include <tailor/tailor.h>

#include <ctime>

#include "guards/guard_set.h"

namespace tailor {
namespace {

void eager_add(benchmark::State& state) {
  const Tensor x = randn({8}), y = randn({8});
  for (auto _ : state) benchmark::DoNotOptimize(x + y);
}
BENCHMARK(eager_add);

void eager_view(benchmark::State& state) {
  const Tensor x = randn({8});
  for (auto _ : state) benchmark::DoNotOptimize(x.view({2, 4}));
}
BENCHMARK(eager_view);

/// A chain of n ops: the slope over n is the cost of a followed step.
void followed_chain(benchmark::State& state) {
  const auto steps = state.range(0);
  const Tensor x = randn({8});
  auto f = compile([steps](Tensor v) {
    for (int64_t i = 0; i < steps; ++i) v = v * 0.5;
    return v;
  });
  for (int i = 0; i < 4; ++i) f(x);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  state.counters["per_step"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(followed_chain)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

void skipped_add(benchmark::State& state) {
  const Tensor x = randn({8}), y = randn({8});
  auto f = compile([](const Tensor& a, const Tensor& b) { return a + b; }, {.pure = true});
  for (int i = 0; i < 4; ++i) f(x, y);
  for (auto _ : state) benchmark::DoNotOptimize(f(x, y));
}
BENCHMARK(skipped_add);

Tensor halves(const Tensor& x) {
  const SymInt n = x.sym_size(0);
  return n > 1 ? x.narrow(0, 0, n / 2) * n : x * 2;
}

/// A pure function in sizes that were all seen, called in turn.
void skipped_in_turn(benchmark::State& state) {
  auto f = compile(halves, {.pure = true});
  std::vector<Tensor> inputs;
  for (int64_t n = 2; n < 2 + state.range(0); ++n) inputs.push_back(randn({n, 4}));
  for (int i = 0; i < 8; ++i) {
    for (const Tensor& x : inputs) f(x);
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(f(inputs[next]));
    next = next + 1 == inputs.size() ? 0 : next + 1;
  }
}
BENCHMARK(skipped_in_turn)->Arg(1)->Arg(2)->Arg(64)->Arg(256);

/// The first call of a pure function in a size: with SymInts the body does not run; with plain sizes it is followed.
void new_size(benchmark::State& state) {
  const bool symbolic = state.range(0) != 0;
  const auto plain = [](const Tensor& x) { return x.size(0) > 1 ? x.narrow(0, 0, x.size(0) / 2) * x.size(0) : x * 2; };
  std::vector<Tensor> inputs;
  for (int64_t n = 2; n < 402; ++n) inputs.push_back(randn({n, 4}));
  size_t next = inputs.size();
  const auto fresh = [&] { return symbolic ? compile(halves, {.pure = true}) : compile(plain, {.pure = true}); };
  auto f = fresh();
  for (auto _ : state) {
    if (next == inputs.size()) {
      state.PauseTiming();
      f = fresh();
      for (next = 0; next < 8; ++next) f(inputs[next]);
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(f(inputs[next++]));
  }
}
BENCHMARK(new_size)->Arg(0)->Arg(1);

/// The worst look-up: n entries, called in turn, so that the last hit is never the right one.
void look_up(benchmark::State& state) {
  const auto entries = state.range(0);
  auto f = compile([](const Tensor& a) { return a + 1; }, {.cache_size_limit = 64});
  std::vector<Tensor> inputs;
  for (int64_t n = 1; n <= entries; ++n) inputs.push_back(randn({n}));
  for (int i = 0; i < 3; ++i) {
    for (const Tensor& x : inputs) f(x);
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(f(inputs[next]));
    next = next + 1 == inputs.size() ? 0 : next + 1;
  }
}
BENCHMARK(look_up)->Arg(1)->Arg(10);

/// Guards of n tensor arguments whose handles change on every call (descriptions compared) or stay (ids compared).
void guard_check(benchmark::State& state) {
  const auto tensors = static_cast<size_t>(state.range(0));
  const bool fresh = state.range(1) != 0;
  const ir::TensorSpec spec(kFloat32, {32, 64});
  guards::GuardSet guards;
  std::vector<guards::TensorFact> facts;
  for (size_t i = 0; i < tensors; ++i) {
    guards.require_spec(static_cast<int>(i), &spec, "args[" + std::to_string(i) + "]", "");
    facts.push_back({&spec, i + 1, &spec, 0});
  }
  guards.seal();
  for (auto _ : state) {
    if (fresh) {
      for (guards::TensorFact& fact : facts) fact.id += tensors;
    }
    benchmark::DoNotOptimize(guards.check({facts, {}, {}, 0, 0}));
  }
  state.counters["per_tensor"] =
      benchmark::Counter(static_cast<double>(tensors), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(guard_check)->ArgsProduct({{1, 8, 64}, {0, 1}});

/// Hits from several threads at once. `ns_per_hit` is processor time: threads that stand in each other's way need more of it, also where
/// there are more of them than cores.
void threaded_hits(benchmark::State& state, const Compiled<Tensor(const Tensor&, const Tensor&)>& f, bool shared = false) {
  static const Tensor shared_x = randn({8}), shared_y = randn({8});
  const Tensor own_x = randn({8}), own_y = randn({8});
  const Tensor &x = shared ? shared_x : own_x, &y = shared ? shared_y : own_y;
  for (int i = 0; i < 16; ++i) f(x, y);
  timespec begin{}, end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (auto _ : state) benchmark::DoNotOptimize(f(x, y));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  state.counters["ns_per_hit"] =
      benchmark::Counter((static_cast<double>(end.tv_sec - begin.tv_sec) * 1e9 + static_cast<double>(end.tv_nsec - begin.tv_nsec)) /
                             static_cast<double>(state.iterations()),
                         benchmark::Counter::kAvgThreads);
  state.counters["hits_per_s"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
const Compiled<Tensor(const Tensor&, const Tensor&)>& threaded(int which) {
  static const Tensor weight = randn({8});
  static const auto sum = [](const Tensor& a, const Tensor& b) { return a + b; };
  static const auto skipped = compile(sum, {.pure = true}), followed = compile(sum);
  static const auto captured = compile([](const Tensor& a, const Tensor& b) { return a * weight + b; });
  return which == 0 ? skipped : which == 1 ? followed : captured;
}
void threaded_skipped(benchmark::State& state) { threaded_hits(state, threaded(0)); }
void threaded_followed(benchmark::State& state) { threaded_hits(state, threaded(1)); }
/// A tensor that all threads use.
void threaded_captured(benchmark::State& state) { threaded_hits(state, threaded(2)); }
/// All threads pass the same tensors.
void threaded_skipped_shared(benchmark::State& state) { threaded_hits(state, threaded(0), true); }
void threaded_followed_shared(benchmark::State& state) { threaded_hits(state, threaded(1), true); }
BENCHMARK(threaded_skipped)->Threads(1)->Threads(2)->Threads(4)->UseRealTime();
BENCHMARK(threaded_followed)->Threads(1)->Threads(2)->Threads(4)->UseRealTime();
BENCHMARK(threaded_captured)->Threads(1)->Threads(2)->Threads(4)->UseRealTime();
BENCHMARK(threaded_skipped_shared)->Threads(1)->Threads(2)->Threads(4)->UseRealTime();
BENCHMARK(threaded_followed_shared)->Threads(1)->Threads(2)->Threads(4)->UseRealTime();

}  // namespace
}  // namespace tailor
