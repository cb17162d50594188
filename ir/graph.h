#pragma once
// The IR. A graph is an FX-like list of nodes in program order:
//
//   placeholder  an argument or a captured tensor of the segment        %0: f32[2, 3] = placeholder "args[0]"
//   scalar       a run-time number (a lifted scalar)                    %1: double = scalar "s0"
//   constant     a tensor folded at compile time                        %2: f32[3] = constant [1.0, 2.0, 3.0]
//   call_op      one call of an op                                      %3: f32[2, 3] = add(%0, %1, alpha=1)
//   output       what the segment returns                               return %3
//
// Each node has one or more outputs; a value is (node, output). Values are immutable but for effects: a `call_op` with
// `inplace` writes its result into the memory of operand 0 (through whatever view that is) and its value *is* that memory
// afterwards. Program order is the order of effects: a read of memory sees all writes before it and none after.

#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/op.h"

namespace tailor::ir {

struct SourceLocation {
  std::string file;
  int line = 0;
  explicit operator bool() const { return line > 0; }
  std::string str() const;  // "model.cpp:42", without directories
};

/// A value of a graph: an index into Graph::values.
using ValueId = int;

enum class NodeKind : uint8_t { Placeholder, Scalar, Constant, CallOp };

/// Data of a constant: contiguous bytes in the layout of its spec.
struct ConstantData {
  std::vector<std::byte> bytes;
};

struct Node {
  NodeKind kind = NodeKind::CallOp;
  const OpDef* op = nullptr;    // CallOp
  std::vector<Value> operands;  // CallOp; tensors are ValueIds; scalars are literals. A lifted scalar is a ValueId of a Scalar node.
  std::vector<Attr> attrs;      // CallOp
  bool inplace = false;         // CallOp: operand 0 is overwritten with the result
  std::vector<ValueId> outputs;
  std::string name;      // Placeholder, Scalar: the path of what it stands for: args[0].weights["w"]
  int alias_group = -1;  // Placeholder: those of one group may overlap in memory; -1: overlaps with no other
  std::shared_ptr<const ConstantData> constant;
  tailor::Scalar scalar;  // Scalar: the value seen when recorded (its kind is fixed, its value is not)
  SourceLocation source;
};

struct ValueInfo {
  int node = -1;
  int output = 0;
  TensorSpec spec;  // Scalar nodes: rank 0, dtype by kind (bool, i64, f64)
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<ValueInfo> values;
  std::vector<ValueId> outputs;

  const TensorSpec& spec(ValueId v) const { return values[static_cast<size_t>(v)].spec; }
  const Node& node_of(ValueId v) const { return nodes[static_cast<size_t>(values[static_cast<size_t>(v)].node)]; }
};

/// Builds a graph node by node; infers specs by the ops' own rules.
class GraphBuilder final : public Builder {
 public:
  explicit GraphBuilder(std::string name = "graph") { graph_.name = std::move(name); }
  /// Placeholders of one `alias_group` may overlap in memory; -1 promises that it overlaps with no other.
  ValueId placeholder(const TensorSpec& spec, std::string name, int alias_group = -1);
  ValueId scalar(tailor::Scalar seen, std::string name);
  ValueId constant(const TensorSpec& spec, std::shared_ptr<const ConstantData> data);
  std::vector<int> call_many(const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs) override;
  /// As call_many, but writes operand 0; the result has operand 0's spec.
  ValueId call_inplace(const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs);
  void set_source(SourceLocation source) { source_ = std::move(source); }
  const TensorSpec& spec(int value) const override { return graph_.spec(value); }
  Graph finish(std::vector<ValueId> outputs);
  const Graph& graph() const { return graph_; }

 private:
  Graph graph_;
  SourceLocation source_;
};

/// The text form; `parse_graph(print(g))` gives the same graph. Throws Error naming line and column.
std::string print(const Graph& graph);
Graph parse_graph(std::string_view text);

/// Checks every invariant above (operands defined before use, specs as inferred, arities, attribute kinds); throws InternalError naming the
/// node.
void verify(const Graph& graph);

/// A hash of everything that determines generated code (names and source lines excluded).
uint64_t content_hash(const Graph& graph);

}  // namespace tailor::ir
