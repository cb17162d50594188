// Everything that a recorded call can have relied on is changed between calls, at random, and each call must do what eager does:
// dtypes, sizes, strides, aliases, requires_grad, numbers, containers, captured state, modes, module members.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "traps/both_ways.h"

namespace tailor {
namespace {

struct Options {
  double scale = 1;
  int64_t times = 1;
  std::optional<Tensor> bias;
  std::vector<Tensor> extra;
  std::map<std::string, double> weights;
  std::string mode = "plain";
};

struct Layer : nn::Module {
  Tensor weight{register_parameter("weight", ones({4}))};
  Tensor steps{register_buffer("steps", zeros({1}))};
  double slope = 0.5;
  Tensor forward(const Tensor& x) {
    if (is_training()) steps.add_(1);
    return leaky_relu(x * weight, slope);
  }
};

/// What the function sees, arguments and captured state alike.
struct World {
  Tensor x, y, captured;
  Options options;
  std::shared_ptr<Layer> layer = std::make_shared<Layer>();
  double captured_number = 2;
  bool write = false, read_on_host = false, no_grad_inside = false, keep = false, fail = false;
  int depth = 1;
  std::vector<Tensor> kept;
};

std::vector<Tensor> body(World& w, const Tensor& x, const Tensor& y, const Options& o) {
  std::vector<Tensor> out;
  Tensor t = x * o.scale + y * w.captured_number;
  if (o.bias) t = t + *o.bias;
  for (const Tensor& e : o.extra) t = t - e;
  for (const auto& [key, weight] : o.weights) t = t + (key == "half" ? weight / 2 : weight);
  for (int64_t i = 0; i < o.times; ++i) t = t * 0.5 + w.captured;
  if (w.write) y.add_(1);
  {
    std::optional<NoGradGuard> guard;
    if (w.no_grad_inside) guard.emplace();
    t = w.layer->forward(t.to(kFloat32));
  }
  if (w.keep) w.kept.push_back(t + 1);
  if (w.read_on_host && t.detach().sum().item<float>() > 0) t = t.neg();
  if (w.fail) throw std::runtime_error("fail");
  out.push_back(o.mode == "sum" ? t.sum(-1) : t);
  for (int i = 1; i < w.depth; ++i) out.push_back(out.back().narrow(0, 0, 1) * 2);
  return out;
}

/// Both worlds are mutated alike from equal random numbers.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}
  void start(World& w) {
    w.x = tensor_like_nothing();
    w.y = tensor_like_nothing();
    w.captured = tensor_like_nothing();
  }
  void mutate(World& w) {
    const int what = pick(26);
    switch (what) {
      case 0: w.x = tensor_like_nothing(); break;
      case 1: w.y = tensor_like_nothing(); break;
      case 2: w.captured = tensor_like_nothing(); break;
      case 3: w.x = w.x.to(pick(2) ? kFloat64 : kFloat32); break;
      case 4: w.y = w.y.to(pick(2) ? kInt32 : kFloat32); break;
      case 5: w.x = w.x.dim() == 2 ? w.x.t().contiguous().t() : w.x; break;  // other strides, same values
      case 6: w.y = w.x; break;                                              // one tensor twice
      case 7: w.y = w.x.detach().view(w.x.sizes()); break;                   // two views of one memory
      case 8: w.x = w.x.detach().clone().requires_grad_(w.x.is_floating_point() && pick(2)); break;
      case 9: w.options.scale = number(); break;
      case 10: w.options.times = pick(3); break;
      case 11: w.options.bias = pick(2) ? std::optional<Tensor>(full({4}, number())) : std::nullopt; break;
      case 12: w.options.extra.resize(static_cast<size_t>(pick(3)), ones({4})); break;
      case 13: w.options.weights[pick(2) ? "half" : "whole"] = number(); break;
      case 14: w.options.weights.clear(); break;
      case 15: w.options.mode = pick(2) ? "sum" : "plain"; break;
      case 16: w.captured_number = number(); break;
      case 17: w.write = pick(2); break;
      case 18: w.read_on_host = pick(2); break;
      case 19: w.no_grad_inside = pick(2); break;
      case 20: w.keep = pick(2); break;
      case 21: w.depth = 1 + pick(3); break;
      case 22: w.layer->train(pick(2)); break;
      case 23: w.layer->slope = number(); break;
      case 24: {
        NoGradGuard guard;
        const bool other = pick(2), grad = pick(2);
        const double value = number();
        if (other)
          w.layer->weight = full({4}, value).requires_grad_(grad);
        else
          w.layer->weight.fill_(value);
        break;
      }
      default: w.captured.detach().fill_(number());
    }
    w.fail = pick(12) == 0;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  double number() {
    static constexpr double list[] = {0.5, 1, -1, 2, 0.0, -0.0, 3.25, 1e-3};
    return list[pick(8)];
  }
  Tensor tensor_like_nothing() {
    const int rows = 1 + pick(3);
    const Tensor t = ((arange(12) - 5) * number()).to(kFloat32);
    switch (pick(5)) {
      case 0: return t.narrow(0, 0, 4).view({1, 4}).clone();
      case 1: return t.view({3, 4}).narrow(0, 0, rows).clone();
      case 2: return t.view({4, 3}).t().clone().narrow(0, 0, 3);
      case 3: return t.view({3, 4}).t().contiguous().t();
      default: return t.narrow(0, 3, 4).clone().view({1, 4}).contiguous();
    }
  }
  std::mt19937_64 random_;
};

std::string describe(const std::vector<Tensor>& list) {
  std::ostringstream out;
  for (const Tensor& t : list) out << t << "\n";
  return out.str();
}

struct Result {
  std::vector<Tensor> out;
  std::string error;
};
template <class F>
Result run(F&& f, World& w) {
  Result r;
  try {
    r.out = f(w.x, w.y, w.options);
  } catch (const std::exception& e) { r.error = e.what(); }
  return r;
}

void mutate_and_compare(uint64_t seed, int mutations, CompileOptions options) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  World eager, compiled;
  Mutator first(seed), second(seed);
  first.start(eager);
  second.start(compiled);
  const auto plain = [&](const Tensor& x, const Tensor& y, const Options& o) { return body(eager, x, y, o); };
  auto fast = compile([&](const Tensor& x, const Tensor& y, const Options& o) { return body(compiled, x, y, o); }, options);
  for (int i = 0; i < mutations; ++i) {
    SCOPED_TRACE("mutation " + std::to_string(i));
    first.mutate(eager);
    second.mutate(compiled);
    for (int call = 0; call < 2; ++call) {
      const Result want = run(plain, eager), got = run(fast, compiled);
      ASSERT_EQ(got.error, want.error);
      const auto same = [&](const Tensor& a, const Tensor& b) {
        testing::expect_same(a, b);
        return !::testing::Test::HasFailure();
      };
      ASSERT_EQ(got.out.size(), want.out.size());
      for (size_t k = 0; k < got.out.size(); ++k) {
        const bool reduced = eager.options.mode == "sum";  // sums may be ordered otherwise
        if (reduced) {
          ASSERT_TRUE(allclose(got.out[k].detach(), want.out[k].detach(), 1e-5, 1e-5, true)) << describe(got.out) << describe(want.out);
        } else {
          ASSERT_TRUE(same(got.out[k], want.out[k]));
        }
      }
      ASSERT_TRUE(same(compiled.y, eager.y));
      ASSERT_TRUE(same(compiled.x, eager.x));
      ASSERT_TRUE(same(compiled.layer->steps, eager.layer->steps));
      ASSERT_EQ(compiled.kept.size(), eager.kept.size());
      if (!eager.kept.empty()) { ASSERT_TRUE(same(compiled.kept.back(), eager.kept.back())); }
    }
  }
  EXPECT_EQ(fast.stats().compile_failures, 0u);
  EXPECT_GT(fast.stats().hits, static_cast<uint64_t>(mutations) / 4) << fast.stats();
}

TEST(Mutation, EveryCallDoesWhatEagerDoes) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    mutate_and_compare(seed, 120, {});
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Mutation, WithASmallCache) {
  for (uint64_t seed = 101; seed <= 104; ++seed) {
    mutate_and_compare(seed, 80, {.cache_size_limit = 2});
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tailor
