#include <cstdio>
#include <exception>

#include "command.h"

int main(int argc, char** argv) {
  CLI::App app{"tailor: compile, measure and examine tensor programs", "tailor"};
  app.require_subcommand(1);
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
  } catch (const CLI::ParseError& error) { return app.exit(error); } catch (const std::exception& error) {
    std::fprintf(stderr, "tailor: %s\n", error.what());
    return 2;
  }
  return exit_code;
}
