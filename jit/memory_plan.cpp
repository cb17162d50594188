#include "jit/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "ir/host_tensor.h"

namespace tailor::jit {

using ir::Graph;
using ir::MemoryMap;
using ir::Node;
using ir::TensorSpec;
using ir::ValueId;

namespace {

constexpr int64_t kAlignment = 64;
int64_t bytes_of(const TensorSpec& spec) { return ir::extent_of(spec) * element_size(spec.dtype); }
int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Planner {
 public:
  Planner(const Graph& graph, const MemoryMap& memory, std::span<const Group> groups, const std::vector<int>& scalar_index)
      : graph_(graph), memory_(memory), groups_(groups), scalar_index_(scalar_index) {
    plan_.of.resize(graph.values.size());
  }

  MemoryPlan run() {
    int input = 0;
    for (const Node& node : graph_.nodes) {
      if (node.kind == ir::NodeKind::Placeholder) location(node.outputs[0]) = {Location::Kind::Input, input++};
      if (node.kind == ir::NodeKind::Constant) {
        const ValueId v = node.outputs[0];
        if (memory_.is_written(memory_.of(v)))
          plan_.initialized.push_back(v);
        else
          location(v) = {Location::Kind::Constant, graph_.values[static_cast<size_t>(v)].node};
      }
    }
    plan_outputs();
    plan_arena();
    return std::move(plan_);
  }

 private:
  Location& location(ValueId v) { return plan_.of[static_cast<size_t>(v)]; }

  void plan_outputs() {
    std::vector<int> owner(graph_.values.size(), -1);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId v = graph_.outputs[i], root = memory_.root(v);
      OutputPlan plan;
      plan.spec = graph_.spec(v);
      const int64_t width = element_size(plan.spec.dtype);
      const auto alias = [&](OutputPlan::Kind kind, int index) {
        plan.kind = kind;
        plan.index = index;
        plan.offset = memory_.byte_offset(v) / width;
        if (const ValueId s = memory_.offset_scalar(v); s >= 0) plan.offset_scalar = scalar_index_[static_cast<size_t>(s)];
      };
      int& owned_by = owner[static_cast<size_t>(root)];
      if (location(root).kind == Location::Kind::Input) {
        alias(OutputPlan::Kind::AliasInput, location(root).index);
      } else if (owned_by >= 0) {
        alias(OutputPlan::Kind::AliasOutput, owned_by);
        const OutputPlan& owner_plan = plan_.outputs[static_cast<size_t>(owned_by)];
        plan.offset -= owner_plan.offset * element_size(owner_plan.spec.dtype) / width;
        internal_check(owner_plan.offset_scalar < 0 || owner_plan.offset_scalar == plan.offset_scalar,
                       "an output at a varying position is shared");
        if (owner_plan.offset_scalar >= 0) plan.offset_scalar = -1;
      } else if (location(root).kind == Location::Kind::Constant) {
        // Outputs never share memory with constants.
        const bool shared =
            std::count_if(graph_.outputs.begin(), graph_.outputs.end(), [&](ValueId o) { return memory_.root(o) == root; }) > 1;
        internal_check(!shared, "outputs are parts of one constant: ", to_string(graph_.spec(v)));
        plan_.copies.push_back({static_cast<int>(i), v});
      } else {
        // The first output of a value has its whole memory, also where it shows only a part.
        location(root) = {Location::Kind::Output, static_cast<int>(i)};
        owned_by = static_cast<int>(i);
        alias(OutputPlan::Kind::Fresh, -1);
        if (root != v) plan.memory_bytes = bytes_of(graph_.spec(root));
      }
      plan_.outputs.push_back(std::move(plan));
    }
  }

  void plan_arena() {
    std::vector<int> first(graph_.values.size(), -1), last(graph_.values.size(), -1);
    const auto touch = [&](ValueId v, int step) {
      const auto root = static_cast<size_t>(memory_.root(v));
      if (first[root] < 0) first[root] = step;
      last[root] = std::max(last[root], step);
    };
    const auto end = static_cast<int>(groups_.size());
    for (ValueId v : plan_.initialized) touch(v, 0);
    for (int g = 0; g < end; ++g) {
      const Group& group = groups_[static_cast<size_t>(g)];
      for (ValueId v : group.stored) touch(v, g);
      for (int n : group.nodes) {
        const Node& node = graph_.nodes[static_cast<size_t>(n)];
        if (group.library)
          for (ValueId v : node.outputs) touch(v, g);
        for (const ir::Value& v : node.operands)
          if (v.is_tensor()) {
            // What the group itself computes and does not keep has no memory.
            const ValueId root = memory_.root(v.tensor);
            const int definer = graph_.values[static_cast<size_t>(root)].node;
            const bool inside = std::find(group.nodes.begin(), group.nodes.end(), definer) != group.nodes.end();
            if (!inside || group.library || first[static_cast<size_t>(root)] >= 0) touch(v.tensor, g);
          }
      }
    }
    for (const OutputCopy& c : plan_.copies) touch(c.from, end);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (first[v] < 0 || plan_.of[v].kind != Location::Kind::None) continue;
      if (graph_.node_of(static_cast<ValueId>(v)).kind == ir::NodeKind::Scalar) continue;
      plan_.of[v] = {Location::Kind::Arena, static_cast<int>(plan_.blocks.size())};
      plan_.blocks.push_back({first[v], last[v], bytes_of(graph_.spec(static_cast<ValueId>(v)))});
    }
  }

  const Graph& graph_;
  const MemoryMap& memory_;
  std::span<const Group> groups_;
  const std::vector<int>& scalar_index_;
  MemoryPlan plan_;
};

}  // namespace

// Largest first, each at the lowest place that is free during its life.
int64_t place_blocks(std::span<const Block> blocks, std::span<int64_t> offsets) {
  std::vector<int> order(blocks.size()), placed;  // `placed`: by offset
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return aligned(blocks[static_cast<size_t>(a)].bytes) > aligned(blocks[static_cast<size_t>(b)].bytes);
  });
  placed.reserve(blocks.size());
  int64_t total = 0;
  for (const int i : order) {
    const Block& block = blocks[static_cast<size_t>(i)];
    const int64_t bytes = aligned(block.bytes);
    int64_t at = 0;
    for (const int p : placed) {
      const Block& other = blocks[static_cast<size_t>(p)];
      if (other.last < block.first || block.last < other.first) continue;
      const int64_t start = offsets[static_cast<size_t>(p)];
      if (at + bytes <= start) break;
      at = std::max(at, start + aligned(other.bytes));
    }
    offsets[static_cast<size_t>(i)] = at;
    total = std::max(total, at + bytes);
    const auto later = [&](int64_t offset, int p) { return offset < offsets[static_cast<size_t>(p)]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at, later), i);
  }
  return total;
}

MemoryPlan plan_memory(const Graph& graph, const MemoryMap& memory, std::span<const Group> groups, const std::vector<int>& scalar_index) {
  return Planner(graph, memory, groups, scalar_index).run();
}

}  // namespace tailor::jit
