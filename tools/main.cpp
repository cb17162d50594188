#include <cstdio>
#include <exception>

#include "command.h"

namespace {

constexpr int kUsage = 2;  // wrong words on the command line, or an error while they were followed

/// What CLI11 says of wrong arguments, under one exit status; where a subcommand is missing, which ones there are.
int refuse(const CLI::App& app, const CLI::ParseError& error, const char* first_word) {
  const bool no_subcommand = app.get_subcommands().empty() && error.get_name() == "RequiredError";
  if (!no_subcommand) return app.exit(error) == 0 ? 0 : kUsage;
  if (first_word != nullptr && first_word[0] != '-')
    std::fprintf(stderr, "tailor: no subcommand %s; there are:", first_word);
  else
    std::fprintf(stderr, "tailor: a subcommand is required; there are:");
  for (const CLI::App* each : app.get_subcommands({})) std::fprintf(stderr, " %s", each->get_name().c_str());
  std::fprintf(stderr, " (`tailor SUBCOMMAND --help` tells about one)\n");
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"tailor: compile, measure and examine tensor programs", "tailor"};
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();
  app.footer(
      "Exit status: 0; 1 where something measured, replayed or looked at is not as it should be; 2 where an argument or input is wrong.");
  int exit_code = 0;
  tailor::tools::add_bench(app, exit_code);
  tailor::tools::add_explain(app, exit_code);
  tailor::tools::add_dump(app, exit_code);
  tailor::tools::add_run(app, exit_code);
  tailor::tools::add_conform(app, exit_code);
  tailor::tools::add_cache(app, exit_code);
  tailor::tools::add_doctor(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) { return refuse(app, error, argv[1]); } catch (const std::exception& error) {
    std::fprintf(stderr, "tailor: %s\n", error.what());
    return kUsage;
  }
  return exit_code;
}
