#pragma once
// Everything there is to see of compiled functions: data, JSON, and a page for a browser.
//
//   tailor::start_trace();                       // for the timeline
//   ... calls of f and g ...
//   tailor::save_report("report.html", {f.report(), g.report()});

#include <string>
#include <vector>

#include "tailor/explain.h"
#include "tailor/trace.h"

namespace tailor {

/// One entry of a function's cache.
struct EntryReport {
  int number = 0;
  uint64_t hits = 0, code_bytes = 0;
  int steps = 0, paths = 0;
  std::vector<Explanation::GuardText> guards;
  std::vector<Explanation::Segment> segments;
};

struct FunctionReport {
  std::string function;  // name and source line
  Stats stats;
  std::vector<EntryReport> entries;  // in the order of their making
  std::string json() const;
};

/// A page that needs nothing else: guards as trees, the life of each call as a timeline (from `events`), entries, misses over time, graphs,
/// and what to do about each miss.
std::string report_html(const std::vector<FunctionReport>& functions, const std::vector<TraceEvent>& events);
/// The page with all events recorded so far. Throws Error when the file cannot be written.
void save_report(const std::string& path, const std::vector<FunctionReport>& functions);

}  // namespace tailor
