#include "bench/scenario_rows.h"

#include <cctype>

namespace tailor::bench {

std::string field_name(const std::string& column) {
  std::string name;
  for (const char c : column) {
    if (c == '%')
      name += "percent";
    else if (std::isalnum(static_cast<unsigned char>(c)))
      name += c;
    else
      name += c == '/' ? "_per_" : "_";
  }
  return name;
}

std::vector<Row> measure(const Scenario& scenario, const std::string& data_folder) {
  std::vector<Row> rows;
  try {
    const std::vector<scenario::Row> measured = scenario.run(data_folder);
    scenario::print(measured);
    for (const scenario::Row& one : measured) {
      Row row;
      row.workload = scenario.name;
      row.mode = one.mode;
      row.error = one.remark;
      for (const auto& [column, value] : one.figures) row.more.emplace_back(field_name(column), value);
      rows.push_back(std::move(row));
    }
  } catch (const std::exception& error) {
    Row row;
    row.workload = scenario.name;
    row.error = error.what();
    std::printf("    %s\n", error.what());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tailor::bench
