#pragma once
// Compiled kernels on disk, by content: a second process finds the code of the first.
//
// An entry is a file named after a hash of its key; the key stands in the file and is compared whole. Anything that is not an intact
// entry of exactly this key is a miss. Nothing that goes wrong here keeps a call from running.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "jit/artifact_counts.h"
#include "jit/cache_directory.h"
#include "jit/kernel_image.h"

namespace tailor::jit {

/// What a key begins with: format, builds of the library and of the code generator, LLVM, and this processor. Code from elsewhere is
/// not found, by construction.
const std::string& artifact_identity();

class ArtifactCache {
 public:
  /// `limit`: bytes of all entries together. Touches nothing yet.
  ArtifactCache(std::string path, int64_t limit);

  /// The entry of `key`. A file that is no such entry is removed and counted in `counts`.
  std::optional<KernelImage> find(std::string_view key, ArtifactCounts& counts);
  /// Keeps an entry; the least recently used go when there are too many bytes.
  void store(std::string_view key, const KernelImage& image, ArtifactCounts& counts);

  /// Whether this build has kept kernels here: then its programs are likely to find theirs, and to need no code generator.
  bool knows_this_build();

  struct Usage {
    int64_t entries = 0, bytes = 0;
  };
  Usage usage();
  /// Removes all entries; gives what was there.
  Usage clear();
  const std::string& path() const { return path_; }
  int64_t limit() const { return limit_; }
  /// Why the folder is not used, or "".
  std::string refusal();

 private:
  /// Opened once; null when it is missing (and not to be made) or was refused.
  std::shared_ptr<const CacheDirectory> directory(CacheDirectory::Missing missing);
  void give_up_writing(const std::string& why);
  void trim(const CacheDirectory& directory);

  const std::string path_;
  const int64_t limit_;
  std::mutex mutex_;  // guards the next two
  std::shared_ptr<const CacheDirectory> directory_;
  std::string refusal_;
  std::atomic<bool> refused_{false}, writable_{true}, marked_{false};
  std::atomic<int64_t> written_{0};  // bytes since the folder was last looked through
};

/// The process's cache: as the environment says (runtime/config.h) until set otherwise; null when there is none.
std::shared_ptr<ArtifactCache> artifact_cache();
/// For programs and tests. An empty path turns the cache off. `limit` < 0: as the environment says.
void set_artifact_cache(const std::string& path, int64_t limit = -1);

}  // namespace tailor::jit
