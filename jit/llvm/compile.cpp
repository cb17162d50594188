#include "jit/llvm/compile.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <chrono>

#include "jit/llvm/codegen.h"
#include "jit/llvm/emit.h"
#include "jit/llvm/session.h"
#include "runtime/thread_pool.h"
#include "runtime/trace.h"

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
                                          const Target& target, bool fast_math) {
  auto module = std::make_unique<llvm::Module>("tailor", context);
  prepare_module(*module, target);
  for (size_t i = 0; i < nests.size(); ++i) NestEmitter(*module, nests[i], target, symbols[i], fast_math).emit();
#ifndef NDEBUG
  std::string faults;
  llvm::raw_string_ostream stream(faults);
  internal_check(!llvm::verifyModule(*module, &stream), "generated IR is wrong: ", faults);
#endif
  return module;
}

/// Nests that share one LLVM module.
struct Part {
  std::vector<LoopNest> nests;
  std::vector<std::string> symbols;
  std::shared_ptr<const LinkedObject> linked;
  CompileTimes times;

  /// This is part `index` of `parts`: nests are dealt out to them in turn.
  void compile(const Target& target, const EmitOptions& options, size_t index, size_t parts) {
    for (size_t i = 0; i < nests.size(); ++i) symbols.push_back(unique_symbol());
    Stopwatch watch;
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module;
    {
      const TraceSpan span("llvm", "emit IR");
      module = emit_module(context, nests, symbols, target, options.fast_math);
      times.emit_ms = watch.lap();
    }
    std::string object;
    {
      const TraceSpan span("llvm", "generate code");
      object = generate_object(*module, target);
      times.llvm_ms = watch.lap();
    }
    {
      const TraceSpan span("link", "link");
      linked = link_object(object, symbols);
      times.link_ms = watch.lap();
    }
    if (options.on_object)
      for (size_t i = 0; i < nests.size(); ++i) options.on_object(i * parts + index, object, symbols[i]);
  }
  double total_ms() const { return times.emit_ms + times.llvm_ms + times.link_ms; }
};

class Compiled final : public CompiledModule {
 public:
  Compiled(std::span<const LoopNest> nests, const Target& target, const EmitOptions& options)
      : target_(target), fast_math_(options.fast_math), size_(nests.size()) {
    // Threads compile parts of their own; a module costs some 15 % more than its share of a common one.
    constexpr size_t kFewest = 3;
    const auto threads = in_parallel_region() ? size_t{1} : static_cast<size_t>(get_num_threads());
    parts_.resize(std::clamp<size_t>(nests.size() / kFewest, 1, threads));
    for (size_t i = 0; i < nests.size(); ++i) parts_[i % parts_.size()].nests.push_back(nests[i]);
    auto compile = [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        parts_[static_cast<size_t>(i)].compile(target_, options, static_cast<size_t>(i), parts_.size());
    };
    if (parts_.size() == 1)
      compile(0, 1);
    else
      parallel_for(0, static_cast<int64_t>(parts_.size()), 1, compile);
    times_ =
        std::max_element(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.total_ms() < b.total_ms(); })->times;
  }

  size_t size() const override { return size_; }
  KernelFn kernel(size_t nest) const override {
    return reinterpret_cast<KernelFn>(parts_[nest % parts_.size()].linked->address(nest / parts_.size()));
  }
  const CompileTimes& times() const override { return times_; }
  int64_t code_bytes() const override {
    int64_t bytes = 0;
    for (const Part& part : parts_) bytes += part.linked->code_bytes();
    return bytes;
  }

  std::string dump(std::string_view what) const override {
    check(what == "loops" || what == "ir" || what == "asm", "dump: expected loops, ir or asm, got ", what);
    std::string text;
    if (what == "loops") {
      for (size_t i = 0; i < size_; ++i) text += to_string(parts_[i % parts_.size()].nests[i / parts_.size()]);
      return text;
    }
    for (const Part& part : parts_) {
      llvm::LLVMContext context;
      auto module = emit_module(context, part.nests, part.symbols, target_, fast_math_);
      if (what == "asm") {
        text += generate_assembly(*module, target_);
        continue;
      }
      llvm::raw_string_ostream stream(text);
      module->print(stream, nullptr);
    }
    return text;
  }

 private:
  const Target& target_;
  bool fast_math_;
  size_t size_;
  std::vector<Part> parts_;
  CompileTimes times_;
};

std::shared_ptr<const CompiledModule> compile(std::span<const LoopNest> nests, const EmitOptions& options) {
  return std::make_shared<Compiled>(nests, target_for(options.isa.value_or(kernels::isa())), options);
}

}  // namespace
}  // namespace tailor::jit

extern "C" const tailor::jit::CodeGenerator tailor_code_generator = {TAILOR_VERSION, &tailor::jit::compile};
