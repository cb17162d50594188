// tailor explain: what a compiled function relies on, what became of its calls, and what to do about misses.

#include <cstdio>

#include "command.h"
#include "explain/scenario.h"
#include "scenarios/scenario.h"
#include "workloads/workload.h"

namespace tailor::tools {
namespace {

struct Options {
  std::string workload, html, trace;
  bool json = false;
  int calls = 20;
};

template <class List>
auto find(const List& list, const std::string& name) {
  auto it = list.begin();
  while (it != list.end() && it->name != name) ++it;
  return it;
}

/// Calls the workload and tells about one more call, where it is a single function.
std::vector<FunctionReport> run_workload(const Options& options, std::string& told) {
  manual_seed(0);
  const auto workloads = bench::workloads();
  if (const auto workload = find(workloads, options.workload); workload != workloads.end()) {
    const bench::Prepared prepared = workload->prepare();
    for (int i = 0; i < options.calls; ++i) prepared.compiled();
    if (!options.html.empty() || !options.trace.empty())
      for (int i = 0; i < options.calls; ++i) prepared.skipped();
    const Explanation explanation = prepared.explain();
    told = options.json ? explanation.json() : explanation.text();
    return prepared.reports();
  }
  const auto sequences = bench::sequences();
  const auto sequence = find(sequences, options.workload);
  const auto scenarios = bench::scenarios();
  check(find(scenarios, options.workload) == scenarios.end(), options.workload,
        " is a scenario of several functions: `tailor bench --only ", options.workload, "`");
  check(sequence != sequences.end(), "no workload ", options.workload, "; `tailor bench --list` names them");
  const bench::PreparedSequence prepared = sequence->prepare();
  for (size_t call = 0; call < prepared.calls; ++call) prepared.compiled(call);
  const FunctionReport report = prepared.report();
  told = options.json ? report.json() : report.stats.text();
  return {report};
}

int explain(const Options& options) {
  if (!options.html.empty() || !options.trace.empty()) start_trace();
  std::string told;
  std::vector<FunctionReport> reports;
  if (options.workload.empty()) {
    reports = run_scenario();
    if (options.json) told += "[";
    for (const FunctionReport& r : reports) {
      if (options.json)
        told += (told.size() > 1 ? ",\n" : "") + r.json();
      else
        told += r.function + "\n" + r.stats.text() + "\n";
    }
    if (options.json) told += "]";
  } else {
    reports = run_workload(options, told);
  }
  stop_trace();
  if (!options.html.empty()) save_report(options.html, reports);
  if (!options.trace.empty()) save_trace(options.trace);
  std::printf("%s\n", told.c_str());
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("explain", "Tell what a compiled workload relies on and what became of its calls");
  command->add_option("workload", options->workload,
                      "One that `tailor bench --list` names; without it, small functions through everything that can happen to a call");
  command->add_flag("--json", options->json, "Print as JSON");
  command->add_option("--html", options->html, "Write a page to this file: guards, calls over time, misses and what to do, graphs")
      ->type_name("FILE");
  command->add_option("--trace", options->trace, "Write the spans to this file, for Perfetto or chrome://tracing")->type_name("FILE");
  command->add_option("--calls", options->calls, "Calls to make")->check(CLI::Range(1, 1000000));
  command->callback([options, &exit_code] { exit_code = explain(*options); });
}

}  // namespace tailor::tools
