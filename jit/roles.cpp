#include <algorithm>
#include <array>
#include <cmath>

#include "ir/choices.h"
#include "ir/infer.h"
#include "ir/ops/movement.h"
#include "ir/ops/reduction.h"
#include "jit/fusion.h"
#include "kernels/kernels.h"

namespace tailor::jit {

using ir::DTypeRule;
using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::OpKind;

namespace {
constexpr int64_t kMostExpanded = 4, kFewestExpanded = 64;
constexpr int64_t kLargeMatrixBytes = 4 << 20;

bool is_primitive_reduction(std::string_view op) {
  static constexpr std::array names = {"sum", "prod", "amax", "amin", "any", "all", "argmax", "argmin", "max_dim", "min_dim"};
  return std::find(names.begin(), names.end(), op) != names.end();
}

// Bounded loads of elements narrower than this are slow where vectors have no masks of their own.
constexpr int64_t kNarrowestMoved = 4;
// Every point looks at all parts: of large tensors, copying more than two parts is cheaper.
constexpr size_t kMostParts = 8, kMostLargeParts = 2;
constexpr int64_t kSmallCat = 4096;
constexpr int64_t kMostExact = int64_t{1} << 24;

bool is_index_map(const Graph& graph, const Node& node) {
  const std::string_view op = node.op->name;
  if (node.inplace || node.outputs.size() != 1) return false;
  const ir::TensorSpec& out = graph.spec(node.outputs[0]);
  if (element_size(out.dtype) < kNarrowestMoved && op != "flip") return false;
  if (op == "flip") return true;
  if (op == "pad") return static_cast<ir::PadMode>(node.attrs[1].ref().as_int()) == ir::PadMode::Constant;
  if (op == "roll")
    return out.rank() > 0 && (out.rank() == 1 || !node.attrs[1].ref().as_ints().empty()) && node.attrs[0].ref().as_ints().size() == 1;
  return op == "cat" && node.operands.size() <= (ir::choose(out.numel() <= kSmallCat) ? kMostParts : kMostLargeParts) &&
         std::all_of(node.operands.begin(), node.operands.end(),
                     [&](const ir::Value& o) { return element_size(graph.spec(o.tensor).dtype) >= kNarrowestMoved; });
}

// Whole numbers that every type in between holds exactly.
bool is_counted(const Graph& graph, const Node& node) {
  const ir::TensorSpec& out = graph.spec(node.outputs[0]);
  if (!is_floating_point(out.dtype) && out.dtype != kInt32 && out.dtype != kInt64) return false;
  if (!node.operands[0].is_scalar() || !node.operands[1].is_scalar()) return false;
  for (const ir::Value& v : node.operands) {
    const double x = v.scalar.to_double();
    if (!(std::abs(x) <= kMostExact) || x != std::floor(x) || std::signbit(x) != (x < 0)) return false;
  }
  const double last = node.operands[0].scalar.to_double() + node.operands[1].scalar.to_double() * static_cast<double>(out.numel());
  return ir::choose(std::abs(last) <= kMostExact, std::abs(last) <= kMostExact);
}

bool is_triangle(const Node& node) { return !node.inplace && (node.op->name == "tril" || node.op->name == "triu"); }

}  // namespace

bool is_kernel_alone(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::CallOp && (role_of(graph, node) == Role::Moved || node.op->name == "arange" || is_triangle(node));
}

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
    case OpKind::Movement:
      if (is_triangle(node) || (op == "clone" && !node.inplace)) return Role::Elementwise;
      return is_index_map(graph, node) ? Role::Moved : Role::Library;
    case OpKind::Creation:
      if (op == "empty") return Role::None;
      return op == "full" || (op == "arange" && is_counted(graph, node)) ? Role::Elementwise : Role::Library;
    case OpKind::Random:
    case OpKind::Contraction:
    case OpKind::Scan:
    case OpKind::Composite: return Role::Library;
  }
  return Role::Library;
}

bool is_called_whole(const Node& node) {
  return node.kind == NodeKind::CallOp && !node.inplace && node.op->name == "scaled_dot_product_attention" &&
         kernels::find_kernel(*node.op) != nullptr;
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

bool folds_parts_of_rows(const Graph& graph, const Node& node) {
  const std::string_view op = node.kind == NodeKind::CallOp ? node.op->name : "";
  if ((op != "sum" && op != "amax" && op != "amin") || node.inplace || is_expanded(graph, node)) return false;
  const ir::TensorSpec& parts = graph.spec(node.operands[0].tensor);
  const Node& view = graph.node_of(node.operands[0].tensor);
  if (parts.rank() != 3 || reduced_mask(graph, node) != 2 || view.kind != NodeKind::CallOp || view.op->name != "view") return false;
  const ir::TensorSpec& whole = graph.spec(view.operands[0].tensor);
  return whole.rank() == 2 && whole.is_contiguous() && whole.dtype == graph.spec(node.outputs[0]).dtype &&
         (whole.dtype == kFloat32 || whole.dtype == kFloat64) && whole.sizes[1] == parts.sizes[2] && whole.sizes[1] > 1 &&
         parts.sizes[1] % kRowsAtOnce == 0 && ir::choose(whole.numel() * element_size(whole.dtype) >= kLargeMatrixBytes);
}

bool is_expanded(const Graph& graph, const Node& node) {
  const std::string_view op = node.op->name;
  if (op != "sum" && op != "prod" && op != "amax" && op != "amin") return false;
  const int64_t count = ir::reduced_count(graph.spec(node.operands[0].tensor).sizes, reduced_mask(graph, node));
  return ir::choose(count >= 1 && count <= kMostExpanded && graph.spec(node.outputs[0]).numel() >= kFewestExpanded, count >= 1);
}

}  // namespace tailor::jit
