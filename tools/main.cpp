#include <cstdio>
#include <exception>

#include "command.h"

int main(int argc, char** argv) {
  CLI::App app{"tailor: compile, measure and examine tensor programs", "tailor"};
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();
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
  } catch (const CLI::RequiredError& error) {
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty()) {
      std::fprintf(stderr, "tailor: no subcommand %s; there are:", argv[1]);
      for (const CLI::App* each : app.get_subcommands({})) std::fprintf(stderr, " %s", each->get_name().c_str());
      std::fprintf(stderr, "\n");
      return 2;
    }
    return app.exit(error);
  } catch (const CLI::ParseError& error) { return app.exit(error); } catch (const std::exception& error) {
    std::fprintf(stderr, "tailor: %s\n", error.what());
    return 2;
  }
  return exit_code;
}
