#pragma once
// Fewer guards that say the same.

#include <vector>

#include "guards/guard.h"

namespace tailor::guards {

/// Leaves out what the others imply: duplicates; ranges of what has a value; "defined" and the rank beside facts that need them;
/// strides of a dense tensor (they become one layout); patterns over a single tensor; predicates over sizes that are all guarded; the
/// life of captured tensors beside the module epoch, which their death moves on. The order of the rest stays.
std::vector<Guard> simplified(std::vector<Guard> guards);

}  // namespace tailor::guards
