#pragma once
// Logging by channel, off unless asked for:
//
//   TAILOR_LOGS="guards,recompiles"      these two
//   TAILOR_LOGS="+cache,fusion"          cache in every detail
//   TAILOR_LOGS="all"
//
//   if (log_enabled(LogChannel::Guards)) log(LogChannel::Guards, "layer/0", "args[0].size(0) == 4 failed, got 8 (model.cpp:3)");

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace tailor {

enum class LogChannel : uint8_t { Guards, Recompiles, GraphBreaks, Graph, Fusion, Code, Perf, Cache };
inline constexpr int kLogChannels = 8;
enum class LogLevel : uint8_t { Info, Debug };

namespace detail {
extern std::atomic<uint32_t> log_mask;  // bit c: channel c at Info; bit 16 + c: at Debug too
}

/// One load.
inline bool log_enabled(LogChannel channel, LogLevel level = LogLevel::Info) {
  return ((detail::log_mask.load(std::memory_order_relaxed) >> (static_cast<int>(channel) + 16 * static_cast<int>(level))) & 1u) != 0;
}

/// One line to standard error, tagged with the channel and `tag` (function and compile id). Nothing when the channel is off.
void log(LogChannel channel, std::string_view tag, std::string_view text, LogLevel level = LogLevel::Info);
/// The same under the tag of the innermost LogTag of this thread; `otherwise` where there is none.
void log_here(LogChannel channel, std::string_view otherwise, std::string_view text, LogLevel level = LogLevel::Info);
/// A warning that is shown whatever the channels are.
void log_warning(std::string_view tag, std::string_view text);

/// What this thread works on, for lines logged by code that does not know it: "layer/0/1" (function, entry, attempt). The text is only
/// made when a line is logged.
class LogTag {
 public:
  using Make = std::string (*)(const void* what);
  LogTag(const void* what, Make make) noexcept;
  LogTag(const LogTag&) = delete;
  LogTag& operator=(const LogTag&) = delete;
  ~LogTag();
  /// The innermost one's; empty where there is none.
  static std::string current();

 private:
  const void* what_;
  Make make_;
  const LogTag* outer_;
};

/// As the variable: replaces the channels. Throws Error for an unknown name.
void set_logs(std::string_view channels);

/// Gets the lines instead of standard error (tests); null restores it.
using LogSink = void (*)(LogChannel channel, std::string_view tag, std::string_view text);
void set_log_sink(LogSink sink);
/// The same for warnings.
using WarningSink = void (*)(std::string_view tag, std::string_view text);
void set_warning_sink(WarningSink sink);

std::string_view to_string(LogChannel channel);

}  // namespace tailor
