#pragma once
// What a kind of guard is: one record per kind, written in kinds/, found by definition().

#include <string>
#include <string_view>

#include "guards/guard.h"

namespace tailor::guards {

struct Definition {
  GuardKind kind;
  std::string_view name;
  std::string_view reads = {};  // of what the path names; {} stands for the dimension: `.size({})`
  double typical_cost;          // nanoseconds
  bool (*holds)(const Guard& guard, const CallDescriptor& call);
  std::string (*condition)(const Guard& guard);
  std::string (*actual)(const Guard& guard, const CallDescriptor& call);
  std::string_view suggestion;  // what a user can do when it fails often
  /// Code that runs although it does not hold may touch memory that it must not: no user may drop it where user code is skipped.
  bool protects_memory = false;
};
const Definition& definition(GuardKind kind);

}  // namespace tailor::guards
