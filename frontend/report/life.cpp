// From trace events to the life of a function's calls, drawn.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "frontend/report/html.h"

namespace tailor::report {
namespace {

template <class... T>
std::string format(const char* pattern, T... values) {
  char text[256];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

constexpr size_t kMostCalls = 240;

/// All misses and what is around the beginning and the end: a page of thousands of hits helps nobody.
std::vector<const Call*> shown(const std::vector<Call>& calls) {
  std::vector<const Call*> chosen;
  const bool all = calls.size() <= kMostCalls;
  for (size_t i = 0; i < calls.size(); ++i) {
    const bool edge = i < kMostCalls / 4 || i + kMostCalls / 4 >= calls.size();
    const bool hit = calls[i].kind() == "hit" || calls[i].kind() == "skipped";
    if (all || edge || (!hit && chosen.size() < 2 * kMostCalls)) chosen.push_back(&calls[i]);
  }
  return chosen;
}

std::string phases(const Call& call) {
  const int64_t begin = call.span->begin_ns, length = std::max<int64_t>(call.span->end_ns - begin, 1);
  std::string bar =
      "<svg class='bar' viewBox='0 0 1000 14' preserveAspectRatio='none' role='img'><rect class='k-other' x='0' y='0' "
      "width='1000' height='14'/>";
  for (const TraceEvent* e : call.inside) {
    if (e->instant) continue;
    const double x = 1000.0 * static_cast<double>(e->begin_ns - begin) / static_cast<double>(length);
    const double width = std::max(1000.0 * static_cast<double>(e->end_ns - e->begin_ns) / static_cast<double>(length), 1.0);
    bar += format("<rect x='%.1f' y='0' width='%.1f' height='14' ", x, width) + "class='p-" + escaped(e->category) + "'><title>" +
           escaped(e->category + ": " + e->name) + ", " + duration(e->end_ns - e->begin_ns) + "</title></rect>";
  }
  return bar + "</svg>";
}

/// Spans inside each other as lists inside each other.
std::string spans(const Call& call) {
  std::string out = "<ul>";
  std::vector<const TraceEvent*> open;
  for (const TraceEvent* e : call.inside) {
    while (!open.empty() && open.back()->end_ns <= e->begin_ns && !(e->instant && open.back()->end_ns == e->begin_ns)) {
      out += "</ul></li>";
      open.pop_back();
    }
    out += "<li><span class='tag p-" + escaped(e->category) + "'>" + escaped(e->category) + "</span> " + escaped(e->name);
    if (e->instant) {
      out += "</li>";
      continue;
    }
    out += " <b>" + duration(e->end_ns - e->begin_ns) + "</b><ul>";
    open.push_back(e);
  }
  for (size_t i = 0; i < open.size(); ++i) out += "</ul></li>";
  out += "</ul>";
  // A list of nothing is not drawn.
  for (size_t at; (at = out.find("<ul></ul>")) != std::string::npos;) out.erase(at, 9);
  return out;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = byte < 0x80                   ? 1
                          : byte >= 0xc2 && byte < 0xe0 ? 2
                          : byte >= 0xe0 && byte < 0xf0 ? 3
                          : byte >= 0xf0 && byte < 0xf5 ? 4
                                                        : 0;
    bool valid = length > 0 && i + length <= text.size();
    for (size_t k = 1; valid && k < length; ++k) valid = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    if (!valid || (byte < 0x20 && byte != '\n' && byte != '\t')) {
      out += '?';
      ++i;
      continue;
    }
    switch (byte) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

std::string duration(int64_t ns) {
  if (ns < 1'000'000) return format("%.2f us", static_cast<double>(ns) / 1e3);
  return format("%.2f ms", static_cast<double>(ns) / 1e6);
}

std::string_view argument(const TraceEvent& event, std::string_view key) {
  for (const auto& [k, v] : event.args)
    if (k == key) return v;
  return {};
}

std::string_view Call::kind() const {
  if (outcome.starts_with("hit")) return "hit";
  if (outcome.starts_with("skipped")) return "skipped";
  if (outcome.find("ran eagerly") != std::string::npos) return "eager";
  if (outcome.starts_with("miss")) return "miss";
  if (outcome.starts_with("entry hit")) return "path";
  return "other";
}

Life life_of(const std::string& function, const std::vector<TraceEvent>& events) {
  Life life;
  for (size_t i = 0; i < events.size(); ++i) {
    const TraceEvent& e = events[i];
    if (argument(e, "function") != function) continue;
    if (e.category == "miss") life.misses.push_back(&e);
    if (e.category == "storm" || e.category == "evict") life.notices.push_back(&e);
    if (e.category != "call") continue;
    Call call;
    call.span = &e;
    call.outcome = argument(e, "outcome");
    if (call.outcome.empty()) call.outcome = "ended with an exception";
    call.entry = argument(e, "entry");
    for (size_t k = i + 1; k < events.size() && events[k].thread == e.thread && events[k].begin_ns <= e.end_ns; ++k) {
      if (events[k].category == "call") break;
      call.inside.push_back(&events[k]);
    }
    life.calls.push_back(std::move(call));
  }
  std::stable_sort(life.calls.begin(), life.calls.end(), [](const Call& a, const Call& b) { return a.span->begin_ns < b.span->begin_ns; });
  for (size_t i = 0; i < life.calls.size(); ++i) life.calls[i].number = static_cast<int>(i);
  const auto earlier = [](const TraceEvent* a, const TraceEvent* b) { return a->begin_ns < b->begin_ns; };
  std::stable_sort(life.misses.begin(), life.misses.end(), earlier);
  std::stable_sort(life.notices.begin(), life.notices.end(), earlier);
  return life;
}

std::string timeline(const Life& life) {
  if (life.calls.empty()) return "<p>No call was traced: begin with tailor::start_trace() or TAILOR_TRACE.</p>";
  // One column a call, as high as the logarithm of its time: microseconds and milliseconds in one picture.
  const std::vector<const Call*> calls = shown(life.calls);
  const double step = std::clamp(320.0 / static_cast<double>(calls.size()), 8.0, 24.0), height = 120;
  const double width = step * static_cast<double>(calls.size()) + 46;
  std::string svg = format("<div class='scroll'><svg class='chart' width='%.0f' height='%.0f' viewBox='0 -8 %.0f %.0f' role='img'>", width,
                           height + 12, width, height + 12);
  const double lowest = 2, highest = 8;  // powers of ten, in nanoseconds
  for (int power = 3; power <= 8; ++power) {
    const double y = height * (1 - (power - lowest) / (highest - lowest));
    const char* labels[] = {"1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms"};
    svg += format("<line class='grid' x1='40' x2='%.0f' y1='%.1f' y2='%.1f'/><text x='36' y='%.1f'>%s</text>", width, y, y, y + 3,
                  labels[power - 3]);
  }
  double x = 44;
  for (const Call* call : calls) {
    const double ns = std::max<double>(static_cast<double>(call->span->end_ns - call->span->begin_ns), 1);
    const double part = std::clamp((std::log10(ns) - lowest) / (highest - lowest), 0.02, 1.0);
    svg += format("<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' ", x, height * (1 - part), step - 2, height * part) + "class='k-" +
           std::string(call->kind()) + "'><title>call " + std::to_string(call->number) + ": " + escaped(call->outcome) + ", " +
           duration(call->span->end_ns - call->span->begin_ns) + "</title></rect>";
    x += step;
  }
  svg += "</svg></div>";
  svg +=
      "<p class='legend'><span class='tag k-hit'>hit</span> <span class='tag k-skipped'>skipped</span> <span class='tag "
      "k-miss'>miss</span> "
      "<span class='tag k-path'>new path or op by op</span> <span class='tag k-eager'>eager</span></p>";
  if (calls.size() < life.calls.size())
    svg += "<p>" + std::to_string(life.calls.size()) + " calls; shown are the first, the last and those that were no hits.</p>";
  std::string list;
  for (const Call* call : calls) {
    list += "<details><summary><span class='tag k-" + std::string(call->kind()) + "'>" + std::to_string(call->number) + "</span> " +
            escaped(call->outcome) + (call->entry.empty() ? "" : ", entry " + escaped(call->entry)) + " <b>" +
            duration(call->span->end_ns - call->span->begin_ns) + "</b></summary>" + phases(*call) + spans(*call) + "</details>";
  }
  return svg + "<details class='fold'><summary>Each call</summary>" + list + "</details>";
}

std::string misses(const Life& life, const Stats& stats) {
  std::string out;
  if (!life.calls.empty() && !life.misses.empty()) {
    const double width = 600, height = 80, count = static_cast<double>(life.calls.size());
    const double most = static_cast<double>(life.misses.size());
    std::string points = format("0,%.0f", height);
    size_t next = 0;
    for (const Call& call : life.calls) {
      const double before = static_cast<double>(next);
      while (next < life.misses.size() && life.misses[next]->begin_ns <= call.span->end_ns) ++next;
      const double x = width * static_cast<double>(call.number) / count;
      points += format(" %.1f,%.1f %.1f,%.1f", x, height * (1 - before / most), x, height * (1 - static_cast<double>(next) / most));
    }
    points += format(" %.0f,%.1f", width, height * (1 - static_cast<double>(next) / most));
    out += "<svg class='chart wide' viewBox='-2 -4 604 90' role='img'><polyline class='line' points='" + points +
           "'/></svg><p class='axis dim'><span>call 0</span><span>" + std::to_string(life.misses.size()) + " by call " +
           std::to_string(life.calls.size() - 1) + "</span></p>";
  }
  std::string said;  // misses in a row for one reason have one suggestion
  const auto row = [&](std::string_view guard, std::string_view actual, std::string_view source, std::string_view suggestion,
                       std::string_view then) {
    out += "<li><code>" + escaped(guard) + "</code> failed: got <code>" + escaped(actual) + "</code>";
    if (!source.empty()) out += "<span class='dim'>, first needed at " + escaped(source) + "</span>";
    if (!then.empty()) out += "<span class='dim'>; " + escaped(then) + "</span>";
    if (!suggestion.empty() && suggestion != std::exchange(said, suggestion))
      out += "<br/><span class='hint'>" + escaped(suggestion) + "</span>";
    out += "</li>";
  };
  out += "<ol class='misses'>";
  constexpr size_t kMost = 100;
  for (size_t i = life.misses.size() > kMost ? life.misses.size() - kMost : 0; i < life.misses.size(); ++i) {
    const TraceEvent& m = *life.misses[i];
    row(argument(m, "guard"), argument(m, "actual"), argument(m, "source"), argument(m, "suggestion"), argument(m, "then"));
  }
  if (life.misses.empty())
    for (const MissRecord& m : stats.recent_misses) row(m.guard, m.actual, m.source, m.suggestion, "");
  out += "</ol>";
  if (life.misses.empty() && stats.recent_misses.empty()) return "<p>None but the first call.</p>";
  return out;
}

}  // namespace tailor::report
