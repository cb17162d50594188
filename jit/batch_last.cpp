#include "jit/batch_last.h"

#include <algorithm>
#include <limits>

#include "ir/choices.h"
#include "ir/infer.h"
#include "ir/memory.h"
#include "ir/ops/conv.h"
#include "ir/ops/pooling.h"
#include "ir/passes/rewriter.h"
#include "jit/fusion.h"

namespace tailor::jit {

using ir::Graph;
using ir::Node;
using ir::NodeKind;
using ir::OpKind;
using ir::TensorSpec;
using ir::Value;
using ir::ValueId;

namespace {

constexpr int64_t kFewestImages = 16;  // that fill a vector at every instruction set
constexpr int64_t kMostTaps = 9;

bool is_convolution(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp || node.op->name != "conv2d" || node.inplace) return false;
  const TensorSpec &x = graph.spec(node.operands[0].tensor), &y = graph.spec(node.outputs[0]);
  const ir::AttrRef groups = node.attrs[3].ref();
  if (x.dtype != kFloat32 || x.rank() != 4 || !y.is_contiguous() || y.numel() == 0 || (!groups.is_none() && groups.as_int() != 1) ||
      graph.spec(node.operands[1].tensor).numel() == 0)
    return false;
  const bool fits = x.sizes[0] >= kFewestImages && x.numel() <= std::numeric_limits<int32_t>::max();
  return ir::choose(fits, fits);
}

class BatchLast {
 public:
  explicit BatchLast(const Graph& from) : from_(from), rewriter_(from), last_(from.values.size(), -1) {}

  Graph run() {
    for (const Node& node : from_.nodes) {
      source_ = node.source;
      if (node.kind != NodeKind::CallOp || !moves(node)) plain(node);
    }
    for (ValueId v : from_.outputs) first(v);
    return rewriter_.finish();
  }

 private:
  // With its results in the other layout, when that is possible and worth it.
  bool moves(const Node& node) {
    if (is_convolution(from_, node)) return convolution(node), true;
    if (node.outputs.size() != 1 || node.inplace) return false;
    if (node.op->kind == OpKind::Pointwise) return pointwise(node);
    if (!has_last(node.operands[0])) return false;
    if (node.op->name == "max_pool2d") return maxima(node);
    return node.op->name == "sum" && sum(node);
  }

  void plain(const Node& node) {
    for (const Value& v : node.operands)
      if (v.is_tensor()) first(v.tensor);
    rewriter_.copy(node);
  }

  bool has_last(const Value& v) const { return v.is_tensor() && last_[static_cast<size_t>(v.tensor)] >= 0; }

  ValueId call(std::string_view op, std::vector<Value> operands, std::vector<ir::Attr> attrs) {
    return rewriter_.call(op, std::move(operands), std::move(attrs), source_);
  }
  ValueId permuted(ValueId v, const Dims& order, bool copied) {
    const ValueId view = call("permute", {v}, {ir::AttrRef(order)});
    return copied ? call("clone", {view}, {ir::AttrRef(true)}) : view;
  }

  // The value in the layout it has in the given graph.
  ValueId first(ValueId v) {
    if (rewriter_.map(v) < 0) rewriter_.set(v, permuted(last_[static_cast<size_t>(v)], {3, 0, 1, 2}, true));
    return rewriter_.map(v);
  }
  // The value in the other layout; what is broadcast is only looked at that way.
  ValueId last(ValueId v, bool copied) {
    ValueId& known = last_[static_cast<size_t>(v)];
    if (known >= 0) return known;
    const ValueId made = permuted(first(v), {1, 2, 3, 0}, copied);
    if (copied) known = made;
    return made;
  }

  TensorSpec last_spec(ValueId v) const {
    const TensorSpec& spec = from_.spec(v);
    TensorSpec result(spec.dtype, ir::batch_last_sizes(spec.sizes), spec.device);
    result.requires_grad = spec.requires_grad;
    return result;
  }

  void append(const Node& node, std::vector<Value> operands, const ir::OpDef& op) {
    Node moved = node;
    moved.op = &op;
    moved.operands = std::move(operands);
    const TensorSpec spec = last_spec(node.outputs[0]);
    last_[static_cast<size_t>(node.outputs[0])] = rewriter_.append(std::move(moved), {&spec, 1})[0];
  }

  void convolution(const Node& node) {
    std::vector<Value> operands{last(node.operands[0].tensor, true)};
    for (size_t i = 1; i < node.operands.size(); ++i) {
      const Value& v = node.operands[i];
      operands.push_back(v.is_tensor() ? Value(first(v.tensor)) : v);
    }
    append(node, std::move(operands), *ir::find_op("conv2d_batch_last"));
  }

  bool pointwise(const Node& node) {
    const TensorSpec& out = from_.spec(node.outputs[0]);
    if (out.rank() != 4 || !out.is_contiguous() || ir::can_fail_on_data(from_, node)) return false;
    if (std::none_of(node.operands.begin(), node.operands.end(), [&](const Value& v) { return has_last(v); })) return false;
    const auto is_one = [](const TensorSpec& s) { return s.rank() <= 4 && s.numel() == 1; };
    for (const Value& v : node.operands)
      if (v.is_tensor() && from_.spec(v.tensor).rank() != 4 && !is_one(from_.spec(v.tensor))) return false;
    std::vector<Value> operands;
    for (const Value& v : node.operands) {
      if (!v.is_tensor() || from_.spec(v.tensor).rank() != 4)
        operands.push_back(v.is_tensor() ? Value(first(v.tensor)) : v);
      else
        operands.emplace_back(last(v.tensor, from_.spec(v.tensor).numel() == out.numel()));
    }
    append(node, std::move(operands), *node.op);
    return true;
  }

  // As comparisons of strided views: of equal values the first is taken, and NaN before all, as the kernel does.
  bool maxima(const Node& node) {
    const ValueId in = node.operands[0].tensor, out = node.outputs[0];
    const ir::PoolShape s = ir::pool_shape(*node.op, from_.spec(in), ir::attr_refs(node));
    const auto inside = [&](int d) {
      return s.padding[d] == 0 && (s.out[d] - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d] < s.in[d];
    };
    if (!inside(0) || !inside(1) || s.kernel[0] * s.kernel[1] > kMostTaps || from_.spec(out).numel() == 0 ||
        !is_floating_point(from_.spec(out).dtype))
      return false;
    const auto strided = [&](ValueId v, int64_t dim, int d, int64_t tap) {
      const int64_t start = tap * s.dilation[d], end = start + (s.out[d] - 1) * s.stride[d] + 1;
      return call("slice", {v}, {ir::AttrRef(dim), ir::AttrRef(start), ir::AttrRef(end), ir::AttrRef(s.stride[d])});
    };
    ValueId best = -1;
    for (int64_t y = 0; y < s.kernel[0]; ++y)
      for (int64_t x = 0; x < s.kernel[1]; ++x) {
        const ValueId v = strided(strided(last(in, true), 1, 0, y), 2, 1, x);
        if (best < 0) {
          best = v;
          continue;
        }
        const TensorSpec spec = last_spec(out);
        const auto dense = [&](ValueId made) {
          rewriter_.graph().values[static_cast<size_t>(made)].spec.strides = spec.strides;
          return made;
        };
        const ValueId kept = dense(call("where", {dense(call("gt", {v, best}, {})), v, best}, {}));
        best = dense(call("where", {dense(call("ne", {v, v}, {})), v, kept}, {}));
      }
    if (s.kernel[0] * s.kernel[1] == 1) best = call("clone", {best}, {ir::AttrRef(true)});
    last_[static_cast<size_t>(out)] = best;
    return true;
  }

  // Over all pixels of an image.
  bool sum(const Node& node) {
    const TensorSpec& x = from_.spec(node.operands[0].tensor);
    if (reduced_mask(from_, node) != 0b1100 || !from_.spec(node.outputs[0]).is_contiguous()) return false;
    const bool keep = node.attrs[1].ref().as_bool();
    const ValueId folded = call("sum", {last(node.operands[0].tensor, true)}, {ir::AttrRef(Dims{1, 2}), ir::AttrRef(keep), node.attrs[2]});
    if (keep)
      last_[static_cast<size_t>(node.outputs[0])] = folded;
    else
      rewriter_.set(node.outputs[0], permuted(folded, {1, 0}, true));
    return x.rank() == 4;
  }

  const Graph& from_;
  ir::Rewriter rewriter_;
  std::vector<ValueId> last_;  // by value of the given graph: the value in the other layout, or -1
  ir::SourceLocation source_;
};

}  // namespace

Graph put_batch_last(Graph graph) {
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(),
                  [](const Node& n) { return n.kind == NodeKind::CallOp && ir::writes_first_operand(n); }))
    return graph;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return is_convolution(graph, n); })) return graph;
  return BatchLast(graph).run();
}

}  // namespace tailor::jit
