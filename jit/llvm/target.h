#pragma once
// What code is generated for: an instruction set level of this machine, never more than was detected.

#include <string>

#include "kernels/kernels.h"

namespace tailor::jit {

struct Target {
  kernels::Isa isa = kernels::Isa::Sse2;
  std::string cpu;       // LLVM's name, for scheduling; what may be used is said by `features` alone
  std::string features;  // LLVM's feature string
  int vector_bytes = 16;
  bool masks = false;  // masked loads and stores of every element size (AVX-512 BW and VL)
  bool f16c = false;   // hardware conversion of f16
};

/// The highest level this machine has (AVX-512 means F, BW, DQ and VL; AVX2 includes FMA and F16C).
kernels::Isa host_isa();

/// The target of a level. Throws Error when the machine has not got it.
const Target& target_for(kernels::Isa isa);

}  // namespace tailor::jit
