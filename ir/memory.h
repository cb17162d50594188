#pragma once
// Which values of a graph share memory, and what each node does to it.

#include <vector>

#include "ir/graph.h"

namespace tailor::ir {

/// A class of values that may share memory: a fresh value with its views and in-place results, or an alias group of placeholders.
using MemoryId = int;

class MemoryMap {
 public:
  explicit MemoryMap(const Graph& graph);
  MemoryId of(ValueId v) const { return memory_[static_cast<size_t>(v)]; }
  /// The value whose memory `v` is a view or in-place result of; `v` itself when it has memory of its own.
  ValueId root(ValueId v) const { return root_[static_cast<size_t>(v)]; }
  /// Bytes from the root's first element to the value's, without those of `offset_scalar`.
  int64_t byte_offset(ValueId v) const { return byte_offset_[static_cast<size_t>(v)]; }
  /// The Scalar node's value that adds further elements of the value's dtype (a view whose position varies), or -1.
  ValueId offset_scalar(ValueId v) const { return offset_scalar_[static_cast<size_t>(v)]; }
  bool is_external(MemoryId m) const { return info_[static_cast<size_t>(m)].external; }
  bool is_written(MemoryId m) const { return info_[static_cast<size_t>(m)].writes > 0; }
  bool is_constant(MemoryId m) const { return info_[static_cast<size_t>(m)].constant; }
  bool is_output(MemoryId m) const { return info_[static_cast<size_t>(m)].outputs > 0; }
  /// How many graph outputs are this memory.
  int outputs(MemoryId m) const { return info_[static_cast<size_t>(m)].outputs; }
  size_t count() const { return info_.size(); }
  /// True when both are the same elements of the same memory.
  bool same_place(const Graph& graph, ValueId a, ValueId b) const;

 private:
  struct Info {
    bool external = false, constant = false;
    int writes = 0, outputs = 0;
  };
  std::vector<MemoryId> memory_;
  std::vector<ValueId> root_;
  std::vector<int64_t> byte_offset_;
  std::vector<ValueId> offset_scalar_;
  std::vector<Info> info_;
};

/// True when a call of the node writes the memory of operand 0.
bool writes_first_operand(const Node& node);

/// True when the call may throw for some data: an index out of range, integer division by zero.
bool can_fail_on_data(const Graph& graph, const Node& node);

/// True for a call that may be dropped, merged or evaluated early when nobody looks: no write, no failure, not random.
bool is_pure(const Graph& graph, const Node& node);

}  // namespace tailor::ir
