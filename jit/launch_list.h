#pragma once
// The executable: launches whose memory is placed and whose kernels are compiled.

#include "jit/ahead.h"
#include "jit/llvm/compile.h"
#include "jit/program.h"

namespace tailor::jit {

/// A lowered program with the code of its nests; what executables made of it share.
struct CompiledProgram {
  Program program;
  std::vector<KernelFn> kernels;  // one per nest; null: interpreted
  std::vector<std::shared_ptr<const CompiledModule>> modules;
  uint64_t id = 0;  // of no other
};

/// Compiles the nests, unless the back end does without; adds to the program's report.
void compile_kernels(CompiledProgram& compiled, const CompileOptions& options);

class LaunchList : public Executable {
 public:
  /// `launches`: the program's, moved or copied from it. `steady`: inputs whose values may last, or empty.
  LaunchList(std::shared_ptr<const CompiledProgram> compiled, std::vector<Launch> launches, std::vector<OutputPlan> outputs,
             std::vector<Block> blocks, std::vector<bool> steady);
  using Executable::run;
  void run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs,
           const Prepared* prepared) const override;
  /// Finds what can be computed ahead: the units of launches (jit/ahead.h), and the contractions whose weights are a steady input, a view
  /// of one or a unit's result. Once, when all sizes are there and before it is shared.
  void find_weights();
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
  /// Launches [first, end) that are left out where their results are there already, at a base of their own.
  struct Ahead {
    int first = 0, end = 0;
    int64_t bytes = 0;
    std::vector<int> inputs;
    std::string key;
  };
  /// Weights that are laid out ahead: an input, or what an Ahead computes.
  struct Pack {
    const LibraryLaunch* launch;
    int input, ahead;
    std::string key;
    kernels::Prepacking how;
  };
  void place_ahead(std::vector<Block>& blocks);
  bool run_lone_nest(std::span<void* const> inputs, const int64_t* scalars, std::span<void* const> outputs) const;
  size_t base_count() const { return inputs_ + outputs_.size() + 2 + ahead_.size(); }
  std::string identity_of(std::span<const int> inputs, std::span<const ValueIdentity> identities) const;

  std::shared_ptr<const CompiledProgram> compiled_;
  std::vector<Launch> launches_;
  std::vector<OutputPlan> outputs_;
  CompileReport report_;
  size_t inputs_ = 0;
  std::vector<bool> steady_;
  std::vector<AheadUnit> units_;
  std::vector<Block> unit_blocks_;
  std::vector<Ahead> ahead_;  // their launches come first
  int64_t ahead_bytes_ = 0;
  std::vector<Pack> packs_;
  std::vector<int> weights_;
};

}  // namespace tailor::jit
