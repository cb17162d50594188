#pragma once
// Where each value of a graph lives while its launches run.

#include <span>
#include <vector>

#include "ir/memory.h"
#include "jit/executable.h"
#include "jit/fusion.h"

namespace tailor::jit {

struct Location {
  enum class Kind : uint8_t { None, Input, Output, Arena, Constant } kind = Kind::None;
  int index = -1;  // Input: which placeholder; Output: which output; Arena: which block; Constant: the node
};

/// Temporary memory that one value needs from the launch that writes it to the last one that reads it.
struct Block {
  int first = 0, last = 0;
  int64_t bytes = 0;
};

/// Where in the arena each block lies: those that live at the same time do not overlap. Returns how large the arena must be.
int64_t place_blocks(std::span<const Block> blocks, std::span<int64_t> offsets);

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
  std::vector<Block> blocks;             // of the arena
};

/// `scalar_index[v]`: as for lower(). Throws InternalError for outputs that share memory in
/// a way that plans cannot say: views of one value at different varying positions.
MemoryPlan plan_memory(const ir::Graph& graph, const ir::MemoryMap& memory, std::span<const Group> groups,
                       const std::vector<int>& scalar_index);

}  // namespace tailor::jit
