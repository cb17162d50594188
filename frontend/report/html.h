#pragma once
// Pieces of the report's page. Every tag that is opened is closed: the page is XML, too.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tailor/report.h"

namespace tailor::report {

/// Text as it may stand in the page, also within an attribute; what is no UTF-8 becomes '?'.
std::string escaped(std::string_view text);
/// "12.3 us", "4.56 ms"
std::string duration(int64_t ns);

/// One call with what happened inside it.
struct Call {
  const TraceEvent* span = nullptr;
  std::vector<const TraceEvent*> inside;  // in order of their begin
  int number = 0;                         // within the function, from 0
  std::string outcome, entry;
  /// What colours it: hit, skipped, miss, eager, path, other.
  std::string_view kind() const;
};
/// The calls of a function, in order of time, and its misses.
struct Life {
  std::vector<Call> calls;
  std::vector<const TraceEvent*> misses, notices;  // notices: evictions, storms, what was lifted
};
Life life_of(const std::string& function, const std::vector<TraceEvent>& events);
std::string_view argument(const TraceEvent& event, std::string_view key);

/// A chart of all calls over time, and each call's phases.
std::string timeline(const Life& life);
/// How many misses there were by which call, and each miss with what to do about it.
std::string misses(const Life& life, const Stats& stats);
/// Conditions as a tree over what they read.
std::string guard_tree(const std::vector<Explanation::GuardText>& guards);

extern const std::string_view kStyle;

}  // namespace tailor::report
