// The life of compiled modules: names, many of them, freeing, threads, and what code may touch.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "jit/llvm/compile.h"
#include "jit/llvm/session.h"
#include "jit/llvm/target.h"
#include "jit/nest_builder.h"
#include "runtime/error.h"
#include "support/sanitizers.h"

namespace tailor::jit {
namespace {

/// y = x + k over n elements.
LoopNest add_constant(double k, std::string name = "add", ScalarType type = kFloat32) {
  NestBuilder b(std::move(name));
  b.vectorise(b.outer(b.size()));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, type), b.map({1}));
  const int sum = b.op("add", {x, b.literal(k, type)}, type);
  b.store(b.buffer(BufferKind::Output, type), b.map({1}), sum);
  return b.nest();
}

float call(const CompiledModule& module, size_t nest, float x) {
  float y = 0;
  void* buffers[] = {&x, &y};
  const int64_t n = 1;
  module.kernel(nest)(buffers, &n, nullptr, 0, 1);
  return y;
}

int64_t resident_kilobytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

TEST(LlvmSession, KernelsOfOneNameAreDifferentKernels) {
  const LoopNest one = add_constant(1, "f"), two = add_constant(2, "f"), three = add_constant(3, "f");
  auto first = compile_nests({&one, 1}, {});
  const auto second = compile_nests({&two, 1}, {});
  EXPECT_EQ(call(*first, 0, 0), 1);
  EXPECT_EQ(call(*second, 0, 0), 2);
  first.reset();
  const auto third = compile_nests({&three, 1}, {});
  EXPECT_EQ(call(*third, 0, 0), 3);
  EXPECT_EQ(call(*second, 0, 0), 2);
}

TEST(LlvmSession, NamesOfCFunctionsMeanNothing) {
  for (const char* name : {"exp", "main", "kernel", "memcpy", "fmaf", "", "a b\"c\n"}) {
    NestBuilder b(name);
    b.vectorise(b.outer(b.size()));
    b.stage();
    const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}));
    const int y = b.op("exp", {x}, kFloat32);
    b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), y);
    for (auto isa : {kernels::Isa::Sse2, host_isa()}) {  // the lowest level calls fmaf
      const auto module = compile_nests({&b.nest(), 1}, {.isa = isa, .fast_math = false});
      EXPECT_FLOAT_EQ(call(*module, 0, 1), 2.71828183f) << name;
    }
  }
}

TEST(LlvmSession, AThousandModulesComeAndGo) {
  std::vector<std::shared_ptr<const CompiledModule>> kept;
  int64_t before = 0;
  for (int k = 0; k < 1000; ++k) {
    const LoopNest nest = add_constant(k);
    auto module = compile_nests({&nest, 1}, {});
    ASSERT_EQ(call(*module, 0, 0), static_cast<float>(k));
    if (k % 100 == 0) kept.push_back(std::move(module));
    if (k == 200) before = resident_kilobytes();
  }
  // 800 kept modules would take several pages each; the address sanitizer keeps freed memory for a while, and finds leaks itself.
  if (!testing::kAddressSanitizer) { EXPECT_LT(resident_kilobytes() - before, 16 * 1024); }
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(call(*kept[i], 0, 0), static_cast<float>(100 * i));
}

TEST(LlvmSession, OneModuleOfSeveralNests) {
  std::vector<LoopNest> nests;
  for (int k = 0; k < 10; ++k) nests.push_back(add_constant(k));
  const auto module = compile_nests(nests, {});
  ASSERT_EQ(module->size(), 10u);
  for (size_t k = 0; k < 10; ++k) EXPECT_EQ(call(*module, k, 0.5f), static_cast<float>(k) + 0.5f);
  EXPECT_GT(module->code_bytes(), 0);
  EXPECT_GT(module->times().llvm_ms, 0);
}

TEST(LlvmSession, ThreadsCompileAndCallAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t, &wrong] {
      for (int k = 0; k < 20; ++k) {
        const LoopNest nest = add_constant(100 * t + k);
        const auto module = compile_nests({&nest, 1}, {});
        wrong[static_cast<size_t>(t)] += call(*module, 0, 0) != static_cast<float>(100 * t + k);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int count : wrong) EXPECT_EQ(count, 0);
}

TEST(LlvmSession, WarmsUpInTheBackground) {
  warm_up_in_background();
  warm_up();
}

/// Memory that ends, or begins, at a page that may not be touched.
class GuardedPages {
 public:
  GuardedPages() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    base_ = static_cast<std::byte*>(mmap(nullptr, 3 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page_, page_, PROT_READ | PROT_WRITE);
  }
  ~GuardedPages() { munmap(base_, 3 * page_); }
  GuardedPages(const GuardedPages&) = delete;
  std::byte* begin() { return base_ + page_; }
  std::byte* end() { return base_ + 2 * page_; }

 private:
  size_t page_;
  std::byte* base_;
};

TEST(LlvmSession, TailsNeverTouchWhatLiesOutside) {
  GuardedPages in, out;
  for (auto isa : {kernels::Isa::Sse2, kernels::Isa::Avx2, kernels::Isa::Avx512}) {
    if (isa > host_isa()) continue;
    for (ScalarType type : {kFloat32, kFloat64, kBFloat16, kUInt8}) {
      const LoopNest nest = add_constant(1, "add", type);
      const auto module = compile_nests({&nest, 1}, {.isa = isa, .fast_math = false});
      for (int64_t n = 0; n < 140; ++n) {
        for (bool at_end : {true, false}) {
          const int64_t bytes = n * element_size(type);
          void* buffers[] = {at_end ? in.end() - bytes : in.begin(), at_end ? out.end() - bytes : out.begin()};
          module->kernel(0)(buffers, &n, nullptr, 0, n);
        }
      }
    }
  }
}

TEST(LlvmSession, ContractsOnlyWhenAsked) {
  NestBuilder b;
  b.vectorise(b.outer(b.size()));
  b.stage();
  const int x = b.load(b.buffer(BufferKind::Input, kFloat32), b.map({1}));
  const int product = b.op("mul", {x, x}, kFloat32), y = b.op("add", {product, b.literal(-(1 + 0x1p-11), kFloat32)}, kFloat32);
  b.store(b.buffer(BufferKind::Output, kFloat32), b.map({1}), y);
  const float a = 1 + 0x1p-12f;
  EXPECT_EQ(call(*compile_nests({&b.nest(), 1}, {}), 0, a), 0);
  if (host_isa() == kernels::Isa::Sse2) return;
  EXPECT_EQ(call(*compile_nests({&b.nest(), 1}, {.isa = {}, .fast_math = true}), 0, a), 0x1p-24f);
}

TEST(LlvmSession, DumpsItsForms) {
  const LoopNest nest = add_constant(1);
  const auto module = compile_nests({&nest, 1}, {});
  EXPECT_NE(module->dump("loops").find("add.f32"), std::string::npos);
  EXPECT_NE(module->dump("ir").find("fadd"), std::string::npos);
  EXPECT_NE(module->dump("asm").find("addps"), std::string::npos);
  try {
    module->dump("wasm");
    FAIL();
  } catch (const Error& error) { EXPECT_STREQ(error.what(), "dump: expected loops, ir or asm, got wasm"); }
}

TEST(LlvmSession, RefusesDamagedObjects) {
  const std::string symbol = unique_symbol();
  try {
    link_object("this is no object", {&symbol, 1});
    FAIL();
  } catch (const InternalError& error) { EXPECT_NE(std::string(error.what()).find("generated code"), std::string::npos) << error.what(); }
  const LoopNest nest = add_constant(7);  // the session goes on
  EXPECT_EQ(call(*compile_nests({&nest, 1}, {}), 0, 0), 7);
}

}  // namespace
}  // namespace tailor::jit
