#pragma once
#include <cstdint>

namespace tailor::jit {

/// What the artifact cache did for one compile. Every kernel looked for is a hit or a miss.
struct ArtifactCounts {
  uint64_t hits = 0, misses = 0;
  uint64_t rejects = 0;  // of the misses: there was a file, but no intact entry for this kernel, processor and build
  uint64_t bytes = 0;    // of entries read and written

  ArtifactCounts& operator+=(const ArtifactCounts& o) {
    hits += o.hits, misses += o.misses, rejects += o.rejects, bytes += o.bytes;
    return *this;
  }
};

}  // namespace tailor::jit
