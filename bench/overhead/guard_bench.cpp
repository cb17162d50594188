// What guards cost: one tensor, the flat program against machine code made for it, orders of checking, look-ups among entries.

#include <benchmark/benchmark.h>
#include <tailor/tailor.h>

#include <random>

#include "guards/guard_set.h"
#include "guards/program_inl.h"

namespace tailor {
namespace {

using guards::GuardSet;
using guards::Order;
using guards::TensorFact;

benchmark::Counter per(int64_t n) {
  return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// ---- one tensor ----------------------------------------------------------------------------------------------------

/// n tensors of rank 2 with specs of their own, as arguments have.
struct Tensors {
  std::vector<ir::TensorSpec> specs;
  std::vector<TensorFact> facts;
  explicit Tensors(size_t n) : specs(n, ir::TensorSpec(kFloat32, {32, 64})) {
    for (size_t i = 0; i < n; ++i) facts.push_back({&specs[i], i + 1, &specs[i], 0});
  }
};

void program(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  Tensors t(n);
  GuardSet set;
  for (size_t i = 0; i < n; ++i) {
    const guards::DimRange range{0, 2, 64};
    set.require_spec(static_cast<int>(i), &t.specs[i], "x", "",
                     state.range(1) ? std::span(&range, 1) : std::span<const guards::DimRange>());
  }
  set.seal();
  const guards::CallDescriptor call{t.facts, {}, {}};
  for (auto _ : state) benchmark::DoNotOptimize(set.check(call));
  state.counters["per_tensor"] = per(state.range(0));
}
BENCHMARK(program)->ArgNames({"tensors", "dynamic"})->ArgsProduct({{1, 8, 64}, {0, 1}});

/// What a compiler can make of these guards at best: every expected value a constant, no dispatch, no table.
template <size_t... I>
[[gnu::noinline]] bool straight_line(const TensorFact* facts, std::index_sequence<I...>) {
  const auto one = [](const TensorFact& fact) {
    const ir::TensorSpec* s = fact.spec;
    constexpr uint32_t header = 0xff0006;  // f32, cpu, no gradient
    static_assert(static_cast<int>(kFloat32) == 6);
    if (!s) return false;
    uint64_t difference = (guards::spec_header(*s) ^ header) | (s->sizes.size() ^ 2);
    difference |= static_cast<uint64_t>((s->sizes.begin()[0] ^ 32) | (s->sizes.begin()[1] ^ 64));
    difference |= static_cast<uint64_t>((s->strides.begin()[0] ^ 64) | (s->strides.begin()[1] ^ 1));
    return difference == 0;
  };
  return (one(facts[I]) && ...);
}

template <size_t N>
void machine_code(benchmark::State& state) {
  Tensors t(N);
  for (auto _ : state) {
    const bool held = straight_line(t.facts.data(), std::make_index_sequence<N>());
    if (!held) state.SkipWithError("the check is not the same");
    benchmark::DoNotOptimize(held);
  }
  state.counters["per_tensor"] = per(N);
}
BENCHMARK(machine_code<1>);
BENCHMARK(machine_code<8>);
BENCHMARK(machine_code<64>);

// ---- orders --------------------------------------------------------------------------------------------------------

/// How calls differ from what an entry was made for.
enum class Skew : int64_t { LastNumber, CheapRarely, ManyFail, NothingFails };

/// Eight tensors of rank 4, a long text and eight numbers, in the order of the arguments; a stream of calls drawn once.
struct Stream {
  static constexpr size_t kCalls = 4096;
  std::vector<ir::TensorSpec> recorded, other;
  std::vector<Scalar> text;
  std::vector<std::vector<TensorFact>> tensors;
  std::vector<std::vector<Scalar>> scalars;

  explicit Stream(Skew skew) {
    for (int i = 0; i < 8; ++i) {
      recorded.emplace_back(kFloat32, IntArrayRef{2, 3, 4, 5});
      other.emplace_back(kFloat32, IntArrayRef{2, 3, 4, 6});
    }
    text.emplace_back(int64_t{256});
    for (int i = 0; i < 32; ++i) text.emplace_back(int64_t{0x6161616161616161});
    std::mt19937 random(5);
    const auto chance = [&](double p) { return static_cast<double>(random() % 10'000) < p * 10'000; };
    for (size_t c = 0; c < kCalls; ++c) {
      auto& facts = tensors.emplace_back();
      auto& numbers = scalars.emplace_back(text);
      for (size_t i = 0; i < 8; ++i) {
        const bool differs = skew == Skew::ManyFail ? chance(0.05) : skew == Skew::CheapRarely && i == 7 && chance(0.9);
        facts.push_back({differs ? &other[i] : &recorded[i], i + 1, &recorded[i], 0});
      }
      if (skew == Skew::ManyFail && chance(0.3)) numbers.back() = Scalar(int64_t{1});  // the text
      for (int i = 0; i < 8; ++i) {
        const double p = skew == Skew::LastNumber    ? (i == 7 ? 0.9 : 0)
                         : skew == Skew::CheapRarely ? 0.01
                         : skew == Skew::ManyFail    ? 0.1
                                                     : 0;
        numbers.emplace_back(int64_t{chance(p) ? 1 : 0});
      }
    }
  }
  guards::CallDescriptor call(size_t c) const { return {tensors[c], scalars[c], {}}; }
  GuardSet guards(Order order) const {
    GuardSet set;
    std::vector<Scalar> numbers = text;
    std::vector<guards::Part> parts = {{guards::GuardKind::Text, "text", 33}};
    for (int i = 0; i < 8; ++i) {
      numbers.emplace_back(int64_t{0});
      parts.push_back({guards::GuardKind::ScalarValue, "number"});
    }
    for (int i = 0; i < 8; ++i) set.require_spec(i, &recorded[static_cast<size_t>(i)], "x", "");
    set.require_scalars(numbers, parts);
    set.seal(order);
    return set;
  }
};

void order(benchmark::State& state) {
  const Stream stream(static_cast<Skew>(state.range(0)));
  const GuardSet set = stream.guards(static_cast<Order>(state.range(1)));
  for (int round = 0; round < 20; ++round) {  // learns
    for (size_t c = 0; c < Stream::kCalls; ++c) set.check(stream.call(c));
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(set.check(stream.call(next)));
    next = (next + 1) % Stream::kCalls;
  }
  static constexpr const char* skews[] = {"the last number fails in 90 %", "a tensor fails in 90 %, each number in 1 %",
                                          "everything fails now and then", "nothing fails"};
  static constexpr const char* orders[] = {"cost / probability", "cost * probability", "insertion"};
  state.SetLabel(std::string(skews[state.range(0)]) + "; " + orders[state.range(1)]);
}
BENCHMARK(order)->ArgNames({"skew", "order"})->ArgsProduct({{0, 1, 2, 3}, {0, 1, 2}});

// ---- entries -------------------------------------------------------------------------------------------------------

/// The guards of 10 entries that differ in one size, the call fits the last one.
void worst_look_up(benchmark::State& state) {
  std::vector<GuardSet> entries(static_cast<size_t>(state.range(0)));
  std::vector<ir::TensorSpec> specs;
  for (size_t i = 0; i < entries.size(); ++i) specs.emplace_back(kFloat32, IntArrayRef{static_cast<int64_t>(2 + i), 64});
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].require_spec(0, &specs[i], "args[0]", "");
    entries[i].seal();
  }
  const TensorFact fact{&specs.back(), 1, &specs, 0};
  const guards::CallDescriptor call{std::span(&fact, 1), {}, {}};
  for (auto _ : state) {
    size_t found = 0;
    while (!entries[found].check(call)) ++found;
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(worst_look_up)->Arg(1)->Arg(10);

/// A skipped call that captures n parameters of a module.
void skipped_with_parameters(benchmark::State& state) {
  std::vector<Tensor> parameters;
  for (int64_t i = 0; i < state.range(0); ++i) parameters.push_back(randn({8}));
  auto f = compile(
      [&](const Tensor& x) {
        Tensor y = x;
        for (const Tensor& p : parameters) y = y + p;
        return y;
      },
      {.pure = true});
  const Tensor x = randn({8});
  for (int i = 0; i < 16; ++i) f(x);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
}
BENCHMARK(skipped_with_parameters)->Arg(1)->Arg(10)->Arg(100);

}  // namespace
}  // namespace tailor
