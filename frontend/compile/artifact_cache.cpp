#include "tailor/artifact_cache.h"

#include "jit/artifact_cache.h"

namespace tailor {
namespace {

ArtifactCacheInfo info(jit::ArtifactCache& cache, const jit::ArtifactCache::Usage& usage) {
  return {cache.path(), cache.refusal(), usage.entries, usage.bytes, cache.limit()};
}

}  // namespace

ArtifactCacheInfo artifact_cache() {
  const auto cache = jit::artifact_cache();
  return cache == nullptr ? ArtifactCacheInfo{} : info(*cache, cache->usage());
}

void set_artifact_cache(const std::string& directory, int64_t limit) { jit::set_artifact_cache(directory, limit); }

ArtifactCacheInfo clear_artifact_cache() {
  const auto cache = jit::artifact_cache();
  return cache == nullptr ? ArtifactCacheInfo{} : info(*cache, cache->clear());
}

}  // namespace tailor
