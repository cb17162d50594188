#include "jit/fusion.h"

#include "ir/passes/passes.h"
#include "jit/run_graph.h"

namespace tailor::jit {
namespace {

struct Fused {
  ir::Graph graph;
  std::vector<Group> groups;
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Group& g : groups) {
      std::string text;
      for (int n : g.nodes) text += (text.empty() ? "" : " ") + std::string(graph.nodes[static_cast<size_t>(n)].op->name);
      result.push_back(text);
    }
    return result;
  }
};

std::string graph_of(std::string_view body) { return "graph \"g\" {\n" + std::string(body) + "\n}"; }

Fused only_fused(std::string_view body) {
  Fused f;
  f.graph = ir::optimize(ir::parse_graph(graph_of(body)));
  f.groups = fuse(f.graph, ir::MemoryMap(f.graph));
  return f;
}

Fused fused(std::string_view body) {
  testing::check_backends(graph_of(body), 1e-4);
  return only_fused(body);
}

using Names = std::vector<std::string>;

TEST(Fuse, ChainsAndDiamondsAreOneGroup) {
  EXPECT_EQ(fused(R"(
    %0: f32[8] = placeholder "x"
    %1 = exp(%0)
    %2 = neg(%0)
    %3 = mul(%1, %2)
    %4 = add(%3, %1)
    return %4, %2)")
                .names(),
            (Names{"exp neg mul add"}));
}

// The first group comes to need the second only after the sum over the first has been placed.
TEST(Fuse, AGroupThatGrewIsNotOlderThanItsNewestNode) {
  const Fused f = fused(R"(
    %0: f32[8] = placeholder "x"
    %1: f32[4] = placeholder "y"
    %2 = exp(%0)
    %3 = cumsum(%2, dim=0, dtype=none)
    %4 = exp(%1)
    %5 = select(%4, dim=0, index=0)
    %6 = mul(%2, %5)
    %7 = slice(%3, dim=0, start=0, end=4, step=1)
    %8 = add(%4, %7)
    return %6, %8)");
  EXPECT_EQ(f.names(), (Names{"exp exp mul", "cumsum", "exp add"}));
}

TEST(Fuse, SmallProductsWithAVectorKeepTheirShape) {
  EXPECT_EQ(fused(R"(
    %0: f32[2, 1, 3, 4] = placeholder "x"
    %1: f32[4] = placeholder "w"
    %2 = linear(%0, %1, none)
    %3 = exp(%2)
    return %3)")
                .groups.size(),
            1u);
}

TEST(Fuse, SoftmaxIsOneGroup) {
  EXPECT_EQ(fused(R"(
    %0: f32[8, 40] = placeholder "x"
    %1 = softmax(%0, dim=1, dtype=none)
    return %1)")
                .groups.size(),
            1u);
}

TEST(Fuse, LayerNormWithActivationIsOneGroup) {
  EXPECT_EQ(fused(R"(
    %0: f32[8, 40] = placeholder "x"
    %1: f32[40] = placeholder "w"
    %2: f32[40] = placeholder "b"
    %3 = layer_norm(%0, %1, %2, normalized_shape=[40], eps=1e-05)
    %4 = gelu(%3)
    %5 = add(%4, %0)
    return %5)")
                .groups.size(),
            1u);
}

TEST(Fuse, ReductionsOfDifferentDimsAreApart) {
  const Fused f = fused(R"(
    %0: f32[8, 40] = placeholder "x"
    %1 = mul(%0, %0)
    %2 = sum(%1, dim=[0], keepdim=false, dtype=none)
    %3 = sum(%1, dim=[1], keepdim=false, dtype=none)
    return %2, %3)");
  EXPECT_EQ(f.groups.size(), 2u);
  for (const Group& g : f.groups) EXPECT_EQ(g.stored.size(), 1u) << "the square is computed again, not kept";
}

TEST(Fuse, LargeMatricesAreFoldedAlongBothDimsInOnePass) {
  const auto passes = [](std::string_view size, std::string_view dtype = "f32") {
    const std::string text = R"(
    %0: )" + std::string(dtype) +
                             std::string(size) + R"( = placeholder "x"
    %1 = mul(%0, %0)
    %2 = sum(%1, dim=[0], keepdim=false, dtype=none)
    %3 = sub(%0, 1.0)
    %4 = amax(%3, dim=[1], keepdim=false)
    return %2, %4)";
    int folding = 0;
    for (const Group& g : only_fused(text).groups) folding += g.row_parts != 0 && g.mask != 0;
    return folding;
  };
  EXPECT_EQ(passes("[2048, 1024]"), 1);
  EXPECT_EQ(passes("[1024, 1024]", "f64"), 1);
  EXPECT_EQ(passes("[2044, 1024]"), 0) << "rows go by eights";
  EXPECT_EQ(passes("[512, 1024]"), 0) << "it stays in the cache";
  EXPECT_EQ(passes("[64, 32768]"), 0) << "the row of results does not";
}

TEST(Fuse, AFoldOfRowsStaysOutOfPassesThatNeedTheirOwnFolds) {
  for (const Group& g : only_fused(R"(
    %0: f32[2048, 1024] = placeholder "x"
    %1 = softmax(%0, dim=1, dtype=none)
    %2 = sum(%0, dim=[0], keepdim=false, dtype=none)
    %3 = mul(%1, %0)
    return %3, %2)")
                            .groups)
    EXPECT_TRUE(g.row_parts == 0 || g.stored.size() == 1u);
}

TEST(Fuse, DearProducersAreKept) {
  const Fused f = fused(R"(
    %0: f32[400] = placeholder "x"
    %1: f32[300, 400] = placeholder "y"
    %2 = exp(%0)
    %3 = tanh(%2)
    %4 = mul(%1, %3)
    return %4)");
  EXPECT_EQ(f.names(), (Names{"exp tanh", "mul"}));
  EXPECT_EQ(fused(R"(
    %0: f32[400] = placeholder "x"
    %1: f32[300, 400] = placeholder "y"
    %2 = add(%0, 1.0)
    %3 = mul(%1, %2)
    return %3)")
                .groups.size(),
            1u)
      << "cheap ones are computed again";
}

TEST(Fuse, LibraryCallsSeparateWhatDependsOnThem) {
  EXPECT_EQ(fused(R"(
    %0: f32[24, 24] = placeholder "x"
    %1 = exp(%0)
    %2 = matmul(%1, %0)
    %3 = add(%2, %1)
    %4 = neg(%1)
    return %3, %4)")
                .names(),
            (Names{"exp neg", "mm", "add"}));
}

TEST(Fuse, ReadsAreNotMovedAcrossWrites) {
  // y reads x transposed before x is overwritten; z reads it after.
  const Fused f = fused(R"(
    %0: f32[8, 8] = placeholder "x"
    %1 = t(%0)
    %2 = exp(%1)
    %3: f32[8, 8] = inplace mul(%0, 2.0)
    %4 = neg(%1)
    return %2, %4)");
  EXPECT_EQ(f.names(), (Names{"exp", "mul", "neg"}));
}

TEST(Fuse, UpdatesOfTheSamePlaceAreOneGroup) {
  // Adam: everything happens at one element.
  const Fused f = fused(R"(
    %0: f32[64] = placeholder "p"
    %1: f32[64] = placeholder "g"
    %2: f32[64] = placeholder "m"
    %3: f32[64] = placeholder "v"
    %4: f32[64] = inplace lerp(%2, %1, 0.1)
    %5: f32[64] = inplace mul(%3, 0.999)
    %6: f32[64] = inplace addcmul(%5, %1, %1, 0.001)
    %7 = sqrt(%3)
    %8 = abs(%7)
    %9 = add(%8, 1e-08)
    %10: f32[64] = inplace addcdiv(%0, %2, %9, -0.001)
    return)");
  EXPECT_EQ(f.groups.size(), 1u);
}

TEST(Fuse, SmallLayersAreOneGroupEach) {
  EXPECT_EQ(fused(R"(
    %0: f32[1, 4] = placeholder "x"
    %1: f32[4, 4] = placeholder "w"
    %2: f32[4] = placeholder "b"
    %3 = linear(%0, %1, %2)
    %4 = relu(%3)
    %5 = linear(%4, %1, %2)
    %6 = relu(%5)
    return %6)")
                .groups.size(),
            2u);
}

TEST(Fuse, MovementsAreIndicesOfWhatReadsThem) {
  EXPECT_EQ(fused(R"(
    %0: f32[6, 40] = placeholder "x"
    %1: f32[6, 44] = placeholder "y"
    %2 = add(%0, 1.0)
    %3 = pad(%2, 0.5, pad=[1, 3], mode=0)
    %4 = mul(%3, %1)
    %5 = flip(%4, dims=[1])
    %6 = relu(%5)
    return %6)")
                .names(),
            (Names{"add pad mul flip relu"}));
}

TEST(Fuse, RotaryEmbeddingIsOneGroup) {
  EXPECT_EQ(fused(R"(
    %0: f32[4, 200, 64] = placeholder "x"
    %1: f32[200, 64] = placeholder "cos"
    %2: f32[200, 64] = placeholder "sin"
    %3 = slice(%0, dim=2, start=0, end=32, step=1)
    %4 = slice(%0, dim=2, start=32, end=64, step=1)
    %5 = neg(%4)
    %6 = cat(%5, %3, dim=2)
    %7 = mul(%6, %2)
    %8 = mul(%0, %1)
    %9 = add(%8, %7)
    return %9)")
                .groups.size(),
            1u);
}

TEST(Fuse, MovementsAloneStayKernels) {
  const Fused f = fused(R"(
    %0: f32[6, 40] = placeholder "x"
    %1 = flip(%0, dims=[1])
    %2 = cat(%0, %0, dim=0)
    %3 = arange(0, 1, size=40, dtype=i64)
    return %1, %2, %3)");
  ASSERT_EQ(f.groups.size(), 3u);
  for (const Group& g : f.groups) EXPECT_TRUE(g.library);
}

TEST(Fuse, DearProducersAreKeptForMovements) {
  EXPECT_EQ(fused(R"(
    %0: f32[300, 40] = placeholder "x"
    %1 = exp(%0)
    %2 = flip(%1, dims=[0])
    %3 = add(%1, %2)
    return %3)")
                .names(),
            (Names{"exp", "flip add"}));
}

TEST(Fuse, CoordinatesAreComputedWhereTheyAreCompared) {
  EXPECT_EQ(fused(R"(
    %0: f32[20, 300] = placeholder "x"
    %1 = arange(0, 1, size=300, dtype=i64)
    %2 = arange(0, 1, size=20, dtype=i64)
    %3 = unsqueeze(%2, dim=1)
    %4 = le(%1, %3)
    %5 = where(%4, %0, -1.0)
    %6 = triu(%5, diagonal=1)
    return %6)")
                .groups.size(),
            1u);
}

TEST(Fuse, MovementsDoNotCrossWrites) {
  const Fused f = fused(R"(
    %0: f32[64] = placeholder "x"
    %1 = flip(%0, dims=[0])
    %2 = neg(%1)
    %3: f32[64] = inplace mul(%0, 2.0)
    %4 = flip(%0, dims=[0])
    %5 = neg(%4)
    return %2, %5)");
  EXPECT_EQ(f.names(), (Names{"flip neg", "mul", "flip neg"}));
}

TEST(Fuse, DivisionByALiteralIsFused) {
  EXPECT_EQ(fused(R"(
    %0: i64[64] = placeholder "x"
    %1 = add(%0, 1)
    %2 = div_floor(%1, -3)
    %3 = remainder(%2, 5)
    %4 = neg(%3)
    return %4)")
                .groups.size(),
            1u);
}

TEST(Fuse, NoCycles) {
  // add needs neg and, through the matmul, exp: exp and add must not be one group.
  EXPECT_EQ(fused(R"(
    %0: f32[24, 24] = placeholder "x"
    %1 = exp(%0)
    %2 = matmul(%1, %0)
    %3 = add(%1, %2)
    return %3, %1)")
                .names(),
            (Names{"exp", "mm", "add"}));
}

TEST(Fuse, FailingOpsKeepTheirPlaceAmongWrites) {
  const Fused f = fused(R"(
    %0: i64[8] = placeholder "x"
    %1: i64[8] = placeholder "y"
    %2 = mul(%1, 0)
    %3 = add(%2, 1)
    %4: i64[8] = inplace add(%0, 1)
    %5 = remainder(%0, %3)
    %6: i64[8] = inplace add(%1, 1)
    return %5)");
  const Names names = f.names();
  const auto at = [&](std::string_view op) {
    return std::find_if(names.begin(), names.end(), [&](const std::string& n) { return n.find(op) != std::string::npos; }) - names.begin();
  };
  EXPECT_GT(names.size(), 2u);
  EXPECT_LT(at("remainder"), static_cast<int64_t>(names.size()) - 1) << "the write after it comes after it";
}

TEST(Fuse, DataErrorsNameTheLineAndComeAfterEarlierWrites) {
  const ir::Graph graph = ir::parse_graph(R"(graph "g" {
    %0: i64[4] = placeholder "x"
    %1: i64[4] = placeholder "d"
    %2: i64[4] = inplace add(%0, 1)
    %3 = remainder(%0, %1)   # model.cpp:12
    %4: i64[4] = inplace add(%0, 10)
    return %3
  })");
  for (Backend backend : {Backend::LoopInterpreter, Backend::Llvm, Backend::Eager}) {
    CompileOptions options;
    options.backend = backend;
    const auto exe = compile(graph, options);
    std::vector<int64_t> x{1, 2, 3, 4}, d{1, 0, 1, 1}, out(4);
    void* in[] = {x.data(), d.data()};
    void* outs[] = {out.data()};
    try {
      exe->run(in, {}, outs);
      FAIL() << "no error";
    } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find("division by zero, at model.cpp:12"), std::string::npos) << e.what(); }
    EXPECT_EQ(x, (std::vector<int64_t>{2, 3, 4, 5})) << testing::backend_name(backend);
  }
}

// The new state of a recurrent cell is stored, not computed again by the next step: its own step needs it as well.
TEST(Fuse, WhatTheGroupNeedsItselfIsNotComputedAgain) {
  EXPECT_EQ(fused(R"(
    %0: f32[64, 300] = placeholder "x"
    %1: f32[300, 300] = placeholder "w"
    %2 = sigmoid(%0)
    %3 = tanh(%2)
    %4 = mm(%3, %1)
    %5 = mul(%2, %4)
    return %5)")
                .names(),
            (Names{"sigmoid tanh", "mm", "mul"}));
}

// A stream that every layer adds to is stored from time to time, so that layers are alike and share their code.
TEST(Fuse, SumsOfSumsDoNotGrow) {
  std::string body = "%0: f32[1, 64] = placeholder \"x\"\n%1: f32[64, 64] = placeholder \"w\"\n";
  int stream = 0, next = 2;
  for (int layer = 0; layer < 8; ++layer) {
    const std::string n = std::to_string(next), m = std::to_string(next + 1), s = std::to_string(next + 2);
    body += "%" + n + " = softmax(%" + std::to_string(stream) + ", dim=1, dtype=none)\n%" + m + " = linear(%" + n + ", %1, none)\n%" + s +
            " = add(%" + std::to_string(stream) + ", %" + m + ")\n";
    stream = next + 2;
    next += 3;
  }
  for (const std::string& name : fused(body + "return %" + std::to_string(stream)).names())
    EXPECT_EQ(name.find("add add add add"), std::string::npos) << name;
}

TEST(Fuse, AttentionIsOneCall) {
  const ir::Graph graph = ir::parse_graph(R"(graph "g" {
    %0: f32[2, 3, 20, 16] = placeholder "q"
    %1: f32[2, 3, 24, 16] = placeholder "k"
    %2: f32[2, 3, 24, 16] = placeholder "v"
    %3 = scaled_dot_product_attention(%0, %1, %2, none, is_causal=false, scale=none, enable_gqa=false)
    return %3
})");
  testing::check_backends(graph, 1e-5);
  EXPECT_EQ(compile(graph, {})->report().kernels, 1);
}

}  // namespace
}  // namespace tailor::jit
