#include "jit/regroup_products.h"

#include <algorithm>
#include <map>

#include "ir/memory.h"
#include "ir/passes/rewriter.h"

namespace tailor::jit {

using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::TensorSpec;
using ir::Value;
using ir::ValueId;

namespace {

/// Slices of one tensor that make a product of all of it worth while.
constexpr size_t kFewestSlices = 4;

bool is_linear(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp || node.op->name != "linear" || node.inplace) return false;
  const TensorSpec& out = graph.spec(node.outputs[0]);
  return (out.dtype == kFloat32 || out.dtype == kFloat64) && out.is_contiguous() && out.numel() > 0 &&
         graph.spec(node.operands[1].tensor).rank() == 2 && graph.spec(node.operands[0].tensor).dtype == out.dtype;
}

class Regrouping {
 public:
  explicit Regrouping(const Graph& from) : from_(from), rewriter_(from) { find_steps(); }

  Graph run() {
    for (const Node& node : from_.nodes) {
      source_ = node.source;
      if (is_linear(from_, node))
        linear(node);
      else
        rewriter_.copy(node);
    }
    return rewriter_.finish();
  }

 private:
  /// Layers of one weight over select(whole, 0, i).
  struct Steps {
    size_t count = 0;
    ValueId product = -1;  // of the whole, once it is there
  };
  using Key = std::pair<ValueId, ValueId>;  // the whole and the weight

  // The slice that a layer reads; null when it is none.
  const Node* slice_of(const Node& linear) const {
    const Node& slice = from_.node_of(linear.operands[0].tensor);
    if (slice.kind != NodeKind::CallOp || slice.op->name != "select" || slice.attrs[0].ref().as_int() != 0) return nullptr;
    const TensorSpec& whole = from_.spec(slice.operands[0].tensor);
    return whole.rank() == 3 && whole.is_contiguous() ? &slice : nullptr;
  }

  void find_steps() {
    for (const Node& node : from_.nodes)
      if (is_linear(from_, node))
        if (const Node* slice = slice_of(node)) ++steps_[{slice->operands[0].tensor, node.operands[1].tensor}].count;
  }

  ValueId call(std::string_view op, std::vector<Value> operands, std::vector<ir::Attr> attrs) {
    return rewriter_.call(op, std::move(operands), std::move(attrs), source_);
  }

  void linear(const Node& node) {
    const bool biased = node.operands.size() > 2 && node.operands[2].is_tensor();
    ValueId product = -1;
    const Node* slice = slice_of(node);
    Steps* steps = slice != nullptr ? &steps_[{slice->operands[0].tensor, node.operands[1].tensor}] : nullptr;
    if (steps != nullptr && steps->count >= kFewestSlices) {
      if (steps->product < 0)
        steps->product = call("linear", {rewriter_.map(slice->operands[0].tensor), rewriter_.map(node.operands[1].tensor), {}}, {});
      product = call("select", {steps->product}, slice->attrs);
    } else if (!biased) {
      rewriter_.copy(node);
      return;
    } else {
      product = call("linear", {rewriter_.map(node.operands[0]), rewriter_.map(node.operands[1]), {}}, {});
    }
    // A value of its own in any case, as it was: outputs share no memory.
    const ValueId sum =
        biased ? call("add", {product, rewriter_.map(node.operands[2]), {}}, {}) : call("clone", {product}, {ir::AttrRef(true)});
    rewriter_.graph().values[static_cast<size_t>(sum)].spec = from_.spec(node.outputs[0]);
    rewriter_.set(node.outputs[0], sum);
  }

  const Graph& from_;
  ir::Rewriter rewriter_;
  std::map<Key, Steps> steps_;
  ir::SourceLocation source_;
};

}  // namespace

Graph regroup_products(Graph graph) {
  const auto writes = [](const Node& n) { return n.kind == NodeKind::CallOp && ir::writes_first_operand(n); };
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(), writes)) return graph;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return is_linear(graph, n); })) return graph;
  return Regrouping(graph).run();
}

}  // namespace tailor::jit
