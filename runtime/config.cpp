#include "runtime/config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

#include "runtime/error.h"

namespace tailor {

static std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

static std::optional<long> number(const char* name, long low, long high) {
  const std::string value = text(name);
  if (value.empty()) return std::nullopt;
  long n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  check(error == std::errc() && end == value.data() + value.size() && n >= low && n <= high, name, ": expected a number from ", low, " to ",
        high, ", got \"", value, "\"");
  return n;
}

static std::optional<int64_t> bytes(const char* name) {
  const std::string value = text(name);
  if (value.empty()) return std::nullopt;
  constexpr std::string_view kUnits = "KMG";
  int64_t n = 0;
  const char* const last = value.data() + value.size();
  auto [end, error] = std::from_chars(value.data(), last, n);
  const size_t unit = end == last ? std::string_view::npos : kUnits.find(*end);
  const int shift = unit == std::string_view::npos ? 0 : 10 * static_cast<int>(unit + 1);
  if (unit != std::string_view::npos) ++end;
  check(error == std::errc() && end == last && n >= 0 && n <= (int64_t{1} << 53) >> shift, name,
        ": expected a number of bytes like 500M or 2G, got \"", value, "\"");
  return n << shift;
}

static int default_threads() {
  if (const auto n = number("TAILOR_NUM_THREADS", 1, 4096)) return static_cast<int>(*n);
  // Others' variable: OpenMP also allows lists ("4,2"); what is no number here is not our error.
  const std::string omp = text("OMP_NUM_THREADS");
  int n = 0;
  std::from_chars(omp.data(), omp.data() + omp.size(), n);
  if (n >= 1) return n;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

static std::string default_cache_dir() {
  if (std::string dir = text("TAILOR_CACHE_DIR"); !dir.empty()) return dir;
  if (std::string dir = text("XDG_CACHE_HOME"); !dir.empty()) return dir + "/tailor";
  if (std::string dir = text("HOME"); !dir.empty()) return dir + "/.cache/tailor";
  return "";
}

static Config read() {
  Config c;
  c.num_threads = default_threads();
  c.logs = text("TAILOR_LOGS");
  c.trace = text("TAILOR_TRACE");
  c.isa = text("TAILOR_ISA");
  check(c.isa.empty() || c.isa == "avx512" || c.isa == "avx2" || c.isa == "sse2", "TAILOR_ISA: expected avx512, avx2 or sse2, got \"",
        c.isa, "\"");
  c.artifact_cache = text("TAILOR_CACHE") != "0";
  c.check_bindings = text("TAILOR_CHECK_BINDINGS") == "1";
  c.cache_dir = default_cache_dir();
  if (const auto limit = bytes("TAILOR_CACHE_SIZE")) c.cache_bytes = *limit;
  const size_t physical = static_cast<size_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  c.allocator_cache_bytes = std::min<size_t>(physical / 4, size_t{8} << 30);
  if (const auto mb = number("TAILOR_ALLOC_CACHE_MB", 0, 1L << 30)) c.allocator_cache_bytes = static_cast<size_t>(*mb) << 20;
  return c;
}

const Config& config() {
  static const Config* const c = new Config(read());
  return *c;
}

}  // namespace tailor
