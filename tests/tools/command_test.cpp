// The `tailor` command: every subcommand runs, exit codes say what happened, bad arguments give clear errors.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/expect.h"
#include "support/page.h"

namespace tailor {
namespace {

using Json = nlohmann::json;

std::filesystem::path beside_this_program(const char* name) { return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name; }

struct Ran {
  int exit_code = -1;
  std::string text;  // standard output and error
};

Ran tailor(const std::string& arguments) {
  Ran ran;
  FILE* pipe = popen((beside_this_program("tailor").string() + " " + arguments + " 2>&1").c_str(), "r");
  std::array<char, 4096> piece;
  for (size_t n; (n = fread(piece.data(), 1, piece.size(), pipe)) > 0;) ran.text.append(piece.data(), n);
  const int status = pclose(pipe);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

class Command : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tailor_command_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const char* name) const { return (folder_ / name).string(); }
  static std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::filesystem::path folder_;
};

void expect_error(const std::string& arguments, int exit_code, const std::string& part) {
  const Ran ran = tailor(arguments);
  EXPECT_EQ(ran.exit_code, exit_code) << arguments << "\n" << ran.text;
  EXPECT_NE(ran.text.find(part), std::string::npos) << arguments << "\n" << ran.text;
}

TEST_F(Command, SaysWhatItCanDo) {
  const Ran help = tailor("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* subcommand : {"bench", "explain", "dump", "run", "conform", "cache", "doctor"})
    EXPECT_NE(help.text.find(subcommand), std::string::npos) << help.text;
  for (const char* subcommand : {"bench", "explain", "dump", "run", "conform", "cache", "doctor"})
    EXPECT_EQ(tailor(std::string(subcommand) + " --help").exit_code, 0);
}

TEST_F(Command, BadArgumentsAreErrors) {
  expect_error("", 2, "tailor: a subcommand is required; there are: bench explain dump run conform cache doctor");
  expect_error("frobnicate", 2, "tailor: no subcommand frobnicate; there are: bench explain dump run conform cache doctor");
  expect_error("explain serving_requests", 2,
               "serving_requests is a scenario of several functions: `tailor bench --only serving_requests`");
  expect_error("dump varying_batch_mlp", 2, "varying_batch_mlp is a sequence of calls");
  expect_error("explain no_such_workload", 2, "tailor: no workload no_such_workload; `tailor bench --list` names them");
  expect_error("dump no_such_workload", 2, "no workload no_such_workload");
  expect_error("bench", 2, "say --all, or --only with names");
  expect_error("bench --only nothing_like_it", 2, "no workload nothing_like_it");
  expect_error("run /no/such/file", 2, "cannot read /no/such/file");
  expect_error("conform /no/such/folder", 2, "is no directory");
  expect_error("dump", 2, "workload is required");
  expect_error("dump add_8 --emit poetry", 2, "--emit: poetry not in {graph,guards,loops,llvm,asm}");
  expect_error("explain add_8 --calls 0", 2, "--calls: Value 0 not in range");
  expect_error("bench --only add_8 --threads -1", 2, "--threads: Value -1 not in range");
  expect_error("conform . --show -1", 2, "--show");
  expect_error("cache", 2, "A subcommand is required");
  expect_error("doctor --frobnicate", 2, "--frobnicate");
  expect_error("explain add_8 --html /no/such/folder/page.html", 2, "cannot write the report to /no/such/folder/page.html");
  expect_error("explain add_8 --trace /no/such/folder/t.json", 2, "cannot write the trace to /no/such/folder/t.json");
}

TEST_F(Command, ExplainsAWorkload) {
  const Ran text = tailor("explain add_8");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.text.find("guards\n"), std::string::npos) << text.text;
  EXPECT_NE(text.text.find("hit: followed cached code"), std::string::npos) << text.text;
  const Ran json = tailor("explain add_8 --json");
  EXPECT_EQ(json.exit_code, 0);
  const Json parsed = Json::parse(json.text);
  for (const char* field : {"function", "outcome", "entry", "steps", "paths", "misses", "guards", "segments", "storms"})
    EXPECT_TRUE(parsed.contains(field)) << field;
  EXPECT_EQ(parsed["segments"].size(), 1u);
}

TEST_F(Command, ExplainsEverythingThatCanHappen) {
  const Ran ran = tailor("explain --json --html " + file("page.html") + " --trace " + file("trace.json"));
  ASSERT_EQ(ran.exit_code, 0) << ran.text;
  const std::string page = read(file("page.html"));
  testing::expect_self_contained_page(page);
  for (const char* part : {"layer (scenario.cpp:", "normalize (scenario.cpp:", "pair (scenario.cpp:", "Recompile storm", "skipped",
                           "The life of its calls", "Misses", "args[0]", "size(0) == 32", "miss: recorded and compiled",
                           "hit: followed cached code", "entry hit, new path recorded", "matmul"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  testing::expect_matching_trace(Json::parse(read(file("trace.json"))));
}

TEST_F(Command, ExplainsASequenceOfShapes) {
  const Ran ran = tailor("explain varying_batch_mlp --html " + file("page.html"));
  ASSERT_EQ(ran.exit_code, 0) << ran.text;
  EXPECT_NE(ran.text.find("calls 400:"), std::string::npos) << ran.text;
  testing::expect_self_contained_page(read(file("page.html")));
}

TEST_F(Command, DumpsAndRunsAGraph) {
  for (const char* what : {"guards", "loops", "llvm", "asm"}) {
    const Ran ran = tailor(std::string("dump add_8 --emit ") + what);
    EXPECT_EQ(ran.exit_code, 0) << ran.text;
    EXPECT_FALSE(ran.text.empty());
  }
  const Ran graph = tailor("dump add_8");
  ASSERT_EQ(graph.exit_code, 0);
  std::ofstream(file("graph.ir")) << graph.text;
  expect_error("run " + file("graph.ir"), 2, "no input for placeholder");
  std::ofstream(file("damaged.ir")) << "graph g(\n";
  EXPECT_EQ(tailor("run " + file("damaged.ir")).exit_code, 2);
}

TEST_F(Command, RunsAGraphOnInputsFromAFile) {
  std::ofstream(file("scaled.ir")) << R"(graph "scaled" {
  %0: f32[2, 3] = placeholder "x"
  %1: f32[3] = placeholder "w"
  %2: f32[2, 3] = mul(%0, %1)
  return %2, %0
}
)";
  io::save_safetensors(file("named.safetensors"), {{"x", arange(6, kFloat32).view({2, 3})}, {"w", tensor({1.0f, 10.0f, 100.0f})}});
  io::save_safetensors(file("numbered.safetensors"), {{"0", arange(6, kFloat32).view({2, 3})}, {"1", tensor({1.0f, 10.0f, 100.0f})}});
  for (const char* backend : {"interpreter", "loops", "llvm"}) {
    for (const char* inputs : {"named.safetensors", "numbered.safetensors"}) {
      const Ran ran = tailor("run " + file("scaled.ir") + " --inputs " + file(inputs) + " --output " + file("out.safetensors") +
                             " --backend " + backend);
      ASSERT_EQ(ran.exit_code, 0) << backend << ": " << ran.text;
      EXPECT_NE(ran.text.find("output 0\n"), std::string::npos) << ran.text;
      EXPECT_NE(ran.text.find("500"), std::string::npos) << ran.text;
      const auto results = io::load_safetensors(file("out.safetensors"));
      ASSERT_EQ(results.size(), 2u);
      EXPECT_VALUES(results.at("0"), 0, 10, 200, 3, 40, 500);
      EXPECT_VALUES(results.at("1"), 0, 1, 2, 3, 4, 5);
      std::filesystem::remove(file("out.safetensors"));
    }
  }
  io::save_safetensors(file("wrong.safetensors"), {{"x", ones({2, 2})}, {"w", ones({3})}});
  expect_error("run " + file("scaled.ir") + " --inputs " + file("wrong.safetensors"), 2,
               "input \"x\" is not the f32[2, 3] that the graph wants");
  expect_error("run " + file("scaled.ir") + " --inputs /no/such.safetensors", 2, "/no/such.safetensors");
  expect_error("run " + folder_.string(), 2, "cannot read " + folder_.string());
  EXPECT_NE(tailor("run --help").text.find("tailor dump add_8 > add.ir"), std::string::npos);
}

TEST_F(Command, Benches) {
  EXPECT_NE(tailor("bench --list").text.find("add_8"), std::string::npos);
  const Ran ran = tailor("bench --only add_8,chain10_64 --budget 0.01 --json " + file("rows.json") + " --html " + file("report.html"));
  ASSERT_EQ(ran.exit_code, 0) << ran.text;
  const Json json = Json::parse(read(file("rows.json")));
  EXPECT_EQ(json.at("system"), "tailor");
  EXPECT_EQ(json.at("rows").size(), 6u);
  for (const Json& row : json.at("rows"))
    for (const char* field : {"workload", "mode", "us", "min_us", "q1_us", "q3_us", "samples", "first_call_ms"})
      EXPECT_TRUE(row.contains(field)) << row;
  EXPECT_NE(read(file("report.html")).find("add_8"), std::string::npos);
}

TEST_F(Command, ConformCountsAndFails) {
  const std::string cases = std::string(TAILOR_TEST_DATA) + "/conformance";
  const Ran some = tailor("conform " + cases + " --only sigmoid --json " + file("counts.json"));
  EXPECT_EQ(some.exit_code, 0) << some.text;
  EXPECT_TRUE(Json::parse(read(file("counts.json"))).contains("ops"));
  EXPECT_EQ(tailor("conform " + cases + " --only no_such_op").exit_code, 1);  // nothing ran: nothing was shown
  EXPECT_NE(tailor("conform " + cases + " --backend steam").exit_code, 0);
}

TEST_F(Command, Doctor) {
  const Ran text = tailor("doctor");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.text.find("instruction sets"), std::string::npos);
  const Ran json = tailor("doctor --json");
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_TRUE(Json::parse(json.text).contains("LLVM"));
}

TEST_F(Command, VariablesOfTheEnvironment) {
  setenv("TAILOR_TRACE", file("run.json").c_str(), 1);
  setenv("TAILOR_LOGS", "recompiles", 1);
  const Ran ran = tailor("explain");
  unsetenv("TAILOR_TRACE");
  unsetenv("TAILOR_LOGS");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.text.find("because guard args[0].size(0) == 32 failed: got 48 (first needed at scenario.cpp:"), std::string::npos)
      << ran.text;
  testing::expect_matching_trace(Json::parse(read(file("run.json"))));
  setenv("TAILOR_TRACE", "/no/such/folder/run.json", 1);
  const Ran bad = tailor("explain");
  unsetenv("TAILOR_TRACE");
  EXPECT_EQ(bad.exit_code, 0);
  EXPECT_NE(bad.text.find("TAILOR_TRACE: cannot write the trace to /no/such/folder/run.json"), std::string::npos) << bad.text;
}

}  // namespace
}  // namespace tailor
