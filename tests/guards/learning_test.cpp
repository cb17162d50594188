// Simplifying, ordering, learning: that none of it changes what holds, and that the order follows what fails.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "guards/guard_set.h"
#include "guards/simplify.h"

namespace tailor::guards {
namespace {

std::vector<std::string> conditions(const std::vector<Guard>& guards) {
  std::vector<std::string> all;
  for (const Guard& g : guards) all.push_back(g.condition());
  return all;
}

TEST(Simplify, ImpliedGuardsGo) {
  const ir::TensorSpec dense(kFloat32, {4, 3}), gaps(kFloat32, {4, 3}, {6, 2}, {});
  const TensorFact fact{&dense, 1, &dense, 0};
  GuardSet g;
  g.require_spec(0, &dense, "x", "");
  g.require_spec(0, &dense, "x", "");  // once is enough
  g.require_identity(std::span(&fact, 1));
  g.require_aliasing(std::span(&fact, 1));
  g.require_predicate(SizeExpr::size(0, 0), Comparison::Greater, 2, "");
  g.require_scalar(0, Scalar(3), "n", "");
  g.add(relax({GuardKind::ScalarValue, 0, static_cast<int>(Scalar::Kind::Int), 3, 0, {}, "n", ""}, 0, 9));
  g.require_scalar(0, Scalar(3), "n", "");
  EXPECT_EQ(conditions(g.guards()), (std::vector<std::string>{"x.dtype() == f32", "x.device() == cpu", "x.size(0) == 4", "x.size(1) == 3",
                                                              "x.is_contiguous()", "x.requires_grad() == false", "n == 3"}));
  GuardSet strided;
  strided.require_spec(0, &gaps, "x", "");
  EXPECT_EQ(conditions(strided.guards()),
            (std::vector<std::string>{"x.dtype() == f32", "x.device() == cpu", "x.dim() == 2", "x.size(0) == 4", "x.size(1) == 3",
                                      "x.stride(0) == 6", "x.stride(1) == 2", "x.requires_grad() == false"}));
  GuardSet undefined;
  undefined.require_spec(0, nullptr, "x", "");
  EXPECT_EQ(conditions(undefined.guards()), (std::vector<std::string>{"x.defined() == false"}));
  GuardSet captured;
  captured.require_module_epoch(3);
  captured.require_cell(GuardKind::Liveness, IntrusivePtr<Cell>(new Cell(7)), 7, "w", "");
  EXPECT_EQ(conditions(captured.guards()), (std::vector<std::string>{"module epoch == 3"}));
}

/// A call with a few facts out of small ranges, so that they often agree.
struct RandomCall {
  std::vector<ir::TensorSpec> specs;
  std::vector<bool> defined;
  std::vector<TensorFact> facts;
  std::vector<Scalar> scalars;
  std::vector<int64_t> structure;
  uint64_t ambient = 0, epoch = 0;

  explicit RandomCall(std::mt19937& random) {
    const auto pick = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
    for (int i = 0; i < 3; ++i) {
      Dims sizes(static_cast<size_t>(1 + pick(2)), 1);
      for (int64_t& s : sizes) s = 1 + pick(3);
      ir::TensorSpec spec(pick(4) ? kFloat32 : kFloat64, sizes);
      if (sizes.size() == 2 && pick(3) == 0) spec.strides = {1, sizes[0]};
      if (pick(4) == 0) spec.strides[0] *= 2;
      spec.requires_grad = pick(4) == 0;
      specs.push_back(spec);
      defined.push_back(pick(8) != 0);
    }
    for (int i = 0; i < 2; ++i) scalars.push_back(pick(2) ? Scalar(pick(2)) : Scalar(0.0));
    structure = {pick(2), pick(2)};
    ambient = static_cast<uint64_t>(pick(2));
    epoch = static_cast<uint64_t>(pick(2));
  }
  CallDescriptor descriptor() {
    facts.clear();
    for (size_t i = 0; i < specs.size(); ++i) facts.push_back(defined[i] ? TensorFact{&specs[i], i + 1, &specs[i], 0} : TensorFact{});
    return {facts, scalars, structure, ambient, epoch};
  }
};

GuardSet everything(RandomCall& call, std::mt19937& random) {
  GuardSet g;
  CallDescriptor d = call.descriptor();
  g.require_structure(d.structure, std::vector<Part>{{GuardKind::Length, "a"}, {GuardKind::Presence, "b"}});
  for (int i = 0; i < 3; ++i) {
    std::vector<DimRange> dynamic;
    if (d.tensors[static_cast<size_t>(i)].spec && random() % 2) dynamic.push_back({0, 1, 2 + static_cast<int64_t>(random() % 2)});
    if (!dynamic.empty() && call.specs[static_cast<size_t>(i)].sizes[0] > dynamic[0].max) dynamic.clear();
    g.require_spec(i, d.tensors[static_cast<size_t>(i)].spec, "t" + std::to_string(i), "", dynamic);
  }
  g.require_scalars(d.scalars, std::vector<Part>{{GuardKind::ScalarValue, "x"}, {GuardKind::ScalarValue, "y"}});
  g.require_identity(d.tensors);
  g.require_aliasing(d.tensors);
  if (random() % 2) g.require_ambient(d.ambient);
  if (random() % 2) g.require_module_epoch(d.module_epoch);
  if (d.tensors[0].spec) g.require_predicate(SizeExpr::size(0, 0), Comparison::GreaterEqual, 1, "");
  return g;
}

TEST(Simplify, TheProgramSaysWhatTheFactsSay) {
  std::mt19937 random(7);
  int held = 0;
  for (int round = 0; round < 400; ++round) {
    RandomCall recorded(random);
    GuardSet g = everything(recorded, random);
    g.review([&](const Guard& fact) { return random() % 16 ? std::optional(fact) : std::nullopt; });  // as a filter does
    const std::vector<Guard> facts = g.facts(), simple = simplified(facts);
    g.seal(static_cast<Order>(round % 3));
    EXPECT_TRUE(g.check(recorded.descriptor()));
    for (int i = 0; i < 60; ++i) {
      RandomCall call(random);
      if (i % 2) {  // close to the recorded one
        const RandomCall other = call;
        call = recorded;
        const size_t t = random() % 3;
        call.specs[t] = other.specs[t];
        if (random() % 2) call.defined[t] = other.defined[t];
        if (random() % 4 == 0) call.scalars = other.scalars;
      }
      const CallDescriptor d = call.descriptor();
      const auto holds = [&](const Guard& guard) { return guard.holds(d); };
      const bool expected = std::all_of(facts.begin(), facts.end(), holds);
      held += expected;
      ASSERT_EQ(std::all_of(simple.begin(), simple.end(), holds), expected) << "seed 7, round " << round << ", call " << i;
      ASSERT_EQ(g.check(d), expected) << "seed 7, round " << round << ", call " << i;
      ASSERT_EQ(!g.explain(d), expected);
    }
  }
  EXPECT_GT(held, 1000);
}

/// Two numbers and a text; which of them is expected to fail is up to the test.
GuardSet three_parts(Order order) {
  GuardSet g;
  const std::vector<Scalar> scalars = {Scalar(1), Scalar(2), Scalar(3)};
  g.require_scalars(scalars,
                    std::vector<Part>{{GuardKind::ScalarValue, "a"}, {GuardKind::ScalarValue, "b"}, {GuardKind::ScalarValue, "c"}});
  g.seal(order);
  return g;
}

std::vector<std::string> order_of(const GuardSet& g) {
  std::vector<std::string> all;
  for (const GuardSet::Unit& unit : g.units()) all.push_back(unit.guards.at(0).path);
  return all;
}

TEST(Order, FollowsWhatFails) {
  for (Order order : {Order::Expected, Order::Product}) {
    const GuardSet g = three_parts(order);
    EXPECT_EQ(order_of(g), (std::vector<std::string>{"a", "b", "c"}));
    for (int i = 0; i < 100; ++i) {
      const std::vector<Scalar> scalars = {Scalar(1), Scalar(i % 10 ? 2 : 0), Scalar(i % 10 ? 0 : 3)};
      g.learn({{}, scalars, {}});
    }
    g.reorder(nullptr);
    EXPECT_EQ(order_of(g), (std::vector<std::string>{"c", "b", "a"}));
    EXPECT_EQ(g.samples(), 100u);
    EXPECT_EQ(g.units()[0].failures, 90u);
    EXPECT_EQ(g.units()[1].failures, 10u);
    EXPECT_TRUE(g.check({{}, std::vector<Scalar>{Scalar(1), Scalar(2), Scalar(3)}, {}}));
    // Messages do not depend on the order.
    EXPECT_EQ(g.explain({{}, std::vector<Scalar>{Scalar(0), Scalar(0), Scalar(0)}, {}})->text(), "a == 1 failed: got 0");
  }
  const GuardSet fixed = three_parts(Order::Insertion);
  for (int i = 0; i < 100; ++i) fixed.check({{}, std::vector<Scalar>{Scalar(1), Scalar(2), Scalar(0)}, {}});
  EXPECT_EQ(order_of(fixed), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Order, ChecksLearnByThemselves) {
  const GuardSet g = three_parts(Order::Expected);
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(g.check({{}, std::vector<Scalar>{Scalar(1), Scalar(2), Scalar(0)}, {}}));
  EXPECT_GE(g.samples(), 64u);
  const auto units = g.units();
  const auto c = std::find_if(units.begin(), units.end(), [](const auto& u) { return u.guards[0].path == "c"; });
  EXPECT_EQ(c->failures, g.samples());
  EXPECT_GT(c->cost, 0);
}

TEST(Order, BestOrderOfIndependentParts) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 200; ++round) {
    std::vector<CostAndFailure> parts(5);
    for (auto& part : parts) part = {0.2 + uniform(random), uniform(random)};
    std::vector<size_t> order(parts.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    double best = 1e9;
    do { best = std::min(best, expected_time(parts, order)); } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_NEAR(expected_time(parts, checking_order(parts, Order::Expected)), best, 1e-12);
    EXPECT_GE(expected_time(parts, checking_order(parts, Order::Product)), best - 1e-12);
  }
  const std::vector<CostAndFailure> never(3, {1, 0});
  EXPECT_EQ(checking_order(never, Order::Expected), (std::vector<size_t>{0, 1, 2}));
}

TEST(Order, ThreadsCheckWhileTheOrderChanges) {
  const GuardSet g = three_parts(Order::Expected);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        const bool good = (i + t) % 3 == 0;
        const std::vector<Scalar> scalars = {Scalar(1), Scalar(i % 7 == 1 && !good ? 0 : 2), Scalar(good ? 3 : 0)};
        EXPECT_EQ(g.check({{}, scalars, {}}), good);
      }
    });
  }
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace tailor::guards
