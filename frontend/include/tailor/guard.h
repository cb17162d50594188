#pragma once
// A guard as plain data, for options that change what compiled functions rely on.
//
//   auto f = tailor::compile(step, {.guard_filter = [](const tailor::Guard& g) { return g.kind != "requires_grad"; },
//                                   .guard_relax = [](tailor::Guard& g) { if (g.kind == "size" && g.dim == 0) g.relax(1, 512); }});

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tailor {

/// One fact that an entry, or a plan for skipping the body, relies on.
struct Guard {
  std::string kind;       // "dtype", "size", "stride", "scalar value", "text", "ambient state", ... as explain() prints it
  std::string path;       // args[0].weights["w"]
  std::string condition;  // args[0].size(0) == 64
  std::string source;     // the line that made it necessary; may be empty
  int dim = -1;           // of sizes and strides
  int64_t expected = 0;   // sizes, strides, flags: the value; floating-point numbers: their bits
  bool skipping = false;  // of a plan for skipping; otherwise of an entry, whose ops are compared one by one in every call all the same
  bool keeps = false;     // code that runs without it could touch memory that is not its own: it is kept, whatever the filter says

  struct Range {
    int64_t min = 0, max = INT64_MAX;
  };
  std::optional<Range> relaxed;
  /// Any value from `min` to `max` will do, the recorded one among them. A size of an entry becomes symbolic: code for all sizes. An
  /// integer of a plan for skipping is not looked at any more within the range: right where it only steers branches that go the same
  /// way. Ignored, and logged, for other kinds, and for sizes of plans, which follow those of the entry.
  void relax(int64_t min, int64_t max) { relaxed = Range{min, max}; }
};

/// False drops the guard: calls that differ in nothing else share the entry, or the plan.
using GuardFilter = std::function<bool(const Guard&)>;
/// May call Guard::relax.
using GuardRelax = std::function<void(Guard&)>;

/// In which order the parts of an entry's guards are checked. Costs and failures are measured as calls fail to match.
enum class GuardOrder : uint8_t {
  Expected,   // least expected time: cost over failure probability, ascending
  Product,    // cost times failure probability, descending
  Insertion,  // as the facts were found
};

}  // namespace tailor
