#pragma once
// Kernels from the artifact cache as a module like any other.

#include <memory>
#include <span>
#include <vector>

#include "jit/kernel_image.h"
#include "jit/llvm/compile.h"

namespace tailor::jit {

/// `images`: one per nest, compiled with `options`. Needs no code generator, until somebody asks for a dump. Throws InternalError as
/// LoadedImages does.
std::shared_ptr<const CompiledModule> load_module(std::vector<LoopNest> nests, std::span<const KernelImage> images,
                                                  const EmitOptions& options);

}  // namespace tailor::jit
