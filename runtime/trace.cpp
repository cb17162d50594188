#include "runtime/trace.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "runtime/config.h"
#include "runtime/error.h"
#include "runtime/log.h"

namespace tailor {
namespace {

constexpr size_t kMostEvents = size_t{1} << 20;

struct Buffer {
  std::mutex mutex;  // its thread writes, others only look
  std::vector<TraceEvent> events;
  int thread = -1;
  uint64_t dropped = 0;
};

// Never destroyed: threads may end, and the process may be traced, after main.
struct Recorder {
  std::mutex mutex;
  std::vector<std::unique_ptr<Buffer>> buffers;
  int64_t origin = 0;
};
Recorder& recorder() {
  static auto* const one = new Recorder;
  return *one;
}

int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Kept by the recorder for ever: a thread's destructors may still end spans.
Buffer& own_buffer() {
  static constinit thread_local Buffer* own = nullptr;
  if (own == nullptr) {
    auto made = std::make_unique<Buffer>();
    Recorder& all = recorder();
    std::lock_guard lock(all.mutex);
    made->thread = static_cast<int>(all.buffers.size());
    own = made.get();
    all.buffers.push_back(std::move(made));
  }
  return *own;
}

std::string trace_file() noexcept {
  try {
    return config().trace;
  } catch (const std::exception&) { return {}; }  // told where the configuration is used
}

// The variable: recorded from the start, written at the end. A forked child writes a file of its own.
struct WholeRun {
  std::string path = trace_file();
  pid_t process = getpid();
  WholeRun() {
    if (!path.empty()) start_trace();
  }
  ~WholeRun() {
    if (path.empty()) return;
    stop_trace();
    try {
      save_trace(getpid() == process ? path : path + "." + std::to_string(getpid()));
    } catch (const std::exception& error) { log_warning("tailor", std::string("TAILOR_TRACE: ") + error.what()); }
  }
};

}  // namespace

namespace detail {
constinit std::atomic<bool> trace_on{false};

int64_t trace_clock() noexcept { return now_ns(); }

void record_trace(TraceEvent event) noexcept {
  try {
    Buffer& mine = own_buffer();
    std::lock_guard lock(mine.mutex);
    if (mine.events.size() >= kMostEvents) {
      ++mine.dropped;
      return;
    }
    event.thread = mine.thread;
    mine.events.push_back(std::move(event));
  } catch (...) {  // no memory: the event is lost, the program goes on
  }
}
}  // namespace detail

static const WholeRun whole_run;

void start_trace() {
  Recorder& all = recorder();
  std::lock_guard lock(all.mutex);
  for (const auto& buffer : all.buffers) {
    std::lock_guard inner(buffer->mutex);
    buffer->events.clear();
    buffer->dropped = 0;
  }
  all.origin = now_ns();
  detail::trace_on.store(true, std::memory_order_release);
}

void stop_trace() { detail::trace_on.store(false, std::memory_order_release); }

std::vector<TraceEvent> trace_events() {
  std::vector<TraceEvent> events;
  Recorder& all = recorder();
  std::lock_guard lock(all.mutex);
  for (const auto& buffer : all.buffers) {
    std::lock_guard inner(buffer->mutex);
    const size_t first = events.size();
    const int64_t origin = all.origin;
    for (const TraceEvent& e : buffer->events) {
      if (e.begin_ns < origin) continue;  // it was under way when recording began
      events.push_back(e);
      events.back().begin_ns -= origin;
      events.back().end_ns -= origin;
    }
    // Spans are recorded when they end; of two that begin in one tick the outer one was recorded later.
    std::reverse(events.begin() + static_cast<std::ptrdiff_t>(first), events.end());
    std::stable_sort(events.begin() + static_cast<std::ptrdiff_t>(first), events.end(), [](const TraceEvent& a, const TraceEvent& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
  }
  return events;
}

std::string trace_json() {
  using Json = nlohmann::ordered_json;
  uint64_t dropped = 0;
  {
    Recorder& all = recorder();
    std::lock_guard lock(all.mutex);
    for (const auto& buffer : all.buffers) {
      std::lock_guard inner(buffer->mutex);
      dropped += buffer->dropped;
    }
  }
  Json list = Json::array();
  std::vector<const TraceEvent*> open;
  const int process = static_cast<int>(getpid());
  const auto micros = [](int64_t ns) { return static_cast<double>(ns) / 1e3; };
  const auto close = [&](const TraceEvent& e) {
    list.push_back(Json{{"name", e.name}, {"cat", e.category}, {"ph", "E"}, {"ts", micros(e.end_ns)}, {"pid", process}, {"tid", e.thread}});
  };
  const std::vector<TraceEvent> events = trace_events();
  for (const TraceEvent& e : events) {
    while (!open.empty() && (open.back()->thread != e.thread || open.back()->end_ns <= e.begin_ns)) {
      // An instant at the very end of a span belongs into it.
      if (open.back()->thread == e.thread && open.back()->end_ns == e.begin_ns && e.instant) break;
      close(*open.back());
      open.pop_back();
    }
    Json json{{"name", e.name},           {"cat", e.category}, {"ph", e.instant ? "i" : "B"},
              {"ts", micros(e.begin_ns)}, {"pid", process},    {"tid", e.thread}};
    if (e.instant) json["s"] = "t";
    if (!e.args.empty()) {
      Json args;
      for (const auto& [key, value] : e.args) args[key] = value;
      json["args"] = std::move(args);
    }
    list.push_back(std::move(json));
    if (!e.instant) open.push_back(&e);
  }
  for (; !open.empty(); open.pop_back()) close(*open.back());
  const Json json{{"displayTimeUnit", "ns"}, {"otherData", {{"producer", "tailor"}, {"dropped_events", dropped}}}, {"traceEvents", list}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void save_trace(const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  out << trace_json() << '\n';
  out.close();
  check(!out.fail(), "cannot write the trace to ", path);
}

void TraceSpan::begin(const char* category, const char* name) {
  event_ = new TraceEvent;
  event_->category = category;
  event_->name = name;
  event_->begin_ns = detail::trace_clock();
}

void TraceSpan::end() noexcept {
  event_->end_ns = detail::trace_clock();
  if (tracing()) detail::record_trace(std::move(*event_));
  delete event_;
}

void TraceSpan::arg(std::string key, std::string value) {
  if (event_ != nullptr) event_->args.emplace_back(std::move(key), std::move(value));
}
void TraceSpan::rename(std::string name) {
  if (event_ != nullptr) event_->name = std::move(name);
}

void trace_instant(std::string category, std::string name, TraceArgs args) {
  if (!tracing()) return;
  const int64_t now = detail::trace_clock();
  detail::record_trace({std::move(category), std::move(name), std::move(args), 0, now, now, true});
}

}  // namespace tailor
