// Ops whose validity depends on the storage beneath a tensor and not on its sizes and strides: calls that skip the body check it as the
// body would.

#include <gtest/gtest.h>

#include <functional>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& e) { return std::string(e.what()).substr(0, std::string(e.what()).find(", at ")); }
  return "no error";
}

/// Four elements of eight.
Tensor roomy(float first = 0) { return (arange(8).to(kFloat32) + first).slice(0, 0, 4); }

template <class F, class... In>
void skip(F& f, const In&... in) {
  const uint64_t before = f.stats().skipped;
  for (int i = 0; i < 20; ++i) f(in...);
  EXPECT_GT(f.stats().skipped, before);
}

/// The compiled function throws what the plain one throws, again and again.
template <class Plain, class Compiled, class... In>
void throws_alike(const Plain& plain, Compiled& compiled, const In&... in) {
  const std::string expected = error_of([&] { plain(in...); });
  EXPECT_NE(expected, "no error");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(error_of([&] { compiled(in...); }), expected);
}

bool has_guard(const std::vector<Explanation::GuardText>& guards, const std::string& kind, const std::string& condition) {
  return std::any_of(guards.begin(), guards.end(), [&](const auto& g) { return g.kind == kind && g.condition == condition; });
}

TEST(StorageFacts, AStridedViewOfAnArgumentNeedsItsStorage) {
  const auto body = [](const Tensor& x) { return x.as_strided({4}, {2}) * 2; };
  for (const bool pure : {true, false}) {
    auto f = compile(body, {.pure = pure});
    const Tensor x = roomy(), exact = roomy(1).as_strided({7}, {1}).clone().slice(0, 0, 4);
    if (pure) skip(f, x);
    for (int i = 0; i < 20; ++i) {
      EXPECT_VALUES(f(x), 0, 4, 8, 12);
      EXPECT_VALUES(f(exact), 2, 6, 10, 14);  // seven elements are enough
    }
    throws_alike(body, f, f32({1, 2, 3, 4}));
    throws_alike(body, f, arange(8).to(kFloat32).slice(0, 4, 8));  // large, but this one starts too late
    EXPECT_VALUES(f(x), 0, 4, 8, 12);
    EXPECT_FALSE(f.stats().pure_promise_broken);
    if (!pure) continue;
    skip(f, x);
    const Explanation told = explain(f)(x);
    EXPECT_TRUE(has_guard(told.skip_guards, "storage reach", "the storage of args[0] holds 28 bytes from its first element on"))
        << told.text();
  }
}

TEST(StorageFacts, AnOffsetThatIsGivenCountsFromTheStart) {
  const auto body = [](const Tensor& x) { return x.as_strided({2}, {1}, 1) + 0; };
  for (const bool pure : {true, false}) {
    auto f = compile(body, {.pure = pure});
    const Tensor all = arange(8).to(kFloat32), front = all.slice(0, 0, 2), back = all.slice(0, 6, 8);
    if (pure) skip(f, back);
    for (int i = 0; i < 20; ++i) {
      EXPECT_VALUES(f(front), 1, 2);
      EXPECT_VALUES(f(back), 1, 2);
    }
    throws_alike(body, f, f32({1, 2}));
    if (!pure) continue;
    skip(f, back);
    const Explanation told = explain(f)(back);
    EXPECT_TRUE(has_guard(told.skip_guards, "storage offset", "args[0].storage_offset() == 6")) << told.text();
  }
}

// No filter of guards lets memory be read that is not there.
TEST(StorageFacts, GuardsOfStorageCannotBeDropped) {
  const auto none = [](const Guard& g) { return g.kind != "storage reach" && g.kind != "storage offset"; };
  auto forwards = compile([](const Tensor& x) { return x.as_strided({4}, {2}) * 2; }, {.pure = true, .guard_filter = none});
  skip(forwards, roomy());
  for (int i = 0; i < 20; ++i) EXPECT_NE(error_of([&] { forwards(f32({1, 2, 3, 4})); }), "no error");
  auto backwards = compile([](const Tensor& x) { return x.as_strided({2}, {1}, 0) * 2; }, {.pure = true, .guard_filter = none});
  skip(backwards, arange(8).to(kFloat32).slice(0, 4, 6));
  for (int i = 0; i < 20; ++i) EXPECT_VALUES(backwards(f32({5, 6})), 10, 12);
}

TEST(StorageFacts, ViewsOfArguments) {
  const auto strided = [](const Tensor& x) { return x.narrow(0, 1, 2).as_strided({3}, {2}) * 2; };
  const auto placed = [](const Tensor& x) { return x.narrow(0, 1, 2).as_strided({2}, {1}, 2) * 2; };
  auto f = compile(strided, {.pure = true});
  auto g = compile(placed, {.pure = true});
  const Tensor x = roomy(), late = arange(8).to(kFloat32).slice(0, 2, 6);
  for (int i = 0; i < 20; ++i) {
    EXPECT_VALUES(f(x), 2, 6, 10);
    EXPECT_VALUES(f(late), 6, 10, 14);
    EXPECT_VALUES(g(x), 4, 6);
    EXPECT_VALUES(g(late), 4, 6);
  }
  throws_alike(strided, f, f32({1, 2, 3, 4}));
  throws_alike(strided, f, f32({1, 2, 3}));  // in a size that the body was never run in
  throws_alike(placed, g, f32({1, 2, 3}));
  EXPECT_FALSE(f.stats().pure_promise_broken);
  EXPECT_FALSE(g.stats().pure_promise_broken);
}

// The offset of a view is one that the call has made, wherever its argument lies.
TEST(StorageFacts, OffsetsOfViewsThatHostCodeReads) {
  const auto body = [](const Tensor& x) {
    const Tensor view = x.narrow(0, 1, 2);
    return view.storage_offset() == 1 ? view + 1 : view - 1;
  };
  auto f = compile(body, {.pure = true});
  const Tensor all = arange(8).to(kFloat32);
  for (int i = 0; i < 20; ++i) {
    EXPECT_VALUES(f(all.slice(0, 0, 4)), 2, 3);
    EXPECT_VALUES(f(all.slice(0, 4, 8)), 4, 5);
    EXPECT_VALUES(f(all.slice(0, 0, 4 + i % 4)), 2, 3);
    EXPECT_VALUES(f(all.slice(0, 3, 8 - i % 2)), 3, 4);
  }
  EXPECT_FALSE(f.stats().pure_promise_broken);
}

TEST(StorageFacts, ViewsOfCapturedTensors) {
  Tensor w = roomy();
  const auto body = [&w](const Tensor& x) { return x + w.as_strided({2}, {6}) + w.narrow(0, 1, 2).as_strided({2}, {5}); };
  const auto direct = [&w](const Tensor& x) { return x + w.as_strided({2}, {6}); };
  for (const bool pure : {true, false}) {
    w = roomy();
    auto f = compile(body, {.pure = pure});
    auto g = compile(direct, {.pure = pure});
    const Tensor x = f32({10, 20});
    for (int i = 0; i < 20; ++i) EXPECT_VALUES(f(x), 11, 32);
    if (pure) skip(g, x);
    w = roomy(1);
    for (int i = 0; i < 20; ++i) EXPECT_VALUES(f(x), 13, 34);
    for (int i = 0; i < 20; ++i) EXPECT_VALUES(g(x), 11, 27);
    w = f32({1, 2, 3, 4});
    throws_alike(body, f, x);
    throws_alike(direct, g, x);
    w = roomy(2);
    for (int i = 0; i < 20; ++i) EXPECT_VALUES(g(x), 12, 28);
    w.set_data(f32({1, 2, 3, 4}));
    throws_alike(direct, g, x);
    EXPECT_FALSE(f.stats().pure_promise_broken);
    EXPECT_FALSE(g.stats().pure_promise_broken);
  }
}

// In sizes of another argument that the body was never run in.
TEST(StorageFacts, OtherSizes) {
  const auto body = [](const Tensor& x, const Tensor& y) { return y.view({y.sym_size(0), 1}) + x.as_strided({4}, {2}); };
  const auto placed = [](const Tensor& x, const Tensor& y) { return y.view({y.sym_size(0), 1}) + x.as_strided({1}, {1}, 0); };
  auto f = compile(body, {.pure = true});
  auto g = compile(placed, {.pure = true});
  const Tensor all = arange(8).to(kFloat32);
  for (int64_t n = 2; n < 12; ++n) {
    const Tensor y = zeros({n});
    const Tensor x = roomy(static_cast<float>(n));
    EXPECT_TRUE(f(x, y).equal(body(x, y))) << n;
    EXPECT_TRUE(g(all.slice(0, n % 4, n % 4 + 4), y).equal(placed(all, y))) << n;
  }
  EXPECT_GT(f.stats().sizes_bound, 0u);
  for (int64_t n = 12; n < 16; ++n) throws_alike(body, f, f32({1, 2, 3, 4}), zeros({n}));
  EXPECT_FALSE(f.stats().pure_promise_broken);
  EXPECT_FALSE(g.stats().pure_promise_broken);
}

}  // namespace
}  // namespace tailor
