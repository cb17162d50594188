#include "guards/guard_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace tailor::guards {
namespace {

struct OneCall {
  std::vector<ir::TensorSpec> specs;
  std::vector<TensorFact> facts;
  std::vector<Scalar> scalars;
  std::vector<int64_t> structure;
  CallDescriptor descriptor() {
    facts.clear();
    for (const auto& s : specs) facts.push_back({&s, 1, &s, 0});
    return {facts, scalars, structure, 0, 7};
  }
};

OneCall base() { return {{ir::TensorSpec(kFloat32, {4, 3}), ir::TensorSpec(kInt64, {2})}, {}, {Scalar(0.5)}, {2}}; }

GuardSet everything(const OneCall& call) {
  GuardSet g;
  for (size_t i = 0; i < call.specs.size(); ++i)
    g.require_spec(static_cast<int>(i), &call.specs[i], "args[" + std::to_string(i) + "]", "model.cpp:17");
  g.require_scalar(0, call.scalars[0], "args[2]", "");
  g.require_structure(call.structure, std::vector<Part>{{GuardKind::Length, "args[3]"}});
  g.require_module_epoch(7);
  g.require_ambient(0);
  g.seal();
  return g;
}

TEST(GuardSet, HoldsForTheCallItWasMadeFrom) {
  OneCall call = base();
  const GuardSet g = everything(call);
  EXPECT_TRUE(g.check(call.descriptor()));
  EXPECT_FALSE(g.explain(call.descriptor()));
}

TEST(GuardSet, EveryFieldIsCheckedAndNamed) {
  struct Case {
    std::string text;
    std::function<void(OneCall&)> change;
  };
  const std::vector<Case> cases = {
      {"args[0].size(0) == 4 failed: got 8 (first needed at model.cpp:17)", [](OneCall& c) { c.specs[0].sizes[0] = 8; }},
      {"args[0].stride(1) == 1 failed: got 2 (first needed at model.cpp:17)", [](OneCall& c) { c.specs[0].strides[1] = 2; }},
      {"args[0].dtype() == f32 failed: got bf16 (first needed at model.cpp:17)", [](OneCall& c) { c.specs[0].dtype = kBFloat16; }},
      {"args[1].dim() == 1 failed: got 2 (first needed at model.cpp:17)",
       [](OneCall& c) {
         c.specs[1] = ir::TensorSpec(kInt64, {2, 1});
       }},
      {"args[0].requires_grad() == false failed: got true (first needed at model.cpp:17)",
       [](OneCall& c) { c.specs[0].requires_grad = true; }},
      {"args[0].device() == cpu failed: got cuda:0 (first needed at model.cpp:17)",
       [](OneCall& c) { c.specs[0].device = Device(kCUDA, 0); }},
      {"args[2] == 0.5 failed: got 0.25", [](OneCall& c) { c.scalars[0] = Scalar(0.25); }},
      {"args[3].size() == 2 failed: got 3", [](OneCall& c) { c.structure[0] = 3; }},
  };
  for (const Case& one : cases) {
    OneCall call = base();
    const GuardSet g = everything(call);
    one.change(call);
    EXPECT_FALSE(g.check(call.descriptor())) << one.text;
    const auto miss = g.explain(call.descriptor());
    ASSERT_TRUE(miss) << one.text;
    EXPECT_EQ(miss->text(), one.text);
  }
}

TEST(GuardSet, EverySizeAndStrideOfEveryRankIsCompared) {
  for (int64_t rank = 0; rank <= 6; ++rank) {
    Dims sizes;
    for (int64_t d = 0; d < rank; ++d) sizes.push_back(d + 2);
    const ir::TensorSpec made_from(kFloat32, sizes);
    GuardSet g;
    g.require_spec(0, &made_from, "args[0]", "");
    g.seal();
    const auto holds = [&](const ir::TensorSpec& spec) {
      const TensorFact fact{&spec, 1, &spec, 0};
      return g.check({{&fact, 1}, {}, {}, 0, 0});
    };
    EXPECT_TRUE(holds(ir::TensorSpec(kFloat32, sizes))) << rank;
    for (const int64_t by : {int64_t{1}, int64_t{1} << 40}) {
      for (size_t d = 0; d < static_cast<size_t>(rank); ++d) {
        ir::TensorSpec size = made_from, stride = made_from;
        size.sizes[d] += by;
        stride.strides[d] += by;
        EXPECT_FALSE(holds(size)) << "size " << d << " of rank " << rank;
        EXPECT_FALSE(holds(stride)) << "stride " << d << " of rank " << rank;
      }
    }
    ir::TensorSpec higher = made_from;
    higher.sizes.push_back(1);
    higher.strides.push_back(1);
    EXPECT_FALSE(holds(higher)) << rank;
  }
}

TEST(GuardSet, DynamicSizesStayInTheirRange) {
  const ir::TensorSpec recorded(kFloat32, {4, 3});
  GuardSet g;
  const std::vector<DimRange> dynamic = {{0, 2, 64}};
  g.require_spec(0, &recorded, "args[0]", "model.cpp:17", dynamic);
  g.seal();
  OneCall call{{recorded}, {}, {}, {}};
  const auto miss = [&](ir::TensorSpec spec) {
    call.specs = {std::move(spec)};
    const auto found = g.explain(call.descriptor());
    EXPECT_EQ(g.check(call.descriptor()), !found);
    return found ? found->text() : "";
  };
  for (int64_t n : {2, 4, 5, 64}) EXPECT_EQ(miss(ir::TensorSpec(kFloat32, {n, 3})), "") << n;
  EXPECT_EQ(miss(ir::TensorSpec(kFloat32, {1, 3})), "2 <= args[0].size(0) <= 64 failed: got 1 (first needed at model.cpp:17)");
  EXPECT_EQ(miss(ir::TensorSpec(kFloat32, {65, 3})), "2 <= args[0].size(0) <= 64 failed: got 65 (first needed at model.cpp:17)");
  EXPECT_EQ(miss(ir::TensorSpec(kFloat32, {8, 4})), "args[0].size(1) == 3 failed: got 4 (first needed at model.cpp:17)");
  EXPECT_EQ(miss(ir::TensorSpec(kFloat32, {8, 3}, {1, 8}, {})),
            "args[0].is_contiguous() failed: got sizes [8, 3] and strides [1, 8] (first needed at model.cpp:17)");
  EXPECT_EQ(miss(ir::TensorSpec(kFloat64, {8, 3})), "args[0].dtype() == f32 failed: got f64 (first needed at model.cpp:17)");
  EXPECT_EQ(miss(ir::TensorSpec(kFloat32, {8})), "args[0].dim() == 2 failed: got 1 (first needed at model.cpp:17)");
  ir::TensorSpec grad(kFloat32, {8, 3});
  grad.requires_grad = true;
  EXPECT_EQ(miss(grad), "args[0].requires_grad() == false failed: got true (first needed at model.cpp:17)");
}

TEST(GuardSet, DynamicStridesFollowTheOrderOfDimensions) {
  struct Case {
    ir::TensorSpec recorded, call;
    bool holds;
  };
  const auto strided = [](Dims sizes, Dims strides) { return ir::TensorSpec(kFloat32, sizes, strides, {}); };
  const std::vector<Case> cases = {
      {strided({4, 3}, {1, 4}), strided({8, 3}, {1, 8}), true},  // transposed
      {strided({4, 3}, {1, 4}), strided({8, 3}, {3, 1}), false},
      {strided({4, 1, 3}, {3, 3, 1}), strided({8, 1, 3}, {3, 3, 1}), true},
      {strided({4, 1, 3}, {3, 3, 1}), strided({8, 1, 3}, {3, 24, 1}), false},  // as a static guard: strides of size 1 count
      {strided({1, 3}, {3, 1}), strided({5, 3}, {3, 1}), true},
      {strided({4, 0}, {1, 1}), strided({5, 0}, {1, 1}), true},
      {strided({4, 3}, {6, 2}), strided({5, 3}, {6, 2}), true},  // not dense: the strides as recorded
      {strided({4, 3}, {6, 2}), strided({5, 3}, {3, 1}), false},
      {strided({4, 3}, {0, 1}), strided({5, 3}, {0, 1}), true},  // expanded
      {strided({4, 3}, {0, 1}), strided({5, 3}, {3, 1}), false},
  };
  for (const Case& one : cases) {
    GuardSet g;
    g.require_spec(0, &one.recorded, "x", "", std::vector<DimRange>{{0, 0, INT64_MAX}});
    g.seal();
    OneCall recorded{{one.recorded}, {}, {}, {}}, call{{one.call}, {}, {}, {}};
    EXPECT_FALSE(g.explain(recorded.descriptor())) << to_string(one.recorded);
    EXPECT_EQ(!g.explain(call.descriptor()), one.holds) << to_string(one.recorded) << " then " << to_string(one.call);
    EXPECT_EQ(g.check(call.descriptor()), one.holds) << to_string(one.recorded) << " then " << to_string(one.call);
  }
}

TEST(GuardSet, RangesThatCannotBeAreErrors) {
  const ir::TensorSpec spec(kFloat32, {4});
  const auto text = [&](DimRange range) {
    GuardSet g;
    try {
      g.require_spec(0, &spec, "args[0]", "", std::span(&range, 1));
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string();
  };
  EXPECT_NE(text({1, 2, 4}).find("args[0]: a range of sizes names dimension 1, which is not there"), std::string::npos) << text({1, 2, 4});
  EXPECT_NE(text({0, 4, 2}).find("args[0]: the range of sizes of dimension 0 is empty: 4 to 2"), std::string::npos);
}

TEST(GuardSet, ScalarsByBits) {
  OneCall call = base();
  call.scalars = {Scalar(0.0)};
  call.structure.clear();
  GuardSet g;
  g.require_scalar(0, Scalar(0.0), "s", "");
  EXPECT_TRUE(g.check(call.descriptor()));
  call.scalars = {Scalar(-0.0)};
  EXPECT_FALSE(g.check(call.descriptor()));
  call.scalars = {Scalar(0)};
  EXPECT_FALSE(g.check(call.descriptor()));
  GuardSet nan;
  nan.require_scalar(0, Scalar(NAN), "s", "");
  call.scalars = {Scalar(NAN)};
  EXPECT_TRUE(nan.check(call.descriptor()));
}

TEST(GuardSet, MovedOnEpochsAreTakenOver) {
  GuardSet g;
  g.require_module_epoch(7);
  g.require_ambient(0);
  g.seal();
  EXPECT_TRUE(g.check({{}, {}, {}, 0, 7}));
  EXPECT_FALSE(g.check({{}, {}, {}, 0, 8}));
  EXPECT_EQ(g.explain({{}, {}, {}, 0, 8})->text(), "module epoch == 7 failed: got 8");
  g.refresh_module_epoch(8);
  EXPECT_TRUE(g.check({{}, {}, {}, 0, 8}));
  EXPECT_FALSE(g.explain({{}, {}, {}, 0, 8}));
  EXPECT_FALSE(g.check({{}, {}, {}, 0, 7}));
}

TEST(GuardSet, GuardsAreData) {
  OneCall call = base();
  const std::vector<Guard> a = everything(call).guards(), b = everything(call).guards();
  EXPECT_EQ(a, b);
  for (const Guard& g : a) {
    EXPECT_TRUE(g.holds(call.descriptor())) << g.condition();
    EXPECT_GT(typical_cost(g.kind), 0);
    EXPECT_FALSE(to_string(g.kind).empty());
  }
}

}  // namespace
}  // namespace tailor::guards
