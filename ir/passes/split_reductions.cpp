#include "ir/infer.h"
#include "ir/ops/reduction.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {
namespace {

constexpr int64_t kMostFoldedAtOnce = 1 << 15, kShortestRow = 512, kLongestRow = 1 << 13;

/// The length of the rows to fold first, or 0.
int64_t row_length(int64_t count) {
  for (int64_t row = kLongestRow; row >= kShortestRow; row /= 2)
    if (count % row == 0) return row;
  for (int64_t row = kLongestRow; row >= kShortestRow; --row)
    if (count % row == 0) return row;
  return 0;
}

bool is_split(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp || node.inplace) return false;
  const std::string_view op = node.op->name;
  if (op != "sum" && op != "amax" && op != "amin") return false;
  const TensorSpec& x = graph.spec(node.operands[0].tensor);
  const DimMask mask = reduced_dims_of(*node.op, node.attrs[0], x.rank());
  return mask == (DimMask{1} << x.rank()) - 1 && x.numel() > kMostFoldedAtOnce && x.is_contiguous() && row_length(x.numel()) != 0;
}

}  // namespace

Graph split_reductions(const Graph& graph) {
  const OpDef* view = find_op("view");
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    if (!is_split(graph, node)) {
      rewriter.copy(node);
      continue;
    }
    const auto call = [&](const OpDef& op, ValueId operand, std::vector<AttrRef> attrs) {
      Node n;
      n.op = &op;
      n.source = node.source;
      n.operands = {Value(operand)};
      n.attrs.assign(attrs.begin(), attrs.end());
      complete_arguments(op, n.operands, n.attrs);
      const std::vector<AttrRef> refs = attr_refs(n);
      const std::vector<TensorSpec> specs = infer_specs(rewriter.graph(), op, n.operands, refs);
      return rewriter.append(std::move(n), specs)[0];
    };
    const TensorSpec& x = graph.spec(node.operands[0].tensor);
    const int64_t row = row_length(x.numel());
    const AttrRef dtype = node.attrs.size() > 2 ? node.attrs[2].ref() : AttrRef();
    const ScalarType result = graph.spec(node.outputs[0]).dtype;
    // Rows of half types are kept in float: rounded once, at the end.
    const bool widened = is_half_type(result) && node.op->name == "sum";
    const auto reduce = [&](ValueId operand, IntArrayRef dims, AttrRef type) {
      std::vector<AttrRef> attrs{AttrRef(dims), AttrRef(false)};
      if (node.op->attr_names.size() > 2) attrs.push_back(type);
      return call(*node.op, operand, attrs);
    };
    ValueId v = call(*view, rewriter.map(node.operands[0].tensor), {AttrRef(IntArrayRef{x.numel() / row, row})});
    v = reduce(v, IntArrayRef{1}, widened ? AttrRef(kFloat32) : dtype);
    v = reduce(v, IntArrayRef{0}, widened ? AttrRef(kFloat32) : dtype);
    if (widened) v = call(*find_op("to"), v, {AttrRef(result)});
    const Dims sizes = graph.spec(node.outputs[0]).sizes;
    if (!sizes.empty()) v = call(*view, v, {AttrRef(sizes)});
    rewriter.set(node.outputs[0], v);
  }
  return rewriter.finish();
}

}  // namespace tailor::ir
