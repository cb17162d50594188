#include "bench/html_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace tailor::bench {
namespace {

template <class... T>
std::string format(const char* pattern, T... values) {
  char text[512];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

/// The rows of each workload by mode, workloads in the order of measuring.
struct Board {
  std::vector<std::string> names;
  std::map<std::string, std::map<std::string, const Row*>> rows;
  explicit Board(const std::vector<Row>& all) {
    for (const Row& row : all) {
      if (!rows.contains(row.workload)) names.push_back(row.workload);
      rows[row.workload][row.mode] = &row;
    }
  }
  const Row* row(const std::string& name, const char* mode) const {
    const auto& modes = rows.at(name);
    const auto found = modes.find(mode);
    return found == modes.end() || !found->second->error.empty() ? nullptr : found->second;
  }
};

constexpr int kLabel = 210, kWidth = 620, kLine = 34;
struct Series {
  const char *mode, *colour;
};
constexpr Series kSeries[] = {{"eager", "#9aa0a6"}, {"compiled", "#1a73e8"}, {"skipped", "#188038"}};

/// Bars of median times on a logarithmic axis, with whiskers from the first to the third quartile.
std::string time_plot(const Board& board) {
  double low = 1e300, high = 0;
  for (const auto& name : board.names) {
    for (const auto& series : kSeries) {
      if (const Row* row = board.row(name, series.mode)) low = std::min(low, row->q1_us), high = std::max(high, row->q3_us);
    }
  }
  if (high == 0) return {};
  const double first = std::floor(std::log10(low)), last = std::max(std::ceil(std::log10(high)), first + 1);
  const auto x = [&](double us) { return kLabel + (std::log10(std::max(us, 1e-6)) - first) / (last - first) * kWidth; };
  const int height = static_cast<int>(board.names.size()) * kLine + 30;
  std::string svg = format("<svg viewBox='0 0 %d %d' role='img'>", kLabel + kWidth + 60, height);
  for (double decade = first; decade <= last; ++decade) {
    const double at = x(std::pow(10, decade));
    svg += format("<line x1='%.1f' x2='%.1f' y1='0' y2='%d' class='grid'/><text x='%.1f' y='%d' class='tick'>%g us</text>", at, at,
                  height - 20, at, height - 6, std::pow(10, decade));
  }
  double y = 4;
  for (const auto& name : board.names) {
    svg += format("<text x='%d' y='%.1f' class='name'>%s</text>", kLabel - 8, y + 17, name.c_str());
    double bar = y;
    for (const auto& series : kSeries) {
      if (const Row* row = board.row(name, series.mode)) {
        svg += format("<rect x='%d' y='%.1f' width='%.1f' height='8' fill='%s'><title>%s %s: %.3f us</title></rect>", kLabel, bar,
                      x(row->us) - kLabel, series.colour, name.c_str(), series.mode, row->us);
        svg += format("<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='whisker'/>", x(row->q1_us), x(row->q3_us), bar + 4, bar + 4);
      }
      bar += 9;
    }
    y += kLine;
  }
  return svg + "</svg>";
}

/// What the first compiled call spent its time on.
std::string first_call_plot(const Board& board) {
  double high = 0;
  for (const auto& name : board.names) {
    if (const Row* row = board.row(name, "compiled")) high = std::max(high, row->first_call_ms);
  }
  if (high == 0) return {};
  const int height = static_cast<int>(board.names.size()) * 18 + 10;
  std::string svg = format("<svg viewBox='0 0 %d %d' role='img'>", kLabel + kWidth + 90, height);
  double y = 4;
  for (const auto& name : board.names) {
    const Row* row = board.row(name, "compiled");
    if (row == nullptr) continue;
    const Stats& s = row->stats;
    const double known = s.passes_ms + s.lower_ms + s.llvm_ms + s.link_ms;
    const std::tuple<const char*, const char*, double> parts[] = {
        {"recording and running", "#9aa0a6", std::max(0.0, row->first_call_ms - known)},
        {"passes", "#fbbc04", s.passes_ms},
        {"lowering", "#f29900", s.lower_ms},
        {"LLVM", "#d93025", s.llvm_ms},
        {"linking", "#a142f4", s.link_ms}};
    svg += format("<text x='%d' y='%.1f' class='name'>%s</text>", kLabel - 8, y + 11, name.c_str());
    double at = kLabel;
    for (const auto& [what, colour, ms] : parts) {
      const double width = ms / high * kWidth;
      svg += format("<rect x='%.1f' y='%.1f' width='%.2f' height='12' fill='%s'><title>%s: %.2f ms</title></rect>", at, y, width, colour,
                    what, ms);
      at += width;
    }
    svg += format("<text x='%.1f' y='%.1f' class='value'>%.1f ms</text>", at + 5, y + 11, row->first_call_ms);
    y += 18;
  }
  return svg + "</svg>";
}

std::string table(const Board& board) {
  std::string html =
      "<table><tr><th>workload<th>eager us<th>compiled us<th>skipped us<th>eager / compiled<th>first call ms<th>kernels<th>break-even "
      "calls</tr>";
  for (const auto& name : board.names) {
    const Row *eager = board.row(name, "eager"), *compiled = board.row(name, "compiled"), *skipped = board.row(name, "skipped");
    const auto cell = [](const Row* row) { return row ? format("<td>%.3f", row->us) : std::string("<td>-"); };
    html += "<tr><td>" + name + cell(eager) + cell(compiled) + cell(skipped);
    html += eager && compiled ? format("<td>%.2f", eager->us / compiled->us) : "<td>-";
    if (compiled)
      html += format("<td>%.2f<td>%d<td>%.0f", compiled->first_call_ms, compiled->stats.kernels, compiled->stats.break_even());
    else
      html += "<td>-<td>-<td>-";
    html += "</tr>";
  }
  html += "</table>";
  for (const auto& name : board.names) {
    for (const auto& [mode, row] : board.rows.at(name)) {
      if (!row->error.empty()) html += "<p class='error'>" + name + ", " + mode + ": " + escaped(row->error) + "</p>";
    }
  }
  return html;
}

}  // namespace

std::string html_report(const std::vector<Row>& rows, const std::string& machine, int threads) {
  const Board board(rows);
  std::string legend;
  for (const auto& series : kSeries) legend += format("<span style='color:%s'>&#9632;</span> %s &nbsp; ", series.colour, series.mode);
  return "<!doctype html><html lang='en'><meta charset='utf-8'><title>tailor bench</title><style>"
         "body{font:14px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#202124}"
         "table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:3px 8px;border-bottom:1px solid "
         "#dadce0;text-align:right}"
         "th:first-child,td:first-child{text-align:left}svg{width:100%;height:auto}.grid{stroke:#dadce0}.whisker{stroke:#202124;stroke-"
         "width:1.5}"
         ".tick{font-size:10px;text-anchor:middle;fill:#5f6368}.name{font-size:11px;text-anchor:end}.value{font-size:10px;fill:#5f6368}."
         "error{color:#d93025}"
         "</style><h1>tailor bench</h1><p>" +
         escaped(machine) + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
         ". Medians of one call; whiskers from the first to the third quartile. Modes were measured in turn. First calls " +
         std::string(std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.warm; }) ? "found their kernels on disk"
                                                                                                : "compiled their kernels") +
         ".</p><h2>Time of a "
         "call</h2><p>" +
         legend + "</p>" + time_plot(board) + "<h2>First call</h2><p>Recording and running, passes, lowering, LLVM, linking.</p>" +
         first_call_plot(board) + "<h2>Numbers</h2>" + table(board) + "</html>\n";
}

}  // namespace tailor::bench
