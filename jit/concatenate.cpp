#include "jit/concatenate.h"

#include <algorithm>

#include "ir/choices.h"
#include "ir/infer.h"
#include "ir/memory.h"
#include "ir/passes/rewriter.h"
#include "jit/fusion.h"

namespace tailor::jit {

using ir::Graph;
using ir::MemoryMap;
using ir::Node;
using ir::ValueId;

namespace {

constexpr int64_t kSmall = 4096;

class Parts {
 public:
  explicit Parts(const Graph& graph) : graph_(graph), memory_(graph), uses_(graph.values.size(), 0), fused_(graph.values.size(), 0) {
    for (const Node& node : graph.nodes) {
      const Role role = role_of(graph, node);
      for (const ir::Value& v : node.operands) {
        if (!v.is_tensor()) continue;
        ++uses_[static_cast<size_t>(v.tensor)];
        if (role != Role::None && role != Role::Library) fused_[static_cast<size_t>(memory_.root(v.tensor))] = 1;
      }
    }
  }

  bool are_written_in_place(const Node& node) const {
    if (node.kind != ir::NodeKind::CallOp || node.op->name != "cat" || node.inplace) return false;
    const ValueId out = node.outputs[0];
    const ir::TensorSpec& spec = graph_.spec(out);
    if (!ir::choose(spec.numel() > kSmall) || !spec.is_contiguous() || memory_.is_written(memory_.of(out)) ||
        fused_[static_cast<size_t>(out)])
      return false;
    return std::all_of(node.operands.begin(), node.operands.end(), [&](const ir::Value& v) {
      const ValueId part = v.tensor;
      const MemoryMap& m = memory_;
      return graph_.spec(part).dtype == spec.dtype && graph_.spec(part).numel() > 0 && m.root(part) == part && !m.is_written(m.of(part)) &&
             !m.is_output(m.of(part)) && uses_[static_cast<size_t>(part)] == 1 && is_computed(part);
    });
  }

 private:
  // By pointwise ops that are no epilogue of a contraction.
  bool is_computed(ValueId v) const {
    if (graph_.node_of(v).kind != ir::NodeKind::CallOp || graph_.node_of(v).op->kind != ir::OpKind::Pointwise) return false;
    std::vector<ValueId> work{v};
    while (!work.empty()) {
      const Node& node = graph_.node_of(memory_.root(work.back()));
      work.pop_back();
      if (node.kind != ir::NodeKind::CallOp) continue;
      if (node.op->kind == ir::OpKind::Contraction) return false;
      if (role_of(graph_, node) != Role::Elementwise) continue;
      for (const ir::Value& o : node.operands)
        if (o.is_tensor()) work.push_back(o.tensor);
    }
    return role_of(graph_, graph_.node_of(v)) == Role::Elementwise;
  }

  const Graph& graph_;
  const MemoryMap memory_;
  std::vector<int> uses_;
  std::vector<char> fused_;  // read by a node that is no call of a kernel
};

Node call(std::string_view op, std::vector<ir::Value> operands, std::vector<ir::Attr> attrs, const Node& from) {
  Node node;
  node.op = ir::find_op(op);
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  node.source = from.source;
  return node;
}

}  // namespace

Graph write_parts_in_place(Graph graph) {
  const auto is_cat = [](const Node& n) { return n.kind == ir::NodeKind::CallOp && n.op->name == "cat"; };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_cat)) return graph;
  const Parts parts(graph);
  ir::Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    if (!parts.are_written_in_place(node)) {
      rewriter.copy(node);
      continue;
    }
    const ir::TensorSpec& out = graph.spec(node.outputs[0]);
    const ValueId whole =
        rewriter.append(call("empty", {}, {ir::AttrRef(out.sizes), ir::AttrRef(out.dtype), ir::AttrRef()}, node), std::span(&out, 1))[0];
    rewriter.set(node.outputs[0], whole);
    const int64_t dim = wrap_dim(node.attrs[0].ref().as_int(), out.rank());
    int64_t start = 0;
    for (const ir::Value& v : node.operands) {
      const int64_t end = start + graph.spec(v.tensor).size(dim);
      Node slice = call("slice", {whole}, {ir::AttrRef(dim), ir::AttrRef(start), ir::AttrRef(end), ir::AttrRef(1)}, node);
      const auto specs = ir::infer_specs(rewriter.graph(), *slice.op, slice.operands, ir::attr_refs(slice));
      const ValueId place = rewriter.append(std::move(slice), specs)[0];
      rewriter.append(call("copy_", {place, rewriter.map(v)}, {}, node), specs);
      start = end;
    }
  }
  return rewriter.finish();
}

}  // namespace tailor::jit
