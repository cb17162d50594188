#include "jit/llvm/codegen.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/error.h"

namespace tailor::jit {
namespace {

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  static const bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(triple, error);
  internal_check(backend != nullptr, "no code generator for ", triple, ": ", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.NoTrappingFPMath = true;
  options.FunctionSections = true;  // the artifact cache keeps each nest by itself
  options.ExceptionModel = llvm::ExceptionHandling::None;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                                                           llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
}

/// A target machine for one compilation; kept for the next. They are not thread-safe, and cost as much as compiling a small kernel.
class MachineLease {
 public:
  explicit MachineLease(const Target& target) : pool_(pools()[static_cast<size_t>(target.isa)]) {
    {
      std::lock_guard lock(mutex());
      if (!pool_.empty()) machine_ = std::move(pool_.back()), pool_.pop_back();
    }
    if (machine_ == nullptr) machine_ = make_machine(target);
  }
  ~MachineLease() {
    std::lock_guard lock(mutex());
    pool_.push_back(std::move(machine_));
  }
  llvm::TargetMachine& operator*() const { return *machine_; }
  llvm::TargetMachine* operator->() const { return machine_.get(); }
  MachineLease(const MachineLease&) = delete;

 private:
  using Pool = std::vector<std::unique_ptr<llvm::TargetMachine>>;
  static std::mutex& mutex() {
    static auto* instance = new std::mutex;
    return *instance;
  }
  static std::array<Pool, 3>& pools() {
    static auto* instance = new std::array<Pool, 3>;
    return *instance;
  }
  Pool& pool_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

std::string generate(llvm::Module& module, const Target& target, llvm::CodeGenFileType kind) {
  MachineLease machine(target);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  const bool refused = machine->addPassesToEmitFile(passes, stream, nullptr, kind);
  internal_check(!refused, "the code generator cannot write this kind of file");
  passes.run(module);
  return std::string(text);
}

}  // namespace

void prepare_module(llvm::Module& module, const Target& target) {
  MachineLease machine(target);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
}

std::string generate_object(llvm::Module& module, const Target& target) {
  return generate(module, target, llvm::CodeGenFileType::ObjectFile);
}
std::string generate_assembly(llvm::Module& module, const Target& target) {
  return generate(module, target, llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace tailor::jit
