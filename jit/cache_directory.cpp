#include "jit/cache_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace tailor::jit {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
/// A file is marked as used at most this often: reading stays reading.
constexpr int64_t kTouchAfter = 60 * kSecond;
constexpr int64_t kAbandonedAfter = 3600 * kSecond;
constexpr std::string_view kHalfDone = ".tmp";

int64_t nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * kSecond + t.tv_nsec; }
int64_t now() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return nanoseconds(t);
}

std::string reason(int error) { return std::strerror(error); }

/// A descriptor that closes itself.
class Handle {
 public:
  explicit Handle(int fd) : fd_(fd) {}
  ~Handle() {
    if (fd_ >= 0) close(fd_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Writing past the limit of a file's size is an error like a full disk, and not a signal that ends the program.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&signal_), sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoSizeSignal() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSizeSignal(const NoSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_ = false;
};

bool make_all(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  const size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  if (!make_all(path.substr(0, slash))) return false;
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

std::string not_ours(const struct stat& s) {
  if (s.st_uid != geteuid()) return "it belongs to user " + std::to_string(s.st_uid) + ", not to user " + std::to_string(geteuid());
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%o", s.st_mode & 0777u);
    return "others may write to it (mode " + std::string(mode) + ")";
  }
  return "";
}

}  // namespace

std::optional<CacheDirectory> CacheDirectory::open(const std::string& given, Missing missing, std::string& refusal) {
  std::string path = given;
  while (path.size() > 1 && path.back() == '/') path.pop_back();  // with a slash behind it a link would be followed
  constexpr int kHow = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = ::open(path.c_str(), kHow);
  if (fd < 0 && errno == ENOENT && missing == Missing::Make) {
    if (!make_all(path)) return refusal = "it cannot be made: " + reason(errno), std::nullopt;
    fd = ::open(path.c_str(), kHow);
  }
  if (fd < 0) {
    const int why = errno;
    struct stat s {};
    if (why == ENOENT && missing == Missing::LeaveOut) return std::nullopt;
    if (lstat(path.c_str(), &s) == 0 && S_ISLNK(s.st_mode))
      refusal = "it is a symbolic link";
    else
      refusal = "it cannot be opened: " + reason(why);
    return std::nullopt;
  }
  Handle handle(fd);
  struct stat s {};
  if (fstat(fd, &s) != 0) return refusal = "it cannot be examined: " + reason(errno), std::nullopt;
  if (refusal = not_ours(s); !refusal.empty()) return std::nullopt;
  return CacheDirectory(handle.release());
}

CacheDirectory::~CacheDirectory() {
  if (handle_ >= 0) close(handle_);
}

CacheDirectory::Read CacheDirectory::read(const std::string& name, std::string& bytes) const {
  // NONBLOCK: somebody may have put a pipe there.
  const Handle file(openat(handle_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return errno == ENOENT ? Read::Missing : Read::Refused;
  struct stat s {};
  if (fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode) || !not_ours(s).empty()) return Read::Refused;
  bytes.resize(static_cast<size_t>(s.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::read(file.get(), bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Read::Refused;
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  bytes.resize(have);
  if (now() - nanoseconds(s.st_mtim) > kTouchAfter) futimens(file.get(), nullptr);
  return Read::Found;
}

CacheDirectory::Written CacheDirectory::write(const std::string& name, std::string_view bytes) const {
  static std::atomic<uint64_t> next{0};
  const std::string half = name + "." + std::to_string(getpid()) + "." + std::to_string(now()) + "." + std::to_string(next.fetch_add(1)) +
                           std::string(kHalfDone);
  const Handle file(openat(handle_, half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return {reason(errno)};
  int failed = 0;
  {
    const NoSizeSignal no_signal;
    while (!bytes.empty() && failed == 0) {
      const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
      if (n >= 0)
        bytes.remove_prefix(static_cast<size_t>(n));
      else if (errno != EINTR)
        failed = errno;
    }
  }
  bool in_place = false;  // what lies there is no file, or may not be replaced
  if (failed == 0 && renameat(handle_, half.c_str(), handle_, name.c_str()) != 0) {
    failed = errno;
    in_place = failed == EISDIR || failed == ENOTEMPTY || failed == EEXIST || failed == EPERM || failed == EACCES || failed == EBUSY;
  }
  if (failed == 0) return {};
  unlinkat(handle_, half.c_str(), 0);
  return {reason(failed), in_place};
}

bool CacheDirectory::has(const std::string& name) const { return faccessat(handle_, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0; }
bool CacheDirectory::remove(const std::string& name) const { return unlinkat(handle_, name.c_str(), 0) == 0; }

std::vector<CacheDirectory::File> CacheDirectory::list(std::string_view suffix) const {
  std::vector<File> files;
  Handle copy(openat(handle_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (copy.get() < 0) return files;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(copy.get()), &closedir);
  if (folder == nullptr) return files;
  copy.release();
  while (const dirent* entry = readdir(folder.get())) {
    const std::string name = entry->d_name;
    struct stat s {};
    if (fstatat(handle_, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
    if (name.ends_with(suffix))
      files.push_back({name, s.st_size, nanoseconds(s.st_mtim)});
    else if (name.ends_with(kHalfDone) && now() - nanoseconds(s.st_mtim) > kAbandonedAfter)
      remove(name);
  }
  return files;
}

}  // namespace tailor::jit
