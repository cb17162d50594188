#pragma once
// Runs a function eagerly and compiled, in every way that compiled code can be reached, and demands the same bits.

#include <functional>
#include <optional>
#include <string>

#include "kernels/kernels.h"
#include "support/expect.h"

namespace tailor::testing {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

/// A result with what a caller can see of it.
inline void expect_same(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.defined(), want.defined());
  if (!got.defined()) return;
  EXPECT_EQ(got.strides().vec(), want.strides().vec());
  EXPECT_EQ(got.requires_grad(), want.requires_grad());
  EXPECT_EQ(got.is_leaf(), want.is_leaf());
  expect_same_bits(got.detach(), want.detach());
}
inline void expect_same(const Tensors& got, const Tensors& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE("tensor " + std::to_string(i));
    expect_same(got[i], want[i]);
  }
}

/// What a call did: its results and its inputs afterwards, or the text of its error.
struct Outcome {
  Tensors results, inputs;
  std::optional<std::string> error;
};
template <class F>
Outcome outcome(F&& f, const Tensors& inputs) {
  Outcome o;
  o.inputs = inputs;
  try {
    o.results = f(inputs);
  } catch (const Error& e) { o.error = e.what(); }
  return o;
}
inline void expect_same(const Outcome& got, const Outcome& want) {
  ASSERT_EQ(got.error.has_value(), want.error.has_value())
      << got.error.value_or("no error") << " instead of " << want.error.value_or("none");
  if (!want.error) expect_same(got.results, want.results);
  expect_same(got.inputs, want.inputs);
}

/// Levels of instruction sets of this machine.
inline std::vector<kernels::Isa> levels() {
  std::vector<kernels::Isa> all{kernels::Isa::Sse2};
  if (kernels::isa() >= kernels::Isa::Avx2) all.push_back(kernels::Isa::Avx2);
  if (kernels::isa() >= kernels::Isa::Avx512) all.push_back(kernels::Isa::Avx512);
  return all;
}

/// `f` on fresh `inputs()` each time: eager, then compiled (recorded, followed twice), then pure (followed and skipped), all with
/// the same bits, on each level. Returns what eager did on the highest.
inline Outcome both_ways(const std::function<Tensors()>& inputs, const Function& f) {
  const kernels::Isa highest = kernels::isa();
  Outcome want;
  for (kernels::Isa level : levels()) {
    kernels::set_isa(level);
    SCOPED_TRACE("instruction set level " + std::to_string(static_cast<int>(level)));
    want = outcome(f, inputs());
    for (bool pure : {false, true}) {
      auto fast = compile(f, {.pure = pure});
      for (int call = 0; call < (pure ? 4 : 3); ++call) {
        SCOPED_TRACE(std::string(pure ? "pure" : "followed") + ", call " + std::to_string(call));
        expect_same(outcome(fast, inputs()), want);
      }
      EXPECT_EQ(fast.stats().compile_failures, 0u);
      if (!want.error) { EXPECT_GE(fast.stats().hits, 1u) << fast.stats(); }
    }
  }
  kernels::set_isa(highest);
  return want;
}

/// For functions that write nothing.
inline Tensors both_ways(const Tensors& inputs, const Function& f) {
  return both_ways([&] { return inputs; }, f).results;
}
inline Tensor both_ways(const Tensors& inputs, const std::function<Tensor(const Tensors&)>& f) {
  const Tensors results = both_ways(inputs, Function([&f](const Tensors& in) { return Tensors{f(in)}; }));
  return results.empty() ? Tensor() : results[0];
}
inline Tensor both_ways(const Tensor& input, const std::function<Tensor(Tensor)>& f) {
  return both_ways(Tensors{input}, std::function<Tensor(const Tensors&)>([&f](const Tensors& in) { return f(in[0]); }));
}

/// Repeats the data to `n` elements, so that full vectors and tails are both used.
inline Tensor repeated(const Tensor& t, int64_t n) { return t.repeat({n / t.numel() + 1}).narrow(0, 0, n).contiguous(); }

}  // namespace tailor::testing
