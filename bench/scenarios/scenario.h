#pragma once
// A scenario: a whole program's worth of calls, in several ways of running it, with figures of its own. The programs are those of
// examples/, where a README says what the figures mean.

#include <span>
#include <string>
#include <string_view>

#include "support/figures.h"

namespace tailor::bench {

struct Scenario {
  std::string_view name, summary;
  std::vector<scenario::Row> (*run)(const std::string& data_folder);
};

std::span<const Scenario> scenarios();

}  // namespace tailor::bench
