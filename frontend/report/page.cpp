// The page as a whole: functions, their entries, guards and graphs.

#include <cmath>
#include <cstdio>
#include <fstream>

#include "frontend/report/html.h"
#include "runtime/error.h"

namespace tailor::report {

const std::string_view kStyle =
    ":root{color-scheme:light dark;--fg:#1f2328;--bg:#fff;--dim:#656d76;--line:#d0d7de;--soft:#f6f8fa;--hit:#2da44e;--skipped:#0a7c8a;"
    "--miss:#cf222e;--path:#bf8700;--eager:#8250df;--other:#8c959f;--blue:#0969da}"
    "@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--dim:#8d96a0;--line:#30363d;--soft:#161b22;--hit:#3fb950;"
    "--skipped:#39c5cf;--miss:#f85149;--path:#d29922;--eager:#a371f7;--other:#6e7681;--blue:#4493f8}}"
    "*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;margin:0 "
    "auto;max-width:60rem;padding:1rem;color:var(--fg);background:var(--bg);"
    "overflow-wrap:anywhere}h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid var(--line)}h3{font-size:1rem}"
    "code,pre{font:13px/1.45 "
    "ui-monospace,monospace}pre{background:var(--soft);padding:.7rem;overflow-x:auto;border-radius:6px;overflow-wrap:normal}"
    "ul,ol{padding-left:1.3rem}details{margin:.25rem "
    "0}summary{cursor:pointer}.scroll{overflow-x:auto}.dim{color:var(--dim)}.hint{color:var(--blue)}"
    ".axis{display:flex;justify-content:space-between;margin:0 0 "
    ".5rem;font-size:13px}.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(8.5rem,1fr));gap:.5rem;padding:0;list-style:"
    "none}"
    ".cards li{background:var(--soft);border-radius:6px;padding:.5rem .7rem}.cards b{display:block;font-size:1.1rem}"
    ".tag{display:inline-block;min-width:1.6rem;text-align:center;border-radius:4px;padding:0 "
    ".35rem;color:#fff;font-size:12px;background:var(--other)}"
    ".bar{width:100%;height:14px;display:block;margin:.2rem 0}.wide{width:100%;height:auto}.grid{stroke:var(--line)}"
    ".chart text{font-size:10px;fill:var(--dim);text-anchor:end}.chart "
    "text.left{text-anchor:start}.line{fill:none;stroke:var(--miss);stroke-width:2}"
    ".k-hit{fill:var(--hit)}.k-skipped{fill:var(--skipped)}.k-miss{fill:var(--miss)}.k-path{fill:var(--path)}.k-eager{fill:var(--eager)}.k-"
    "other{fill:var(--line)}"
    "span.k-hit{background:var(--hit)}span.k-skipped{background:var(--skipped)}span.k-miss{background:var(--miss)}span.k-path{background:"
    "var(--path)}"
    "span.k-eager{background:var(--eager)}.p-guard{fill:var(--blue)}.p-follow{fill:var(--hit)}.p-trace{fill:var(--path)}.p-compile{fill:"
    "var(--miss)}"
    ".p-passes,.p-lower{fill:#e16f24}.p-llvm{fill:#bc4c00}.p-link{fill:#953800}.p-run{fill:var(--other)}.p-kernel{fill:var(--skipped)}.p-"
    "eager{fill:var(--eager)}"
    "span.p-guard{background:var(--blue)}span.p-follow{background:var(--hit)}span.p-trace{background:var(--path)}span.p-compile,span.p-"
    "miss{background:var(--miss)}"
    "span.p-passes,span.p-lower{background:#e16f24}span.p-llvm{background:#bc4c00}span.p-link{background:#953800}span.p-kernel{background:"
    "var(--skipped)}"
    "span.p-run{background:var(--other)}span.p-eager{background:var(--eager)}.storm{border-left:4px solid var(--miss);padding:.4rem "
    ".8rem;background:var(--soft)}";

namespace {

/// What a condition reads and what it demands of it: "args[0]" "size(0)" " == 4".
struct Branch {
  std::map<std::string, Branch> below;
  std::vector<std::string> leaves;
};

/// The parts of "args[1].weights["w"].size(0)": cut at dots outside of brackets and quotes.
std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : path) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '(')) ++depth;
    if (!quoted && (c == ']' || c == ')')) --depth;
    if (c == '.' && depth == 0 && !quoted)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string tree(const Branch& branch) {
  std::string out = "<ul>";
  for (const std::string& leaf : branch.leaves) out += "<li>" + leaf + "</li>";
  for (const auto& [name, below] : branch.below)
    out += "<li><details open='open'><summary><code>" + escaped(name) + "</code></summary>" + tree(below) + "</details></li>";
  return out + "</ul>";
}

template <class... T>
std::string format(const char* pattern, T... values) {
  char text[128];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

std::string cards(const Stats& s) {
  std::string out = "<ul class='cards'>";
  const auto card = [&](const std::string& value, const char* what) { out += "<li><b>" + value + "</b>" + what + "</li>"; };
  card(std::to_string(s.calls), "calls");
  card(format("%.1f %%", 100 * s.hit_rate()), "hits");
  card(std::to_string(s.skipped), "skipped");
  card(std::to_string(s.misses), "misses");
  card(std::to_string(s.recompiles), "recompiles");
  card(std::to_string(s.eager.all()), "ran eagerly");
  card(std::to_string(s.entries), "entries");
  card(std::to_string(s.evictions), "evictions");
  card(format("%.2f ms", s.compile_ms), "compiling");
  card(format("%.2f us", s.eager_call_us), "an eager call");
  card(s.compiled_call_us > 0 ? format("%.2f us", s.compiled_call_us) : "none yet", "a compiled call");
  card(format("%.2f us", s.average_call_us()), "a call on average, with all compiling");
  card(std::isfinite(s.break_even()) ? format("%.0f", std::ceil(s.break_even())) : "never", "calls to break even");
  return out + "</ul>";
}

std::string entry(const EntryReport& e) {
  std::string out = "<details><summary>Entry " + std::to_string(e.number) + ": " + std::to_string(e.hits) + " hits, " +
                    std::to_string(e.guards.size()) + " guards, " + std::to_string(e.steps) + " steps, " + std::to_string(e.paths) +
                    " paths, " + std::to_string(e.code_bytes) + " bytes of code</summary><h4>Guards</h4>" + guard_tree(e.guards) +
                    "<h4>Graphs</h4>";
  for (const auto& s : e.segments) {
    out += "<details><summary>" + std::to_string(s.ops) + " ops to " + std::to_string(s.kernels) + " kernels in " +
           format("%.2f ms", s.compile_ms) + "</summary>" + (s.guards.empty() ? "" : guard_tree(s.guards)) + "<pre>" + escaped(s.graph) +
           "</pre></details>";
  }
  return out + "</details>";
}

std::string section(const FunctionReport& f, const std::vector<TraceEvent>& events) {
  const Life life = life_of(f.function, events);
  std::string out = "<section><h2>" + escaped(f.function) + "</h2>" + cards(f.stats);
  for (const Storm& storm : f.stats.storms) {
    out += "<p class='storm'>Recompile storm: <code>" + escaped(storm.subject) + "</code> failed " + std::to_string(storm.failures) +
           " times, with";
    for (const std::string& value : storm.values) out += " <code>" + escaped(value) + "</code>";
    out += ".<br/><span class='hint'>" + escaped(storm.suggestion) + "</span></p>";
  }
  out += "<h3>The life of its calls</h3>" + timeline(life) + "<h3>Misses</h3>" + misses(life, f.stats);
  if (!life.notices.empty()) {
    out += "<details class='fold'><summary>What else happened</summary><ul>";
    for (const TraceEvent* e : life.notices) out += "<li>" + escaped(e->name) + "</li>";
    out += "</ul></details>";
  }
  out += "<h3>Entries</h3>";
  if (f.entries.empty()) out += "<p>None.</p>";
  for (const EntryReport& e : f.entries) out += entry(e);
  return out + "</section>";
}

}  // namespace

std::string guard_tree(const std::vector<Explanation::GuardText>& guards) {
  Branch root;
  for (const auto& g : guards) {
    const size_t space = g.condition.find(' ');
    const std::vector<std::string> parts = parts_of(g.condition.substr(0, space));
    Branch* at = &root;
    for (size_t i = 0; i + 1 < parts.size(); ++i) at = &at->below[parts[i]];
    std::string leaf = "<code>" + escaped(parts.back() + (space == std::string::npos ? "" : g.condition.substr(space))) + "</code>";
    if (!g.source.empty()) leaf += " <span class='dim'>" + escaped(g.source) + "</span>";
    at->leaves.push_back(std::move(leaf));
  }
  return tree(root);
}

}  // namespace tailor::report

namespace tailor {

std::string report_html(const std::vector<FunctionReport>& functions, const std::vector<TraceEvent>& events) {
  std::string out =
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'/><meta name='viewport' content='width=device-width, initial-scale=1'/>"
      "<title>tailor explain</title><style>" +
      std::string(report::kStyle) + "</style></head><body><h1>tailor explain</h1>";
  for (const FunctionReport& f : functions) out += report::section(f, events);
  return out + "</body></html>\n";
}

void save_report(const std::string& path, const std::vector<FunctionReport>& functions) {
  std::ofstream out(path, std::ios::binary);
  out << report_html(functions, trace_events());
  out.close();
  check(!out.fail(), "cannot write the report to ", path);
}

}  // namespace tailor
