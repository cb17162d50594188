#pragma once
// A folder of the user's own whose files nobody else can have written. Knows nothing of what the files say.

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::jit {

/// Safe for threads and for other processes that use the folder at the same time.
class CacheDirectory {
 public:
  struct File {
    std::string name;
    int64_t bytes = 0;
    int64_t used = 0;  // nanoseconds since the epoch
  };
  enum class Missing { LeaveOut, Make };

  /// Opens `path`. Gives nothing, and says why in `refusal`, when it is a symbolic link, belongs to somebody else, may be written by
  /// others, or cannot be made; gives nothing and says nothing when it is missing and is not to be made.
  static std::optional<CacheDirectory> open(const std::string& path, Missing missing, std::string& refusal);

  CacheDirectory(CacheDirectory&& other) noexcept : handle_(other.handle_) { other.handle_ = -1; }
  CacheDirectory& operator=(CacheDirectory&&) = delete;
  ~CacheDirectory();

  enum class Read { Found, Missing, Refused };
  /// Refused: a link, not a plain file, somebody else's, writable by others, or unreadable. Marks the file as used just now.
  Read read(const std::string& name, std::string& bytes) const;
  struct Written {
    std::string fault = {};    // why not, or ""
    bool other_files = false;  // there is no reason why a file of another name could not be written
  };
  /// Replaces the file in one step: others see all of it or nothing.
  Written write(const std::string& name, std::string_view bytes) const;
  bool has(const std::string& name) const;
  bool remove(const std::string& name) const;
  /// Plain files whose name ends in `suffix`. Files that a writer left half done an hour ago are removed.
  std::vector<File> list(std::string_view suffix) const;

 private:
  explicit CacheDirectory(int handle) : handle_(handle) {}
  int handle_ = -1;
};

}  // namespace tailor::jit
