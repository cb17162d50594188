// tailor conform DIR: replays reference cases through the public API.

#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>

#include "command.h"
#include "conform/runner.h"

namespace tailor::tools {
namespace {

using namespace conform;

struct Options {
  std::string directory, backend = "eager", json;
  std::vector<std::string> only, families;
  bool verbose = false, strict = false;
  int show = 3;
};

struct Count {
  int passed = 0, failed = 0, unsupported = 0;
  std::vector<std::string> details;
};

/// Names the case under way when the library crashes.
char current_case[256];
void report_crash(int signal) {
  constexpr char text[] = "\ntailor conform: crashed in case ";
  (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
  (void)!write(STDERR_FILENO, current_case, std::strlen(current_case));
  (void)!write(STDERR_FILENO, "\n", 1);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

Backend backend_of(const std::string& name) {
  if (name == "eager") return Backend::Eager;
  if (name == "interpreter") return Backend::Interpreter;
  if (name == "fused") return Backend::Fused;
  return Backend::Compiled;
}

bool wanted(const std::vector<std::string>& list, const std::string& name) {
  return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

void write_json(const std::string& path, const std::string& backend, const std::map<std::string, Count>& counts) {
  Json rows = Json::array();
  for (const auto& [op, count] : counts) {
    rows.push_back(
        {{"op", op}, {"passed", count.passed}, {"failed", count.failed}, {"unsupported", count.unsupported}, {"details", count.details}});
  }
  std::ofstream out(path);
  out << Json{{"backend", backend}, {"ops", rows}}.dump(1) << '\n';
  check(out.good(), "cannot write ", path);
}

int conform_all(const Options& options) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(signal, report_crash);
  std::vector<std::filesystem::path> files;
  check(std::filesystem::is_directory(options.directory), options.directory, " is no directory");
  for (const auto& entry : std::filesystem::directory_iterator(options.directory)) {
    if (entry.path().extension() == ".jsonl" && wanted(options.families, entry.path().stem().string())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::map<std::string, Count> counts;
  Count total;
  for (const auto& path : files) {
    const CaseFile file(path);
    for (const Json& json : file.cases()) {
      const std::string op = json.at("op"), id = json.at("id");
      if (!wanted(options.only, op)) continue;
      std::snprintf(current_case, sizeof(current_case), "%s", id.c_str());
      if (options.verbose) std::fprintf(stderr, "%s\r", id.c_str());
      const Outcome outcome = run_case(json, file, backend_of(options.backend));
      Count& count = counts[path.stem().string() + "/" + op];
      for (Count* c : {&count, &total}) {
        ++(outcome.kind == Outcome::Kind::Passed ? c->passed : outcome.kind == Outcome::Kind::Failed ? c->failed : c->unsupported);
      }
      if (outcome.kind != Outcome::Kind::Passed) count.details.push_back(id + ": " + outcome.detail);
    }
  }
  for (const auto& [op, count] : counts) {
    if (count.failed == 0 && count.unsupported == 0 && !options.verbose) continue;
    std::printf("%-44s %5d passed %5d failed %5d unsupported\n", op.c_str(), count.passed, count.failed, count.unsupported);
    const size_t shown = options.verbose ? count.details.size() : static_cast<size_t>(options.show);
    for (size_t i = 0; i < std::min(shown, count.details.size()); ++i) std::printf("    %s\n", count.details[i].c_str());
  }
  std::printf("%s: %d passed, %d failed, %d unsupported\n", options.backend.c_str(), total.passed, total.failed, total.unsupported);
  if (!options.json.empty()) write_json(options.json, options.backend, counts);
  return total.failed == 0 && (!options.strict || total.unsupported == 0) && total.passed > 0 ? 0 : 1;
}

}  // namespace

void add_conform(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("conform", "Replay reference cases (FAMILY.jsonl and FAMILY.safetensors) and count what agrees");
  command->add_option("directory", options->directory, "Folder of the cases")->required()->type_name("FOLDER");
  command->add_option("--backend", options->backend, "How to run them; fused: compiled among other ops")
      ->check(CLI::IsMember({"eager", "interpreter", "compiled", "fused"}));
  command->add_option("--only", options->only, "Ops to run, separated by commas")->delimiter(',');
  command->add_option("--family", options->families, "Files to run, separated by commas")->delimiter(',');
  command->add_option("--json", options->json, "Write the counts and every failure to this file")->type_name("FILE");
  command->add_option("--show", options->show, "How many failures of an op to print")->check(CLI::Range(0, 1000000));
  command->add_flag("--strict", options->strict, "Cases that cannot be replayed are failures, too");
  command->add_flag("--verbose", options->verbose, "Print every op and every failure");
  command->callback([options, &exit_code] { exit_code = conform_all(*options); });
}

}  // namespace tailor::tools
