#pragma once
// A path of a trace tree with all that user code did on it, so that it can be followed in other sizes without user code.

#include <string>
#include <vector>

#include "frontend/follow/trace.h"
#include "frontend/size_reads.h"

namespace tailor::follow {

struct SymbolicPath {
  std::vector<Step*> steps;                  // its ops, in order; a single segment
  Step* end = nullptr;                       // Return
  std::vector<std::vector<ir::Attr>> attrs;  // by step; where `sizes` has a use of it, the value of the recorded call
  std::vector<int64_t> scalars;              // by number along the path, likewise
  std::vector<int> externals;                // by number: which argument; -1 for what is captured
  SizeFacts sizes;
};

}  // namespace tailor::follow
