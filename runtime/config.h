#pragma once
// The environment variables of the library, all in one place. Read once, at first use.
//
//   TAILOR_NUM_THREADS   threads of parallel work (else OMP_NUM_THREADS, else the cores this process may use)
//   TAILOR_LOGS          channels of runtime/log.h: "guards,recompiles"
//   TAILOR_TRACE         a file for the trace of runtime/trace.h
//   TAILOR_ISA           highest instruction set of kernels: avx512, avx2, sse2
//   TAILOR_CACHE         0 turns the artifact cache off
//   TAILOR_CACHE_DIR     where it lives (else $XDG_CACHE_HOME/tailor, else ~/.cache/tailor)
//   TAILOR_CACHE_SIZE    bytes it may have, with K, M or G behind the number (else 1G); the least recently used kernels go
//   TAILOR_CHECK_BINDINGS  1 compares each program that is filled in for a size with the one lowered for it, number by number (for tests)
//   TAILOR_ALLOC_CACHE_MB  how much freed memory the allocator keeps for large blocks

#include <cstddef>
#include <cstdint>
#include <string>

namespace tailor {

struct Config {
  int num_threads = 1;
  std::string logs;
  std::string trace;  // empty: none
  std::string isa;    // empty: the highest the machine has
  bool artifact_cache = true;
  std::string cache_dir;  // empty: no home directory
  int64_t cache_bytes = int64_t{1} << 30;
  bool check_bindings = false;
  size_t allocator_cache_bytes = 0;
};

/// Throws Error when a variable holds nonsense.
const Config& config();

}  // namespace tailor
