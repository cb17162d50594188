#pragma once
// What generated code may call: the C functions that LLVM falls back on, and helpers of ours. Nothing else of the process is
// visible to it, so a kernel cannot be resolved to a function that happens to have its name.

#include <span>

namespace tailor::jit {

struct RuntimeSymbol {
  const char* name;
  void* address;
};

std::span<const RuntimeSymbol> runtime_symbols();

}  // namespace tailor::jit
