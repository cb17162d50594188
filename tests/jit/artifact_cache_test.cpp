// The artifact cache by itself: what is an entry, which folders it uses, what goes when there is too much. Programs that use it are in
// compile/artifact_process_test.cpp.

#include "jit/artifact_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "runtime/log.h"
#include "support/temporary_folder.h"

namespace tailor::jit {
namespace {

namespace fs = std::filesystem;
using tailor::testing::files_of;
using tailor::testing::read_file;
using tailor::testing::TemporaryFolder;
using tailor::testing::write_file;

constexpr int64_t kPlenty = 1 << 20;

KernelImage image(int n = 0, size_t size = 300) {
  return {std::string(size, static_cast<char>('a' + n)), 7, {{"memcpy", 16}, {"fma", 32}}};
}

bool same(const KernelImage& a, const KernelImage& b) {
  if (a.bytes != b.bytes || a.entry != b.entry || a.imports.size() != b.imports.size()) return false;
  for (size_t i = 0; i < a.imports.size(); ++i)
    if (a.imports[i].name != b.imports[i].name || a.imports[i].slot != b.imports[i].slot) return false;
  return true;
}

/// Channel lines of a scope.
class Lines {
 public:
  Lines() {
    set_logs("+cache");
    text().clear();
    set_log_sink([](LogChannel, std::string_view, std::string_view line) { text() += std::string(line) + "\n"; });
  }
  ~Lines() {
    set_log_sink(nullptr);
    set_logs("");
  }
  static std::string& text() {
    static std::string lines;
    return lines;
  }
  static bool has(std::string_view part) { return text().find(part) != std::string::npos; }
};

class ArtifactCacheTest : public ::testing::Test {
 protected:
  ArtifactCacheTest() : path(folder / "cache"), cache(path, kPlenty) {}
  std::optional<KernelImage> find(std::string_view key) { return cache.find(key, counts); }
  void store(std::string_view key, const KernelImage& i) { cache.store(key, i, counts); }
  /// The only entry's file.
  std::string entry() {
    const auto files = files_of(path, ".kernel");
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? "" : files[0];
  }
  /// Demands that the file in the entry's place is no entry, is said to be none, goes, and can be replaced.
  void expect_rejected(std::string_view why) {
    counts = {};
    Lines lines;
    EXPECT_FALSE(find("key"));
    EXPECT_EQ(counts.misses, 1u);
    EXPECT_EQ(counts.rejects, 1u) << why;
    EXPECT_EQ(counts.hits, 0u);
    EXPECT_TRUE(Lines::has(std::string("is not used: ") + std::string(why))) << Lines::text();
    EXPECT_TRUE(files_of(path, ".kernel").empty());
    store("key", image());
    const auto again = find("key");
    ASSERT_TRUE(again);
    EXPECT_TRUE(same(*again, image()));
  }
  /// Demands that the folder is not used, with one warning however often it is asked; the caller just compiles.
  void expect_refused(const std::string& where, std::string_view why) {
    ArtifactCache refused(where, kPlenty);
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
      refused.store("key", image(), counts);
      EXPECT_FALSE(refused.find("key", counts));
    }
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find("the cache " + where + " is not used: " + std::string(why)), std::string::npos) << text;
    EXPECT_NE(text.find("TAILOR_CACHE_DIR names another folder, TAILOR_CACHE=0 turns the cache off"), std::string::npos) << text;
    EXPECT_EQ(text.find("is not used"), text.rfind("is not used")) << text;
    EXPECT_NE(refused.refusal().find(why), std::string::npos);
  }

  TemporaryFolder folder;
  std::string path;
  ArtifactCache cache;
  ArtifactCounts counts;
};

TEST_F(ArtifactCacheTest, GivesBackWhatWasKept) {
  EXPECT_FALSE(find("key"));
  EXPECT_FALSE(fs::exists(path));  // looking makes nothing
  store("key", image(1));
  const auto found = find("key");
  ASSERT_TRUE(found);
  EXPECT_TRUE(same(*found, image(1)));
  EXPECT_FALSE(find("kez"));
  EXPECT_EQ(counts.hits, 1u);
  EXPECT_EQ(counts.misses, 2u);
  EXPECT_EQ(counts.rejects, 0u);
  EXPECT_EQ(counts.bytes, 2 * fs::file_size(entry()));
  EXPECT_EQ(cache.usage().entries, 1);
  EXPECT_EQ(cache.usage().bytes, static_cast<int64_t>(fs::file_size(entry())));
  EXPECT_TRUE(cache.knows_this_build());
  EXPECT_EQ(cache.clear().entries, 1);
  EXPECT_FALSE(find("key"));
  EXPECT_FALSE(cache.knows_this_build());
}

TEST_F(ArtifactCacheTest, FolderAndFilesAreTheUsersAlone) {
  const mode_t before = umask(0);
  ArtifactCache deep(folder / "a/b/c", kPlenty);
  deep.store("key", image(), counts);
  umask(before);
  for (const char* made : {"a", "a/b", "a/b/c"}) EXPECT_EQ(fs::status(folder / made).permissions(), fs::perms(0700)) << made;
  const auto files = files_of(folder / "a/b/c", ".kernel");
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(fs::status(files[0]).permissions(), fs::perms(0600));
  EXPECT_TRUE(files_of(folder / "a/b/c", ".tmp").empty());
}

TEST_F(ArtifactCacheTest, EveryTruncationIsAMiss) {
  store("key", image());
  const std::string whole = read_file(entry());
  for (size_t size = 0; size < whole.size(); ++size) {
    write_file(entry(), whole.substr(0, size));
    counts = {};
    ASSERT_FALSE(find("key")) << size;
    ASSERT_EQ(counts.rejects, 1u) << size;
    store("key", image());
  }
  write_file(entry(), "");
  expect_rejected("it is no kernel");
  write_file(entry(), whole + "x");
  expect_rejected("it is damaged");
}

TEST_F(ArtifactCacheTest, EveryDamagedByteIsAMiss) {
  store("key", image());
  const std::string whole = read_file(entry());
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write_file(entry(), damaged);
    counts = {};
    ASSERT_FALSE(find("key")) << at;
    ASSERT_EQ(counts.rejects, 1u) << at;
    store("key", image());
  }
  write_file(entry(), std::string(whole.size(), '\0'));
  expect_rejected("it is no kernel");
}

TEST_F(ArtifactCacheTest, AnotherFormatIsAMiss) {
  store("key", image());
  std::string file = read_file(entry());
  const size_t version = file.find('1');
  ASSERT_LT(version, 20u);
  file[version] = '2';
  write_file(entry(), file);
  expect_rejected("it has another format");
}

TEST_F(ArtifactCacheTest, AnotherProcessorsOrBuildsEntryIsAMiss) {
  // Their keys differ in the first part, so that their files have other names; here one lies under the name of ours.
  store("key", image(1));
  const std::string ours = entry();
  cache.clear();
  store("yek", image(2));
  fs::rename(entry(), ours);
  expect_rejected("it is of another kernel, processor or build");
}

TEST_F(ArtifactCacheTest, LinksPipesAndFoldersAreNoEntries) {
  store("key", image());
  const std::string name = entry(), moved = folder / "moved";
  fs::rename(name, moved);
  fs::create_symlink(moved, name);
  expect_rejected("it is no plain file of this user's alone");
  fs::remove(name);
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  expect_rejected("it is no plain file of this user's alone");
}

// What lies in the place of one entry is no reason to keep no other.
TEST_F(ArtifactCacheTest, AFolderInAnEntrysPlaceKeepsOnlyThatOneOut) {
  store("key", image());
  const std::string there = entry();
  fs::remove(there);
  fs::create_directory(there);
  write_file(there + "/not ours", "kept");
  const Lines lines;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(find("key"));
    store("key", image());
  }
  EXPECT_TRUE(Lines::has(" is not kept: ")) << Lines::text();
  EXPECT_FALSE(Lines::has("nothing more is written")) << Lines::text();
  EXPECT_EQ(read_file(there + "/not ours"), "kept");
  store("other", image(1));
  ASSERT_TRUE(find("other"));
  EXPECT_TRUE(files_of(path, ".tmp").empty());
}

TEST_F(ArtifactCacheTest, FilesOthersCanWriteAreNoEntries) {
  store("key", image());
  fs::permissions(entry(), fs::perms(0666));
  expect_rejected("it is no plain file of this user's alone");
  if (geteuid() != 0) return;  // only root can give files away
  ASSERT_EQ(chown(entry().c_str(), 65534, 65534), 0);
  expect_rejected("it is no plain file of this user's alone");
}

TEST_F(ArtifactCacheTest, RefusesFoldersThatOthersCouldHaveFilled) {
  fs::create_directory(folder / "real");
  fs::create_symlink(folder / "real", folder / "link");
  expect_refused(folder / "link", "it is a symbolic link");
  expect_refused(folder / "link/", "it is a symbolic link");

  fs::create_directory(folder / "open");
  fs::permissions(folder / "open", fs::perms(0777));
  expect_refused(folder / "open", "others may write to it (mode 777)");
  fs::permissions(folder / "open", fs::perms(0770));
  expect_refused(folder / "open", "others may write to it (mode 770)");

  write_file(folder / "file", "");
  expect_refused(folder / "file", "it cannot be opened: Not a directory");
  expect_refused(folder / "file/below", "it cannot be ");

  if (geteuid() != 0) return;
  fs::create_directory(folder / "foreign");
  fs::permissions(folder / "foreign", fs::perms(0700));
  ASSERT_EQ(chown((folder / "foreign").c_str(), 65534, 65534), 0);
  expect_refused(folder / "foreign", "it belongs to user 65534, not to user 0");
}

/// Runs in a process of its own, which may give up its rights; exit status 0 when nothing failed there.
int in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// As an ordinary user: root may write anywhere.
void become_nobody() {
  if (geteuid() == 0) { ASSERT_EQ(setuid(65534), 0); }
}

TEST_F(ArtifactCacheTest, AFolderThatCannotBeWrittenIsStillRead) {
  fs::permissions(folder.path(), fs::perms(0755));
  store("key", image());
  fs::permissions(path, fs::perms(0500));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(entry().c_str(), 65534, 65534), 0);
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  }
  EXPECT_EQ(in_child([&] {
              become_nobody();
              ArtifactCache readable(path, kPlenty);
              ::testing::internal::CaptureStderr();
              for (int i = 0; i < 3; ++i) {
                readable.store("other", image(), counts);
                EXPECT_TRUE(readable.find("key", counts));
                EXPECT_FALSE(readable.find("other", counts));
              }
              const std::string text = ::testing::internal::GetCapturedStderr();
              EXPECT_NE(text.find("nothing more is written to the cache " + path + ": Permission denied; new kernels are compiled anew"),
                        std::string::npos)
                  << text;
              EXPECT_EQ(text.find("nothing more"), text.rfind("nothing more")) << text;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              become_nobody();
              ArtifactCache never(path + "/below", kPlenty);
              ::testing::internal::CaptureStderr();
              never.store("key", image(), counts);
              EXPECT_FALSE(never.find("key", counts));
              EXPECT_NE(::testing::internal::GetCapturedStderr().find("is not used: it cannot be made: Permission denied"),
                        std::string::npos);
            }),
            0);
  fs::permissions(path, fs::perms(0700));
}

TEST_F(ArtifactCacheTest, AFullDiskKeepsNothingHalfAndIsReportedOnce) {
  store("key", image());
  int reports[2];
  ASSERT_EQ(pipe(reports), 0);
  EXPECT_EQ(in_child([&] {
              dup2(reports[1], STDERR_FILENO);
              // Writes past the limit fail as on a full disk; the signal that would end the program does not reach it.
              const rlimit little{100, 100};
              ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
              for (int i = 0; i < 3; ++i) {
                cache.store("other" + std::to_string(i), image(2), counts);
                EXPECT_FALSE(cache.find("other", counts));
                EXPECT_TRUE(cache.find("key", counts));
              }
            }),
            0);
  close(reports[1]);
  std::string text(4096, '\0');
  const ssize_t n = read(reports[0], text.data(), text.size());
  close(reports[0]);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  EXPECT_NE(text.find("nothing more is written to the cache " + path + ": File too large"), std::string::npos) << text;
  EXPECT_EQ(text.find("nothing more"), text.rfind("nothing more")) << text;
  EXPECT_EQ(files_of(path, ".kernel").size(), 1u);
  EXPECT_TRUE(files_of(path, ".tmp").empty());
}

TEST_F(ArtifactCacheTest, AFolderThatWentAwayIsMadeAgain) {
  store("key", image());
  fs::remove_all(path);
  EXPECT_FALSE(find("key"));
  store("key", image());
  EXPECT_TRUE(find("key"));
}

void set_age(const std::string& file, int64_t seconds) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= seconds;
  const timespec both[2] = {now, now};
  utimensat(AT_FDCWD, file.c_str(), both, 0);
}

TEST_F(ArtifactCacheTest, TheLeastRecentlyUsedGo) {
  ArtifactCache small(path, 10'000);
  const auto add = [&](int n) {
    const auto before = files_of(path, ".kernel");
    small.store("key " + std::to_string(n), image(n, 1500), counts);
    for (const std::string& file : files_of(path, ".kernel"))
      if (std::find(before.begin(), before.end(), file) == before.end()) set_age(file, 1000 - n);
  };
  for (int n = 0; n < 4; ++n) add(n);
  EXPECT_TRUE(small.find("key 0", counts));  // now the most recently used
  Lines lines;
  for (int n = 4; n < 9; ++n) add(n);
  EXPECT_TRUE(Lines::has("the least recently used ")) << Lines::text();
  EXPECT_LE(small.usage().bytes, 10'000);
  EXPECT_TRUE(small.find("key 0", counts));
  EXPECT_FALSE(small.find("key 1", counts));
  EXPECT_FALSE(small.find("key 2", counts));
  EXPECT_TRUE(small.find("key 8", counts));

  small.store("large", image(0, 20'000), counts);
  EXPECT_FALSE(small.find("large", counts));
  EXPECT_TRUE(small.find("key 0", counts));
}

// Looking through a folder of many kernels takes a quarter of a second: who stores little does not do it.
TEST_F(ArtifactCacheTest, StoringLittleDoesNotLookThroughTheFolder) {
  ArtifactCache roomy(path, int64_t{1} << 30);
  roomy.store("key", image(), counts);
  write_file(folder / "cache/x.1.tmp", "half");
  set_age(folder / "cache/x.1.tmp", 4000);  // goes when somebody looks
  for (int n = 0; n < 200; ++n) roomy.store("key " + std::to_string(n), image(), counts);
  EXPECT_TRUE(fs::exists(folder / "cache/x.1.tmp"));
  EXPECT_EQ(roomy.usage().entries, 201);
}

TEST_F(ArtifactCacheTest, HalfWrittenFilesOfOthersStayForAnHour) {
  store("key", image());
  write_file(folder / "cache/x.1.tmp", "half");
  write_file(folder / "cache/x.2.tmp", "half");
  set_age(folder / "cache/x.1.tmp", 4000);
  EXPECT_EQ(cache.usage().entries, 1);
  EXPECT_FALSE(fs::exists(folder / "cache/x.1.tmp"));
  EXPECT_TRUE(fs::exists(folder / "cache/x.2.tmp"));
}

TEST_F(ArtifactCacheTest, IdentityNamesBuildsAndProcessor) {
  EXPECT_EQ(artifact_identity(), artifact_identity());
  EXPECT_GT(artifact_identity().size(), 60u);
}

}  // namespace
}  // namespace tailor::jit
