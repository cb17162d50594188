#include "jit/fold_affine.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/choices.h"
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

/// Results of a channel from which on scaling its weights costs next to nothing.
constexpr int64_t kFewestResults = 64;

/// A contraction with weights of its channels.
struct Product {
  size_t channel_dim = 0;   // of the result
  Dims scale_sizes;         // of a factor for each channel, as it multiplies the weights
  bool takes_bias = false;  // as operand 2
};

std::optional<Product> product_of(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::CallOp || node.inplace || node.outputs.size() != 1) return std::nullopt;
  const std::string_view name = node.op->name;
  const bool convolution = name == "conv1d" || name == "conv2d" || name == "conv3d", linear = name == "linear";
  if (!convolution && !linear && name != "mm" && name != "matmul") return std::nullopt;
  const TensorSpec &w = graph.spec(node.operands[1].tensor), &y = graph.spec(node.outputs[0]);
  if ((y.dtype != kFloat32 && y.dtype != kFloat64) || w.dtype != y.dtype || !y.is_contiguous() || y.numel() == 0) return std::nullopt;
  Product p;
  if (convolution) {
    p.channel_dim = static_cast<size_t>(y.rank()) + 1 - static_cast<size_t>(w.rank());
    p.scale_sizes = Dims(static_cast<size_t>(w.rank()), 1);
    p.scale_sizes[0] = w.sizes[0];
  } else {
    if (w.rank() != 2 || y.rank() < 2) return std::nullopt;
    p.channel_dim = static_cast<size_t>(y.rank()) - 1;
    p.scale_sizes = linear ? Dims{w.sizes[0], 1} : Dims{w.sizes[1]};
  }
  p.takes_bias = convolution || linear;
  if (p.takes_bias && node.operands[2].is_tensor() && graph.spec(node.operands[2].tensor).rank() != 1) return std::nullopt;
  return p;
}

class Folding {
 public:
  Folding(const Graph& from, const std::vector<bool>& steady)
      : from_(from), rewriter_(from), steady_(steady_values(from, steady)), reader_(from.values.size(), kNone) {
    for (size_t n = 0; n < from.nodes.size(); ++n)
      for (const Value& v : from.nodes[n].operands)
        if (v.is_tensor()) read(v.tensor, static_cast<int>(n));
    for (const ValueId v : from.outputs) read(v, kMany);
  }

  Graph run() {
    std::vector<bool> folded(from_.nodes.size(), false);  // becomes part of a product at the end of its chain
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      const std::vector<int> chain = chain_of(from_.nodes[n]);
      if (chain.empty()) continue;
      folded[n] = true;
      for (const int c : chain) folded[static_cast<size_t>(c)] = true;
      products_[chain.back()] = {static_cast<int>(n), chain};
    }
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      if (const auto it = products_.find(static_cast<int>(n)); it != products_.end())
        fold(from_.nodes[static_cast<size_t>(it->second.first)], it->second.second);
      else if (!folded[n])
        rewriter_.copy(from_.nodes[n]);
    }
    return rewriter_.finish();
  }

 private:
  static constexpr int kNone = -1, kMany = -2;
  void read(ValueId v, int by) {
    int& reader = reader_[static_cast<size_t>(v)];
    reader = reader == kNone ? by : kMany;
  }
  bool is_steady(const Value& v) const { return v.is_tensor() && steady_[static_cast<size_t>(v.tensor)]; }

  // A number for each channel of `y`, whatever its rank.
  bool is_by_channel(const Value& v, const TensorSpec& y, size_t channel_dim) const {
    if (!is_steady(v)) return false;
    const TensorSpec& s = from_.spec(v.tensor);
    if (s.dtype != y.dtype || s.rank() > y.rank() || s.numel() != y.sizes[channel_dim] || !s.is_contiguous()) return false;
    const size_t missing = static_cast<size_t>(y.rank() - s.rank());
    for (size_t d = 0; d < s.sizes.size(); ++d)
      if (s.sizes[d] != 1 && d + missing != channel_dim) return false;
    return true;
  }

  // The ops that scale and shift the channels of this product, one after the other; none when that would gain nothing.
  std::vector<int> chain_of(const Node& node) const {
    const std::optional<Product> p = product_of(from_, node);
    if (!p || !is_steady(node.operands[1])) return {};
    if (p->takes_bias && node.operands[2].is_tensor() && !is_steady(node.operands[2])) return {};
    const TensorSpec& y = from_.spec(node.outputs[0]);
    std::vector<int> chain;
    size_t scaled = 0;  // up to the last factor: what is merely added needs no folding
    ValueId v = node.outputs[0];
    for (int n = reader_[static_cast<size_t>(v)]; n >= 0; n = reader_[static_cast<size_t>(v)]) {
      const Node& next = from_.nodes[static_cast<size_t>(n)];
      if (next.kind != NodeKind::CallOp || next.inplace || next.outputs.size() != 1) break;
      const std::string_view name = next.op->name;
      const bool sum = name == "add" || name == "sub", factor = name == "mul" || name == "div";
      if ((!sum && !factor) || (sum && next.operands.size() > 2 && !next.operands[2].is_none())) break;
      const size_t at = next.operands[0].is_tensor() && next.operands[0].tensor == v ? 0 : 1;
      if (!next.operands[at].is_tensor() || next.operands[at].tensor != v || (name == "div" && at == 1)) break;
      if (!is_by_channel(next.operands[1 - at], y, p->channel_dim)) break;
      v = next.outputs[0];
      const TensorSpec& s = from_.spec(v);
      if (s.dtype != y.dtype || s.sizes != y.sizes || s.strides != y.strides) break;
      chain.push_back(n);
      if (factor) scaled = chain.size();
    }
    if (scaled == 0 || !ir::choose(y.numel() / y.sizes[p->channel_dim] >= kFewestResults)) return {};
    if (!p->takes_bias) chain.resize(scaled);
    return chain;
  }

  ValueId call(std::string_view op, std::vector<Value> operands, std::vector<ir::Attr> attrs = {}) {
    return rewriter_.call(op, std::move(operands), std::move(attrs), source_);
  }
  ValueId shaped(ValueId v, const Dims& sizes) {
    if (rewriter_.graph().spec(v).sizes == sizes) return v;
    return call("view", {v}, {ir::AttrRef(sizes)});
  }

  void fold(const Node& node, const std::vector<int>& chain) {
    const Product p = *product_of(from_, node);
    source_ = node.source;
    const Dims channels{from_.spec(node.outputs[0]).sizes[p.channel_dim]};
    ValueId v = node.outputs[0], scale = -1, shift = -1;
    bool negated = false;
    if (p.takes_bias && node.operands[2].is_tensor()) shift = rewriter_.map(node.operands[2].tensor);
    const auto combined = [&](std::string_view op, ValueId a, ValueId b) { return a < 0 ? b : call(op, {a, b}); };
    for (const int n : chain) {
      const Node& next = from_.nodes[static_cast<size_t>(n)];
      const std::string_view name = next.op->name;
      const size_t at = next.operands[0].is_tensor() && next.operands[0].tensor == v ? 0 : 1;
      const ValueId o = shaped(rewriter_.map(next.operands[1 - at].tensor), channels);
      if (name == "add") {
        shift = combined("add", shift, o);
      } else if (name == "mul") {
        scale = combined("mul", scale, o);
        if (shift >= 0) shift = call("mul", {shift, o});
      } else if (name == "div") {
        scale = scale < 0 ? call("reciprocal", {o}) : call("div", {scale, o});
        if (shift >= 0) shift = call("div", {shift, o});
      } else if (at == 0) {
        shift = shift < 0 ? call("neg", {o}) : call("sub", {shift, o});
      } else {
        negated = !negated;
        shift = shift < 0 ? o : call("sub", {o, shift});
      }
      v = next.outputs[0];
    }
    if (negated) scale = call("neg", {scale});
    const ValueId weights = call("mul", {rewriter_.map(node.operands[1].tensor), shaped(scale, p.scale_sizes)});
    Node product = node;
    for (Value& operand : product.operands) operand = rewriter_.map(operand);
    product.operands[1] = weights;
    if (p.takes_bias) product.operands[2] = shift < 0 ? Value() : Value(shift);
    const TensorSpec spec = from_.spec(v);
    ValueId result = rewriter_.append(std::move(product), {&spec, 1})[0];
    if (!p.takes_bias && shift >= 0) result = call("add", {result, shift});
    rewriter_.set(v, result);
  }

  const Graph& from_;
  ir::Rewriter rewriter_;
  const std::vector<bool> steady_;
  std::vector<int> reader_;                                   // by value: the only node that reads it
  std::map<int, std::pair<int, std::vector<int>>> products_;  // by the last node of a chain: the contraction, the chain
  ir::SourceLocation source_;
};

}  // namespace

std::vector<bool> steady_inputs(const Graph& graph, std::span<const int> lasting) {
  std::vector<bool> steady;
  if (lasting.empty()) return steady;
  const ir::MemoryMap memory(graph);
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::Placeholder) continue;
    const bool listed = std::find(lasting.begin(), lasting.end(), static_cast<int>(steady.size())) != lasting.end();
    steady.push_back(listed && !memory.is_written(memory.of(node.outputs[0])));
  }
  return steady;
}

std::vector<bool> steady_values(const Graph& graph, const std::vector<bool>& steady) {
  std::vector<bool> result(graph.values.size(), false);
  size_t placeholders = 0;
  for (const Node& node : graph.nodes) {
    bool is = false;
    switch (node.kind) {
      case NodeKind::Placeholder: is = steady[placeholders++]; break;
      case NodeKind::Constant: is = true; break;
      case NodeKind::Scalar: break;
      case NodeKind::CallOp:
        is = ir::is_pure(graph, node) && !ir::can_fail_on_data(graph, node) &&
             std::any_of(node.operands.begin(), node.operands.end(), [](const Value& v) { return v.is_tensor(); }) &&
             std::all_of(node.operands.begin(), node.operands.end(),
                         [&](const Value& v) { return !v.is_tensor() || result[static_cast<size_t>(v.tensor)]; });
        break;
    }
    for (const ValueId v : node.outputs) result[static_cast<size_t>(v)] = is;
  }
  return result;
}

Graph fold_affine(const Graph& graph, const std::vector<bool>& steady) {
  if (std::none_of(steady.begin(), steady.end(), [](bool s) { return s; })) return graph;
  for (const Node& node : graph.nodes)
    if (node.kind == NodeKind::CallOp && ir::writes_first_operand(node)) return graph;
  return Folding(graph, steady).run();
}

}  // namespace tailor::jit
