// branches [CALLS]: early exit, a mixture of experts and an algorithm that depends on the length; as a trace tree, as split functions
// and with `where`.

#include <cstdlib>
#include <iostream>

#include "branches.h"

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 400;
  bool right = true;
  const std::pair<const char*, branches::Scenario (*)(int)> all_of_them[] = {{"early exit on confidence", branches::early_exit},
                                                                             {"mixture of experts", branches::experts},
                                                                             {"algorithm by length", branches::length_dependent}};
  for (const auto& [name, make] : all_of_them) {
    const branches::Scenario s = make(calls);
    std::printf("%s\n", name);
    const std::vector<scenario::Row> rows = branches::compare(s);
    scenario::print(rows);
    uint64_t all = 0;
    for (const auto& [branch, times] : *s.taken) all += times;
    for (const auto& [branch, times] : *s.taken)
      std::printf("  %s: %.1f %% of the calls\n", branch.c_str(), 100 * static_cast<double>(times) / static_cast<double>(all));
    std::printf("\n");
    for (const scenario::Row& row : rows) right = right && row.remark.empty();
  }
  return right ? 0 : 1;
}
