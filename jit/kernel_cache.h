#pragma once
// Compiled nests of this process by content: layers, time steps and variants of a segment that say the same share one kernel.

#include <memory>
#include <vector>

#include "jit/artifact_counts.h"
#include "jit/llvm/compile.h"

namespace tailor::jit {

/// Everything that determines a nest's code, exactly (its name does not).
std::string content_key(const LoopNest& nest, const EmitOptions& options);

struct Kernels {
  std::vector<KernelFn> functions;                             // one per nest asked for
  std::vector<std::shared_ptr<const CompiledModule>> modules;  // that hold them
  // What had to be done just now: nothing when living executables have all of them.
  CompileTimes times;
  int64_t code_bytes = 0;
  ArtifactCounts artifacts;
};

/// The kernels of `nests`; those that no living executable has are taken from the artifact cache, or
/// compiled as one module and kept there. Thread-safe. Code lives as long as a
/// module's last owner.
Kernels find_or_compile(std::span<const LoopNest* const> nests, const EmitOptions& options);

}  // namespace tailor::jit
