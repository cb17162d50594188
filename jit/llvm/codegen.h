#pragma once
// LLVM IR to machine code. Private to jit/llvm.

#include <llvm/IR/Module.h>

#include <string>

#include "jit/llvm/target.h"

namespace tailor::jit {

/// Sets the triple and data layout that IR for this process has.
void prepare_module(llvm::Module& module, const Target& target);
/// An ELF object. No IR pass runs: vectors are explicit and invariants hoisted by the emitter, so none pays for itself.
std::string generate_object(llvm::Module& module, const Target& target);
std::string generate_assembly(llvm::Module& module, const Target& target);

}  // namespace tailor::jit
