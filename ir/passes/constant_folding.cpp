#include "ir/choices.h"
#include "ir/infer.h"
#include "ir/memory.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"
#include "ir/reference.h"

namespace tailor::ir {
namespace {

constexpr int64_t kMostFoldedElements = 1 << 16;

bool is_foldable(const Graph& graph, const MemoryMap& memory, const Node& node, const Rewriter& rewriter) {
  if (!is_pure(graph, node)) return false;
  // What sizes among the attributes decide is not the same at all sizes.
  if (sizes_vary() && node.op->kind != OpKind::Pointwise && node.op->kind != OpKind::Reduction) return false;
  bool reads_constant = false;
  for (const Value& v : node.operands)
    if (v.is_tensor()) {
      if (rewriter.graph().node_of(rewriter.map(v.tensor)).kind != NodeKind::Constant) return false;
      reads_constant = true;
    }
  if (!reads_constant) return false;
  for (ValueId v : node.outputs)
    if (memory.is_written(memory.of(v)) || memory.is_output(memory.of(v)) || graph.spec(v).numel() > kMostFoldedElements) return false;
  return true;
}

}  // namespace

Graph fold_constants(const Graph& graph) {
  const MemoryMap memory(graph);
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    if (!is_foldable(graph, memory, node, rewriter)) {
      rewriter.copy(node);
      continue;
    }
    std::vector<HostTensor> tensors;
    tensors.reserve(node.operands.size());
    std::vector<HostOperand> operands;
    for (const Value& v : node.operands) {
      if (v.is_none()) {
        operands.emplace_back();
      } else if (v.is_scalar()) {
        operands.emplace_back(v.scalar);
      } else {
        const ValueId id = rewriter.map(v.tensor);
        HostTensor& tensor = tensors.emplace_back(rewriter.graph().spec(id));
        tensor.bytes = rewriter.graph().node_of(id).constant->bytes;
        operands.emplace_back(&tensor);
      }
    }
    const std::vector<AttrRef> attrs = attr_refs(node);
    std::vector<HostTensor> results = evaluate(*node.op, operands, attrs);
    for (size_t i = 0; i < results.size(); ++i) {
      Node constant;
      constant.kind = NodeKind::Constant;
      constant.source = node.source;
      constant.constant = std::make_shared<ConstantData>(ConstantData{std::move(results[i].bytes)});
      rewriter.set(node.outputs[i], rewriter.append(std::move(constant), {&results[i].spec, 1})[0]);
    }
  }
  return rewriter.finish();
}

}  // namespace tailor::ir
