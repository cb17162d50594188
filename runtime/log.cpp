#include "runtime/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>

#include "runtime/config.h"
#include "runtime/error.h"

namespace tailor {

static constexpr std::array<std::string_view, kLogChannels> kNames = {"guards", "recompiles", "graph_breaks", "graph",
                                                                      "fusion", "code",       "perf",         "cache"};

static constexpr uint32_t kAllInfo = (1u << kLogChannels) - 1;

static std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

static uint32_t parse_channels(std::string_view list) {
  uint32_t mask = 0;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view name = trimmed(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    if (name.empty()) continue;
    const bool debug = name.front() == '+';
    if (debug) name.remove_prefix(1);
    uint32_t bits = 0;
    if (name == "all") bits = kAllInfo;
    for (size_t c = 0; c < kNames.size(); ++c)
      if (kNames[c] == name) bits = 1u << c;
    check(bits != 0, "TAILOR_LOGS: unknown channel \"", name,
          "\", expected guards, recompiles, graph_breaks, graph, fusion, code, perf, cache or all");
    mask |= debug ? bits | bits << 16 : bits;
  }
  return mask;
}

static spdlog::logger& logger() {
  static spdlog::logger* const made = [] {
    auto* l = new spdlog::logger("tailor", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    l->set_pattern("[%H:%M:%S.%e] %^%v%$");
    l->set_level(spdlog::level::debug);
    return l;
  }();
  return *made;
}

static constinit std::atomic<WarningSink> warning_sink{nullptr};

// While the library loads nothing may be thrown: a bad variable is reported and nothing is logged.
static uint32_t initial_mask() noexcept {
  try {
    return parse_channels(config().logs);
  } catch (const std::exception& e) {
    log_warning("tailor", e.what());
    return 0;
  }
}

static constinit std::atomic<LogSink> log_sink{nullptr};
namespace detail {
std::atomic<uint32_t> log_mask{initial_mask()};
}

void log(LogChannel channel, std::string_view tag, std::string_view text, LogLevel level) {
  if (!log_enabled(channel, level)) return;
  if (const LogSink sink = log_sink.load()) return sink(channel, tag, text);
  logger().log(level == LogLevel::Info ? spdlog::level::info : spdlog::level::debug, "{} [{}] {}", to_string(channel), tag, text);
}

void log_here(LogChannel channel, std::string_view otherwise, std::string_view text, LogLevel level) {
  if (!log_enabled(channel, level)) return;
  const std::string tag = LogTag::current();
  log(channel, tag.empty() ? otherwise : std::string_view(tag), text, level);
}

void log_warning(std::string_view tag, std::string_view text) {
  if (const WarningSink sink = warning_sink.load()) return sink(tag, text);
  logger().warn("warning [{}] {}", tag, text);
}

static constinit thread_local const LogTag* innermost_tag = nullptr;
LogTag::LogTag(const void* what, Make make) noexcept : what_(what), make_(make), outer_(innermost_tag) { innermost_tag = this; }
LogTag::~LogTag() { innermost_tag = outer_; }
std::string LogTag::current() { return innermost_tag == nullptr ? std::string() : innermost_tag->make_(innermost_tag->what_); }

void set_logs(std::string_view channels) { detail::log_mask.store(parse_channels(channels)); }
void set_log_sink(LogSink sink) { log_sink.store(sink); }
void set_warning_sink(WarningSink sink) { warning_sink.store(sink); }

std::string_view to_string(LogChannel channel) { return kNames[static_cast<size_t>(channel)]; }

}  // namespace tailor
