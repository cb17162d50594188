#include "jit/llvm/codegen.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/TypeBasedAliasAnalysis.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <array>
#include <initializer_list>
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

/// For a function that TargetPassConfig keeps for its heirs.
struct Selection : llvm::TargetPassConfig {
  using TargetPassConfig::addCoreISelPasses;
};

// What TargetPassConfig::addISelPasses adds, without what has nothing to do in the code of loop nests: no exceptions, no garbage
// collection, no atomics, no calls of memcmp, no integers wider than a register, no stack protectors. Making those passes and running
// them costs some 5 % of a small kernel.
void add_selection(llvm::LLVMTargetMachine& machine, llvm::TargetPassConfig& config, llvm::legacy::PassManager& passes) {
  for (llvm::Pass* pass : std::initializer_list<llvm::Pass*>{
           llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()), llvm::createTypeBasedAAWrapperPass(),
           llvm::createScopedNoAliasAAWrapperPass(), llvm::createBasicAAWrapperPass(), llvm::createPreISelIntrinsicLoweringPass(),
           llvm::createCanonicalizeFreezeInLoopsPass(), llvm::createLoopStrengthReducePass(), llvm::createUnreachableBlockEliminationPass(),
           llvm::createScalarizeMaskedMemIntrinLegacyPass(), llvm::createExpandReductionsPass()})
    passes.add(pass);
  config.addCodeGenPrepare();
  const bool refused = (config.*&Selection::addCoreISelPasses)();
  internal_check(!refused, "the code generator cannot select instructions");
}

// As LLVMTargetMachine::addPassesToEmitFile does, but for passes that nothing here needs, and for one that orders instructions for
// processors without a window of their own.
void add_passes(llvm::TargetMachine& target, llvm::legacy::PassManager& passes, llvm::raw_pwrite_stream& to, llvm::CodeGenFileType kind) {
  auto& machine = static_cast<llvm::LLVMTargetMachine&>(target);
  auto* const info = new llvm::MachineModuleInfoWrapperPass(&machine);  // the manager owns what is added
  llvm::TargetPassConfig* const config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  for (const char* idle : {&llvm::PostRASchedulerID, &llvm::FixupStatepointCallerSavedID, &llvm::RemoveRedundantDebugValuesID,
                           &llvm::FEntryInserterID, &llvm::XRayInstrumentationID, &llvm::PatchableFunctionID, &llvm::StackMapLivenessID,
                           &llvm::LiveDebugValuesID, &llvm::MachineSanitizerBinaryMetadataID, &llvm::StackFrameLayoutAnalysisPassID,
                           &llvm::FuncletLayoutID, &llvm::GCMachineCodeAnalysisID})
    config->disablePass(idle);
  passes.add(config);
  passes.add(info);
  add_selection(machine, *config, passes);
  config->addMachinePasses();
  config->setInitialized();
  const bool no_printer = machine.addAsmPrinter(passes, to, nullptr, kind, info->getMMI().getContext());
  internal_check(!no_printer, "the code generator cannot write this kind of file");
  passes.add(llvm::createFreeMachineFunctionPass());
}

/// A target machine and the passes that lead to an object. Both cost as much as compiling a small kernel, so they are kept. Not
/// thread-safe.
class Pipeline {
 public:
  explicit Pipeline(const Target& target) : machine_(make_machine(target)) {}

  llvm::TargetMachine& machine() { return *machine_; }
  int uses() const { return uses_; }

  std::string object(llvm::Module& module) {
    if (uses_++ == 0) add_passes(*machine_, passes_, stream_, llvm::CodeGenFileType::ObjectFile);
    text_.clear();
    passes_.run(module);
    return std::string(text_);
  }

 private:
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::SmallString<0> text_;
  llvm::raw_svector_ostream stream_{text_};
  llvm::legacy::PassManager passes_;
  int uses_ = 0;
};

/// A pipeline for one compilation; kept for the next.
class Lease {
 public:
  explicit Lease(const Target& target) : pool_(pools()[static_cast<size_t>(target.isa)]) {
    {
      std::lock_guard lock(mutex());
      if (!pool_.empty()) pipeline_ = std::move(pool_.back()), pool_.pop_back();
    }
    if (pipeline_ == nullptr) pipeline_ = std::make_unique<Pipeline>(target);
  }
  ~Lease() {
    constexpr int kLife = 256;  // what passes keep from module to module stays little
    if (pipeline_->uses() >= kLife) return;
    std::lock_guard lock(mutex());
    pool_.push_back(std::move(pipeline_));
  }
  Pipeline* operator->() const { return pipeline_.get(); }
  Lease(const Lease&) = delete;

 private:
  using Pool = std::vector<std::unique_ptr<Pipeline>>;
  static std::mutex& mutex() {
    static auto* instance = new std::mutex;
    return *instance;
  }
  static std::array<Pool, 3>& pools() {
    static auto* instance = new std::array<Pool, 3>;
    return *instance;
  }
  Pool& pool_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace

void prepare_module(llvm::Module& module, const Target& target) {
  Lease pipeline(target);
  module.setTargetTriple(pipeline->machine().getTargetTriple().str());
  module.setDataLayout(pipeline->machine().createDataLayout());
}

std::string generate_object(llvm::Module& module, const Target& target) {
  Lease pipeline(target);
  return pipeline->object(module);
}

std::string generate_assembly(llvm::Module& module, const Target& target) {
  Lease pipeline(target);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  add_passes(pipeline->machine(), passes, stream, llvm::CodeGenFileType::AssemblyFile);
  passes.run(module);
  return std::string(text);
}

}  // namespace tailor::jit
