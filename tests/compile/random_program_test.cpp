// Random straight-line programs with views, writes through views, host reads, values that survive and paths that part half-way:
// compiled calls leave the same bits in results, arguments and captured tensors as eager ones.

#include <gtest/gtest.h>

#include <random>

#include "traps/both_ways.h"

namespace tailor {
namespace {

using testing::Tensors;

struct World {
  Tensor a, b, captured;
  Tensors kept;
};

World fresh() {
  const Tensor memory = ((arange(40) - 11) * 0.37).to(kFloat32);
  return {memory.narrow(0, 0, 12).view({3, 4}).clone(),
          memory.narrow(0, 12, 12).view({4, 3}).clone().t(),
          memory.narrow(0, 24, 12).view({3, 4}).clone(),
          {}};
}

/// Steps from `cut` on are others when `other`.
Tensors program(uint64_t seed, int cut, bool other, World& w, const Tensor& a, const Tensor& b) {
  Tensors matrices = {a, b, w.captured}, rows;
  for (int k = 0; k < 14; ++k) {
    std::mt19937_64 random(seed * 1000 + static_cast<uint64_t>(k) + (other && k >= cut ? 500 : 0));
    const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const auto matrix = [&]() -> Tensor { return matrices[pick(matrices.size())]; };
    const Tensor x = matrix(), y = matrix();
    const double s = static_cast<double>(pick(5)) - 2;
    switch (pick(16)) {
      case 0: matrices.push_back(x + y); break;
      case 1: matrices.push_back(x * s); break;
      case 2: matrices.push_back(x.tanh()); break;
      case 3: matrices.push_back(where(x > y, x, y - s)); break;
      case 4: matrices.push_back(x.t().contiguous().t()); break;
      case 5: rows.push_back(x.select(0, static_cast<int64_t>(pick(3)))); break;
      case 6: matrices.push_back(x.narrow(0, 0, 3)); break;
      case 7: matrices.push_back(x.t().t()); break;
      case 8: Tensor(x).add_(y.tanh()); break;
      case 9: Tensor(x).mul_(0.5); break;
      case 10: Tensor(x).select(1, static_cast<int64_t>(pick(4))).add_(1); break;
      case 11:
        if (!rows.empty()) Tensor(rows[pick(rows.size())]).mul_(rows[pick(rows.size())]);
        break;
      case 12: Tensor(x).copy_(y); break;
      case 13:
        if (x.select(0, 1).select(0, 2).item<float>() > 0) matrices.push_back(x.neg());
        break;
      case 14: w.kept.push_back(x); break;
      default:
        if (matrices.size() > 3) matrices.erase(matrices.begin() + static_cast<std::ptrdiff_t>(pick(matrices.size())));
    }
  }
  Tensors result(matrices.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(3, matrices.size())), matrices.end());
  result.insert(result.end(), rows.begin(), rows.end());
  return result;
}

TEST(RandomProgram, CompiledCallsLeaveTheSameBits) {
  uint64_t hits = 0;
  constexpr uint64_t kPrograms = 100;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World w;
    bool other = false;
    const int cut = static_cast<int>(seed % 14);
    auto f = compile([&](const Tensor& a, const Tensor& b) { return program(seed, cut, other, w, a, b); });
    for (int call = 0; call < 6; ++call) {
      SCOPED_TRACE("call " + std::to_string(call));
      other = call == 2 || call == 4;
      World want = fresh();
      // A tensor given twice now and then.
      if (call == 5) want.b = want.a;
      const Tensors expected = program(seed, cut, other, want, want.a, want.b);
      w = fresh();
      if (call == 5) w.b = w.a;
      const Tensors got = f(w.a, w.b);
      testing::expect_same(got, expected);
      testing::expect_same({w.a, w.b, w.captured}, {want.a, want.b, want.captured});
      testing::expect_same(w.kept, want.kept);
      // Who shares memory with whom is the same too: a write through one result shows in the same others.
      for (size_t i = 0; i < got.size(); ++i) {
        Tensor(got[i]).fill_(static_cast<double>(100 + i));
        Tensor(expected[i]).fill_(static_cast<double>(100 + i));
      }
      testing::expect_same(got, expected);
      testing::expect_same({w.a, w.b, w.captured}, {want.a, want.b, want.captured});
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(f.stats().compile_failures, 0u);
    hits += f.stats().hits;
  }
  EXPECT_GT(hits, 2 * kPrograms);
}

}  // namespace
}  // namespace tailor
