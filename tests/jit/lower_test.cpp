#include <sys/mman.h>
#include <unistd.h>

#include <cmath>

#include "jit/program.h"
#include "jit/run_graph.h"

namespace tailor::jit {
namespace {

using testing::check_backends;

constexpr double kReduced = 1e-5;

TEST(Lower, PointwiseChain) {
  check_backends(R"(graph "chain" {
    %0: f32[37] = placeholder "a"
    %1: f32[37] = placeholder "b"
    %2 = add(%0, %1)
    %3 = mul(%2, 2.0)
    %4 = exp(%3)
    return %4, %2
  })");
}

TEST(Lower, BroadcastAndViews) {
  check_backends(R"(graph "views" {
    %0: f32[5, 7] = placeholder "a"
    %1: f32[7, 5] = placeholder "b"
    %2: f32[7] = placeholder "c"
    %3 = t(%1)
    %4 = add(%0, %3)
    %5 = mul(%4, %2)
    %6 = view(%5, size=[35])
    %7 = neg(%6)
    return %7
  })");
}

TEST(Lower, CastsAndHalfTypes) {
  check_backends(R"(graph "casts" {
    %0: f16[19] = placeholder "a"
    %1: bf16[19] = placeholder "b"
    %2: i32[19] = placeholder "c"
    %3 = add(%0, %0)
    %4 = mul(%3, 0.3)
    %5 = to(%4, dtype=f32)
    %6 = add(%1, 1.5)
    %7 = add(%5, %6)
    %8 = to(%7, dtype=i32)
    %9 = add(%8, %2)
    %10 = gt(%9, 0)
    %11 = where(%10, %5, 0.25)
    return %11, %9, %6
  })");
}

TEST(Lower, ScalarsAreParameters) {
  check_backends(R"(graph "scalars" {
    %0: f32[33] = placeholder "a"
    %1 = scalar "s0" 1.25
    %2 = scalar "s1" 3
    %3 = mul(%0, %1)
    %4 = add(%3, %2)
    return %4
  })");
}

TEST(Lower, RowReductions) {
  check_backends(R"(graph "rows" {
    %0: f32[9, 130] = placeholder "x"
    %1 = sum(%0, dim=[1], keepdim=false, dtype=none)
    %2 = amax(%0, dim=[1], keepdim=false)
    %3 = argmax(%0, dim=1, keepdim=false)
    %4 = mul(%1, 0.5)
    return %4, %2, %3
  })",
                 kReduced);
}

TEST(Lower, ColumnReductions) {
  check_backends(R"(graph "columns" {
    %0: f32[19, 130] = placeholder "x"
    %1 = mul(%0, %0)
    %2 = sum(%1, dim=[0], keepdim=false, dtype=none)
    %3: f32[130], %4: i64[130] = max_dim(%0, dim=0, keepdim=false)
    return %2, %3, %4
  })",
                 kReduced);
}

TEST(Lower, BothDimsOfALargeMatrix) {
  check_backends(R"(graph "maxima" {
    %0: f32[1160, 1003] = placeholder "x"
    %1: f32[1003] = placeholder "y"
    %2 = mul(%0, %1)
    %3 = amax(%2, dim=[0], keepdim=true)
    %4 = amin(%0, dim=[0], keepdim=false)
    %5 = sub(%0, 1.0)
    %6 = amax(%5, dim=[1], keepdim=true)
    %7 = mul(%6, 0.5)
    return %3, %4, %7, %5
  })");
  check_backends(R"(graph "sums" {
    %0: f64[1024, 640] = placeholder "x"
    %1 = mul(%0, %0)
    %2 = sum(%1, dim=[0], keepdim=false, dtype=none)
    %3 = abs(%0)
    %4 = mean(%3, dim=[1], keepdim=false, dtype=none)
    %5 = add(%2, 1.0)
    return %5, %4
  })",
                 1e-12);
}

TEST(Lower, BothDimsBesideASoftmax) {
  check_backends(R"(graph "beside" {
    %0: f32[1056, 1000] = placeholder "x"
    %1 = softmax(%0, dim=1, dtype=none)
    %2 = amax(%0, dim=[0], keepdim=false)
    %3 = amax(%0, dim=[1], keepdim=true)
    %4 = sub(%0, %3)
    %5 = add(%4, %2)
    return %1, %2, %5
  })",
                 kReduced);
}

TEST(Lower, FullReduction) {
  check_backends(R"(graph "full" {
    %0: f32[3, 5, 7] = placeholder "x"
    %1 = abs(%0)
    %2 = sum(%1, dim=none, keepdim=false, dtype=none)
    %3 = div(%1, %2)
    return %2, %3
  })",
                 kReduced);
}

TEST(Lower, Softmax) {
  check_backends(R"(graph "softmax" {
    %0: f32[6, 77] = placeholder "x"
    %1 = softmax(%0, dim=1, dtype=none)
    %2 = log_softmax(%0, dim=0, dtype=none)
    return %1, %2
  })",
                 kReduced);
}

TEST(Lower, LayerNormGelu) {
  check_backends(R"(graph "layer_norm" {
    %0: f32[6, 77] = placeholder "x"
    %1: f32[77] = placeholder "w"
    %2: f32[77] = placeholder "b"
    %3 = layer_norm(%0, %1, %2, normalized_shape=[77], eps=1e-05)
    %4 = gelu(%3)
    return %4
  })",
                 1e-4);
}

TEST(Lower, SmallReductionsAreWrittenOut) {
  check_backends(R"(graph "nbody" {
    %0: f32[11, 3] = placeholder "p"
    %1: f32[11] = placeholder "m"
    %2 = unsqueeze(%0, dim=0)
    %3 = unsqueeze(%0, dim=1)
    %4 = sub(%2, %3)
    %5 = mul(%4, %4)
    %6 = sum(%5, dim=[2], keepdim=false, dtype=none)
    %7 = add(%6, 0.01)
    %8 = rsqrt(%7)
    %9 = mul(%1, %8)
    %10 = div(%9, %7)
    %11 = unsqueeze(%10, dim=2)
    %12 = mul(%4, %11)
    %13 = sum(%12, dim=[1], keepdim=false, dtype=none)
    return %13
  })",
                 1e-3);
}

TEST(Lower, InPlaceOnInput) {
  check_backends(R"(graph "inplace" {
    %0: f32[4, 9] = placeholder "x"
    %1: f32[9] = placeholder "g"
    %2 = log(%0)
    %3: f32[4, 9] = inplace mul(%0, 2.0)
    %4 = add(%3, %1)
    %5 = select(%0, dim=0, index=1)
    %6: f32[9] = inplace add(%5, 1.0)
    %7 = mul(%0, 1.5)
    return %2, %4, %7, %5
  })");
}

TEST(Lower, ReadBeforeOverlappingWrite) {
  check_backends(R"(graph "shift" {
    %0: f32[8] = placeholder "x"
    %1 = slice(%0, dim=0, start=0, end=7, step=1)
    %2 = clone(%1, contiguous=false)
    %3 = slice(%0, dim=0, start=1, end=8, step=1)
    %4 = copy_(%3, %2)
    return %0
  })");
}

TEST(Lower, OutputsAliasAsInEager) {
  const ir::Graph graph = ir::parse_graph(R"(graph "alias" {
    %0: f32[4, 6] = placeholder "x"
    %1 = add(%0, 1.0)
    %2 = t(%1)
    %3 = select(%1, dim=0, index=2)
    %4 = slice(%0, dim=1, start=2, end=6, step=2)
    return %2, %3, %4, %0
  })");
  check_backends(graph);
  const auto exe = compile(graph, {});
  const auto plans = exe->outputs();
  EXPECT_EQ(plans[0].kind, OutputPlan::Kind::Fresh);
  EXPECT_EQ(plans[0].spec.strides, (Dims{1, 6}));
  EXPECT_EQ(plans[1].kind, OutputPlan::Kind::AliasOutput);
  EXPECT_EQ(plans[1].index, 0);
  EXPECT_EQ(plans[1].offset, 12);
  EXPECT_EQ(plans[2].kind, OutputPlan::Kind::AliasInput);
  EXPECT_EQ(plans[2].offset, 2);
  EXPECT_EQ(plans[3].kind, OutputPlan::Kind::AliasInput);
}

TEST(Lower, PartsOfOneValueShareItsMemory) {
  const ir::Graph graph = ir::parse_graph(R"(graph "parts" {
    %0: f32[4, 6] = placeholder "x"
    %1 = add(%0, 1.0)
    %2 = slice(%1, dim=0, start=2, end=4, step=1)
    %3 = slice(%1, dim=0, start=0, end=3, step=1)
    return %2, %3
  })");
  check_backends(graph);
  const auto exe = compile(graph, {});
  EXPECT_EQ(exe->outputs()[0].kind, OutputPlan::Kind::Fresh);
  EXPECT_EQ(exe->outputs()[0].storage_bytes(), 96);
  EXPECT_EQ(exe->outputs()[0].offset, 12);
  EXPECT_EQ(exe->outputs()[1].kind, OutputPlan::Kind::AliasOutput);
  EXPECT_EQ(exe->outputs()[1].offset, -12);
}

TEST(Lower, ViewsAtVaryingPositions) {
  // A cache that is written at a position that differs between calls.
  const ir::Graph graph = ir::parse_graph(R"(graph "decode" {
    %0: f32[10, 4] = placeholder "cache"
    %1: f32[4] = placeholder "x"
    %2 = scalar "position" 12
    %3 = view_at(%0, %2, size=[4], stride=[1])
    %4 = mul(%1, 2.0)
    %5 = copy_(%3, %4)
    %6 = sum(%0, dim=[0], keepdim=false, dtype=none)
    return %6, %3
  })");
  check_backends(graph, kReduced);
}

TEST(Lower, LibraryCallsBetweenNests) {
  check_backends(R"(graph "library" {
    %0: f32[5, 8] = placeholder "x"
    %1: f32[8, 3] = placeholder "w"
    %2 = mul(%0, 2.0)
    %3 = matmul(%2, %1)
    %4 = relu(%3)
    %5 = cat(%4, %4, dim=1)
    %6 = cumsum(%5, dim=1)
    return %6
  })",
                 kReduced);
}

TEST(Lower, PaddedValuesAndMemory) {
  check_backends(R"(graph "pad" {
    %0: f32[5, 37] = placeholder "x"
    %1: i64[9] = placeholder "y"
    %2 = scalar "border" 1.5
    %3 = pad(%0, -2.0, pad=[3, 2, 1, -1], mode=0)
    %4 = exp(%3)
    %5 = t(%0)
    %6 = abs(%5)
    %7 = pad(%6, %2, pad=[0, 4, 2, 0], mode=0)
    %8 = neg(%7)
    %9 = pad(%1, 7, pad=[-2, 5], mode=0)
    %10 = mul(%9, 3)
    %11 = pad(%10, none, pad=[2, -3], mode=0)
    %12 = add(%11, 1)
    return %4, %8, %12
  })");
}

TEST(Lower, AStencilOverPaddedValues) {
  check_backends(R"(graph "stencil" {
    %0: f32[8, 21] = placeholder "x"
    %1 = mul(%0, 2.0)
    %2 = pad(%1, none, pad=[1, 1, 1, 1], mode=0)
    %3 = slice(%2, dim=0, start=0, end=8, step=1)
    %4 = slice(%3, dim=1, start=1, end=22, step=1)
    %5 = slice(%2, dim=0, start=2, end=10, step=1)
    %6 = slice(%5, dim=1, start=0, end=21, step=1)
    %7 = add(%4, %6)
    %8 = maximum(%7, %1)
    return %8
  })");
}

// Inputs that fill a page between two that must not be touched.
TEST(Lower, BoundedLoadsStayInside) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto n = static_cast<int64_t>(page / sizeof(float));
  auto* memory = static_cast<std::byte*>(mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_READ | PROT_WRITE), 0);
  auto* x = reinterpret_cast<float*>(memory + page);
  for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
  const std::string size = std::to_string(n), rows = std::to_string(n / 64);
  const ir::Graph graph = ir::parse_graph("graph \"edges\" {\n%0: f32[" + rows + R"(, 64] = placeholder "x"
    %1 = pad(%0, 1.0, pad=[3, 21, 2, 9], mode=0)
    %2 = neg(%1)
    %3 = view(%0, size=[)" + size + R"(])
    %4 = roll(%3, shifts=[5], dims=[0])
    %5 = neg(%4)
    %6 = cat(%0, %0, dim=0)
    %7 = neg(%6)
    %8 = flip(%3, dims=[0])
    %9 = neg(%8)
    return %2, %5, %7, %9
  })");
  for (Backend backend : {Backend::LoopInterpreter, Backend::Llvm}) {
    CompileOptions options;
    options.backend = backend;
    const auto exe = compile(graph, options);
    std::vector<std::vector<float>> results;
    std::vector<void*> out;
    for (const OutputPlan& plan : exe->outputs()) results.emplace_back(static_cast<size_t>(plan.storage_bytes()) / sizeof(float));
    for (auto& r : results) out.push_back(r.data());
    void* in[] = {x};
    exe->run(in, {}, out);
    EXPECT_EQ(results[0][2 * 88 + 3], 0);
    EXPECT_EQ(results[0][2 * 88 + 2], -1);
    EXPECT_EQ(results[0][results[0].size() - 9 * 88 - 22], -static_cast<float>(n - 1));
    EXPECT_EQ(results[1][0], -static_cast<float>(n - 5));
    EXPECT_EQ(results[2].back(), -static_cast<float>(n - 1));
    EXPECT_EQ(results[3][0], -static_cast<float>(n - 1));
  }
  munmap(memory, 3 * page);
}

TEST(Lower, FlippedAndRolledValues) {
  check_backends(R"(graph "flip" {
    %0: f32[6, 35] = placeholder "x"
    %1 = mul(%0, %0)
    %2 = flip(%1, dims=[0, -1])
    %3 = view(%2, size=[5, 42])
    %4 = neg(%3)
    %5 = roll(%1, shifts=[-4], dims=[1])
    %6 = t(%5)
    %7 = roll(%6, shifts=[8], dims=[1])
    %8 = abs(%7)
    %9 = amax(%2, dim=[1], keepdim=false)
    return %4, %8, %9
  })");
}

TEST(Lower, ConcatenatedValues) {
  check_backends(R"(graph "cat" {
    %0: f32[3, 19] = placeholder "x"
    %1: f64[3, 5] = placeholder "y"
    %2: f32[3, 0] = placeholder "z"
    %3 = add(%0, 1.0)
    %4 = cat(%3, %2, %1, %0, dim=1)
    %5 = neg(%4)
    %6 = slice(%4, dim=1, start=4, end=18, step=1)
    %7 = abs(%6)
    %8 = stack(%0, %3, dim=2)
    %9 = view(%8, size=[3, 38])
    %10 = mul(%9, 2.0)
    %11 = amax(%8, dim=[2], keepdim=false)
    return %5, %7, %10, %11
  })");
}

TEST(Lower, PartsAreWrittenToTheirPlace) {
  const ir::Graph graph = ir::parse_graph(R"(graph "parts" {
    %0: f32[40, 70] = placeholder "x"
    %1: f32[40, 50] = placeholder "y"
    %2 = exp(%0)
    %3 = tanh(%1)
    %4 = mul(%3, 2.0)
    %5: f32[40, 50] = inplace add(%1, 1.0)
    %6 = cat(%2, %4, dim=1)
    %7: f32[40, 120], %9: i64[40, 120] = cummax(%6, dim=0)
    %8 = select(%6, dim=1, index=69)
    return %7, %8, %6
  })");
  check_backends(graph);
  EXPECT_EQ(compile(graph, {})->dump("graph").find("cat("), std::string::npos);
  // Read by a loop, the parts are loaded there.
  EXPECT_NE(compile(ir::parse_graph(R"(graph "read" {
    %0: f32[40, 70] = placeholder "x"
    %2 = exp(%0)
    %3 = tanh(%0)
    %6 = cat(%2, %3, dim=1)
    %7 = neg(%6)
    return %7
  })"),
                    {})
                ->dump("graph")
                .find("cat("),
            std::string::npos);
}

TEST(Lower, CountedCoordinates) {
  check_backends(R"(graph "arange" {
    %0: f32[7, 33] = placeholder "x"
    %1 = arange(-3, 2, size=33, dtype=i64)
    %2 = arange(2.0, -1.0, size=33, dtype=f32)
    %3 = arange(0, 1, size=7, dtype=i32)
    %4 = add(%0, %1)
    %5 = mul(%4, %2)
    %6 = unsqueeze(%3, dim=1)
    %7 = gt(%1, %6)
    %8 = where(%7, %5, 0.0)
    %9 = arange(0.25, 0.1, size=33, dtype=f32)
    %10 = add(%8, %9)
    %11 = tril(%10, diagonal=-2)
    %12 = flip(%11, dims=[1])
    return %12
  })");
}

TEST(Lower, DivisionByLiterals) {
  check_backends(R"(graph "division" {
    %0: i64[37] = placeholder "x"
    %1: i32[37] = placeholder "y"
    %2: u8[37] = placeholder "z"
    %3 = div_floor(%0, -2)
    %4 = remainder(%3, 3)
    %5 = div_floor(%1, -1)
    %6 = remainder(%1, -2)
    %7 = remainder(%2, 4)
    return %4, %5, %6, %7
  })");
}

TEST(Lower, SmallProducts) {
  check_backends(R"(graph "products" {
    %0: f32[3, 5] = placeholder "x"
    %1: f32[5, 7] = placeholder "y"
    %2: f64[2, 3, 5] = placeholder "z"
    %3: f64[4, 5] = placeholder "w"
    %4 = mm(%0, %1)
    %5 = linear(%2, %3, none)
    %6 = tanh(%4)
    return %6, %5
  })",
                 kReduced);
}

TEST(Lower, SlicesOfOneTensorShareAKernel) {
  const ir::Graph graph = ir::parse_graph(R"(graph "slices" {
    %0: f32[3, 5, 24] = placeholder "x"
    %1: f32[5, 5] = placeholder "w"
    %2: f32[5, 8] = placeholder "y"
    %3 = select(%0, dim=0, index=1)
    %4 = select(%0, dim=0, index=2)
    %5 = slice(%3, dim=1, start=8, end=16, step=1)
    %6 = slice(%4, dim=1, start=16, end=24, step=1)
    %7 = mm(%1, %2)
    %8 = add(%7, %5)
    %9 = mm(%1, %8)
    %10 = add(%9, %6)
    return %10
  })");
  check_backends(graph, kReduced);
  const Program program = lower_program(graph, {});
  std::map<std::string, int> nests;
  for (const LoweredNest& n : program.nests) ++nests[to_string(n.nest)];
  EXPECT_EQ(program.nests.size(), 2u);
  EXPECT_EQ(nests.size(), 1u);
}

TEST(Lower, ExponentialsBelowAMaximumKeepTheirBits) {
  const ir::Graph graph = ir::parse_graph(R"(graph "shifted" {
    %0: f32[6, 50] = placeholder "x"
    %1: f32[6, 50] = placeholder "y"
    %2 = amax(%0, dim=[1], keepdim=true)
    %3 = sub(%0, %2, none)
    %4 = exp(%3)
    %5 = sub(%1, %2, none)
    %6 = exp(%5)
    return %4, %6
  })");
  std::vector<ir::HostTensor> inputs = testing::random_inputs(graph);
  const double special[] = {INFINITY, -INFINITY, NAN, 1e38, -1e38, -104.5};
  for (int64_t row = 0; row < 6; ++row)
    for (int64_t i = 0; i < 2; ++i) {
      inputs[0].set(row * 50 + 7 + 11 * i, special[row]);
      inputs[1].set(row * 50 + 9 + 13 * i, special[5 - row]);
    }
  for (const Backend backend : {Backend::LoopInterpreter, Backend::Eager}) {
    const testing::Result want = testing::run(graph, inputs, backend), got = testing::run(graph, inputs, Backend::Llvm);
    for (size_t i = 0; i < want.outputs.size(); ++i) testing::expect_equal(got.outputs[i], want.outputs[i], 0, "exponentials");
  }
}

TEST(Lower, FieldsOfRecordsAreFoldedTogether) {
  for (const char* fields : {"2", "3", "4", "5"}) {
    std::string text = R"(graph "bodies" {
    %0: f32[40, F] = placeholder "positions"
    %1: f32[40, 40] = placeholder "weights"
    %2: f32[40, F] = placeholder "velocities"
    %3 = unsqueeze(%0, dim=0)
    %4 = unsqueeze(%0, dim=1)
    %5 = sub(%3, %4, none)
    %6 = unsqueeze(%1, dim=2)
    %7 = mul(%5, %6)
    %8 = sum(%7, dim=[1], keepdim=false, dtype=none)
    %9 = amax(%7, dim=[1], keepdim=false)
    %10 = mul(%8, %9)
    %11 = add(%2, %10, none)
    return %11, %9
  })";
    for (size_t at; (at = text.find(" F]")) != std::string::npos;) text.replace(at + 1, 1, fields);
    const ir::Graph graph = ir::parse_graph(text);
    check_backends(graph, 10 * kReduced);
    const Program program = lower_program(graph, {});
    ASSERT_EQ(program.nests.size(), 1u);
    EXPECT_EQ(program.nests[0].nest.dims.size(), *fields == '5' ? 3u : 2u) << to_string(program.nests[0].nest);
  }
}

// What the fields of a pair share is computed in the pass that folds them, once.
TEST(Lower, WhatFieldsShareIsNoPassOfItsOwn) {
  for (const char* fields : {"2", "3", "4", "5"}) {
    std::string text = R"(graph "bodies" {
    %0: f32[160, F] = placeholder "positions"
    %1: f32[160] = placeholder "masses"
    %2 = unsqueeze(%0, dim=0)
    %3 = unsqueeze(%0, dim=1)
    %4 = sub(%2, %3, none)
    %5 = mul(%4, %4)
    %6 = sum(%5, dim=[2], keepdim=false, dtype=none)
    %7 = add(%6, 0.01, none)
    %8 = rsqrt(%7)
    %9 = mul(%1, %8)
    %10 = div(%9, %7)
    %11 = unsqueeze(%10, dim=2)
    %12 = mul(%4, %11)
    %13 = sum(%12, dim=[1], keepdim=false, dtype=none)
    return %13
  })";
    for (size_t at; (at = text.find(" F]")) != std::string::npos;) text.replace(at + 1, 1, fields);
    const ir::Graph graph = ir::parse_graph(text);
    check_backends(graph, 10 * kReduced);
    const Program program = lower_program(graph, {});
    ASSERT_EQ(program.nests.size(), *fields == '5' ? 2u : 1u) << fields;
    const LoopNest& nest = program.nests[0].nest;
    int64_t roots = 0, loads = 0;
    for (const Stage& stage : nest.stages)
      for (const int id : stage.exprs) {
        const Expr& e = nest.exprs[static_cast<size_t>(id)];
        roots += e.kind == ExprKind::Op && e.op->name == "rsqrt";
        loads += e.kind == ExprKind::Load;
      }
    EXPECT_EQ(roots, 1) << to_string(nest);
    if (*fields == '3') { EXPECT_EQ(loads, 3 + 3 + 1) << "each field of either body once, and a mass: " << to_string(nest); }
  }
}

TEST(Lower, EmptyTensors) {
  check_backends(R"(graph "empty" {
    %0: f32[0, 4] = placeholder "x"
    %1 = add(%0, 1.0)
    %2 = sum(%1, dim=[0], keepdim=false, dtype=none)
    %3 = sum(%1, dim=[1], keepdim=false, dtype=none)
    return %1, %2, %3
  })");
}

}  // namespace
}  // namespace tailor::jit
