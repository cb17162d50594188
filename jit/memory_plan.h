#pragma once
// Where each value of a graph lives while its launches run.

#include <vector>

#include "ir/memory.h"
#include "jit/executable.h"
#include "jit/fusion.h"

namespace tailor::jit {

struct Location {
  enum class Kind : uint8_t { None, Input, Output, Arena, Constant } kind = Kind::None;
  int index = -1;           // Input: which placeholder; Output: which output; Constant: the node
  int64_t byte_offset = 0;  // Arena
};

/// An output whose values must be copied out of a constant after the launches.
struct OutputCopy {
  int output;
  ir::ValueId from;
};

struct MemoryPlan {
  std::vector<Location> of;  // by value; set for values with memory of their own that something keeps there
  std::vector<OutputPlan> outputs;
  std::vector<OutputCopy> copies;
  std::vector<ir::ValueId> initialized;  // constants that are written: copied into the arena at each run
  int64_t arena_bytes = 0;
};

/// `scalar_index[v]`: as for lower(). Throws InternalError for outputs that share memory in
/// a way that plans cannot say: views of one value at different varying positions.
MemoryPlan plan_memory(const ir::Graph& graph, const ir::MemoryMap& memory, std::span<const Group> groups,
                       const std::vector<int>& scalar_index);

}  // namespace tailor::jit
