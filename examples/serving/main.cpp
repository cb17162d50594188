// serving DATA_FOLDER [REQUESTS] [WORKERS]: replays requests under each policy and prints what each costs.

#include <cstdlib>
#include <iostream>

#include "service.h"

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "examples/data";
  const size_t most = argc > 2 ? static_cast<size_t>(std::atoll(argv[2])) : 2000;
  const int workers = argc > 3 ? std::atoi(argv[3]) : 4;
  const std::vector<scenario::Row> rows = serving::replay(folder + "/requests.csv", most, workers);
  scenario::print(rows);
  for (const scenario::Row& row : rows) {
    if (!row.remark.empty()) return 1;
  }
} catch (const std::exception& error) {
  std::cerr << "serving: " << error.what() << "\n";
  return 2;
}
