#pragma once
// Runs a loop nest in the slowest and most obvious way: the oracle of the emitters, and a back end that needs no compiler.

#include "jit/loop_nest.h"

namespace tailor::jit {

/// As a KernelFn of the nest would; Scratch buffers are its own (their entries in `buffers` are not read).
void interpret_nest(const LoopNest& nest, void* const* buffers, const int64_t* sizes, const int64_t* scalars, int64_t begin, int64_t end);

}  // namespace tailor::jit
