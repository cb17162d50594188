// What skipped calls rely on: captured tensors without keeping them, watched values, the very tensors that were passed, what host code
// reads of the surroundings.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

/// Calls until the body has been skipped at least once more.
template <class F>
void until_skipped(const F& call, const std::function<Stats()>& stats) {
  const uint64_t before = stats().skipped;
  for (int i = 0; i < 40 && stats().skipped == before; ++i) call();
  EXPECT_GT(stats().skipped, before);
}

TEST(Skipping, CapturedTensorsAreNotKeptAlive) {
  bool freed = false;
  float memory[2] = {3, 4};
  Tensor w = from_blob(memory, {2}, [&](void*) { freed = true; });
  auto f = compile([&](const Tensor& x) { return x * w; }, {.pure = true});
  const Tensor x = f32({1, 2});
  until_skipped([&] { EXPECT_VALUES(f(x), 3, 8); }, [&] { return f.stats(); });
  const std::string told = explain(f)(x).text();
  EXPECT_NE(told.find("guards of the plan for skipping the body"), std::string::npos) << told;
  EXPECT_NE(told.find("captured tensor 0 is alive"), std::string::npos) << told;
  w = f32({5, 6});
  EXPECT_TRUE(freed) << "the plan for skipping holds a tensor that the program has let go of";
  for (int i = 0; i < 20; ++i) EXPECT_VALUES(f(x), 5, 12);
  until_skipped([&] { EXPECT_VALUES(f(x), 5, 12); }, [&] { return f.stats(); });
  EXPECT_EQ(f.stats().plans_voided, 1u);
}

TEST(Skipping, CapturedTensorsThatOtherThreadsReplaceWhileCallsRun) {
  std::mutex mutex;
  Tensor w = full({64}, 1.0);
  auto f = compile(
      [&](const Tensor& x) {
        Tensor mine;
        {
          std::lock_guard lock(mutex);
          mine = w;
        }
        return x + mine;
      },
      {.pure = true});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&] {
      const Tensor x = zeros({64});
      while (!stop) {
        const Tensor y = f(x);
        const auto first = y[0].item<float>(), last = y[63].item<float>();
        if (first != last || first < 1 || first > 400) ++wrong;
      }
    });
  }
  for (int i = 2; i <= 300; ++i) {
    Tensor next = full({64}, 1.0 * i);
    std::lock_guard lock(mutex);
    w = next;
  }
  stop = true;
  for (auto& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f(zeros({64}))[0].item<float>(), 300);
}

TEST(Skipping, WatchedValuesAreFacts) {
  Watched<double> scale{2, "scale"}, unread{1, "unread"};
  int runs = 0;
  auto f = compile([&](const Tensor& x) { return ++runs, x * scale.get(); }, {.pure = true});
  const Tensor x = f32({1, 3});
  until_skipped([&] { EXPECT_VALUES(f(x), 2, 6); }, [&] { return f.stats(); });
  scale = 5;
  EXPECT_VALUES(f(x), 5, 15);
  until_skipped([&] { EXPECT_VALUES(f(x), 5, 15); }, [&] { return f.stats(); });
  scale.update([](double& s) { s = -1; });
  EXPECT_VALUES(f(x), -1, -3);
  until_skipped([&] { EXPECT_VALUES(f(x), -1, -3); }, [&] { return f.stats(); });
  const Watched<double> copy = scale;
  EXPECT_EQ(copy.get(), -1);
  // One that the body does not read costs nothing.
  const int before = runs;
  const uint64_t hits = f.stats().hits;
  for (int i = 0; i < 20; ++i) {
    unread = i;
    f(x);
  }
  EXPECT_LE(runs - before, 2);  // audits
  EXPECT_EQ(f.stats().hits, hits + 20);
  EXPECT_FALSE(f.stats().pure_promise_broken);
}

TEST(Skipping, WatchedValuesMayDieBeforeTheFunction) {
  auto flag = std::make_unique<Watched<bool>>(true, "flag");
  auto f = compile([&](const Tensor& x) { return flag && flag->get() ? x + 1 : x - 1; }, {.pure = true});
  const Tensor x = f32({1});
  until_skipped([&] { EXPECT_VALUES(f(x), 2); }, [&] { return f.stats(); });
  flag.reset();
  for (int i = 0; i < 5; ++i) EXPECT_VALUES(f(x), 0);
}

// A skipped call would leave the caller's variables as they were.
TEST(Skipping, ABodyThatAssignsToItsArgumentsIsNotSkipped) {
  auto tensor = compile([](Tensor& x) { return (x = x + 1) * 2; }, {.pure = true});
  auto number = compile([](const Tensor& x, int64_t& calls) { return x + static_cast<double>(++calls); }, {.pure = true});
  auto list = compile([](std::vector<Tensor>& l) { return l.emplace_back(l.back() + 1) * 1; }, {.pure = true});
  auto optional = compile([](std::optional<Tensor>& o, const Tensor& x) { return *(o = o ? *o + x : x) * 2; }, {.pure = true});
  Tensor x = f32({0});
  const Tensor one = f32({1});
  int64_t calls = 0;
  std::optional<Tensor> sum;
  for (int i = 1; i <= 20; ++i) {
    EXPECT_VALUES(tensor(x), 2.0f * static_cast<float>(i));
    EXPECT_VALUES(x, static_cast<float>(i));
    EXPECT_VALUES(number(one, calls), 1.0f + static_cast<float>(i));
    EXPECT_EQ(calls, i);
    std::vector<Tensor> l = {one};
    EXPECT_VALUES(list(l), 2);
    EXPECT_EQ(l.size(), 2u);
    EXPECT_VALUES(optional(sum, one), 2.0f * static_cast<float>(i));
  }
  for (const Stats& s : {tensor.stats(), number.stats(), list.stats(), optional.stats()}) EXPECT_TRUE(s.pure_promise_broken);
  auto reads = compile([](Tensor& t, int64_t& n, Tensor moved) { return t.add_(n) + std::move(moved); }, {.pure = true});
  int64_t n = 1;
  until_skipped([&] { reads(x, n, one); }, [&] { return reads.stats(); });
  EXPECT_FALSE(reads.stats().pure_promise_broken);
}

// An argument that is captured as well looks like an argument only.
TEST(Skipping, ATensorThatIsBothPassedAndCaptured) {
  const Tensor w = f32({1, 2});
  auto f = compile([w](const Tensor& x) { return x + w; }, {.pure = true});
  for (int i = 0; i < 7; ++i) EXPECT_VALUES(f(w), 2, 4);
  const Tensor y = f32({10, 20});
  for (int i = 0; i < 20; ++i) EXPECT_VALUES(f(y), 11, 22) << i;
  for (int i = 0; i < 20; ++i) {
    EXPECT_VALUES(f(w), 2, 4) << i;
    EXPECT_VALUES(f(y), 11, 22) << i;
  }
  auto identity = compile([w](const Tensor& x) { return std::make_pair(x * 2, w); }, {.pure = true});
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(identity(w).second.is_same(w));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(identity(y).second.is_same(w)) << i;
}

// A call that passes one tensor twice may be followed along the path of one that passes two: that is no broken promise.
TEST(Skipping, OneTensorAsTwoArguments) {
  auto f = compile([](const Tensor& x, const Tensor& y) { return x * 2 + y; }, {.pure = true});
  const Tensor x = f32({1, 2}), y = f32({10, 20});
  for (int i = 0; i < 5; ++i) {
    for (int n = 0; n < 7; ++n) EXPECT_VALUES(f(x, x), 3, 6);
    EXPECT_VALUES(f(x, y), 12, 24);
  }
  EXPECT_FALSE(f.stats().pure_promise_broken);
}

TEST(Skipping, StorageOffsetsAndAliasingThatHostCodeReads) {
  auto offset = compile([](const Tensor& x) { return x.storage_offset() == 0 ? x + 1 : x - 1; }, {.pure = true});
  const Tensor all = f32({1, 2, 3, 4}), front = all.slice(0, 0, 2), back = all.slice(0, 2, 4);
  for (int i = 0; i < 20; ++i) {
    EXPECT_VALUES(offset(front), 2, 3);
    EXPECT_VALUES(offset(back), 2, 3);
  }
  auto alias = compile([](const Tensor& x, const Tensor& y) { return x.is_alias_of(y) ? x + y : x - y; }, {.pure = true});
  const Tensor other = f32({3, 4});
  for (int i = 0; i < 20; ++i) {
    EXPECT_VALUES(alias(front, back), 4, 6);
    EXPECT_VALUES(alias(front, other), -2, -2);
  }
}

// Whoever reads what the body has put aside relies on the body: it is run, in sizes that were met and in others.
TEST(Skipping, ValuesThatTheBodyPutsAside) {
  Tensor value, view;
  auto keep_value = compile([&](const Tensor& x) { return value = x * 2, x + 1; }, {.pure = true});
  auto keep_view = compile([&](const Tensor& x) { return view = x.narrow(0, 0, 2), x + 1; }, {.pure = true});
  for (int i = 0; i < 20; ++i) {
    const Tensor x = full({i < 10 ? 3 : i}, 1.0 * i);
    EXPECT_TRUE(equal(keep_value(x), x + 1)) << i;
    EXPECT_TRUE(equal(value, x * 2)) << i;
    EXPECT_TRUE(equal(keep_view(x), x + 1)) << i;
    EXPECT_TRUE(equal(view, x.narrow(0, 0, 2)) && view.is_alias_of(x)) << i;
  }
}

// Two arguments that the guards cannot tell apart.
TEST(Skipping, LeavesGradientsAndVersionsOfArguments) {
  const Tensor leaf = f32({1, 2}).requires_grad_(true), value = leaf * 2, detached = f32({1, 2}), other = f32({1, 2});
  auto is_leaf = compile([](const Tensor& x) { return std::make_pair(x * 2, x.is_leaf()); }, {.pure = true});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(is_leaf(leaf).second) << i;
    EXPECT_FALSE(is_leaf(value).second) << i;
  }
  detached.mutable_grad() = f32({10, 20});
  other.mutable_grad() = f32({100, 200});
  auto step = compile([](const Tensor& x) { return x + x.grad(); }, {.pure = true});
  for (int i = 0; i < 20; ++i) {
    EXPECT_VALUES(step(detached), 11, 22) << i;
    EXPECT_VALUES(step(other), 101, 202) << i;
  }
  auto version = compile([](const Tensor& x) { return std::make_pair(x * 2, x._version()); }, {.pure = true});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(version(other).second, other._version()) << i;
    other.mul_(1);
  }
}

TEST(Skipping, TheNumberOfThreadsIsAFact) {
  const int before = get_num_threads();
  auto f = compile([](const Tensor& x) { return get_num_threads() == 1 ? x + 1 : x - 1; }, {.pure = true});
  const Tensor x = f32({1});
  for (int i = 0; i < 10; ++i) {
    set_num_threads(1);
    EXPECT_VALUES(f(x), 2);
    set_num_threads(2);
    EXPECT_VALUES(f(x), 0);
  }
  set_num_threads(before);
}

TEST(Skipping, StringsEnumsAndNumbersByBits) {
  enum class Mode { Add, Subtract };
  auto f = compile(
      [](const Tensor& x, Mode mode, const std::string& how, double c) {
        const Tensor y = how == "a longer text than eight characters" ? x * 2 : x;
        return mode == Mode::Add ? 1 / (y * c) : y - 1 / c;
      },
      {.pure = true});
  const Tensor x = f32({1});
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(f(x, Mode::Add, "short", 0.0).item<float>(), INFINITY);
    EXPECT_EQ(f(x, Mode::Add, "short", -0.0).item<float>(), -INFINITY);
    EXPECT_EQ(f(x, Mode::Subtract, "short", 0.0).item<float>(), -INFINITY);
    EXPECT_VALUES(f(x, Mode::Add, "a longer text than eight characters", 1.0), 0.5);
    EXPECT_TRUE(std::isnan(f(x, Mode::Add, "short", NAN).item<float>()));
  }
}

// Code that was compiled for another number must not serve a plan for this one.
TEST(Skipping, NumbersMetWhileNothingMayBeCompiled) {
  auto f = compile([](const Tensor& x, double scale) { return x * scale; }, {.pure = true});
  const Tensor x = f32({1, 2});
  for (int i = 0; i < 5; ++i) EXPECT_VALUES(f(x, 2.0), 2, 4);
  {
    const StanceScope eager(Stance::EagerOnRecompile);
    for (int i = 0; i < 5; ++i) EXPECT_VALUES(f(x, 3.0), 3, 6);
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_VALUES(f(x, 3.0), 3, 6);
    EXPECT_VALUES(f(x, 2.0), 2, 4);
  }
}

// A skipped call would draw the same numbers again.
TEST(Skipping, WhatDrawsRandomNumbersIsNotSkipped) {
  nn::Dropout drop(0.5);
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> bodies = {
      {"module", [&drop](const Tensor& x) { return drop(x); }},
      {"dropout", [](const Tensor& x) { return dropout(x, 0.3, true) * 2; }},
      {"bernoulli", [](const Tensor& x) { return (x * 0.5).bernoulli(); }},
      {"rand_like", [](const Tensor& x) { return x + rand_like(x); }},
      {"randperm", [](const Tensor& x) { return x[randperm(64)]; }},
      {"uniform_", [](const Tensor& x) { return x.clone().uniform_() + x; }},
      {"attention",
       [](const Tensor& x) {
         const Tensor q = x.view({1, 8, 8});
         return nn::functional::scaled_dot_product_attention(q, q, q, {}, 0.5);
       }},
  };
  const Tensor x = arange(64).to(kFloat) * 0.01;
  for (const auto& [what, body] : bodies) {
    auto f = compile([body = body](const Tensor& t) { return body(t); }, {.pure = true});
    std::vector<Tensor> eager;
    manual_seed(3);
    for (int i = 0; i < 20; ++i) eager.push_back(body(x));
    manual_seed(3);
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(allclose(f(x), eager[static_cast<size_t>(i)], 1e-5, 1e-6)) << what << ", call " << i;
    EXPECT_EQ(f.stats().skipped, 0u) << what;
    EXPECT_FALSE(f.stats().pure_promise_broken) << what;
  }
}

// Why the body of a pure function runs is told once in the log, and as data for as long as it does.
TEST(Skipping, WhatIsNotSkippedSaysWhy) {
  static std::vector<std::string> told;
  told.clear();
  set_log_sink([](LogChannel, std::string_view, std::string_view text) {
    if (text.starts_with("declared pure")) told.emplace_back(text);
  });
  set_logs("recompiles");
  const Tensor table = arange(8, kFloat32);
  auto f = compile([&](const Tensor& x, int64_t row) { return x + table.index_select(0, row < 0 ? x.to(kInt64) : tensor({row})); },
                   {.pure = true});
  for (int i = 0; i < 10; ++i) EXPECT_VALUES(f(f32({1}), 2), 3);
  const std::string why = "a tensor takes part that the body makes of host data";
  EXPECT_EQ(f.stats().skipped, 0u);
  EXPECT_TRUE(f.stats().not_skipped.starts_with(why)) << f.stats().not_skipped;
  EXPECT_NE(f.stats().text().find("declared pure, but the body ran: " + why), std::string::npos) << f.stats();
  EXPECT_NE(explain(f)(f32({1}), 2).text().find("declared pure, but the body ran: " + why), std::string::npos);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], "declared pure, but the body ran: " + f.stats().not_skipped);
  for (int i = 0; i < 10; ++i) EXPECT_VALUES(f(f32({1}), -1), 2);
  set_logs("");
  set_log_sink(nullptr);
  EXPECT_GT(f.stats().skipped, 0u);
  EXPECT_EQ(f.stats().not_skipped, "");
  EXPECT_EQ(told.size(), 1u);
}

TEST(Skipping, FreezingAParameterIsSeen) {
  nn::Linear fc(nn::LinearOptions(2, 1).bias(false));
  auto g = compile([&](const Tensor& x) { return fc->forward(x); }, {.pure = true});
  const Tensor x = ones({1, 2});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(g(x).requires_grad());
    fc->weight.set_requires_grad(false);
    for (int i = 0; i < 6; ++i) EXPECT_FALSE(g(x).requires_grad());
    fc->weight.set_requires_grad(true);
  }
}

}  // namespace
}  // namespace tailor
