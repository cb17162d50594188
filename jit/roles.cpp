#include <algorithm>
#include <array>

#include "ir/infer.h"
#include "ir/ops/reduction.h"
#include "jit/fusion.h"

namespace tailor::jit {

using ir::DTypeRule;
using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::OpKind;

namespace {
constexpr int64_t kMostExpanded = 4, kFewestExpanded = 64;

bool is_primitive_reduction(std::string_view op) {
  static constexpr std::array names = {"sum", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "max_dim", "min_dim"};
  return std::find(names.begin(), names.end(), op) != names.end();
}
}  // namespace

Role role_of(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp) return Role::None;
  const std::string_view op = node.op->name;
  switch (node.op->kind) {
    case OpKind::View: return Role::None;
    case OpKind::Pointwise:
      if (ir::can_fail_on_data(graph, node)) return Role::Library;
      return node.inplace ? Role::Effect : Role::Elementwise;
    case OpKind::Reduction:
      if (node.inplace || !is_primitive_reduction(op)) return Role::Library;
      return is_expanded(graph, node) ? Role::Elementwise : Role::Reduction;
    case OpKind::Effect: return op == "copy_" || op == "fill_" || op == "zero_" ? Role::Effect : Role::Library;
    case OpKind::Movement: return op == "clone" && !node.inplace ? Role::Elementwise : Role::Library;
    case OpKind::Creation:
      if (op == "empty") return Role::None;
      return op == "full" ? Role::Elementwise : Role::Library;
    case OpKind::Random:
    case OpKind::Contraction:
    case OpKind::Scan:
    case OpKind::Composite: return Role::Library;
  }
  return Role::Library;
}

std::vector<int64_t> squeezed(IntArrayRef sizes) {
  std::vector<int64_t> result;
  for (int64_t s : sizes)
    if (s != 1) result.push_back(s);
  return result;
}

uint32_t reduced_mask(const Graph& graph, const Node& node) {
  return ir::reduced_dims_of(*node.op, node.attrs[0], graph.spec(node.operands[0].tensor).rank());
}

uint32_t squeezed_mask(IntArrayRef sizes, uint32_t mask) {
  uint32_t result = 0;
  int at = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (mask >> d & 1) result |= 1u << at;
    ++at;
  }
  return result;
}

bool is_expanded(const Graph& graph, const Node& node) {
  const std::string_view op = node.op->name;
  if (op != "sum" && op != "prod" && op != "amax" && op != "amin") return false;
  const int64_t count = ir::reduced_count(graph.spec(node.operands[0].tensor).sizes, reduced_mask(graph, node));
  return count >= 1 && count <= kMostExpanded && graph.spec(node.outputs[0]).numel() >= kFewestExpanded;
}

}  // namespace tailor::jit
