#pragma once
// The results as one HTML file without anything from elsewhere: tables, and plots as inline SVG.

#include <string>

#include "bench/measure.h"

namespace tailor::bench {

std::string html_report(const std::vector<Row>& rows, const std::string& machine, int threads);

}  // namespace tailor::bench
