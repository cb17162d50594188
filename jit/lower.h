#pragma once
// A fused group as a loop nest.

#include "jit/affine.h"
#include "jit/fusion.h"
#include "jit/loop_nest.h"

namespace tailor::jit {

/// The memory behind a buffer of a nest: a value with memory of its own, and what shifts its first element.
struct NestMemory {
  ir::ValueId root = -1;  // -1: scratch
  int64_t byte_offset = 0;
  ir::ValueId offset_scalar = -1;  // a Scalar node whose value adds elements
  bool written = false;
};

struct LoweredNest {
  LoopNest nest;
  std::vector<NestMemory> memory;  // one per buffer
  int64_t points = 0;              // of the whole iteration space
  int64_t work = 0;                // roughly: element operations
};

/// `scalar_index[v]`: the position of a Scalar node's value among the run-time scalars. Throws LoweringError when the group has to be
/// split. Not `scheduled`: the loops are left as the group's domain has them.
LoweredNest lower(const ir::Graph& graph, const ir::MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index,
                  bool scheduled = true);

/// Orders, merges and marks the loops of a nest and chooses the one whose points are lanes.
void schedule_loops(LoopNest& nest);

/// Writes out a short outer loop (fields of records) beside rows that are folded, when the fields share what they read.
void unroll_fields(LoopNest& nest);

}  // namespace tailor::jit
