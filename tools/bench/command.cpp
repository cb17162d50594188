// tailor bench: eager against compiled on the bundled workloads.

#include "command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/html_report.h"
#include "bench/measure.h"
#include "bench/scenario_rows.h"
#include "runtime/cpu.h"
#include "runtime/thread_pool.h"

namespace tailor::tools {
namespace {

using namespace bench;
using Json = nlohmann::ordered_json;

struct Options {
  bool all = false, list = false;
  std::vector<std::string> only;
  int threads = 1;
  std::string json, html, data = TAILOR_EXAMPLE_DATA;
  MeasureOptions measure;
};

Json to_json(const Row& row) {
  Json json{{"workload", row.workload}, {"mode", row.mode}};
  if (!row.error.empty()) {
    json["error"] = row.error;
    return json;
  }
  for (const auto& [name, value] : row.more) json[name] = value;
  if (row.samples == 0) return json;
  json.update(Json{{"us", row.us},
                   {"min_us", row.min_us},
                   {"q1_us", row.q1_us},
                   {"q3_us", row.q3_us},
                   {"samples", row.samples},
                   {"first_call_ms", row.first_call_ms}});
  if (row.mode != "compiled") return json;
  json["first_call_kernels"] = row.warm ? "from disk" : "compiled";
  const Stats& s = row.stats;
  json["first_call"] =
      Json{{"trace_ms", s.trace_ms}, {"passes_ms", s.passes_ms}, {"lower_ms", s.lower_ms}, {"llvm_ms", s.llvm_ms}, {"link_ms", s.link_ms}};
  json["kernels"] = s.kernels;
  json["ops"] = s.ops;
  json["hit_rate"] = s.hit_rate();
  if (std::isfinite(s.break_even())) json["break_even"] = s.break_even();
  return json;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  check(out.good(), "cannot write ", path);
}

void save(const Options& options, const std::vector<Row>& rows) {
  if (!options.json.empty()) {
    Json list = Json::array();
    for (const Row& row : rows) list.push_back(to_json(row));
    const Json json{{"system", "tailor"}, {"machine", cpu_features().name}, {"threads", options.threads}, {"rows", list}};
    write(options.json, json.dump(1) + "\n");
  }
  if (!options.html.empty()) write(options.html, html_report(rows, cpu_features().name, options.threads));
}

/// Whether `name` is `pattern`, or starts as a pattern that ends in `*` does.
bool matches(std::string_view name, std::string_view pattern) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
}

bool chosen(const Options& options, std::string_view name) {
  const auto wanted = [&](const std::string& pattern) { return matches(name, pattern); };
  return options.only.empty() || std::any_of(options.only.begin(), options.only.end(), wanted);
}

void check_names(const Options& options) {
  for (const std::string& pattern : options.only) {
    const auto known = [&](const auto& all) {
      return std::any_of(all.begin(), all.end(), [&](const auto& each) { return matches(each.name, pattern); });
    };
    check(known(workloads()) || known(sequences()) || known(scenarios()), "no workload ", pattern, "; `tailor bench --list` names them");
  }
}

template <class All>
void print_names(const Options& options, const All& all) {
  for (const auto& each : all) {
    if (chosen(options, each.name)) std::printf("%-26s %s\n", std::string(each.name).c_str(), std::string(each.summary).c_str());
  }
}

void print_head(bool warm) {
  std::printf("%-26s %14s %14s %14s %8s %14s\n", "", "eager us", "compiled us", "skipped us", "ratio",
              warm ? "from disk ms" : "first call ms");
}

/// The artifact cache while the benchmark runs: none, so that first calls compile; or an empty one that goes again.
class BenchCache {
 public:
  explicit BenchCache(bool warm) {
    if (warm) {
      std::string name = (std::filesystem::temp_directory_path() / "tailor-bench-XXXXXX").string();
      check(mkdtemp(name.data()) != nullptr, "cannot make ", name);
      folder_ = name;
    }
    set_artifact_cache(folder_);
  }
  ~BenchCache() {
    set_artifact_cache("");
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
  }
  BenchCache(const BenchCache&) = delete;

 private:
  std::string folder_;
};

void print_rows(const std::vector<Row>& rows) {
  const auto cell = [](const Row& row) {
    if (row.error.empty())
      std::printf(" %14.3f", row.us);
    else
      std::printf(" %14s", "error");
  };
  std::printf("\r%-26s", rows[0].workload.c_str());
  for (const Row& row : rows) cell(row);
  if (rows[0].error.empty() && rows[1].error.empty()) std::printf(" %8.2f %14.2f", rows[0].us / rows[1].us, rows[1].first_call_ms);
  std::printf("\n");
  for (const Row& row : rows) {
    if (!row.error.empty()) std::printf("    %s: %s\n", row.mode.c_str(), row.error.c_str());
  }
  std::fflush(stdout);
}

void print_sequence(const std::vector<Row>& rows) {
  std::printf("\r%s: milliseconds of all calls\n", rows[0].workload.c_str());
  for (const Row& row : rows) {
    if (row.error.empty()) {
      std::printf("    %-10s %10.1f with compiling, %10.1f again; %.1f us a call\n", row.mode.c_str(), row.more[0].second,
                  row.more[1].second, row.us);
    } else {
      std::printf("    %s: %s\n", row.mode.c_str(), row.error.c_str());
    }
  }
  std::fflush(stdout);
}

int run_bench(const Options& options) {
  check_names(options);
  if (options.list) {
    print_names(options, workloads());
    print_names(options, sequences());
    print_names(options, scenarios());
    return 0;
  }
  check(options.all || !options.only.empty(), "say --all, or --only with names; `tailor bench --list` names them");
  set_num_threads(options.threads);
  const BenchCache cache(options.measure.warm);
  std::vector<Row> rows;
  double logs = 0;
  int compared = 0;
  bool failed = false, head = false;
  const auto announce = [](std::string_view name) {
    std::fprintf(stderr, "%s ...", std::string(name).c_str());
    std::fflush(stderr);
  };
  const auto keep = [&](const std::vector<Row>& measured) {
    for (const Row& row : measured) failed |= !row.error.empty();
    rows.insert(rows.end(), measured.begin(), measured.end());
    save(options, rows);  // what there is so far survives an interruption
  };
  for (const Workload& workload : workloads()) {
    if (!chosen(options, workload.name)) continue;
    if (!std::exchange(head, true)) print_head(options.measure.warm);
    announce(workload.name);
    const std::vector<Row> measured = measure(workload, options.measure);
    print_rows(measured);
    if (measured[0].error.empty() && measured[1].error.empty()) logs += std::log(measured[0].us / measured[1].us), ++compared;
    keep(measured);
  }
  if (compared > 1) std::printf("eager / compiled, geometric mean of %d: %.2f\n", compared, std::exp(logs / compared));
  for (const Sequence& sequence : sequences()) {
    if (!chosen(options, sequence.name)) continue;
    announce(sequence.name);
    const std::vector<Row> measured = measure(sequence);
    print_sequence(measured);
    keep(measured);
  }
  for (const Scenario& scenario : scenarios()) {
    if (options.only.empty() || !chosen(options, scenario.name)) continue;  // by name only: they take long
    std::printf("%s: %s\n", std::string(scenario.name).c_str(), std::string(scenario.summary).c_str());
    std::fflush(stdout);
    keep(measure(scenario, options.data));
  }
  return failed ? 1 : 0;
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("bench", "Time the bundled workloads, eager against compiled");
  command->add_flag("--all", options->all, "Every workload and sequence; scenarios are named");
  command->add_option("--only", options->only, "These workloads, separated by commas; a name may end in *")->delimiter(',');
  command->add_flag("--list", options->list, "Name the workloads");
  command->add_option("--threads", options->threads, "Threads of parallel work")->check(CLI::Range(1, 4096));
  command->add_option("--budget", options->measure.budget_seconds, "Seconds for each mode of a workload")->check(CLI::Range(0.001, 3600.0));
  command->add_flag("--warm", options->measure.warm,
                    "First calls find their kernels on disk (in a cache of the benchmark's own); else they compile");
  command->add_option("--data", options->data, "Folder with requests.csv, for serving_*")->type_name("FOLDER");
  command->add_option("--json", options->json, "Write rows to this file")->type_name("FILE");
  command->add_option("--html", options->html, "Write a report with plots to this file")->type_name("FILE");
  command->callback([options, &exit_code] { exit_code = run_bench(*options); });
}

}  // namespace tailor::tools
