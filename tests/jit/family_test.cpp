// One program for many sizes against programs for one size each.

#include "jit/family.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "ir/graph.h"
#include "jit/check_family.h"
#include "jit/random_graph.h"
#include "jit/run_graph.h"

namespace tailor::jit {
namespace {

using ir::GraphBuilder;
using ir::TensorSpec;
using ir::ValueId;
using testing::Build;
using testing::check_at;
using testing::family_of;
using testing::graph_of;
using testing::input;
using testing::Sizes;

struct Case {
  std::string name;
  Build build;
  double tolerance = 0;
  int64_t hint = 4;
  int64_t most_min = 2, least_max = 1000;  // what the family must serve at least
};

void check_case(const Case& c, Backend backend, int64_t step) {
  SCOPED_TRACE(c.name);
  const GraphAt graph_at = graph_of(c.build);
  const auto family = family_of(graph_at, {{c.hint}}, backend);
  EXPECT_NE(family, nullptr);
  if (family == nullptr) return;
  const SymbolRange range = family->ranges()[0];
  EXPECT_LE(range.min, c.most_min);
  EXPECT_GE(range.max, c.least_max);
  // Each binding's numbers are compared with those of the program of its size; results at some.
  for (int64_t n = range.min; n <= std::min<int64_t>(70, range.max); ++n) {
    if ((n - range.min) % step != 0) {
      EXPECT_NE(family->bind(std::vector<int64_t>{n}), nullptr);
      continue;
    }
    check_at(*family, graph_at, {{n}}, c.tolerance, backend);
    if (::testing::Test::HasFatalFailure()) return;
  }
  for (const int64_t n : {129, 400, 1000})
    if (n <= range.max) check_at(*family, graph_at, {{n}}, c.tolerance, backend);
  EXPECT_EQ(family->bind(std::vector<int64_t>{range.min - 1}), nullptr);
  EXPECT_EQ(family->bind(std::vector<int64_t>{range.max + 1}), nullptr);
}

const std::vector<int64_t> kLast{-1}, kFirst{0}, kBoth{0, 1}, kZeros{0, 0}, kOnes{1, 1}, kTwos{2, 2};

ValueId view(GraphBuilder& b, ValueId v, IntArrayRef sizes) { return b.call("view", {v}, {sizes}); }
ValueId cat(GraphBuilder& b, std::vector<ir::Value> parts, int64_t dim) {
  const ir::AttrRef attrs[] = {dim};
  return b.call_many(*ir::find_op("cat"), parts, attrs).at(0);
}
ValueId slice(GraphBuilder& b, ValueId v, int64_t dim, int64_t start, int64_t end) { return b.call("slice", {v}, {dim, start, end, 1}); }
ValueId sum(GraphBuilder& b, ValueId v, const std::vector<int64_t>& dims, bool keepdim = false) {
  return b.call("sum", {v}, {dims, keepdim, std::nullopt});
}
ValueId attention(GraphBuilder& b, ValueId q, ValueId k, ValueId v) {
  const ValueId scores = b.call("div", {b.call("matmul", {q, b.call("transpose", {k}, {-2, -1})}), tailor::Scalar(4.0)});
  return b.call("matmul", {b.call("softmax", {scores}, {-1, std::nullopt}), v});
}

// Same bits, but where folds or matrix products are cut otherwise.
std::vector<Case> pointwise_cases() {
  std::vector<Case> all;
  all.push_back({"rows and a bias", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 5}), y = input(b, {5});
                   return std::vector{b.call("relu", {b.call("add", {b.call("tanh", {x}), y})})};
                 }});
  all.push_back({"columns", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {7, s[0]}), y = input(b, {7, 1}), z = input(b, {s[0]});
                   return std::vector{b.call("mul", {b.call("exp", {b.call("sub", {x, y})}), z}), b.call("gt", {x, z})};
                 }});
  all.push_back({"transpose", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 9}), y = input(b, {9, s[0]});
                   return std::vector{b.call("add", {b.call("t", {x}), y}), b.call("clone", {b.call("t", {y})}, {true})};
                 }});
  all.push_back({"permuted heads", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = view(b, input(b, {2, s[0], 12}), {2, s[0], 3, 4});
                   const ValueId heads = b.call("neg", {b.call("permute", {x}, {IntArrayRef{0, 2, 1, 3}})});
                   return std::vector{b.call("clone", {heads}, {true}),
                                      view(b, b.call("clone", {b.call("transpose", {heads}, {1, 2})}, {true}), {2, s[0], 12})};
                 }});
  all.push_back({"cat of the symbol and a constant size",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 6}), y = input(b, {4, 6});
                   return std::vector{b.call("mul", {cat(b, {x, y}, 0), tailor::Scalar(2.0)}), cat(b, {b.call("exp", {y}), x, x}, 0)};
                 },
                 0, 4, 6});
  all.push_back({"cat along columns", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {3, s[0]}), y = input(b, {3, 8});
                   return std::vector{b.call("tanh", {cat(b, {x, b.call("neg", {y})}, 1)})};
                 }});
  all.push_back({"slices",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 10});
                   return std::vector{b.call("add", {slice(b, x, 0, 1, s[0]), slice(b, x, 0, 0, s[0] - 1)}),
                                      b.call("mul", {slice(b, x, 1, 0, 5), slice(b, x, 1, 5, 10)}),
                                      b.call("neg", {b.call("select", {x}, {0, s[0] - 1})})};
                 },
                 0, 4, 3});
  all.push_back({"every second row", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = view(b, input(b, {2 * s[0], 6}), {s[0], 2, 6});
                   return std::vector{b.call("sub", {b.call("select", {x}, {1, 0}), b.call("select", {x}, {1, 1})})};
                 }});
  all.push_back({"pad, flip and roll", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {3, s[0]});
                   return std::vector{b.call("exp", {b.call("pad", {x, tailor::Scalar(0.5)}, {IntArrayRef{2, 1}, 0})}),
                                      b.call("add", {b.call("flip", {x}, {kLast}), x}),
                                      b.call("add", {b.call("roll", {x}, {IntArrayRef{1}, kLast}), x})};
                 }});
  all.push_back({"triangles and counting", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], s[0]});
                   const ValueId steps = b.call("arange", {tailor::Scalar(0), tailor::Scalar(1)}, {s[0], kInt64});
                   const ValueId mask = b.call("ge", {b.call("unsqueeze", {steps}, {1}), steps});
                   return std::vector{b.call("tril", {b.call("exp", {x})}, {0}), b.call("where", {mask, x, tailor::Scalar(-1.0)})};
                 }});
  all.push_back({"merged dims", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 3, 4}), y = input(b, {s[0] * 3, 4});
                   return std::vector{b.call("add", {view(b, x, {s[0] * 3, 4}), y}), view(b, b.call("neg", {x}), {s[0] * 12})};
                 }});
  all.push_back({"folds without rounding", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 70}), y = input(b, {5, s[0]});
                   return std::vector{b.call("amax", {x}, {kFirst, true}),
                                      b.call("amin", {x}, {kLast, false}),
                                      b.call("argmax", {x}, {0, false}),
                                      b.call("argmin", {y}, {1, true}),
                                      b.call("amax", {b.call("neg", {y})}, {kBoth, false}),
                                      sum(b, b.call("gt", {x, tailor::Scalar(0)}), kBoth)};
                 }});
  all.push_back({"writes in place",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 6}), y = input(b, {s[0], 6});
                   const ir::Value operands[] = {x, b.call("exp", {y})};
                   const ValueId z = b.call_inplace(*ir::find_op("add"), operands, {});
                   b.call("copy_", {slice(b, y, 0, 0, 2), slice(b, z, 0, s[0] - 2, s[0])});
                   return std::vector{b.call("mul", {z, y}), slice(b, x, 0, 1, s[0])};
                 },
                 0, 4, 4});

  all.push_back({"a cache of keys",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId cache = input(b, {2, 64, 8}), key = input(b, {2, 1, 8});
                   const ValueId at = slice(b, cache, 1, s[0] - 1, s[0]);
                   b.call("copy_", {at, key});
                   return std::vector{b.call("neg", {slice(b, cache, 1, 0, s[0])})};
                 },
                 0, 9, 3, 63});
  all.push_back({"a number of the size", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 3});
                   const auto n = static_cast<double>(s[0]);
                   return std::vector{b.call("mul", {x, tailor::Scalar(n)}), b.call("div", {x, tailor::Scalar(s[0])}),
                                      b.call("mul", {x, tailor::Scalar(1.0 / std::sqrt(n))}),
                                      b.call("full", {tailor::Scalar(n)}, {IntArrayRef{4}, kFloat32})};
                 }});
  all.push_back({"half types", [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 20}, kBFloat16), y = input(b, {s[0], 20}, kFloat16);
                   return std::vector{b.call("tanh", {x}), b.call("add", {x, y})};
                 }});
  return all;
}

std::vector<Case> rounding_cases() {
  std::vector<Case> all;
  all.push_back(
      {"mlp",
       [](GraphBuilder& b, Sizes s) {
         const ValueId x = input(b, {s[0], 24}), w = input(b, {40, 24}), v = input(b, {40}), w2 = input(b, {10, 40}), v2 = input(b, {10});
         return std::vector{b.call("linear", {b.call("relu", {b.call("linear", {x, w, v})}), w2, v2})};
       },
       1e-4});
  all.push_back(
      {"mlp of one feature",
       [](GraphBuilder& b, Sizes s) {
         const ValueId x = input(b, {s[0], 3}), w = input(b, {4, 3}), v = input(b, {4}), w2 = input(b, {1, 4}), v2 = input(b, {1});
         return std::vector{b.call("sigmoid", {b.call("linear", {b.call("tanh", {b.call("linear", {x, w, v})}), w2, v2})})};
       },
       1e-4});
  all.push_back({"layer_norm",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 48}), w = input(b, {48}), v = input(b, {48});
                   return std::vector{b.call("layer_norm", {x, w, v}, {IntArrayRef{48}, 1e-5})};
                 },
                 1e-4});
  all.push_back({"softmax over the symbol",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {6, s[0]}), y = input(b, {s[0], 6});
                   return std::vector{b.call("softmax", {x}, {-1, std::nullopt}), b.call("log_softmax", {y}, {0, std::nullopt})};
                 },
                 1e-4});
  all.push_back({"softmax of rows",
                 [](GraphBuilder& b, Sizes s) {
                   return std::vector{b.call("softmax", {input(b, {2, s[0], 40})}, {-1, std::nullopt})};
                 },
                 1e-4});
  all.push_back({"means and variances",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 7});
                   return std::vector{b.call("mean", {x}, {kFirst, false, std::nullopt}),
                                      b.call("mean", {x}, {std::nullopt, false, std::nullopt}), b.call("var", {x}, {kFirst, 1, false}),
                                      b.call("std", {x}, {kLast, 1, true})};
                 },
                 1e-4});
  all.push_back({"sums",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 70});
                   return std::vector{sum(b, x, kFirst), sum(b, x, kLast, true), sum(b, b.call("exp", {x}), kBoth),
                                      sum(b, input(b, {s[0], 3}), kLast), sum(b, input(b, {70, s[0]}), kLast)};
                 },
                 1e-3});
  all.push_back({"large sums",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 4096});
                   return std::vector{b.call("mean", {b.call("mul", {x, x})}, {std::nullopt, false, std::nullopt})};
                 },
                 1e-3, 4, 2, 300});
  all.push_back({"products with the symbol as rows, columns and depth",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 33}), y = input(b, {33, s[0]}), z = input(b, {20, s[0]}), w = input(b, {33, 17});
                   return std::vector{b.call("tanh", {b.call("mm", {x, w})}), b.call("relu", {b.call("mm", {x, y})}), b.call("mm", {y, x}),
                                      b.call("add", {b.call("mm", {z, x}), tailor::Scalar(1.0)})};
                 },
                 1e-3});
  all.push_back(
      {"batched products",
       [](GraphBuilder& b, Sizes s) {
         const ValueId x = input(b, {s[0], 5, 8}), y = input(b, {s[0], 8, 6}), z = input(b, {3, s[0], 8}), w = input(b, {3, 8, 10});
         return std::vector{b.call("relu", {b.call("bmm", {x, y})}), b.call("exp", {b.call("bmm", {z, w})})};
       },
       1e-3});
  all.push_back(
      {"attention",
       [](GraphBuilder& b, Sizes s) {
         const auto heads = [&](ValueId x) { return b.call("transpose", {view(b, x, {2, s[0], 4, 16})}, {1, 2}); };
         const ValueId x = input(b, {2, s[0], 64}), w = input(b, {192, 64});
         const ValueId all = b.call("linear", {x, w, std::nullopt});
         const ValueId y =
             attention(b, heads(slice(b, all, 2, 0, 64)), heads(slice(b, all, 2, 64, 128)), heads(slice(b, all, 2, 128, 192)));
         return std::vector{b.call("add", {view(b, b.call("clone", {b.call("transpose", {y}, {1, 2})}, {true}), {2, s[0], 64}), x})};
       },
       1e-3, 7, 2, 200});
  all.push_back({"attention in one call",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId q = input(b, {2, 4, s[0], 16}), k = input(b, {2, 4, s[0], 16}), v = input(b, {2, 4, s[0], 16});
                   return std::vector{b.call("scaled_dot_product_attention", {q, k, v, std::nullopt}, {true, std::nullopt, false})};
                 },
                 1e-3, 7, 2, 200});
  all.push_back({"one query and a growing cache",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId q = input(b, {1, 4, 1, 16}), k = input(b, {1, 4, s[0], 16}), v = input(b, {1, 4, s[0], 16});
                   return std::vector{attention(b, q, k, v)};
                 },
                 1e-3, 7, 2, 300});
  all.push_back({"embedding",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId table = input(b, {30, 12}), ids = b.call("arange", {tailor::Scalar(0), tailor::Scalar(1)}, {s[0], kInt64});
                   return std::vector{
                       b.call("mul", {b.call("embedding", {table, b.call("remainder", {ids, tailor::Scalar(30)})}), tailor::Scalar(2.0)})};
                 },
                 1e-3});
  all.push_back({"convolutions of a batch",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 3, 9, 9}), w = input(b, {8, 3, 3, 3}), v = input(b, {8});
                   const ValueId y = b.call("relu", {b.call("conv2d", {x, w, v}, {kOnes, kOnes, kOnes, 1})});
                   const ValueId pooled = b.call("max_pool2d", {y}, {kTwos, kTwos, kZeros, kOnes, false});
                   return std::vector{b.call("mean", {pooled}, {IntArrayRef{2, 3}, false, std::nullopt})};
                 },
                 1e-3, 4, 2, 100});
  all.push_back({"convolutions of many images", all.back().build, 1e-3, 48, 16, 100});
  all.push_back({"a training step's gradients",
                 [](GraphBuilder& b, Sizes s) {
                   const ValueId x = input(b, {s[0], 20}), w = input(b, {80, 20}), t = input(b, {s[0], 80});
                   const ValueId y = b.call("linear", {x, w, std::nullopt});
                   const ValueId d = b.call("div", {b.call("mul", {b.call("sub", {y, t}), tailor::Scalar(2.0)}),
                                                    tailor::Scalar(static_cast<double>(s[0] * 80))});
                   return std::vector{b.call("mm", {b.call("t", {d}), x}), sum(b, d, kFirst)};
                 },
                 1e-3});
  return all;
}

TEST(Family, PointwiseProgramsGiveTheBitsOfStaticOnes) {
  for (const Case& c : pointwise_cases()) check_case(c, Backend::Llvm, 13);
}

TEST(Family, FoldsAndProductsAgreeWithStaticOnes) {
  for (const Case& c : rounding_cases()) check_case(c, Backend::Llvm, 17);
}

TEST(Family, InterpretedLoopsTakeSizesToo) {
  for (const Case& c : pointwise_cases()) check_case(c, Backend::LoopInterpreter, 17);
}

TEST(Family, EagerCallsTakeSizesToo) {
  for (const Case& c : pointwise_cases()) check_case(c, Backend::Eager, 17);
  for (const Case& c : rounding_cases()) check_case(c, Backend::Eager, 17);
}

TEST(Family, RandomProgramsGiveTheBitsOfTheInterpreter) {
  unsigned first = 1, count = 60;  // TAILOR_SEEDS=first,count reproduces or widens a run
  if (const char* text = std::getenv("TAILOR_SEEDS")) std::sscanf(text, "%u,%u", &first, &count);
  int served = 0, legal = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    const bool moving = seed % 2 == 0;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const GraphAt graph_at = [=](Sizes s) { return testing::RandomGraph::graph_at(seed, moving, s[0]); };
    const auto family = family_of(graph_at, {{testing::RandomGraph::kSize}});
    const auto possible = [&](int64_t n) {
      try {
        graph_at({{n}});
        return true;
      } catch (const Error&) { return false; }
    };
    legal += possible(18) || possible(20);
    if (!family) continue;
    ++served;
    const SymbolRange range = family->ranges()[0];
    for (const int64_t n : {range.min, range.min + 1, int64_t{19}, int64_t{32}, int64_t{45}, int64_t{64}, int64_t{131}}) {
      if (!range.contains(n)) {
        EXPECT_EQ(family->bind({{n}}), nullptr);
        continue;
      }
      const ir::Graph graph = graph_at({{n}});
      SCOPED_TRACE("size " + std::to_string(n) + ir::print(graph));
      ASSERT_NO_THROW(family->bind({{n}}));
      const std::vector<ir::HostTensor> inputs = testing::random_inputs(graph, seed);
      const testing::Result got = testing::run(*family->bind({{n}}), graph, inputs);
      const testing::Result expected = testing::run(graph, inputs, Backend::Interpreter);
      for (size_t i = 0; i < got.outputs.size(); ++i)
        testing::expect_equal(got.outputs[i], expected.outputs[i], 0, "output " + std::to_string(i));
      for (size_t i = 0; i < got.inputs.size(); ++i)
        testing::expect_equal(got.inputs[i], expected.inputs[i], 0, "input " + std::to_string(i));
      ASSERT_FALSE(::testing::Test::HasFatalFailure());
    }
  }
  RecordProperty("served", served);
  EXPECT_GE(served, legal * 3 / 4) << "of " << legal;
}

// ---- two symbols ---------------------------------------------------------------------------------------------------

void check_pair(const std::string& name, const Build& build, double tolerance) {
  SCOPED_TRACE(name);
  const GraphAt graph_at = graph_of(build);
  const auto family = family_of(graph_at, {{5}, {12}});
  ASSERT_NE(family, nullptr);
  for (const SymbolRange& r : family->ranges()) {
    EXPECT_LE(r.min, 3);
    EXPECT_GE(r.max, 500);
  }
  for (const int64_t s : {3, 4, 8, 16, 33})
    for (const int64_t t : {3, 4, 7, 32, 65}) {
      const std::vector<int64_t> values{s, t};
      check_at(*family, graph_at, values, tolerance, Backend::Llvm);
      if (::testing::Test::HasFailure()) return;
    }
  EXPECT_EQ(family->bind(std::vector<int64_t>{1, 12}), nullptr);
  EXPECT_EQ(family->bind(std::vector<int64_t>{5, 1}), nullptr);
  EXPECT_EQ(family->bind(std::vector<int64_t>{5}), nullptr);
}

TEST(Family, TwoSymbols) {
  check_pair(
      "batch and length",
      [](GraphBuilder& b, Sizes s) {
        const ValueId x = input(b, {s[0], s[1], 6}), y = input(b, {s[1], 6});
        return std::vector{b.call("tanh", {b.call("add", {x, y})}), view(b, b.call("neg", {x}), {s[0] * s[1], 6}),
                           b.call("amax", {x}, {IntArrayRef{1}, false})};
      },
      0);
  check_pair(
      "attention of a batch",
      [](GraphBuilder& b, Sizes s) {
        const ValueId x = input(b, {s[0], s[1], 16}), w = input(b, {16, 16});
        const ValueId q = b.call("linear", {x, w, std::nullopt});
        return std::vector{b.call("mean", {attention(b, q, x, x)}, {IntArrayRef{1}, false, std::nullopt})};
      },
      1e-3);
  check_pair(
      "queries and keys",
      [](GraphBuilder& b, Sizes s) {
        const ValueId q = input(b, {2, s[0], 8}), k = input(b, {2, s[1], 8});
        return std::vector{b.call("softmax", {b.call("bmm", {q, b.call("transpose", {k}, {1, 2})})}, {-1, std::nullopt}),
                           cat(b, {q, k}, 1)};
      },
      1e-3);
}

// ---- ranges --------------------------------------------------------------------------------------------------------

TEST(Family, ServesNoSizeThatUserCodeRefuses) {
  const GraphAt graph_at = graph_of([](GraphBuilder& b, Sizes s) {
    check(s[0] <= 77, "a table of 77 rows");
    return std::vector{b.call("neg", {slice(b, input(b, {s[0], 4}), 0, 5, s[0])})};
  });
  const auto family = family_of(graph_at, {{20}});
  ASSERT_NE(family, nullptr);
  EXPECT_EQ(family->ranges()[0].max, 77);
  EXPECT_EQ(family->ranges()[0].min, 7);  // of 6, one row is left
}

TEST(Family, ServesMultiplesWhereUserCodeWantsThem) {
  const GraphAt graph_at = graph_of([](GraphBuilder& b, Sizes s) {
    check(s[0] % 12 == 0, "rows come in dozens");
    return std::vector{b.call("tanh", {view(b, input(b, {s[0], 4}), {s[0] / 12, 48})})};
  });
  const auto family = family_of(graph_at, {{36}});
  ASSERT_NE(family, nullptr);
  EXPECT_EQ(family->ranges()[0].min, 24);  // of 12, one row is left
  EXPECT_GE(family->ranges()[0].max, 12000);
  for (const int64_t n : {24, 36, 48, 60, 132, 1200}) check_at(*family, graph_at, {{n}}, 0, Backend::Llvm);
  EXPECT_EQ(family->bind(std::vector<int64_t>{37}), nullptr);
}

TEST(Family, KeepsWithinTheRangeAskedFor) {
  const GraphAt graph_at = graph_of([](GraphBuilder& b, Sizes s) { return std::vector{b.call("neg", {input(b, {s[0], 4})})}; });
  const auto family = family_of(graph_at, {{20, 10, 50}});
  ASSERT_NE(family, nullptr);
  EXPECT_EQ(family->ranges()[0].hint, 20);
  EXPECT_EQ(family->ranges()[0].min, 10);
  EXPECT_EQ(family->ranges()[0].max, 50);
  EXPECT_EQ(family->bind(std::vector<int64_t>{9}), nullptr);
  EXPECT_NE(family->bind(std::vector<int64_t>{10}), nullptr);
  EXPECT_EQ(family->bind(std::vector<int64_t>{51}), nullptr);
  EXPECT_EQ(family_of(graph_at, {{1}}), nullptr);
  EXPECT_EQ(family_of(graph_at, {{20, 20, 21}}), nullptr);
  EXPECT_EQ(family_of(graph_at, {}), nullptr);
}

TEST(Family, RefusesWhatIsNoPolynomial) {
  const auto none = [](const Build& build) { return family_of(graph_of(build), {{20}}) == nullptr; };
  EXPECT_TRUE(none([](GraphBuilder& b, Sizes s) { return std::vector{b.call("neg", {input(b, {s[0] * 37 % 71 + 2, 4})})}; }));
  EXPECT_TRUE(none([](GraphBuilder& b, Sizes s) { return std::vector{b.call("neg", {input(b, {s[0] * 41 % 73 * s[0], 4})})}; }));
  EXPECT_TRUE(none([](GraphBuilder& b, Sizes s) {
    return std::vector{b.call("mul", {input(b, {s[0], 4}), tailor::Scalar(std::sin(static_cast<double>(s[0])))})};
  }));
}

TEST(Family, BoundProgramsShareKernelsAndSayTheirSizes) {
  const GraphAt graph_at = graph_of([](GraphBuilder& b, Sizes s) { return std::vector{b.call("exp", {input(b, {s[0], 4})})}; });
  const auto family = family_of(graph_at, {{20}});
  ASSERT_NE(family, nullptr);
  const auto a = family->bind(std::vector<int64_t>{33}), b = family->bind(std::vector<int64_t>{34});
  EXPECT_NE(a->dump("graph").find("f32[33, 4]"), std::string::npos) << a->dump("graph");
  EXPECT_NE(b->dump("graph").find("f32[34, 4]"), std::string::npos);
  EXPECT_NE(a->dump("loops").find("outer s0"), std::string::npos) << a->dump("loops");
  EXPECT_EQ(a->dump("llvm"), b->dump("llvm"));
  EXPECT_EQ(family->report().kernels, 1);
}

TEST(Family, BindsOnManyThreads) {
  const Case c = rounding_cases()[0];
  const GraphAt graph_at = graph_of(c.build);
  const auto family = family_of(graph_at, {{c.hint}});
  ASSERT_NE(family, nullptr);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int64_t n = 2 + t; n < 40; n += 4) {
        const ir::Graph graph = graph_at({{n}});
        const auto inputs = testing::random_inputs(graph, 3);
        const testing::Result got = testing::run(*family->bind({{n}}), graph, inputs),
                              expected = testing::run(graph, inputs, Backend::Interpreter);
        testing::expect_equal(got.outputs[0], expected.outputs[0], 1e-4, "size " + std::to_string(n));
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace tailor::jit
