#pragma once
// Runs a scenario, prints its table, and makes rows of it.

#include "bench/measure.h"
#include "scenarios/scenario.h"

namespace tailor::bench {

/// `hit % warm` as a name in JSON: `hit_percent_warm`.
std::string field_name(const std::string& column);
std::vector<Row> measure(const Scenario& scenario, const std::string& data_folder);

}  // namespace tailor::bench
