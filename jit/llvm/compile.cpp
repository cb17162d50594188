#include "jit/llvm/compile.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <thread>

#include "jit/llvm/codegen.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/session.h"

namespace tailor::jit {
namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, std::span<const LoopNest> nests, std::span<const std::string> symbols,
                                          const Target& target) {
  auto module = std::make_unique<llvm::Module>("tailor", context);
  prepare_module(*module, target);
  for (size_t i = 0; i < nests.size(); ++i) NestEmitter(*module, nests[i], target, symbols[i]).emit();
#ifndef NDEBUG
  std::string faults;
  llvm::raw_string_ostream stream(faults);
  internal_check(!llvm::verifyModule(*module, &stream), "generated IR is wrong: ", faults);
#endif
  return module;
}

class Compiled final : public CompiledModule {
 public:
  Compiled(std::span<const LoopNest> nests, const Target& target) : nests_(nests.begin(), nests.end()), target_(target) {
    for (size_t i = 0; i < nests.size(); ++i) symbols_.push_back(unique_symbol());
    Stopwatch watch;
    llvm::LLVMContext context;
    auto module = emit_module(context, nests_, symbols_, target_);
    times_.emit_ms = watch.lap();
    const std::string object = generate_object(*module, target_);
    times_.llvm_ms = watch.lap();
    linked_ = link_object(object, symbols_);
    times_.link_ms = watch.lap();
  }

  size_t size() const override { return nests_.size(); }
  KernelFn kernel(size_t nest) const override { return reinterpret_cast<KernelFn>(linked_->address(nest)); }
  const CompileTimes& times() const override { return times_; }
  int64_t code_bytes() const override { return linked_->code_bytes(); }

  std::string dump(std::string_view what) const override {
    if (what == "loops") {
      std::string text;
      for (const LoopNest& nest : nests_) text += to_string(nest);
      return text;
    }
    check(what == "ir" || what == "asm", "dump: expected loops, ir or asm, got ", what);
    llvm::LLVMContext context;
    auto module = emit_module(context, nests_, symbols_, target_);
    if (what == "asm") return generate_assembly(*module, target_);
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, nullptr);
    return text;
  }

 private:
  std::vector<LoopNest> nests_;
  const Target& target_;
  std::vector<std::string> symbols_;
  std::shared_ptr<const LinkedObject> linked_;
  CompileTimes times_;
};

}  // namespace

std::shared_ptr<const CompiledModule> compile_nests(std::span<const LoopNest> nests, const EmitOptions& options) {
  return std::make_shared<Compiled>(nests, target_for(options.isa.value_or(kernels::isa())));
}

void warm_up() {
  LoopNest nest;
  nest.name = "warm_up";
  nest.dims.resize(1);
  nest.dims[0].extent = 16;
  nest.vector_dim = 0;
  nest.buffers = {{BufferKind::Output, kFloat32, 0}};
  nest.exprs.resize(1);
  nest.exprs[0].literal = 1.0;
  nest.stages.resize(1);
  nest.stages[0].exprs = {0};
  nest.stages[0].stores = {{{0, {0, {1}}, {}}, 0}};
  compile_nests({&nest, 1}, {});
}

void warm_up_in_background() {
  static const bool started = [] {
    std::thread([] {
      try {
        warm_up();
      } catch (...) {  // the real compilation will report it
      }
    }).detach();
    return true;
  }();
  (void)started;
}

}  // namespace tailor::jit
