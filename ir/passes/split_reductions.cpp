#include <algorithm>
#include <map>
#include <set>

#include "ir/choices.h"
#include "ir/infer.h"
#include "ir/memory.h"
#include "ir/ops/reduction.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {
namespace {

constexpr int64_t kMostFoldedAtOnce = 1 << 15, kShortestRow = 512, kLongestRow = 1 << 11;

/// The length of the rows to fold first, or 0.
int64_t row_length(int64_t count) {
  for (int64_t row = kLongestRow; row >= kShortestRow; row /= 2)
    if (count % row == 0) return row;
  for (int64_t row = kLongestRow; row >= kShortestRow; --row)
    if (count % row == 0) return row;
  return 0;
}

/// The length of the rows that a fold over everything is cut into, or 0.
int64_t split_of(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp || node.inplace) return 0;
  const std::string_view op = node.op->name;
  if (op != "sum" && op != "amax" && op != "amin") return 0;
  const TensorSpec& x = graph.spec(node.operands[0].tensor);
  const DimMask mask = reduced_dims_of(*node.op, node.attrs[0], x.rank());
  if (mask != (DimMask{1} << x.rank()) - 1 || !x.is_contiguous() || (sizes_vary() && !Choices::current()->splits())) return 0;
  const int64_t row = choose_number(x.numel() > kMostFoldedAtOnce ? row_length(x.numel()) : 0);
  if (row != 0 && x.numel() % row != 0) refuse_choice();
  return row;
}

// ---- folds along both dims of one matrix ---------------------------------------------------------------------------

constexpr int64_t kLargeMatrixBytes = 4 << 20, kLongestColumnRowBytes = 64 * 1024;
constexpr int64_t kRowsAtOnce = 8, kMostParts = 16;

/// The dim of a large matrix that the call folds, when the folds of both dims could be taken in one pass; else -1.
int folded_dim(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp || node.inplace) return -1;
  const std::string_view op = node.op->name;
  if (op != "sum" && op != "amax" && op != "amin") return -1;
  const TensorSpec& x = graph.spec(node.operands[0].tensor);
  if (x.rank() != 2 || x.dtype != graph.spec(node.outputs[0]).dtype || (x.dtype != kFloat32 && x.dtype != kFloat64) ||
      (sizes_vary() && !Choices::current()->splits()) || !choose(x.numel() * element_size(x.dtype) >= kLargeMatrixBytes))
    return -1;
  const DimMask mask = reduced_dims_of(*node.op, node.attrs[0], 2);
  return mask == 1 ? 0 : mask == 2 ? 1 : -1;
}

/// The matrices in memory that `v` is computed from, element by element; false when something else stands between.
bool matrices_behind(const Graph& graph, const MemoryMap& memory, ValueId v, std::set<ValueId>& found) {
  std::vector<ValueId> work{v};
  std::set<ValueId> seen;
  while (!work.empty()) {
    const ValueId at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    const Node& node = graph.node_of(at);
    if (memory.is_written(memory.of(at))) return false;
    if (node.kind == NodeKind::CallOp && node.op->kind == OpKind::Pointwise) {
      for (const Value& o : node.operands)
        if (o.is_tensor()) work.push_back(o.tensor);
    } else if (node.kind == NodeKind::CallOp && node.op->kind == OpKind::Reduction) {
      return false;
    } else if (graph.spec(at).sizes == graph.spec(v).sizes && graph.spec(at).strides.back() == 1) {
      found.insert(at);
    }
  }
  return true;
}

/// Folds over rows of a matrix whose columns are folded as well.
std::set<const Node*> folds_to_share(const Graph& graph) {
  std::vector<std::pair<const Node*, std::set<ValueId>>> along[2];
  const auto collect = [&](const MemoryMap& memory) {
    for (const Node& node : graph.nodes)
      if (const int dim = folded_dim(graph, node); dim >= 0)
        if (std::set<ValueId> found; matrices_behind(graph, memory, node.operands[0].tensor, found))
          along[dim].emplace_back(&node, std::move(found));
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return folded_dim(graph, n) == 0; })) return {};
  collect(MemoryMap(graph));
  std::set<const Node*> shared;
  for (const auto& [node, mine] : along[0]) {
    const TensorSpec& x = graph.spec(node->operands[0].tensor);
    const bool whole_groups = x.is_contiguous() && x.sizes[0] % kRowsAtOnce == 0;
    if (!choose(whole_groups && x.sizes[1] * element_size(x.dtype) <= kLongestColumnRowBytes, whole_groups)) continue;
    for (const auto& [other, theirs] : along[1])
      if (std::any_of(mine.begin(), mine.end(), [&, &others = theirs](ValueId v) { return others.contains(v); })) shared.insert(node);
  }
  return shared;
}

/// Into how many parts of whole groups of rows.
int64_t parts_of(int64_t rows) {
  const int64_t groups = rows / kRowsAtOnce;
  for (int64_t parts = kMostParts; parts > 1; --parts)
    if (groups % parts == 0) return parts;
  return 1;
}

}  // namespace

Graph split_reductions(Graph graph) {
  const OpDef* view = find_op("view");
  const std::set<const Node*> shared = folds_to_share(graph);
  std::map<const Node*, int64_t> rows;  // of those that are split
  for (const Node& node : graph.nodes)
    if (const int64_t row = shared.contains(&node) ? 0 : split_of(graph, node); row != 0) rows.emplace(&node, row);
  if (shared.empty() && rows.empty()) return graph;
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    const bool columns = shared.contains(&node);
    const auto found = rows.find(&node);
    const int64_t row = found == rows.end() ? 0 : found->second;
    if (!columns && row == 0) {
      rewriter.copy(node);
      continue;
    }
    if (sizes_vary()) Choices::current()->note_split();
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
    const AttrRef dtype = node.attrs.size() > 2 ? node.attrs[2].ref() : AttrRef();
    const ScalarType result = graph.spec(node.outputs[0]).dtype;
    // Rows of half types are kept in float: rounded once, at the end.
    const bool widened = is_half_type(result) && node.op->name == "sum";
    const auto reduce = [&](ValueId operand, IntArrayRef dims, AttrRef type) {
      std::vector<AttrRef> attrs{AttrRef(dims), AttrRef(false)};
      if (node.op->attr_names.size() > 2) attrs.push_back(type);
      return call(*node.op, operand, attrs);
    };
    ValueId v = rewriter.map(node.operands[0].tensor);
    if (columns) {
      const int64_t parts = parts_of(x.sizes[0]);
      v = call(*view, v, {AttrRef(IntArrayRef{parts, x.sizes[0] / parts, x.sizes[1]})});
    } else {
      v = call(*view, v, {AttrRef(IntArrayRef{x.numel() / row, row})});
    }
    v = reduce(v, IntArrayRef{1}, widened ? AttrRef(kFloat32) : dtype);
    v = reduce(v, IntArrayRef{0}, widened ? AttrRef(kFloat32) : dtype);
    if (widened) v = call(*find_op("to"), v, {AttrRef(result)});
    const Dims sizes = graph.spec(node.outputs[0]).sizes;
    if (graph.spec(node.outputs[0]).sizes != rewriter.graph().spec(v).sizes) v = call(*view, v, {AttrRef(sizes)});
    rewriter.set(node.outputs[0], v);
  }
  return rewriter.finish();
}

}  // namespace tailor::ir
