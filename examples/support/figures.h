#pragma once
// What the scenario programs measure, and how it is printed.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace scenario {

/// One way of running a scenario, with its figures in the order of the columns.
struct Row {
  std::string mode;
  std::vector<std::pair<std::string, double>> figures;
  std::string remark;
};

class Stopwatch {
 public:
  double us() const { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(p / 100 * static_cast<double>(values.size())))];
}

inline void print(const std::vector<Row>& rows) {
  if (rows.empty()) return;
  std::printf("%-22s", "");
  for (const auto& [name, value] : rows[0].figures) std::printf(" %13s", name.c_str());
  std::printf("\n");
  for (const Row& row : rows) {
    std::printf("%-22s", row.mode.c_str());
    for (const auto& [name, value] : row.figures)
      std::printf(value == static_cast<double>(static_cast<long long>(value)) ? " %13.0f" : " %13.2f", value);
    std::printf("%s%s\n", row.remark.empty() ? "" : "  ", row.remark.c_str());
  }
}

}  // namespace scenario
