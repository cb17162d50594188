#pragma once
// Which ops become one loop nest.
//
// A group is computed in one pass over its *domain*: the sizes (without ones) of its widest values. Values of a group are wide (one
// element for each point of the domain), or narrow: what remains after the group's reductions, which all fold the same dims.
// Everything else a group reads (through views, broadcasts, slices) it evaluates or loads at the coordinates it needs.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ir/graph.h"
#include "ir/memory.h"

namespace tailor::jit {

/// What a node is to fusion.
enum class Role : uint8_t {
  None,         // placeholder, scalar, constant; views, which are only index maps; empty
  Elementwise,  // one result element from the same element of the operands
  Moved,        // elements of the operands, or a constant, from other coordinates: pad, flip, roll, cat
  Reduction,    // folds dims
  Effect,       // an elementwise write to the memory of operand 0
  Library,      // a call of a kernel
};
Role role_of(const ir::Graph& graph, const ir::Node& node);

/// A movement or creation for whose sake alone no nest is written: a kernel does it as well.
bool is_kernel_alone(const ir::Graph& graph, const ir::Node& node);

/// A composite op that is called as it is: its kernel never builds the large intermediates that its decomposition names.
bool is_called_whole(const ir::Node& node);

/// Sizes without ones.
std::vector<int64_t> squeezed(IntArrayRef sizes);

/// The dims that a Reduction node folds, as bits over its operand's dims, and over its operand's squeezed dims.
uint32_t reduced_mask(const ir::Graph& graph, const ir::Node& node);
uint32_t squeezed_mask(IntArrayRef sizes, uint32_t mask);

/// A reduction over so few elements that it is written out: then it is elementwise.
bool is_expanded(const ir::Graph& graph, const ir::Node& node);

/// A loop over so few fields of records, beside rows that are folded, is written out (unroll_fields).
constexpr int64_t kMostFields = 4;

/// Rows that a pass over both dims of a matrix takes at once.
constexpr int64_t kRowsAtOnce = 8;

/// A fold over parts of the rows of a large matrix: it reads a contiguous [m, n] through a view [parts, m / parts, n] and folds the
/// middle. Its group may fold the columns as well.
bool folds_parts_of_rows(const ir::Graph& graph, const ir::Node& node);

struct Group {
  std::vector<int> nodes;  // in program order
  bool library = false;    // its one node is a library call
  int anchor = -1;         // the contraction among its nodes whose epilogue the others are (jit/contraction.h)
  std::vector<int64_t> domain;
  uint32_t mask = 0;                // domain dims folded by its reductions
  int64_t row_parts = 0;            // where it folds rows too (folds_parts_of_rows): into how many parts they fall
  std::vector<ir::ValueId> stored;  // fresh values that it leaves in memory
};

struct FuseOptions {
  bool alone = false;       // every node its own group
  std::map<int, int> part;  // nodes of different parts are never in one group (0 where nothing is said)
  std::set<int> library;    // nodes that become library calls
};

/// The groups in order of execution; every node that does something is in at least one (cheap producers may be in several).
std::vector<Group> fuse(const ir::Graph& graph, const ir::MemoryMap& memory, const FuseOptions& options = {});

}  // namespace tailor::jit
