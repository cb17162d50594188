// Every kind of guard: holds for the call it was made from, fails when its fact changes, says so, and survives a round trip.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "guards/alias.h"
#include "guards/guard_set.h"
#include "guards/kinds/structure.h"
#include "guards/serialize.h"
#include "runtime/ambient.h"
#include "runtime/storage.h"

namespace tailor::guards {
namespace {

/// A call with something for every kind: two tensors, numbers, structure, modes, cells.
struct Call {
  std::vector<ir::TensorSpec> specs = {ir::TensorSpec(kFloat32, {4, 3}), ir::TensorSpec(kInt64, {2})};
  bool second_defined = true;
  IntrusivePtr<Storage> memory = Storage::allocate(64, kCPU);
  int other_memory = 0;
  std::vector<TensorFact> facts;
  // 0.5; an enumerator; "relu"; 7
  std::vector<Scalar> scalars = {Scalar(0.5), Scalar(1), Scalar(4), Scalar(int64_t{0x756c6572}), Scalar(7)};
  // alternative 1; present; 3 elements; keys {"b", "w"}
  std::vector<int64_t> structure = {1, 1, 3, 2, 1, 'b', 1, 'w'};
  uint64_t ambient = 2u << 16, epoch = 5;
  std::vector<IntrusivePtr<Cell>> cells = {IntrusivePtr<Cell>(new Cell(10)), IntrusivePtr<Cell>(new Cell(20))};
  uint64_t first_id = 100, second_id = 101;
  int64_t first_offset = 0, second_offset = 0;
  const void* second_storage = &other_memory;

  CallDescriptor descriptor() {
    facts = {{&specs[0], first_id, memory.get(), first_offset}};
    if (second_defined)
      facts.push_back({&specs[1], second_id, second_storage, second_offset});
    else
      facts.emplace_back();
    return {facts, scalars, structure, ambient, epoch, cells};
  }
};

struct Case {
  Guard guard;
  std::string text;  // of the miss
  std::function<void(Call&)> change;
};

std::vector<Case> cases() {
  const auto of = [](GuardKind kind, int index, int dim, int64_t expected, std::string path, int64_t most = 0,
                     std::vector<int64_t> words = {}) {
    return Guard{kind, index, dim, expected, most, std::move(words), std::move(path), "model.cpp:17"};
  };
  const int as_double = static_cast<int>(Scalar::Kind::Double), as_int = static_cast<int>(Scalar::Kind::Int);
  std::vector<int64_t> divisible = (SizeExpr::size(0, 0) % SizeExpr(2)).words();
  divisible.insert(divisible.end(), {SizeExpr::kConstant, 0});
  return {
      {of(GuardKind::Alternative, 0, -1, 1, "args[4]"), "args[4].index() == 1 failed: got 0", [](Call& c) { c.structure[0] = 0; }},
      {of(GuardKind::Presence, 1, -1, 1, "args[5]"), "args[5].has_value() == true failed: got false", [](Call& c) { c.structure[1] = 0; }},
      {of(GuardKind::Length, 2, -1, 3, "args[6]"), "args[6].size() == 3 failed: got 4", [](Call& c) { c.structure[2] = 4; }},
      {of(GuardKind::Keys, 3, static_cast<int>(KeyFormat::Text), 0, "args[7]", 0, {2, 1, 'b', 1, 'w'}),
       "args[7] has keys {\"b\", \"w\"} failed: got {\"b\", \"v\"}", [](Call& c) { c.structure[7] = 'v'; }},
      {of(GuardKind::Defined, 1, -1, 1, "args[1]"), "args[1].defined() == true failed: got false",
       [](Call& c) { c.second_defined = false; }},
      {of(GuardKind::Dtype, 0, -1, static_cast<int64_t>(kFloat32), "args[0]"), "args[0].dtype() == f32 failed: got bf16",
       [](Call& c) { c.specs[0].dtype = kBFloat16; }},
      {of(GuardKind::Device, 0, -1, 0xff, "args[0]"), "args[0].device() == cpu failed: got cuda:0",
       [](Call& c) { c.specs[0].device = Device(kCUDA, 0); }},
      {of(GuardKind::Rank, 1, -1, 1, "args[1]"), "args[1].dim() == 1 failed: got 2",
       [](Call& c) {
         c.specs[1] = ir::TensorSpec(kInt64, {2, 1});
       }},
      {of(GuardKind::Size, 0, 0, 4, "args[0]"), "args[0].size(0) == 4 failed: got 8", [](Call& c) { c.specs[0].sizes[0] = 8; }},
      {of(GuardKind::SizeRange, 0, 1, 2, "args[0]", 64), "2 <= args[0].size(1) <= 64 failed: got 1",
       [](Call& c) { c.specs[0].sizes[1] = 1; }},
      {of(GuardKind::Stride, 0, 1, 1, "args[0]"), "args[0].stride(1) == 1 failed: got 2", [](Call& c) { c.specs[0].strides[1] = 2; }},
      {of(GuardKind::Layout, 0, -1, 0, "args[0]", 0, {1, 0}), "args[0].is_contiguous() failed: got sizes [4, 3] and strides [1, 4]",
       [](Call& c) {
         c.specs[0].strides = {1, 4};
       }},
      {of(GuardKind::RequiresGrad, 0, -1, 0, "args[0]"), "args[0].requires_grad() == false failed: got true",
       [](Call& c) { c.specs[0].requires_grad = true; }},
      {of(GuardKind::StorageOffset, 0, -1, 0, "args[0]"), "args[0].storage_offset() == 0 failed: got 5",
       [](Call& c) { c.first_offset = 5; }},
      {of(GuardKind::StorageReach, 0, -1, 40, "args[0]"), "the storage of args[0] holds 40 bytes from its first element on failed: got 36",
       [](Call& c) { c.first_offset = 7; }},
      {of(GuardKind::ScalarValue, 0, as_double, Scalar(0.5).bits(), "args[2]"), "args[2] == 0.5 failed: got 0.25",
       [](Call& c) { c.scalars[0] = Scalar(0.25); }},
      {of(GuardKind::ScalarRange, 4, as_int, 0, "args[8]", 9), "0 <= args[8] <= 9 failed: got 10",
       [](Call& c) { c.scalars[4] = Scalar(10); }},
      {of(GuardKind::EnumValue, 1, as_int, 1, "args[3]"), "args[3] == enumerator 1 failed: got enumerator 2",
       [](Call& c) { c.scalars[1] = Scalar(2); }},
      {of(GuardKind::Text, 2, -1, 0, "args[9]", 0, {4, 0x756c6572}), "args[9] == \"relu\" failed: got \"relv\"",
       [](Call& c) { c.scalars[3] = Scalar(int64_t{0x766c6572}); }},
      {of(GuardKind::Identity, 0, -1, 0, "args", 0, {0, 1}), "args: different tensors failed: got args: tensor 1 is tensor 0",
       [](Call& c) { c.second_id = c.first_id; }},
      {of(GuardKind::Aliasing, 0, -1, 0, "args", 0, {0, 0, 1, 0}),
       "args: no shared memory failed: got args: tensor 1 starts 16 bytes after tensor 0 in the same memory",
       [](Call& c) {
         c.second_storage = c.memory.get();
         c.second_offset = 2;
       }},
      {of(GuardKind::Predicate, 0, static_cast<int>(Comparison::Equal), 0, "args", 0, divisible), "args[0].size(0) % 2 == 0 failed: got 1",
       [](Call& c) { c.specs[0].sizes[0] = 3; }},
      {of(GuardKind::Ambient, 0, -1, 2 << 16, "ambient state"),
       "ambient state is grad mode on, default dtype u8, 2 threads failed: got grad mode off, default dtype u8, 2 threads",
       [](Call& c) { c.ambient |= static_cast<uint64_t>(tailor::Ambient::NoGrad); }},
      {of(GuardKind::ModuleEpoch, 0, -1, 5, "module epoch"), "module epoch == 5 failed: got 6", [](Call& c) { c.epoch = 6; }},
      {of(GuardKind::Watched, 0, -1, 10, "watched value"), "watched value was not written failed: got a newer value",
       [](Call& c) { c.cells[0]->word = 11; }},
      {of(GuardKind::Liveness, 1, -1, 20, "captured tensor"), "captured tensor is alive failed: got a tensor that is gone",
       [](Call& c) { c.cells[1]->word = 0; }},
  };
}

TEST(Kinds, EachFailsWhenItsFactChangesAndSaysSo) {
  std::set<GuardKind> seen = {GuardKind::Step};  // compared while following
  for (const Case& one : cases()) {
    seen.insert(one.guard.kind);
    Call call;
    EXPECT_TRUE(one.guard.holds(call.descriptor())) << one.text;
    GuardSet set;
    for (const auto& cell : call.cells) set.require_cell(GuardKind::Watched, cell, cell->word, "cell", "");
    set.add(one.guard);
    EXPECT_TRUE(set.check(call.descriptor())) << one.text << " (not sealed)";
    set.seal();
    EXPECT_TRUE(set.check(call.descriptor())) << one.text;
    one.change(call);
    EXPECT_FALSE(one.guard.holds(call.descriptor())) << one.text;
    EXPECT_FALSE(set.check(call.descriptor())) << one.text;
    EXPECT_EQ(one.guard.condition() + " failed: got " + one.guard.actual(call.descriptor()), one.text);
    EXPECT_TRUE(one.guard.condition().find(one.guard.path) != std::string::npos) << one.text;
    EXPECT_FALSE(one.guard.suggestion().empty()) << one.text;
    EXPECT_FALSE(one.guard.subject().empty());
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kGuardKinds)) << "a kind without a case";
}

TEST(Kinds, MessagesGiveTheSourceLine) {
  Call call;
  GuardSet set;
  set.require_spec(0, &call.specs[0], "args[0]", "model.cpp:17");
  set.seal();
  call.specs[0].sizes[0] = 8;
  const auto miss = set.explain(call.descriptor());
  ASSERT_TRUE(miss);
  EXPECT_EQ(miss->text(), "args[0].size(0) == 4 failed: got 8 (first needed at model.cpp:17)");
  EXPECT_EQ(miss->suggestion,
            "the size changes between calls: let it be dynamic (Dynamic::Automatic, mark_dynamic), bucket it (tailor::bucketed), raise "
            "cache_size_limit, or split the function");
  EXPECT_EQ(miss->subject, "args[0].size(0)");
}

TEST(Kinds, NothingIsReadOutsideOfAShorterCall) {
  for (const Case& one : cases()) {
    if (one.guard.kind == GuardKind::Ambient || one.guard.kind == GuardKind::ModuleEpoch) continue;
    CallDescriptor empty;
    EXPECT_FALSE(one.guard.holds(empty)) << one.text;
    EXPECT_FALSE(one.guard.actual(empty).empty()) << one.text;
    GuardSet set;
    set.add(one.guard);
    set.seal();
    EXPECT_FALSE(set.check(empty)) << one.text;
  }
}

TEST(Kinds, TextAndJsonRoundTrip) {
  std::vector<Guard> all;
  for (const Case& one : cases()) all.push_back(one.guard);
  all.push_back({GuardKind::Step, 3, -1, 0, 0, {}, "relu (model.cpp:4)", ""});
  all.push_back({GuardKind::Size, 0, 0, -1, 0, {}, "args[0][\"a # \\ b\n\xff\"]", "dir with space/a.cpp:1"});
  EXPECT_EQ(from_text(to_text(all)), all);
  all.back().path = "args[0][\"a # \\ b\n\"]";  // JSON holds no bytes that are not UTF-8
  EXPECT_EQ(from_json(to_json(all)), all);
  const Guard size{GuardKind::Size, 0, 0, 64, 0, {}, "args[0]", "model.cpp:17"};
  EXPECT_EQ(to_text(std::span(&size, 1)), "size: \"args[0]\" index 0 dim 0 expected 64 at \"model.cpp:17\"  # args[0].size(0) == 64\n");
}

TEST(Kinds, TextAndJsonThatIsNoGuardIsRefused) {
  const auto text_error = [](const std::string& text) {
    try {
      from_text(text);
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string();
  };
  for (const char* bad : {"nonsense", "size: args", "size: \"args[0", "size: \"a\" index x", "size: \"a\" words 2 1", "flavour: \"a\""})
    EXPECT_NE(text_error(bad).find(std::string("guards: cannot read `") + bad + "`"), std::string::npos) << bad;
  for (const char* bad : {"", "[1]", "[{\"kind\": 3}]", "[{\"kind\": \"size\"}]"}) EXPECT_THROW(from_json(bad), Error) << bad;
  EXPECT_THROW(from_json("[{\"kind\": \"flavour\", \"index\": 0, \"dim\": 0, \"expected\": 0, \"path\": \"\"}]"), Error);
}

TEST(Kinds, RelaxWidensSizesAndIntegers) {
  const Guard size{GuardKind::Size, 0, 0, 4, 0, {}, "args[0]", ""};
  const Guard wide = relax(size, 2, 64);
  EXPECT_EQ(wide.condition(), "2 <= args[0].size(0) <= 64");
  const Guard number{GuardKind::ScalarValue, 4, static_cast<int>(Scalar::Kind::Int), 7, 0, {}, "args[8]", ""};
  EXPECT_EQ(relax(number, 0, 9).condition(), "0 <= args[8] <= 9");
  EXPECT_EQ(relax(relax(number, 0, 9), -1, 10).condition(), "-1 <= args[8] <= 10");
  const Guard real{GuardKind::ScalarValue, 0, static_cast<int>(Scalar::Kind::Double), 0, 0, {}, "args[2]", ""};
  EXPECT_THROW(relax(real, 0, 1), Error);
  EXPECT_THROW(relax(size, 5, 3), Error);
  EXPECT_THROW(relax(size, 5, 9), Error);
  EXPECT_THROW(relax(Guard{GuardKind::Dtype, 0, -1, 0, 0, {}, "args[0]", ""}, 0, 1), Error);
}

TEST(Kinds, NumbersAreToldApartInText) {
  const auto text = [](Scalar s) {
    return Guard{GuardKind::ScalarValue, 0, static_cast<int>(s.kind()), s.bits(), 0, {}, "x", ""}.condition();
  };
  EXPECT_NE(text(0.0), text(-0.0));
  EXPECT_NE(text(0.1), text(0.1 + 1e-17 + 2e-17));
  EXPECT_NE(text(std::nextafter(0.1, 1)), text(0.1));
  EXPECT_EQ(text(NAN), "x == nan");
}

TEST(Kinds, PredicatesComputeAsPythonDoes) {
  const ir::TensorSpec spec(kFloat32, {7, 0});
  const TensorFact fact{&spec, 1, &spec, 0};
  CallDescriptor call{{&fact, 1}, {}, {}};
  const SizeExpr a = SizeExpr::size(0, 0), b = SizeExpr::size(0, 1);
  const auto holds = [&](const SizeExpr& left, Comparison c, const SizeExpr& right) {
    GuardSet g;
    g.require_predicate(left, c, right, "");
    g.seal();
    return g.check(call);
  };
  EXPECT_TRUE(holds(a / 2, Comparison::Equal, 3));
  EXPECT_TRUE(holds((b - a) / 2, Comparison::Equal, -4));
  EXPECT_TRUE(holds((b - a) % 2, Comparison::Equal, 1));
  EXPECT_TRUE(holds(max(a, b) * 2 + min(a, b), Comparison::Equal, 14));
  EXPECT_TRUE(holds(a, Comparison::Greater, b));
  EXPECT_TRUE(holds(a, Comparison::GreaterEqual, 7));
  EXPECT_TRUE(holds(a, Comparison::NotEqual, 8));
  EXPECT_TRUE(holds(b, Comparison::Less, a));
  EXPECT_TRUE(holds(b, Comparison::LessEqual, 0));
  EXPECT_FALSE(holds(a / b, Comparison::Equal, 0));  // by zero
  EXPECT_FALSE(holds(a * INT64_MAX, Comparison::Greater, 0));
  EXPECT_FALSE(holds(SizeExpr::size(0, 5), Comparison::Equal, 0));
  GuardSet g;
  g.require_predicate((a + 1) * b, Comparison::LessEqual, max(a, 3), "");
  EXPECT_EQ(g.facts()[0].condition(), "(args[0].size(0) + 1) * args[0].size(1) <= max(args[0].size(0), 3)");
  EXPECT_EQ(g.facts()[0].actual(call), "0 <= 7");
  const std::string names[] = {"args[1].x", "args[2]"};
  g.require_predicate(a, Comparison::Greater, SizeExpr::size(1, 3), "", names);
  EXPECT_EQ(g.facts()[1].condition(), "args[1].x.size(0) > args[2].size(3)");
}

TEST(Kinds, AliasPatternTellsOverlap) {
  const ir::TensorSpec spec(kFloat32, {4});
  int a = 0, b = 0;
  const std::vector<TensorFact> apart = {{&spec, 1, &a, 0}, {&spec, 2, &b, 0}}, same = {{&spec, 1, &a, 0}, {&spec, 1, &a, 0}},
                                shifted = {{&spec, 1, &a, 0}, {&spec, 3, &a, 2}};
  EXPECT_EQ(alias_pattern(apart), (std::vector<int64_t>{0, 0, 1, 0}));
  EXPECT_EQ(alias_pattern(same), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(alias_pattern(shifted), (std::vector<int64_t>{0, 0, 0, 8}));
  EXPECT_EQ(identity_pattern(same), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(identity_pattern(shifted), (std::vector<int64_t>{0, 1}));
}

TEST(Kinds, PatternsOfManyTensors) {
  const ir::TensorSpec spec(kFloat32, {4});
  std::vector<int> memory(200);
  for (size_t n : {9u, 64u, 128u, 129u, 200u}) {
    std::vector<TensorFact> tensors;
    for (size_t i = 0; i < n; ++i) {
      const size_t which = i % 7 == 3 ? i / 2 : i;
      tensors.push_back({&spec, 1 + which, &memory[which], static_cast<int64_t>(i % 2)});
    }
    tensors[5] = {};
    EXPECT_TRUE(has_alias_pattern(tensors, alias_pattern(tensors))) << n;
    EXPECT_TRUE(has_identity_pattern(tensors, identity_pattern(tensors))) << n;
    std::vector<TensorFact> changed = tensors;
    changed[n - 1].storage = changed[0].storage;
    changed[n - 1].id = changed[0].id;
    EXPECT_FALSE(has_alias_pattern(changed, alias_pattern(tensors))) << n;
    EXPECT_FALSE(has_identity_pattern(changed, identity_pattern(tensors))) << n;
  }
}

}  // namespace
}  // namespace tailor::guards
