#pragma once
// Whether a call that matches no entry is compiled: recompile storms, and patterns that have come often enough to pay.

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "guards/descriptor.h"
#include "tailor/compile.h"

namespace tailor::detail {

/// Why a call ran as plain eager code.
enum class EagerReason : uint8_t { AtLimit, AtTotalLimit, Storm, NotWorthIt, OtherThread, Stance };
inline constexpr int kEagerReasons = 6;
const char* to_string(EagerReason reason);

/// Finds the guard that fails again and again. Thread-safe.
class StormDetector {
 public:
  /// Notes the guard that made a call be compiled again. The first time that it has done so more than `limit` times: what to say.
  std::optional<Storm> note(const MissRecord& miss, int limit);
  bool under_way() const { return under_way_.load(std::memory_order_relaxed); }
  std::vector<Storm> storms() const;
  void clear();

 private:
  struct Site {
    Storm storm;
    bool told = false;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Site> sites_;
  std::atomic<bool> under_way_{false};
};

/// The one warning about a storm: the guard, the values, what to do, what happens from now on.
std::string storm_text(const Storm& storm, const std::string& function, StormPolicy policy);
/// The same where it is an attribute of a step that has made one path after another.
std::string path_storm_text(const Storm& storm, const std::string& function);

/// Milliseconds and microseconds that decide whether compiling pays.
struct CallCosts {
  double compile_us = 0;   // of one entry
  double eager_us = 0;     // of one call
  double compiled_us = 0;  // of one call; 0: not known
};

/// Calls after which compiling has paid: C_compile / (C_eager - C_compiled), where what is not known yet is guessed: that compiled code
/// takes half the time. Infinite when it never pays.
double break_even_calls(const CallCosts& costs);

/// Counts the kinds of calls that match no entry. Thread-safe; remembers the last kinds only.
class PatternCounter {
 public:
  struct Seen {
    uint64_t calls = 0;
    double eager_us = 0;  // of these, all together
  };
  Seen seen(uint64_t pattern) const;
  void ran(uint64_t pattern, double eager_us);
  void forget(uint64_t pattern);
  void clear();

 private:
  static constexpr size_t kMost = 1024;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Seen> seen_;
};

/// Equal for calls of one kind: descriptions of tensors, structure, modes, kinds of numbers. Values of numbers count only for skipping.
uint64_t pattern_of(const guards::CallDescriptor& call, bool with_numbers);

/// Compiling costs and gains of the process so far: what a function without a past of its own goes by.
CallCosts typical_costs();
void note_compile_cost(double us);

}  // namespace tailor::detail
