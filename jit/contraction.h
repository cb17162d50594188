#pragma once
// Contractions (matrix products, convolutions) with the pointwise ops that follow them, done part by part while the result is in cache.
//
// The tail is an ordinary pointwise nest over [rows, columns] of one batch of the result. Its extents are run-time sizes, its strides are
// known; it is called for every finished part, with pointers to the part's first column. The contraction's result is rounded to its dtype
// before the tail reads it, so that the bits are those of separate ops.

#include <set>
#include <vector>

#include "jit/fusion.h"
#include "jit/launch.h"
#include "jit/lower.h"
#include "kernels/epilogue.h"

namespace tailor::jit {

/// Gives contractions the groups that alone read their results: such a group then has an `anchor`. Those in `plain` stay library calls.
void attach_tails(const ir::Graph& graph, const ir::MemoryMap& memory, const std::set<int>& plain, std::vector<Group>& groups);

/// Elements from the first element of a buffer to that of a batch or column.
struct TailShift {
  int64_t batch = 0, column = 0;
};

/// A tail's run-time sizes: rows, columns, and what else varies.
constexpr int64_t kMostTailSizes = 64;

struct LoweredTail {
  LoweredNest nest;               // of dims [rows, columns]
  std::vector<TailShift> shifts;  // one per buffer
  ir::ValueId result = -1;        // where the contraction leaves its result: a value that the tail stores over it, or its own
};

/// The tail of a group with an anchor. Throws LoweringError when the ops that follow cannot be an epilogue.
LoweredTail lower_tail(const ir::Graph& graph, const ir::MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index);

/// The call of a contraction's kernel with its tail as epilogue.
struct ContractionLaunch {
  LibraryLaunch call;
  kernels::ContractionKernel kernel = nullptr;
  NestLaunch tail;
  std::vector<TailShift> shifts;
  int64_t rows = 0, columns = 0;  // of a batch
  /// Columns of a row when every operand of the tail goes on from row to row as it does from column to column: whole rows are then one
  /// long one. 0: not so. Chosen once the tail's nest is there.
  int64_t flat_columns = 0;
  void choose_flat_columns();
  /// What the tail reads beside the result, element by element: fetched for the next part while that part is being multiplied.
  struct Ahead {
    size_t buffer;
    Size row;        // elements from row to row
    int64_t column;  // likewise
  };
  std::vector<Ahead> ahead;
  void choose_ahead();
  void run(std::byte* const* bases, const int64_t* scalars, const Packs& packs) const;
};

}  // namespace tailor::jit
