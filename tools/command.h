#pragma once
// The subcommands of `tailor`, one file each. A subcommand adds itself to the app; its callback leaves the exit code.

#include <CLI/CLI.hpp>

namespace tailor::tools {

void add_doctor(CLI::App& app, int& exit_code);
void add_conform(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_dump(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);

}  // namespace tailor::tools
