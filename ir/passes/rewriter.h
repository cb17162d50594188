#pragma once
// Copies a graph node by node under a mapping of values; a pass decides what happens to each node.

#include "ir/graph.h"

namespace tailor::ir {

class Rewriter {
 public:
  explicit Rewriter(const Graph& from);
  /// The new value of an old one.
  ValueId map(ValueId v) const { return map_[static_cast<size_t>(v)]; }
  void set(ValueId from, ValueId to) { map_[static_cast<size_t>(from)] = to; }
  Value map(const Value& v) const { return v.is_tensor() ? Value(map(v.tensor)) : v; }
  /// Appends a copy with mapped operands and the same specs, and maps the outputs.
  Node& copy(const Node& node);
  /// Appends a node whose operands are new values.
  std::vector<ValueId> append(Node node, std::span<const TensorSpec> specs);
  /// Appends a call of the op with this name: operands are new values, what is left out of the arguments has its default, specs are as
  /// inferred. Returns its (first) result.
  ValueId call(std::string_view op, std::vector<Value> operands, std::vector<Attr> attrs, const SourceLocation& source);
  const Graph& graph() const { return to_; }
  Graph& graph() { return to_; }
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<ValueId> map_;
};

}  // namespace tailor::ir
