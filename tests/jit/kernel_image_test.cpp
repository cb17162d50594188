// Kernels cut out of objects and put elsewhere: the same bits, whatever they call and read; damaged ones are refused.

#include "jit/kernel_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ir/formula.h"
#include "ir/op.h"
#include "jit/cached_module.h"
#include "jit/llvm/target.h"
#include "jit/nest_builder.h"
#include "runtime/error.h"

namespace tailor::jit {
namespace {

using kernels::Isa;

std::vector<Isa> levels() {
  std::vector<Isa> all;
  for (Isa isa : {Isa::Sse2, Isa::Avx2, Isa::Avx512})
    if (isa <= host_isa()) all.push_back(isa);
  return all;
}

/// y = op(x, x, ...) over a run-time number of elements.
LoopNest pointwise(const ir::OpDef& op, size_t operands, ScalarType type) {
  NestBuilder b(std::string(op.name));
  b.vectorise(b.outer(b.size()));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, type), b.map({1}));
  const ScalarType result = ir::gives_truth(op) ? kBool : type;
  const int y = b.op(op.name, std::vector<int>(operands, x), result, compute_type(type));
  b.store(b.buffer(BufferKind::Output, result), b.map({1}), y);
  return b.nest();
}

struct Compiled {
  std::shared_ptr<const CompiledModule> module;
  std::vector<KernelImage> images;
  std::vector<std::string> objects, symbols;
};

Compiled compile(const std::vector<LoopNest>& nests, Isa isa) {
  Compiled c;
  c.images.resize(nests.size()), c.objects.resize(nests.size()), c.symbols.resize(nests.size());
  EmitOptions options;
  options.isa = isa;
  options.on_object = [&](size_t nest, std::string_view object, std::string_view symbol) {
    c.images[nest] = cut_image(object, symbol);
    c.objects[nest] = object;
    c.symbols[nest] = symbol;
  };
  c.module = compile_nests(nests, options);
  return c;
}

template <class E = InternalError, class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const E& error) { return error.what(); }
  return "nothing was thrown";
}

TEST(KernelImage, PointwiseKernelsGiveTheSameBits) {
  std::mt19937_64 random(7);
  constexpr int64_t kElements = 133;
  std::vector<std::byte> input(kElements * 8);
  for (size_t i = 0; i < input.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(input.data() + i, &word, 8);
  }
  for (Isa isa : levels()) {
    for (ScalarType type : {kFloat32, kFloat64, kBFloat16, kHalf, kInt32}) {
      std::vector<LoopNest> nests;
      for (const char* name : {"exp", "log", "tanh", "sin", "erf", "floor", "sqrt", "round", "sigmoid", "gelu", "neg", "abs", "isnan"}) {
        const ir::OpDef* op = ir::find_op(name);
        ASSERT_NE(op, nullptr) << name;
        if (type != kInt32 || std::strcmp(name, "neg") == 0 || std::strcmp(name, "abs") == 0) nests.push_back(pointwise(*op, 1, type));
      }
      for (const char* name : {"add", "mul", "maximum", "div"})
        if (type != kInt32 || std::strcmp(name, "div") != 0) nests.push_back(pointwise(*ir::find_op(name), 2, type));
      const Compiled c = compile(nests, isa);
      const LoadedImages loaded(c.images);
      for (size_t i = 0; i < nests.size(); ++i) {
        std::vector<std::byte> want(kElements * 8), got(kElements * 8);
        void* to_want[] = {input.data(), want.data()};
        void* to_got[] = {input.data(), got.data()};
        c.module->kernel(i)(to_want, &kElements, nullptr, 0, kElements);
        reinterpret_cast<KernelFn>(loaded.entry(i))(to_got, &kElements, nullptr, 0, kElements);
        EXPECT_EQ(want, got) << nests[i].name << " of " << type << " at level " << int(isa);
      }
    }
  }
}

TEST(KernelImage, CallsIntoTheLibraryFindTheirWay) {
  // Below AVX2, fma is a call of the C library; scratch memory is a call of ours at every level.
  NestBuilder b("softmax_like");
  const int outer = b.outer(b.size());
  (void)outer;
  const int n = b.inner(b.size());
  b.vectorise(n);
  const int x = b.buffer(BufferKind::Input, kFloat32), y = b.buffer(BufferKind::Output, kFloat32);
  const int scratch = b.buffer(BufferKind::Scratch, kFloat32, Size::parameter(1));
  b.stage({n});
  const int e = b.op("exp", {b.load(x, b.map({Size::parameter(1), 1}))}, kFloat32);
  const int sum = b.reduce(ReduceOp::Sum, e, kFloat32);
  b.store(scratch, b.map({0, 1}), e);
  b.stage({n});
  b.store(y, b.map({Size::parameter(1), 1}), b.op("div", {b.load(scratch, b.map({0, 1})), b.reduced(sum, kFloat32)}, kFloat32));
  const LoopNest nest = b.nest();
  for (Isa isa : levels()) {
    const Compiled c = compile({nest}, isa);
    EXPECT_FALSE(c.images[0].imports.empty());
    std::vector<float> in(3 * 40), want(in.size()), got(in.size());
    for (size_t i = 0; i < in.size(); ++i) in[i] = 0.1f * static_cast<float>(i % 17);
    const int64_t sizes[] = {3, 40};
    void* to_want[] = {in.data(), want.data(), nullptr};
    void* to_got[] = {in.data(), got.data(), nullptr};
    c.module->kernel(0)(to_want, sizes, nullptr, 0, 3);
    const auto module = load_module({nest}, c.images, {});
    module->kernel(0)(to_got, sizes, nullptr, 0, 3);
    EXPECT_EQ(want, got);
    EXPECT_GT(module->code_bytes(), 0);
    EXPECT_NE(module->dump("ir").find("define"), std::string::npos);  // compiled anew for it
  }
}

TEST(KernelImage, EachNestOfAnObjectIsCutByItself) {
  std::vector<LoopNest> nests;
  for (const char* name : {"add", "sub", "mul", "maximum", "minimum", "atan2"}) nests.push_back(pointwise(*ir::find_op(name), 2, kFloat32));
  const Compiled together = compile(nests, host_isa());
  for (size_t i = 0; i < nests.size(); ++i) {
    const Compiled alone = compile({nests[i]}, host_isa());
    EXPECT_LT(together.images[i].bytes.size(), alone.images[0].bytes.size() + 4096) << nests[i].name;
  }
}

TEST(KernelImage, WhatWasCompiledBeforeDoesNotChangeTheCode) {
  // The code generator keeps its passes from one compilation to the next.
  const char* const names[] = {"exp", "floor", "log", "add", "tanh", "sqrt"};
  for (Isa isa : levels()) {
    std::vector<std::string> first;
    for (int round = 0; round < 4; ++round) {
      for (size_t i = 0; i < std::size(names); ++i) {
        const ir::OpDef& op = *ir::find_op(names[i]);
        const std::string code = compile({pointwise(op, op.operand_names.size(), kFloat32)}, isa).images[0].bytes;
        if (round == 0)
          first.push_back(code);
        else
          EXPECT_EQ(code, first[i]) << names[i] << " at level " << int(isa);
      }
    }
  }
}

TEST(KernelImage, DamagedObjectsAreRefused) {
  const Compiled c = compile({pointwise(*ir::find_op("exp"), 1, kFloat32)}, host_isa());
  const std::string& object = c.objects[0];
  EXPECT_NE(message([&] { cut_image("", "f"); }).find("object: cut short"), std::string::npos);
  EXPECT_NE(message([&] { cut_image(object, "other"); }).find("object: no symbol other"), std::string::npos);
  // Nothing but an exception, or an image that nobody runs, whatever is cut off or overwritten.
  std::mt19937 random(1);
  for (size_t size = 0; size < object.size(); size += 1 + size / 97) {
    try {
      cut_image(std::string_view(object).substr(0, size), c.symbols[0]);
    } catch (const InternalError&) {}
  }
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = object;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      cut_image(damaged, c.symbols[0]);
    } catch (const InternalError&) {}
  }
}

TEST(KernelImage, ImagesThatDoNotFitTogetherAreRefused) {
  const KernelImage empty;
  EXPECT_NE(message([&] { LoadedImages({&empty, 1}); }).find("a kernel begins outside of its code"), std::string::npos);
  const KernelImage outside{std::string(16, '\xc3'), 0, {{"memcpy", 9}}};
  EXPECT_NE(message([&] { LoadedImages({&outside, 1}); }).find("an import lies outside of its code"), std::string::npos);
  const KernelImage stranger{std::string(16, '\xc3'), 0, {{"system", 8}}};
  EXPECT_NE(message([&] {
              LoadedImages({&stranger, 1});
            }).find("a kernel refers to system, which generated code may not use"),
            std::string::npos);
  EXPECT_EQ(LoadedImages({}).code_bytes(), 0);
}

}  // namespace
}  // namespace tailor::jit
