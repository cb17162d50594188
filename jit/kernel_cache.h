#pragma once
// Compiled nests of this process by content: layers, time steps and variants of a segment that say the same share one kernel.

#include <memory>
#include <vector>

#include "jit/llvm/compile.h"

namespace tailor::jit {

/// Everything that determines a nest's code, exactly (its name does not).
std::string content_key(const LoopNest& nest, const EmitOptions& options);

struct Kernels {
  std::vector<KernelFn> functions;                             // one per nest asked for
  std::vector<std::shared_ptr<const CompiledModule>> modules;  // that hold them
  std::shared_ptr<const CompiledModule> fresh;                 // the module compiled just now, if any
};

/// The kernels of `nests`; those that no living executable has are compiled, as one module. Thread-safe. Code lives as long as a
/// module's last owner.
Kernels find_or_compile(std::span<const LoopNest* const> nests, const EmitOptions& options);

}  // namespace tailor::jit
