#include "ir/memory.h"

#include <map>

#include "ir/infer.h"

namespace tailor::ir {

bool writes_first_operand(const Node& node) { return node.kind == NodeKind::CallOp && (node.inplace || node.op->kind == OpKind::Effect); }

bool can_fail_on_data(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp) return false;
  if (node.op->kind != OpKind::Pointwise) return node.op->can_fail_on_data;
  if (!node.op->pointwise.can_fail) return false;
  // Division fails for integers alone, and not by a literal that is not zero.
  const Value& divisor = node.operands.back();
  if (is_floating_point(graph.spec(node.outputs[0]).dtype)) return false;
  return !(node.operands.size() == 2 && divisor.is_scalar() && divisor.scalar.is_integral() && divisor.scalar.to_int() != 0);
}

bool is_pure(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::CallOp && !writes_first_operand(node) && node.op->kind != OpKind::Random && !can_fail_on_data(graph, node);
}

bool MemoryMap::same_place(const Graph& graph, ValueId a, ValueId b) const {
  if (a == b) return true;
  const TensorSpec &x = graph.spec(a), &y = graph.spec(b);
  return root(a) == root(b) && byte_offset(a) == byte_offset(b) && offset_scalar(a) == offset_scalar(b) && x.dtype == y.dtype &&
         x.sizes == y.sizes && x.strides == y.strides;
}

MemoryMap::MemoryMap(const Graph& graph)
    : memory_(graph.values.size(), -1),
      root_(graph.values.size(), -1),
      byte_offset_(graph.values.size(), 0),
      offset_scalar_(graph.values.size(), -1) {
  std::map<int, MemoryId> groups;
  const auto new_memory = [&] {
    info_.emplace_back();
    return static_cast<MemoryId>(info_.size()) - 1;
  };
  for (const Node& node : graph.nodes) {
    const bool writes = writes_first_operand(node), view = node.kind == NodeKind::CallOp && node.op->kind == OpKind::View;
    for (ValueId v : node.outputs) {
      const auto i = static_cast<size_t>(v);
      if (writes || view) {
        const ValueId source = node.operands[0].tensor;
        memory_[i] = of(source);
        root_[i] = root(source);
        byte_offset_[i] = byte_offset(source);
        offset_scalar_[i] = offset_scalar(source);
        if (view) {
          const std::vector<AttrRef> attrs = attr_refs(node);
          const int64_t width = element_size(graph.spec(source).dtype);
          byte_offset_[i] += node.op->view(graph.spec(source), attrs).offset * width;
          // A view whose position is an operand.
          if (node.operands.size() > 1 && node.operands[1].is_scalar()) byte_offset_[i] += node.operands[1].scalar.to_int() * width;
          if (node.operands.size() > 1 && node.operands[1].is_tensor()) {
            internal_check(offset_scalar_[i] < 0, "a view at a varying position of a view at a varying position");
            offset_scalar_[i] = node.operands[1].tensor;
          }
        }
        continue;
      }
      root_[i] = v;
      if (node.kind == NodeKind::Placeholder && node.alias_group >= 0) {
        const auto [it, fresh] = groups.emplace(node.alias_group, -1);
        if (fresh) it->second = new_memory();
        memory_[i] = it->second;
      } else {
        memory_[i] = new_memory();
      }
      info_[static_cast<size_t>(memory_[i])].external |= node.kind == NodeKind::Placeholder;
      info_[static_cast<size_t>(memory_[i])].constant |= node.kind == NodeKind::Constant;
    }
    if (writes) ++info_[static_cast<size_t>(of(node.operands[0].tensor))].writes;
  }
  for (ValueId v : graph.outputs) ++info_[static_cast<size_t>(of(v))].outputs;
}

}  // namespace tailor::ir
