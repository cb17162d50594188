// The text and JSON forms of Stats, Explanation and FunctionReport.

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <utility>

#include "tailor/report.h"

namespace tailor {

std::string MissRecord::text() const {
  return guard + " failed: got " + actual + (source.empty() ? "" : " (first needed at " + source + ")");
}

double Stats::average_call_us() const {
  if (calls == 0) return 0;
  const auto total = static_cast<double>(hits) * compiled_call_us + static_cast<double>(calls - std::min(hits, calls)) * eager_call_us;
  return (total + compile_ms * 1e3) / static_cast<double>(calls);
}

double Stats::break_even() const {
  const double gain_us = eager_call_us - compiled_call_us;
  return gain_us > 0 && compiled_call_us > 0 ? compile_ms * 1e3 / gain_us : std::numeric_limits<double>::infinity();
}

std::string Stats::text() const {
  std::ostringstream text;
  text << std::fixed;
  text << "calls " << calls << ": " << hits << " hits (" << std::setprecision(1) << 100 * hit_rate() << " %";
  if (skipped) text << ", " << skipped << " skipped";
  if (sizes_bound) text << ", " << sizes_bound << " in sizes that the body was not run in";
  text << "), " << misses << " misses, " << recompiles << " recompiles, " << divergences << " new paths, " << op_by_op
       << " segments op by op\n";
  if (eager.all()) {
    text << "ran eagerly " << eager.all() << ":";
    const std::pair<uint64_t, const char*> reasons[] = {{eager.at_limit, "at cache_size_limit"},
                                                        {eager.at_total_limit, "at the limit over all functions"},
                                                        {eager.in_storm, "in a recompile storm"},
                                                        {eager.not_worth_it, "not yet worth compiling"},
                                                        {eager.while_compiling, "while another thread compiled"},
                                                        {eager.by_stance, "by stance"}};
    const char* between = " ";
    for (const auto& [count, reason] : reasons)
      if (count) text << std::exchange(between, ", ") << count << ' ' << reason;
    text << "\n";
  }
  text << "cache: " << entries << " entries, " << paths << " paths, " << code_bytes << " bytes of code, " << lifts << " lifted numbers, "
       << evictions << " evictions, " << compile_failures << " compile failures\n";
  if (guards_dropped + guards_relaxed)
    text << "guards changed by options: " << guards_dropped << " dropped, " << guards_relaxed << " relaxed\n";
  text << std::setprecision(2) << "compiling: " << ops << " ops to " << kernels << " kernels in " << compile_ms << " ms (passes "
       << passes_ms << ", lowering " << lower_ms << ", LLVM " << llvm_ms << ", linking " << link_ms << "); first call " << first_call_ms
       << " ms";
  if (async_compiles) text << "; " << async_compiles << " in the background";
  if (artifacts.hits + artifacts.misses > 0) {
    text << "\nartifacts on disk: " << artifacts.hits << " hits, " << artifacts.misses << " misses";
    if (artifacts.rejects) text << " (" << artifacts.rejects << " for files that were of no use)";
    text << ", " << artifacts.bytes << " bytes read and written";
  }
  text << "\na call: eager " << eager_call_us << " us, compiled " << compiled_call_us << " us (guards " << guard_us << ", following "
       << follow_us << ", running " << run_us << "); on average, with all compiling, " << average_call_us() << " us";
  if (std::isfinite(break_even())) text << "; compiling pays from call " << std::setprecision(0) << std::ceil(break_even()) << " on";
  text << "\n";
  for (const MissRecord& miss : recent_misses)
    text << (miss.kind == "guard" ? "miss of entry " : "recompile of entry ") << miss.entry << ": " << miss.text() << "\n";
  for (const Storm& storm : storms) text << "recompile storm: " << storm.subject << " failed " << storm.failures << " times\n";
  if (pure_promise_broken) text << "declared pure, but depends on something else: followed on every call\n";
  if (!not_skipped.empty()) text << "declared pure, but the body ran: " << not_skipped << "\n";
  return text.str();
}

std::ostream& operator<<(std::ostream& out, const Stats& s) { return out << s.text(); }

namespace {

using Json = nlohmann::ordered_json;

/// User's names need not be UTF-8.
std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

Json to_json(const std::vector<MissRecord>& misses) {
  Json list = Json::array();
  for (const MissRecord& m : misses) {
    list.push_back({{"entry", m.entry},
                    {"kind", m.kind},
                    {"step", m.step < 0 ? Json() : Json(m.step)},
                    {"guard", m.guard},
                    {"expected", m.expected},
                    {"actual", m.actual},
                    {"source", m.source},
                    {"suggestion", m.suggestion},
                    {"subject", m.subject}});
  }
  return list;
}

Json to_json(const std::vector<Storm>& storms) {
  Json list = Json::array();
  for (const Storm& s : storms) {
    list.push_back(
        {{"subject", s.subject}, {"failures", s.failures}, {"values", s.values}, {"source", s.source}, {"suggestion", s.suggestion}});
  }
  return list;
}

Json to_json(const std::vector<Explanation::GuardText>& guards) {
  Json list = Json::array();
  for (const auto& g : guards) list.push_back({{"kind", g.kind}, {"condition", g.condition}, {"source", g.source}});
  return list;
}

Json to_json(const std::vector<Explanation::Segment>& segments) {
  Json list = Json::array();
  for (const auto& s : segments) {
    list.push_back(
        {{"graph", s.graph}, {"ops", s.ops}, {"kernels", s.kernels}, {"compile_ms", s.compile_ms}, {"guards", to_json(s.guards)}});
  }
  return list;
}

Json to_json(const Stats& s) {
  return {{"calls", s.calls},
          {"hits", s.hits},
          {"skipped", s.skipped},
          {"misses", s.misses},
          {"recompiles", s.recompiles},
          {"divergences", s.divergences},
          {"op_by_op", s.op_by_op},
          {"lifts", s.lifts},
          {"evictions", s.evictions},
          {"plans_voided", s.plans_voided},
          {"guards_dropped", s.guards_dropped},
          {"guards_relaxed", s.guards_relaxed},
          {"compile_failures", s.compile_failures},
          {"symbolic_compiles", s.symbolic_compiles},
          {"symbolic_rests", s.symbolic_rests},
          {"symbolic_given_up", s.symbolic_given_up},
          {"bindings", s.bindings},
          {"sizes_bound", s.sizes_bound},
          {"parts", s.parts},
          {"pure_promise_broken", s.pure_promise_broken},
          {"not_skipped", s.not_skipped},
          {"eager",
           {{"all", s.eager.all()},
            {"at_limit", s.eager.at_limit},
            {"at_total_limit", s.eager.at_total_limit},
            {"in_storm", s.eager.in_storm},
            {"not_worth_it", s.eager.not_worth_it},
            {"while_compiling", s.eager.while_compiling},
            {"by_stance", s.eager.by_stance}}},
          {"async_compiles", s.async_compiles},
          {"artifacts",
           {{"hits", s.artifacts.hits}, {"misses", s.artifacts.misses}, {"rejects", s.artifacts.rejects}, {"bytes", s.artifacts.bytes}}},
          {"entries", s.entries},
          {"paths", s.paths},
          {"kernels", s.kernels},
          {"ops", s.ops},
          {"code_bytes", s.code_bytes},
          {"trace_ms", s.trace_ms},
          {"passes_ms", s.passes_ms},
          {"lower_ms", s.lower_ms},
          {"llvm_ms", s.llvm_ms},
          {"link_ms", s.link_ms},
          {"compile_ms", s.compile_ms},
          {"first_call_ms", s.first_call_ms},
          {"eager_call_us", s.eager_call_us},
          {"compiled_call_us", s.compiled_call_us},
          {"guard_us", s.guard_us},
          {"follow_us", s.follow_us},
          {"run_us", s.run_us},
          {"hit_rate", s.hit_rate()},
          {"recompile_rate", s.recompile_rate()},
          {"average_call_us", s.average_call_us()},
          {"break_even", std::isfinite(s.break_even()) ? Json(s.break_even()) : Json()},
          {"recent_misses", to_json(s.recent_misses)},
          {"storms", to_json(s.storms)}};
}

}  // namespace

std::string Stats::json() const { return dumped(to_json(*this)); }

std::string FunctionReport::json() const {
  Json list = Json::array();
  for (const EntryReport& e : entries) {
    list.push_back({{"number", e.number},
                    {"hits", e.hits},
                    {"code_bytes", e.code_bytes},
                    {"steps", e.steps},
                    {"paths", e.paths},
                    {"guards", to_json(e.guards)},
                    {"segments", to_json(e.segments)}});
  }
  return dumped({{"function", function}, {"stats", to_json(stats)}, {"entries", list}});
}

std::string Explanation::text() const {
  std::ostringstream out;
  out << function << ": " << outcome << "\n";
  for (const MissRecord& miss : misses) {
    out << "  entry " << miss.entry << ": " << miss.text() << "\n";
    if (!miss.suggestion.empty()) out << "    suggestion: " << miss.suggestion << "\n";
  }
  for (const Storm& storm : storms) {
    out << "  recompile storm: " << storm.subject << " failed " << storm.failures << " times, with";
    for (const std::string& value : storm.values) out << ' ' << value;
    out << "\n    suggestion: " << storm.suggestion << "\n";
  }
  if (!not_skipped.empty()) out << "  declared pure, but the body ran: " << not_skipped << "\n";
  if (entry >= 0) out << "entry " << entry << ": " << steps << " recorded steps, " << paths << " paths\n";
  const auto list = [&](const char* title, const std::vector<GuardText>& texts) {
    if (!texts.empty()) out << title << "\n";
    for (const GuardText& guard : texts) out << "  " << guard.condition << (guard.source.empty() ? "" : "  # " + guard.source) << "\n";
  };
  list("guards", guards);
  list("guards of the plan for skipping the body", skip_guards);
  for (const auto& way : size_guards) list("sizes that the body is skipped in unseen", way);
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& s = segments[i];
    out << "segment " << i << ": " << s.ops << " ops, " << s.kernels << " kernels, compiled in " << s.compile_ms << " ms\n";
    for (const GuardText& guard : s.guards) out << "  where " << guard.condition << "\n";
    out << s.graph;
    if (s.graph.empty() || s.graph.back() != '\n') out << "\n";
  }
  return out.str();
}

std::string Explanation::json() const {
  Json ways = Json::array();
  for (const auto& way : size_guards) ways.push_back(to_json(way));
  return dumped({{"function", function},
                 {"outcome", outcome},
                 {"entry", entry},
                 {"steps", steps},
                 {"paths", paths},
                 {"misses", to_json(misses)},
                 {"guards", to_json(guards)},
                 {"skip_guards", to_json(skip_guards)},
                 {"size_guards", ways},
                 {"segments", to_json(segments)},
                 {"not_skipped", not_skipped},
                 {"storms", to_json(storms)}});
}

std::ostream& operator<<(std::ostream& out, const Explanation& explanation) { return out << explanation.text(); }

}  // namespace tailor
