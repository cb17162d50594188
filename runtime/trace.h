#pragma once
// Spans of what the library does, for the viewers of Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev):
//
//   TAILOR_TRACE=run.json ./program           the whole run, written when the process ends
//
//   start_trace();                            a part of it
//   ...
//   save_trace("part.json");                  or trace_events(): data
//
// While off, a span is one load. Categories: call, guard (look-up), follow, trace (recording), eager, compile, passes, lower, llvm, link,
// kernel; instants: miss, evict, storm.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tailor {

using TraceArgs = std::vector<std::pair<std::string, std::string>>;

struct TraceEvent {
  std::string category, name;
  TraceArgs args;
  int thread = 0;                    // numbered in order of first event
  int64_t begin_ns = 0, end_ns = 0;  // since start_trace(); equal for an instant
  bool instant = false;
};

namespace detail {
extern std::atomic<bool> trace_on;
int64_t trace_clock() noexcept;
void record_trace(TraceEvent event) noexcept;
}  // namespace detail

inline bool tracing() { return detail::trace_on.load(std::memory_order_relaxed); }
/// Forgets what was recorded and records from now on. A thread keeps at most a million events; those dropped are counted in the JSON.
void start_trace();
/// Spans under way are dropped.
void stop_trace();
/// All events so far: by thread, then in order of their begin, a span before those inside it.
std::vector<TraceEvent> trace_events();
/// The events as Chrome's JSON object format, with one "B" and one "E" for each span.
std::string trace_json();
/// Throws Error when the file cannot be written.
void save_trace(const std::string& path);

/// A span from here to the end of the scope.
class TraceSpan {
 public:
  TraceSpan(const char* category, const char* name) {
    if (tracing()) [[unlikely]]
      begin(category, name);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (event_ != nullptr) [[unlikely]]
      end();
  }
  /// Whether it is recorded: arguments are only worth making then.
  bool on() const { return event_ != nullptr; }
  void arg(std::string key, std::string value);
  void rename(std::string name);

 private:
  void begin(const char* category, const char* name);
  void end() noexcept;
  TraceEvent* event_ = nullptr;
};

/// A point in time.
void trace_instant(std::string category, std::string name, TraceArgs args);

}  // namespace tailor
