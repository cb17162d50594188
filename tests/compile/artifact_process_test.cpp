// Programs that share their kernels on disk: one process after another, two at once, with damaged files, on other processors.

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <tailor/tailor.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "kernels/kernels.h"
#include "support/expect.h"
#include "support/temporary_folder.h"

extern char** environ;

namespace tailor {
namespace {

using testing::expect_same_bits;
using testing::files_of;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

struct Body {
  double factor = 2;
  Tensor operator()(const Tensor& x, const Tensor& y) const { return softmax(tanh(x * factor) + y, 1).sum(0) + exp(y).mean(0); }
};

struct Data {
  Tensor x, y;
  Data() {
    manual_seed(3);
    x = randn({16, 40});
    y = randn({16, 40});
  }
};

/// Compiles the body in this process, compares with eager, and gives its statistics.
Stats run_here(double factor, CompileOptions options) {
  const Data d;
  const Tensor eager = Body{factor}(d.x, d.y);
  const auto f = compile(Body{factor}, std::move(options));
  const Tensor first = f(d.x, d.y), second = f(d.x, d.y);
  if (!f.stats().compile_failures) {
    EXPECT_TRUE(allclose(first, eager));
    EXPECT_TRUE(allclose(second, eager, 1e-5, 1e-6));
  }
  return f.stats();
}

/// On a thread of its own, which takes along what it remembers of the function: its kernels leave memory.
Stats run(double factor = 2, CompileOptions options = {}) {
  Stats stats;
  std::thread([&] { stats = run_here(factor, std::move(options)); }).join();
  return stats;
}

/// What a process says of itself.
struct Report {
  uint64_t hits = 0, misses = 0, rejects = 0;
  int compile_failures = -1;
  bool compiler_loaded = false;
  int status = -1;
};

bool compiler_is_loaded() { return read_file("/proc/self/maps").find("libtailor_llvm") != std::string::npos; }

/// The process that the tests below start; by itself a test of a cache of its own.
TEST(ArtifactProcess, Runs) {
  TemporaryFolder own;
  const char* const report = std::getenv("TAILOR_TEST_REPORT");
  if (report == nullptr) set_artifact_cache(own.path());
  const Stats s = run();
  if (report != nullptr) {
    std::ofstream(report) << s.artifacts.hits << ' ' << s.artifacts.misses << ' ' << s.artifacts.rejects << ' ' << s.compile_failures << ' '
                          << compiler_is_loaded();
    return;
  }
  set_artifact_cache("");
  EXPECT_EQ(s.compile_failures, 0u);
  EXPECT_GT(s.artifacts.misses, 0u);
}

class Process {
 public:
  Process(const std::string& cache, std::vector<std::string> more = {}) : report_(folder_ / "report") {
    std::vector<std::string> environment = std::move(more);  // the first of a name counts
    for (const std::string& e : {std::string("TAILOR_CACHE=1"), "TAILOR_CACHE_DIR=" + cache, std::string("TAILOR_TEST_ARTIFACTS=1"),
                                 "TAILOR_TEST_REPORT=" + report_})
      environment.push_back(e);
    std::vector<char*> pointers;
    for (std::string& e : environment) pointers.push_back(e.data());
    for (char** e = environ; *e != nullptr; ++e)
      if (std::strncmp(*e, "TAILOR_", 7) != 0) pointers.push_back(*e);
    pointers.push_back(nullptr);
    std::string program = "artifact_process_test", filter = "--gtest_filter=ArtifactProcess.Runs", brief = "--gtest_brief=1";
    char* arguments[] = {program.data(), filter.data(), brief.data(), nullptr};
    if (posix_spawn(&id_, "/proc/self/exe", nullptr, nullptr, arguments, pointers.data()) != 0) id_ = -1;
  }
  Report finish() {
    Report r;
    if (id_ < 0 || waitpid(id_, &r.status, 0) != id_) return r;
    std::istringstream(read_file(report_)) >> r.hits >> r.misses >> r.rejects >> r.compile_failures >> r.compiler_loaded;
    return r;
  }

 private:
  TemporaryFolder folder_;
  std::string report_;
  pid_t id_ = -1;
};

Report in_process(const std::string& cache, std::vector<std::string> more = {}) { return Process(cache, std::move(more)).finish(); }

/// A cache of this process, and off again.
class OwnCache : public ::testing::Test {
 protected:
  OwnCache() { set_artifact_cache(path); }
  ~OwnCache() override { set_artifact_cache(""); }
  TemporaryFolder folder;
  std::string path = folder / "cache";
};

TEST_F(OwnCache, AFunctionCompiledAnewFindsItsKernels) {
  const Stats first = run();
  ASSERT_EQ(first.compile_failures, 0u);
  EXPECT_EQ(first.artifacts.hits, 0u);
  EXPECT_GT(first.artifacts.misses, 0u);
  EXPECT_GT(first.artifacts.bytes, 0u);
  EXPECT_GT(first.llvm_ms, 0);
  const Stats second = run();
  EXPECT_EQ(second.artifacts.hits, first.artifacts.misses);
  EXPECT_EQ(second.artifacts.misses, 0u);
  EXPECT_EQ(second.llvm_ms, 0);
  EXPECT_EQ(second.artifacts.bytes, first.artifacts.bytes);
  EXPECT_EQ(artifact_cache().entries, static_cast<int64_t>(first.artifacts.misses));
  EXPECT_EQ(artifact_cache().bytes, static_cast<int64_t>(first.artifacts.bytes));
  std::ostringstream text;
  text << second;
  EXPECT_NE(text.str().find("artifacts on disk: " + std::to_string(second.artifacts.hits) + " hits, 0 misses, "), std::string::npos)
      << text.str();
}

TEST_F(OwnCache, WhatDeterminesTheCodeDeterminesTheEntry) {
  const uint64_t kernels = run().artifacts.misses;
  EXPECT_GT(run(3).artifacts.misses, 0u);     // a baked constant
  EXPECT_GT(run(-0.0).artifacts.misses, 0u);  // by its bits
  EXPECT_GT(run(0.0).artifacts.misses, 0u);
  EXPECT_EQ(run(2, {.fast_math = true}).artifacts.misses, kernels);
  EXPECT_EQ(run().artifacts.misses, 0u);
  const kernels::Isa highest = kernels::isa();
  kernels::set_isa(kernels::Isa::Sse2);  // a forced level
  const Stats forced = run();
  kernels::set_isa(highest);
  EXPECT_EQ(forced.artifacts.misses, highest == kernels::Isa::Sse2 ? 0u : kernels);
}

TEST_F(OwnCache, DamagedEntriesAreCompiledAnew) {
  const Stats first = run();
  for (const std::string& file : files_of(path, ".kernel")) {
    std::string bytes = read_file(file);
    bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
    write_file(file, bytes);
  }
  const Stats damaged = run();
  EXPECT_EQ(damaged.artifacts.rejects, first.artifacts.misses);
  EXPECT_EQ(damaged.artifacts.misses, first.artifacts.misses);
  EXPECT_EQ(damaged.compile_failures, 0u);
  EXPECT_EQ(run().artifacts.hits, first.artifacts.misses);  // replaced
  std::ostringstream text;
  text << damaged;
  EXPECT_NE(text.str().find("for files that were of no use)"), std::string::npos) << text.str();
}

TEST_F(OwnCache, ARefusedFolderOnlyCostsTime) {
  std::filesystem::create_directory(path);
  std::filesystem::permissions(path, std::filesystem::perms(0777));
  ::testing::internal::CaptureStderr();
  const Stats s = run();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("is not used: others may write to it (mode 777)"), std::string::npos);
  EXPECT_EQ(s.compile_failures, 0u);
  EXPECT_EQ(s.artifacts.hits, 0u);
  EXPECT_GT(s.kernels, 0);
  EXPECT_EQ(artifact_cache().refusal, "others may write to it (mode 777)");
}

TEST_F(OwnCache, ClearingLeavesLoadedKernelsAlone) {
  run();
  const Data d;
  const auto f = compile(Body{});
  const Tensor before = f(d.x, d.y);
  EXPECT_GT(f.stats().artifacts.hits, 0u);
  EXPECT_GT(clear_artifact_cache().entries, 0);
  EXPECT_EQ(artifact_cache().entries, 0);
  expect_same_bits(f(d.x, d.y), f(d.x, d.y));
  EXPECT_TRUE(allclose(f(d.x, d.y), before));
}

TEST(ArtifactProcesses, ASecondProcessNeedsNoCompiler) {
  const TemporaryFolder folder;
  const Report first = in_process(folder / "cache");
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.hits, 0u);
  EXPECT_GT(first.misses, 0u);
  EXPECT_TRUE(first.compiler_loaded);
  const Report second = in_process(folder / "cache");
  EXPECT_EQ(second.status, 0);
  EXPECT_EQ(second.hits, first.misses);
  EXPECT_EQ(second.misses, 0u);
  EXPECT_EQ(second.compile_failures, 0);
  EXPECT_FALSE(second.compiler_loaded);
}

TEST(ArtifactProcesses, ProcessesAtOnceDoNotDisturbEachOther) {
  const TemporaryFolder folder;
  for (int round = 0; round < 3; ++round) {
    Process a(folder / "cache"), b(folder / "cache"), c(folder / "cache");
    for (Process* p : {&a, &b, &c}) {
      const Report r = p->finish();
      EXPECT_EQ(r.status, 0);
      EXPECT_EQ(r.rejects, 0u);  // whole entries or none
      if (round > 0) { EXPECT_EQ(r.misses, 0u); }
    }
    EXPECT_TRUE(files_of(folder / "cache", ".tmp").empty());
  }
}

TEST(ArtifactProcesses, AnotherProcessorsKernelsAreNotFound) {
  // A forced level stands in for another processor; it is a part of the key like the processor.
  if (kernels::isa() == kernels::Isa::Sse2) return;
  const TemporaryFolder folder;
  const Report here = in_process(folder / "cache");
  const Report there = in_process(folder / "cache", {"TAILOR_ISA=sse2"});
  EXPECT_EQ(there.status, 0);
  EXPECT_EQ(there.hits, 0u);
  EXPECT_EQ(there.misses, here.misses);
  EXPECT_EQ(in_process(folder / "cache", {"TAILOR_ISA=sse2"}).misses, 0u);
}

TEST(ArtifactProcesses, TheEnvironmentTurnsItOff) {
  const TemporaryFolder folder;
  const Report off = in_process(folder / "cache", {"TAILOR_CACHE=0"});
  EXPECT_EQ(off.status, 0);
  EXPECT_EQ(off.compile_failures, 0);
  EXPECT_EQ(off.hits + off.misses, 0u);
  EXPECT_FALSE(std::filesystem::exists(folder / "cache"));
  const Report small = in_process(folder / "cache", {"TAILOR_CACHE_SIZE=1K"});
  EXPECT_EQ(small.status, 0);
  EXPECT_TRUE(files_of(folder / "cache", ".kernel").empty());
}

TEST(ArtifactProcesses, WithoutTheCodeGeneratorFunctionsRunEagerly) {
  // The library alone in a folder: nothing to compile with, and no kernels of that build on disk.
  const TemporaryFolder folder;
  const std::string maps = read_file("/proc/self/maps");
  const size_t name = maps.find("/libtailor.so");
  ASSERT_NE(name, std::string::npos);
  const size_t start = maps.rfind(' ', name) + 1;
  const std::string library = maps.substr(start, maps.find('\n', name) - start);
  std::filesystem::copy_file(library, folder / "libtailor.so.0");
  const Report r = in_process(folder / "cache", {"LD_LIBRARY_PATH=" + folder.path().string()});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.compile_failures, 1);
  EXPECT_FALSE(r.compiler_loaded);
}

}  // namespace
}  // namespace tailor
