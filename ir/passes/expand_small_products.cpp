#include <set>

#include "ir/choices.h"
#include "ir/infer.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {
namespace {

constexpr int64_t kMostMultiplications = 2048;

bool is_small_product(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp || node.inplace || (node.op->name != "linear" && node.op->name != "mm")) return false;
  const TensorSpec &x = graph.spec(node.operands[0].tensor), &y = graph.spec(node.outputs[0]);
  if (x.dtype != kFloat32 && x.dtype != kFloat64) return false;  // the half types are added up in float
  const int64_t k = x.sizes.empty() ? 0 : x.sizes.back();
  return k > 0 && y.numel() > 0 && y.is_contiguous() && choose(y.numel() * k <= kMostMultiplications);
}

class Calls {
 public:
  Calls(Rewriter& rewriter, const SourceLocation& source) : rewriter_(rewriter), source_(source) {}
  ValueId operator()(std::string_view name, std::vector<Value> operands, std::vector<AttrRef> attrs = {}) {
    Node n;
    n.op = find_op(name);
    internal_check(n.op != nullptr, "no op ", name);
    n.source = source_;
    n.operands = std::move(operands);
    n.attrs.assign(attrs.begin(), attrs.end());
    complete_arguments(*n.op, n.operands, n.attrs);
    const std::vector<AttrRef> refs = attr_refs(n);
    std::vector<TensorSpec> specs = infer_specs(rewriter_.graph(), *n.op, n.operands, refs);
    if (n.op->kind == OpKind::Pointwise) specs[0].strides = contiguous_strides(specs[0].sizes);
    return rewriter_.append(std::move(n), specs)[0];
  }

 private:
  Rewriter& rewriter_;
  SourceLocation source_;
};

}  // namespace

Graph expand_small_products(Graph graph) {
  std::set<const Node*> small;
  for (const Node& node : graph.nodes)
    if (is_small_product(graph, node)) small.insert(&node);
  if (small.empty()) return graph;
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    if (!small.contains(&node)) {
      rewriter.copy(node);
      continue;
    }
    Calls call(rewriter, node.source);
    const ValueId x = rewriter.map(node.operands[0].tensor), w = rewriter.map(node.operands[1].tensor);
    ValueId y;
    if (node.op->name == "linear") {  // y[..., n] = sum over k of x[..., 1, k] * w[n, k]; a vector w: y[...] = x[..., k] * w[k]
      const bool matrix = rewriter.graph().spec(w).rank() == 2;
      y = call("sum", {call("mul", {matrix ? call("unsqueeze", {x}, {-2}) : x, w})}, {IntArrayRef{-1}, false});
      if (node.operands[2].is_tensor()) y = call("add", {y, rewriter.map(node.operands[2])});
    } else {  // y[m, n] = sum over k of x[m, 1, k] * w.t()[n, k]
      y = call("sum", {call("mul", {call("unsqueeze", {x}, {1}), call("t", {w})})}, {IntArrayRef{-1}, false});
    }
    rewriter.set(node.outputs[0], y);
  }
  return rewriter.finish();
}

}  // namespace tailor::ir
