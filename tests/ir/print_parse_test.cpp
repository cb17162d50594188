#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/graph.h"

namespace tailor::ir {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_graph(text);
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

template <class T>
std::shared_ptr<const ConstantData> data_of(const std::vector<T>& values) {
  auto data = std::make_shared<ConstantData>();
  data->bytes.resize(values.size() * sizeof(T));
  std::memcpy(data->bytes.data(), values.data(), data->bytes.size());
  return data;
}

void expect_round_trip(const Graph& g) {
  const std::string text = print(g);
  const Graph parsed = parse_graph(text);
  EXPECT_EQ(print(parsed), text);
  EXPECT_EQ(content_hash(parsed), content_hash(g)) << text;
}

TEST(PrintParse, EveryKindOfNode) {
  GraphBuilder b("all \"kinds\"\n");
  TensorSpec grad(kFloat32, {2, 3}, {1, 2}, {});
  grad.requires_grad = true;
  const int x = b.placeholder(grad, "args[0].weights[\"w\"]");
  const int y = b.placeholder(TensorSpec(kFloat32, {2, 3}), "y", 4);
  const int s = b.scalar(tailor::Scalar(0.1), "s0"), n = b.scalar(tailor::Scalar(-7), "s1"), t = b.scalar(tailor::Scalar(true), "s2");
  const int c = b.constant(TensorSpec(kFloat32, {3}), data_of<float>({1.0f, -0.0f, 0.1f}));
  b.set_source({"dir/model.cpp", 42});
  const int z = b.call("add", {x, s, n});
  const int w = b.call("mul", {z, c});
  const int u = b.call("where", {b.call("gt", {w, tailor::Scalar(1e-300)}), w, t});
  const Value operands[] = {y, u};
  const int v = b.call_inplace(*find_op("add"), operands, {});
  const auto both = b.call_many(*find_op("max_dim"), std::vector<Value>{v}, std::vector<AttrRef>{1, false});
  const Graph g = b.finish({both[1], both[0], v});
  expect_round_trip(g);
  EXPECT_NE(print(g).find("# model.cpp:42"), std::string::npos);
  EXPECT_NE(print(g).find("inplace add(%1, "), std::string::npos);
}

TEST(PrintParse, NumbersKeepTheirBits) {
  const double values[] = {0.0, -0.0,     1e22,      5e-324, 1.7976931348623157e308,
                           0.1, INFINITY, -INFINITY, NAN,    std::bit_cast<double>(uint64_t{0xfff8000000000123}),
                           3};
  for (double v : values) {
    GraphBuilder b;
    const int x = b.placeholder(TensorSpec(kFloat64, {2}), "x");
    expect_round_trip(b.finish({b.call("mul", {x, tailor::Scalar(v)})}));
    expect_round_trip([&] {
      GraphBuilder c;
      return c.finish({c.constant(TensorSpec(kFloat64, {1}), data_of<double>({v}))});
    }());
  }
  for (int64_t v : {INT64_MIN, INT64_MAX, int64_t{0}}) {
    GraphBuilder b;
    const int x = b.placeholder(TensorSpec(kInt64, {2}), "x");
    expect_round_trip(b.finish({b.call("mul", {x, tailor::Scalar(v)})}));
  }
}

TEST(PrintParse, ConstantsOfEveryDtype) {
  for (int t = 0; t < kScalarTypeCount; ++t) {
    const auto type = static_cast<ScalarType>(t);
    for (int64_t size : {int64_t{0}, int64_t{5}, int64_t{1000}}) {
      auto data = std::make_shared<ConstantData>();
      std::mt19937 random(7);
      for (int64_t i = 0; i < size * element_size(type); ++i)
        data->bytes.push_back(static_cast<std::byte>(type == kBool ? random() & 1 : random()));
      GraphBuilder b;
      expect_round_trip(b.finish({b.constant(TensorSpec(type, {size}), data)}));
    }
  }
}

TEST(PrintParse, SpecsMayBeLeftToInference) {
  const Graph g = parse_graph("graph \"g\" { %7: f32[2] = placeholder \"x\"  %9 = add(%7, 1) return %9 }");
  EXPECT_EQ(g.spec(g.outputs[0]).sizes, (Dims{2}));
  EXPECT_EQ(g.outputs[0], 1);
}

TEST(Parse, ErrorsNameLineAndColumn) {
  EXPECT_EQ(error_of("grap"), "parse_graph: line 1, column 1: expected 'graph'");
  EXPECT_EQ(error_of("graph \"g\" {\n  %0: f31[2] = placeholder \"x\"\n return }"), "parse_graph: line 2, column 7: unknown dtype");
  EXPECT_EQ(error_of("graph \"g\" {\n  %0: f32[2] = placeholder \"x\"\n  %1 = frobnicate(%0)\n return }"),
            "parse_graph: line 3, column 8: unknown op 'frobnicate'");
  EXPECT_EQ(error_of("graph \"g\" {\n  %0: f32[2] = placeholder \"x\"\n  %1 = add(%5, 1)\n return }"),
            "parse_graph: line 3, column 12: unknown value");
  EXPECT_EQ(error_of("graph \"g\" {\n  %0: f32[2] = placeholder \"x\"\n  %0 = add(%0, 1)\n return }"),
            "parse_graph: line 3, column 3: value defined twice");
  EXPECT_EQ(error_of("graph \"g\" {\n  %0: f32[2] = placeholder \"x\"\n  %1: f32[3] = add(%0, 1)\n return }"),
            "parse_graph: line 3, column 3: add gives f32[2], not f32[3]");
  EXPECT_EQ(error_of("graph \"g\" {\n  %0: f32[2] = placeholder \"x\"\n  %1 = sum(%0, dims=3)\n return }"),
            "parse_graph: line 3, column 16: op sum has no attribute 'dims'");
  EXPECT_EQ(error_of("graph \"g\" { %0: f32[3] = constant [1.0, 2.0] return %0 }"),
            "parse_graph: line 1, column 35: the number of elements does not fit the spec");
  EXPECT_EQ(error_of("graph \"g\" { %0: f32[9223372036854775807, 8] = placeholder \"x\" return %0 }"),
            "parse_graph: line 1, column 17: tensor too large");
  EXPECT_EQ(error_of("graph \"g\" { %0: f32[2] = placeholder \"x"), "parse_graph: line 1, column 40: unterminated string");
}

// Damaged text gives an Error or a graph, never a crash or another exception.
TEST(Parse, SurvivesDamage) {
  GraphBuilder b("damage");
  const int x = b.placeholder(TensorSpec(kFloat32, {2, 3}, {1, 2}, {}), "x");
  const int c = b.constant(TensorSpec(kInt8, {3}), data_of<int8_t>({1, -2, 3}));
  const int s = b.scalar(tailor::Scalar(2.5), "s");
  const int y = b.call("add", {x, c, s});
  const int z = b.call("permute", {y}, {IntArrayRef{1, 0}});
  const int w = b.call("sum", {z}, {IntArrayRef{0}, true, kFloat64});
  const std::string text = print(b.finish({w, z}));
  std::mt19937 random(3);
  static constexpr char alphabet[] = "%{}[]()=:,\"#0123456789-.eaxf \n";
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = text;
    for (unsigned i = 0, n = 1 + random() % 3; i < n; ++i) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0: damaged[at] = alphabet[random() % (sizeof alphabet - 1)]; break;
        case 1: damaged.erase(at, 1 + random() % 4); break;
        default: damaged.insert(at, 1, alphabet[random() % (sizeof alphabet - 1)]); break;
      }
      if (damaged.empty()) damaged = " ";
    }
    try {
      verify(parse_graph(damaged));
    } catch (const Error&) {
    } catch (const std::exception& e) { FAIL() << e.what() << "\n" << damaged; }
  }
}

}  // namespace
}  // namespace tailor::ir
