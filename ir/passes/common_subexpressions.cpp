#include <unordered_map>

#include "ir/memory.h"
#include "ir/passes/passes.h"
#include "ir/passes/rewriter.h"

namespace tailor::ir {
namespace {

// What a call computes, as words: op, operands with the version of the memory they read, attributes and specs.
using Key = std::vector<int64_t>;
struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t h = 0;
    for (int64_t w : key) h = (h ^ static_cast<size_t>(w)) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
    return h;
  }
};

void append_spec(Key& key, const TensorSpec& spec) {
  key.push_back(static_cast<int64_t>(spec.dtype));
  key.push_back(static_cast<int64_t>(spec.device.type()) << 8 | spec.device.index());
  key.push_back(spec.rank());
  key.insert(key.end(), spec.sizes.begin(), spec.sizes.end());
  key.insert(key.end(), spec.strides.begin(), spec.strides.end());
}

}  // namespace

Graph eliminate_common_subexpressions(const Graph& graph) {
  const MemoryMap memory(graph);
  std::vector<int64_t> version(memory.count(), 0);
  // Two values may become one when nobody writes either and at most one of them leaves the graph.
  const auto mergeable = [&](ValueId v) { return !memory.is_written(memory.of(v)); };
  std::vector<char> leaves(memory.count());
  for (size_t m = 0; m < memory.count(); ++m) leaves[m] = memory.is_output(static_cast<MemoryId>(m));

  Rewriter rewriter(graph);
  std::unordered_map<Key, const Node*, KeyHash> seen;
  for (const Node& node : graph.nodes) {
    const bool constant = node.kind == NodeKind::Constant;
    const bool view = node.kind == NodeKind::CallOp && node.op->kind == OpKind::View;
    bool candidate = constant || is_pure(graph, node);
    if (!view)
      for (ValueId v : node.outputs) candidate &= mergeable(v);
    if (writes_first_operand(node)) ++version[static_cast<size_t>(memory.of(node.operands[0].tensor))];
    if (!candidate) {
      rewriter.copy(node);
      continue;
    }
    Key key{static_cast<int64_t>(node.kind), reinterpret_cast<int64_t>(node.op)};
    for (const Value& v : node.operands) {
      key.push_back(static_cast<int64_t>(v.kind));
      if (v.is_tensor()) {
        key.push_back(rewriter.map(v.tensor));
        if (!view) key.push_back(version[static_cast<size_t>(memory.of(v.tensor))]);
      } else if (v.is_scalar()) {
        key.push_back(static_cast<int64_t>(v.scalar.kind()));
        key.push_back(v.scalar.bits());
      }
    }
    for (const Attr& a : node.attrs) {
      const AttrRef ref = a.ref();
      key.push_back(static_cast<int64_t>(ref.kind));
      if (ref.kind == AttrRef::Kind::Ints) {
        key.push_back(static_cast<int64_t>(ref.count));
        key.insert(key.end(), ref.as_ints().begin(), ref.as_ints().end());
      } else {
        key.push_back(ref.word);
      }
    }
    for (ValueId v : node.outputs) append_spec(key, graph.spec(v));
    if (constant)
      for (std::byte b : node.constant->bytes) key.push_back(static_cast<int64_t>(b));
    const auto [it, fresh] = seen.try_emplace(std::move(key), &node);
    bool merge = !fresh;
    if (merge && !view)
      for (size_t i = 0; i < node.outputs.size(); ++i)
        merge &=
            !(leaves[static_cast<size_t>(memory.of(node.outputs[i]))] && leaves[static_cast<size_t>(memory.of(it->second->outputs[i]))]);
    if (!merge) {
      rewriter.copy(node);
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      rewriter.set(node.outputs[i], rewriter.map(it->second->outputs[i]));
      leaves[static_cast<size_t>(memory.of(it->second->outputs[i]))] |= leaves[static_cast<size_t>(memory.of(node.outputs[i]))];
    }
  }
  return rewriter.finish();
}

}  // namespace tailor::ir
