// The text and JSON forms of Stats and Explanation.

#include <cmath>
#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "tailor/explain.h"

namespace tailor {

std::string MissRecord::text() const {
  return guard + " failed: got " + actual + (source.empty() ? "" : " (first needed at " + source + ")");
}

double Stats::break_even() const {
  const double gain_us = eager_call_us - compiled_call_us;
  return gain_us > 0 ? compile_ms * 1e3 / gain_us : std::numeric_limits<double>::infinity();
}

std::ostream& operator<<(std::ostream& out, const Stats& s) {
  std::ostringstream text;
  text << std::fixed;
  text << "calls " << s.calls << ": " << s.hits << " hits (" << std::setprecision(1) << 100 * s.hit_rate() << " %";
  if (s.skipped) text << ", " << s.skipped << " skipped";
  text << "), " << s.misses << " misses, " << s.recompiles << " recompiles, " << s.divergences << " new paths, " << s.op_by_op
       << " segments op by op\n";
  text << "cache: " << s.entries << " entries, " << s.paths << " paths, " << s.lifts << " lifted numbers, " << s.evictions << " evictions, "
       << s.compile_failures << " compile failures\n";
  text << std::setprecision(2) << "compiling: " << s.ops << " ops to " << s.kernels << " kernels in " << s.compile_ms << " ms (passes "
       << s.passes_ms << ", lowering " << s.lower_ms << ", LLVM " << s.llvm_ms << ", linking " << s.link_ms << "); first call "
       << s.first_call_ms << " ms\n";
  text << "a call: eager " << s.eager_call_us << " us, compiled " << s.compiled_call_us << " us";
  if (std::isfinite(s.break_even())) text << "; compiling pays from call " << std::setprecision(0) << std::ceil(s.break_even()) << " on";
  text << "\n";
  for (const MissRecord& miss : s.recent_misses) text << "miss of entry " << miss.entry << ": " << miss.text() << "\n";
  if (s.pure_promise_broken) text << "declared pure, but depends on something else: followed on every call\n";
  return out << text.str();
}

std::string Explanation::text() const {
  std::ostringstream out;
  out << function << ": " << outcome << "\n";
  for (const MissRecord& miss : misses) {
    out << "  entry " << miss.entry << ": " << miss.text() << "\n";
    if (!miss.suggestion.empty()) out << "    suggestion: " << miss.suggestion << "\n";
  }
  if (entry >= 0) out << "entry " << entry << ": " << steps << " recorded steps, " << paths << " paths\n";
  if (!guards.empty()) out << "guards\n";
  for (const GuardText& guard : guards) out << "  " << guard.condition << (guard.source.empty() ? "" : "  # " + guard.source) << "\n";
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& s = segments[i];
    out << "segment " << i << ": " << s.ops << " ops, " << s.kernels << " kernels, compiled in " << s.compile_ms << " ms\n" << s.graph;
    if (s.graph.empty() || s.graph.back() != '\n') out << "\n";
  }
  return out.str();
}

std::string Explanation::json() const {
  nlohmann::json j = {{"function", function}, {"outcome", outcome}, {"entry", entry}, {"steps", steps}, {"paths", paths}};
  j["misses"] = nlohmann::json::array();
  for (const MissRecord& m : misses) {
    j["misses"].push_back(
        {{"entry", m.entry}, {"guard", m.guard}, {"actual", m.actual}, {"source", m.source}, {"suggestion", m.suggestion}});
  }
  j["guards"] = nlohmann::json::array();
  for (const GuardText& g : guards) j["guards"].push_back({{"kind", g.kind}, {"condition", g.condition}, {"source", g.source}});
  j["segments"] = nlohmann::json::array();
  for (const Segment& s : segments)
    j["segments"].push_back({{"graph", s.graph}, {"ops", s.ops}, {"kernels", s.kernels}, {"compile_ms", s.compile_ms}});
  return j.dump(2);
}

std::ostream& operator<<(std::ostream& out, const Explanation& explanation) { return out << explanation.text(); }

}  // namespace tailor
