#pragma once
// Compiled kernels on disk: a second process finds the code of the first, and needs no compiler.
//
//   std::cout << tailor::artifact_cache().bytes;
//   tailor::set_artifact_cache("/var/cache/my_service/tailor");   // "" turns it off

#include <cstdint>
#include <string>

namespace tailor {

/// The cache of this process.
struct ArtifactCacheInfo {
  std::string directory;  // empty: the cache is off
  std::string refusal;    // why the directory is not used: a link, somebody else's, writable by others
  int64_t entries = 0, bytes = 0, limit = 0;
};

/// What is in it now. `stats()` of a compiled function has its hits and misses.
ArtifactCacheInfo artifact_cache();

/// Uses another directory from now on, made when the first kernel is kept; it must be this user's alone. An empty name turns the cache
/// off. `limit`: bytes of all kernels together, of which the least recently used go; negative: as TAILOR_CACHE_SIZE says (1 GiB).
/// At the start TAILOR_CACHE_DIR counts, else $XDG_CACHE_HOME/tailor, else ~/.cache/tailor; TAILOR_CACHE=0 turns it off.
void set_artifact_cache(const std::string& directory, int64_t limit = -1);

/// Removes all kernels; gives how many and how many bytes there were. Programs that have loaded them go on.
ArtifactCacheInfo clear_artifact_cache();

}  // namespace tailor
