#pragma once
// The executable: launches whose memory is placed and whose kernels are compiled.

#include "jit/llvm/compile.h"
#include "jit/program.h"

namespace tailor::jit {

/// A lowered program with the code of its nests; what executables made of it share.
struct CompiledProgram {
  Program program;
  std::vector<KernelFn> kernels;  // one per nest; null: interpreted
  std::vector<std::shared_ptr<const CompiledModule>> modules;
};

/// Compiles the nests, unless the back end does without; adds to the program's report.
void compile_kernels(CompiledProgram& compiled, const CompileOptions& options);

/// By input: whether it is one of `lasting` and the program does not write it.
std::vector<bool> steady_inputs(const ir::Graph& graph, std::span<const int> lasting);

class LaunchList : public Executable {
 public:
  /// `launches`: the program's, moved or copied from it.
  LaunchList(std::shared_ptr<const CompiledProgram> compiled, std::vector<Launch> launches, std::vector<OutputPlan> outputs,
             std::span<const Block> blocks);
  using Executable::run;
  void run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs,
           const Prepared* prepared) const override;
  /// Finds the contractions whose weights are one of the `steady` inputs, or a view of one, and can be laid out ahead. Once, before it is
  /// shared.
  void find_packs(const std::vector<bool>& steady);
  std::span<const int> weights() const override { return weights_; }
  std::shared_ptr<const Prepared> prepare(std::span<void* const> inputs, std::span<const ValueIdentity> identities) const override;
  std::span<const OutputPlan> outputs() const override { return outputs_; }
  const CompileReport& report() const override { return report_; }
  std::string dump(std::string_view what) const override;

 protected:
  std::vector<Launch>& launches() { return launches_; }
  /// Numbers that are run-time scalars of kernels, behind those of the call; they do not change once the list is made.
  std::vector<int64_t> more_scalars_;

 private:
  /// Weights that are laid out ahead.
  struct Pack {
    const LibraryLaunch* launch;
    int input;
    std::string key;
    kernels::Prepacking how;
  };
  void run_all(std::byte* const* bases, const int64_t* scalars, const Packs& packs) const;

  std::shared_ptr<const CompiledProgram> compiled_;
  std::vector<Launch> launches_;
  std::vector<OutputPlan> outputs_;
  CompileReport report_;
  std::vector<Pack> packs_;
  std::vector<int> weights_;
};

}  // namespace tailor::jit
