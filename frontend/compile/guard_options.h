#pragma once
// CompileOptions::guard_filter, guard_relax, guard_order at work.

#include <optional>
#include <string>
#include <vector>

#include "guards/guard_set.h"
#include "tailor/compile.h"

namespace tailor::detail {

/// What a user's options have changed about one set of guards.
struct GuardChanges {
  uint64_t dropped = 0, relaxed = 0;
  std::vector<std::string> told;  // one line each, for the log
};

/// Lets the user decide about every fact of `set`, then seals it.
GuardChanges seal_as_asked(guards::GuardSet& set, const CompileOptions& options, bool skipping);
/// The range that the user gives to a size of an entry; null for none.
std::optional<guards::DimRange> relaxed_size(const CompileOptions& options, int dim, int64_t size, const std::string& path,
                                             const std::string& source, GuardChanges* changes);

}  // namespace tailor::detail
