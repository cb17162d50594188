#pragma once
// What the processor can do, found at run time.

#include <cstddef>
#include <string>

namespace tailor {

struct CpuFeatures {
  bool sse2 = false;
  bool avx2 = false;    // with fma and f16c, as every processor that has avx2 also has them here
  bool avx512 = false;  // f, bw, dq, vl, all of them
  bool avx512_bf16 = false;
  bool avx512_vnni = false;
  bool amx_bf16 = false;                            // tile and bf16
  size_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // data caches as one core sees them
  std::string name;                                 // "AMD EPYC 9R14"
};

/// All that the processor says of its make and its instructions, as bytes: code for one text is code for that text only.
std::string cpu_identity();

/// Of this machine; asked once.
const CpuFeatures& cpu_features();

}  // namespace tailor
