#include "jit/lowering.h"

#include <algorithm>
#include <limits>

namespace tailor::jit {

using ir::Graph;
using ir::MemoryMap;
using ir::Node;
using ir::TensorSpec;
using ir::ValueId;

Lowering::Lowering(const Graph& graph, const MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index,
                   std::vector<std::vector<int64_t>> factors, bool scheduled)
    : graph_(graph),
      memory_(memory),
      group_(group),
      scalar_index_(scalar_index),
      factors_(std::move(factors)),
      scheduled_(scheduled),
      member_(graph.nodes.size(), 0) {
  for (int n : group.nodes) member_[static_cast<size_t>(n)] = 1;
  for (size_t d = 0; d < group.domain.size(); ++d)
    for (int64_t extent : factors_[d]) {
      extents_.push_back(extent);
      inner_.push_back((group.mask >> d & 1) || (group.row_parts != 0 && d == 1));
      domain_dim_.push_back(d);
    }
  const size_t loops = extents_.size();
  size_t at = 0;
  for (const auto& f : factors_) {
    Affine a = Affine::constant(0, loops);
    for (int64_t extent : f) {
      for (int64_t& c : a.coefficients) c *= extent;
      a.coefficients[at++] = 1;
    }
    domain_.push_back(std::move(a));
  }
  if (group.row_parts != 0)
    for (int64_t& c : domain_[0].coefficients) c *= kRowsAtOnce;
}

std::pair<size_t, size_t> Lowering::factor_of(size_t loop) const {
  size_t first = loop;
  while (first > 0 && domain_dim_[first - 1] == domain_dim_[loop]) --first;
  return {domain_dim_[loop], loop - first};
}

LoweredNest Lowering::run() {
  collect();
  if (group_.row_parts != 0) return run_both_ways();
  for (int level = 0; level <= deepest_; ++level) {
    if (level > 0) emit_stores({level, false});
    emit_wide(level);
  }
  emit_stores({deepest_ + 1, false});
  check_hazards();
  finish();
  return std::move(out_);
}

int Lowering::level(ValueId v) {
  if (const auto it = levels_.find(v); it != levels_.end()) return it->second;
  int result = 0;
  const Node& n = graph_.node_of(v);
  const bool view = n.kind == ir::NodeKind::CallOp && n.op->kind == ir::OpKind::View;
  if (view) {
    result = level(n.operands[0].tensor);
  } else if (is_member(v) && folds_parts_of_rows(graph_, n)) {
    result = level(n.operands[0].tensor);
    row_folds_.push_back(v);
  } else if (is_member(v)) {
    const bool reduces = role_of(graph_, n) == Role::Reduction && reduced_mask(graph_, n) != 0;
    for (size_t i = n.op->kind == ir::OpKind::Effect ? 1 : 0; i < n.operands.size(); ++i)
      if (n.operands[i].is_tensor()) result = std::max(result, level(n.operands[i].tensor));
    if (reduces) {
      reductions_.emplace(v, result);
      ++result;
    }
  }
  levels_[v] = result;
  return result;
}

void Lowering::collect() {
  for (ValueId v : group_.stored) {
    const int passed = level(v);
    if (std::find(row_folds_.begin(), row_folds_.end(), v) == row_folds_.end())
      stores_.push_back({v, v, passed, is_wide(graph_.spec(v).sizes), false});
  }
  for (int n : group_.nodes)
    if (writes_first_operand(node(n))) {
      const ValueId v = node(n).outputs[0];
      // Of several writes to one place the last one stays: nobody outside sees the others.
      std::erase_if(stores_,
                    [&](const PendingStore& s) { return s.effect && memory_.same_place(graph_, s.target, node(n).operands[0].tensor); });
      stores_.push_back({v, node(n).operands[0].tensor, level(v), is_wide(graph_.spec(v).sizes), true});
    }
  for (const auto& [v, l] : reductions_) deepest_ = std::max(deepest_, l);
  for (const PendingStore& s : stores_)
    if (s.wide) deepest_ = std::max(deepest_, s.level);
  // Writes come last: everything before them reads the old values.
  for (PendingStore& s : stores_)
    if (s.effect) s.level = s.wide ? deepest_ : deepest_ + 1;
  for (PendingStore& s : stores_)
    if (!s.wide) {
      if (group_.mask == 0) throw LoweringError("a value has another shape than its group");
      s.level = std::max(s.level, 1);
    }
}

void Lowering::emit_stores(Place place) {
  for (const PendingStore& s : stores_)
    if (s.wide == place.wide &&
        (s.level == place.level || (!place.wide && !s.effect && place.level == deepest_ + 1 && s.level > place.level)))
      emit_store(s, place);
}

void Lowering::emit_wide(int level) {
  const Place place{level, true};
  for (const auto& [v, l] : reductions_)
    if (l == level) open_reduction(v, place);
  emit_stores(place);
}

Stage& Lowering::stage(Place place) {
  auto it = stages_.find(place.order());
  if (it == stages_.end()) {
    it = stages_.emplace(place.order(), Stage{}).first;
    if (place.wide)
      for (size_t d = 0; d < extents_.size(); ++d)
        if (inner_[d]) it->second.dims.push_back(static_cast<int>(d));
  }
  return it->second;
}

Coordinates Lowering::here(IntArrayRef sizes, bool wide) const {
  Coordinates result;
  size_t d = 0;
  for (int64_t s : sizes) {
    if (s == 1) {
      result.push_back(zero());
      continue;
    }
    while (!wide && d < group_.domain.size() && (group_.mask >> d & 1)) ++d;
    if (d >= group_.domain.size() || group_.domain[d] != s) throw LoweringError("a value has another shape than its group");
    result.push_back(domain_[d++]);
  }
  return result;
}

void Lowering::emit_store(const PendingStore& s, Place place) {
  const TensorSpec& spec = graph_.spec(s.target);
  const Coordinates at = here(spec.sizes, s.wide);
  Store store;
  store.value = cast(emit(s.value, at, place), spec.dtype, place);
  store.access.buffer = buffer_of(s.target, true);
  stage(place).stores.push_back(store);
  store_indices_.push_back({place.order(), stage(place).stores.size() - 1, element_index(s.target, at)});
  if (s.effect) effects_.push_back({place.order(), store.access.buffer, element_index(s.target, at)});
}

void Lowering::check_hazards() const {
  for (const auto& effect : effects_) {
    const ValueId root = out_.memory[static_cast<size_t>(effect.buffer)].root;
    for (const auto& [order, st] : stages_)
      for (int e : st.exprs) {
        const Expr& expr = out_.nest.exprs[static_cast<size_t>(e)];
        if (expr.kind != ExprKind::Load) continue;
        const ValueId other = out_.memory[static_cast<size_t>(expr.access.buffer)].root;
        if (other < 0 || memory_.of(other) != memory_.of(root)) continue;
        if (expr.access.buffer != effect.buffer || !(indices_[static_cast<size_t>(e)].index == effect.index) || order > effect.order)
          throw LoweringError("memory is read at another place than it is written");
      }
    for (const auto& other : effects_)
      if (&other != &effect && memory_.of(out_.memory[static_cast<size_t>(other.buffer)].root) == memory_.of(root) &&
          (other.buffer != effect.buffer || !(other.index == effect.index)))
        throw LoweringError("memory is written at two places");
    // Several points that write one element must do so in order.
    for (size_t d = 0; d < extents_.size(); ++d)
      if (effect.index.coefficients[d] == 0 && extents_[d] > 1 && !(inner_[d] && effect.order % 2 != 0))
        throw LoweringError("an element is written twice");
  }
}

IndexMap Lowering::map_of(const Affine& a) const {
  IndexMap map;
  map.offset = a.offset;
  for (int64_t c : a.coefficients) map.strides.emplace_back(c);
  return map;
}

void Lowering::finish() {
  LoopNest& n = nest();
  for (size_t d = 0; d < extents_.size(); ++d) n.dims.push_back({Size(extents_[d]), inner_[d] != 0, false});
  for (size_t e = 0; e < n.exprs.size(); ++e) {
    if (n.exprs[e].kind == ExprKind::Load) {
      n.exprs[e].access.index = map_of(indices_[e].index);
      for (const Guard& g : indices_[e].bounds) n.exprs[e].access.bounds.push_back({map_of(g.coordinate), g.low, g.high});
    }
    if (n.exprs[e].kind == ExprKind::Index) n.exprs[e].index = map_of(indices_[e].index);
  }
  for (const auto& s : store_indices_) stages_.at(s.order).stores[s.store].access.index = map_of(s.index);
  for (auto& [order, st] : stages_) n.stages.push_back(std::move(st));
  begin_buffers_where_they_are_read();
  out_.points = 1;
  for (int64_t e : extents_) out_.points *= e;
  for (const Expr& e : n.exprs) out_.work += e.kind == ExprKind::Op ? 2 : 1;
  out_.work *= out_.points;
  name();
  if (group_.row_parts != 0)
    n.vector_dim = 2;  // parts, groups of rows, columns: in this order
  else if (scheduled_)
    schedule_loops(n);
}

// What all accesses to a buffer have in common is a matter of its pointer: the steps of a sequence are then one kernel.
void Lowering::begin_buffers_where_they_are_read() {
  const auto each_access = [&](auto&& f) {
    for (Expr& e : nest().exprs)
      if (e.kind == ExprKind::Load) f(e.access);
    for (Stage& s : nest().stages)
      for (Store& store : s.stores) f(store.access);
  };
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> least(nest().buffers.size(), kNone);
  each_access([&](const Access& a) {
    int64_t& l = least[static_cast<size_t>(a.buffer)];
    l = std::min(l, a.index.offset.value);
  });
  for (size_t b = 0; b < least.size(); ++b) {
    // Guarded reads may begin before the buffer: those stay as they are.
    if (out_.memory[b].root < 0 || least[b] < 0 || least[b] == kNone) least[b] = 0;
    out_.memory[b].byte_offset += least[b] * element_size(nest().buffers[b].dtype);
  }
  each_access([&](Access& a) { a.index.offset.value -= least[static_cast<size_t>(a.buffer)]; });
}

void Lowering::name() {
  std::string text;
  int count = 0;
  for (int i : group_.nodes) {
    if (++count > 6) {
      text += "_etc";
      break;
    }
    if (!text.empty()) text += '_';
    text += node(i).op->name;
  }
  nest().name = text;
}

LoweredNest lower(const Graph& graph, const MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index, bool scheduled) {
  std::vector<std::vector<int64_t>> factors;
  for (int64_t s : group.domain) factors.push_back({s});
  if (group.row_parts != 0) {
    factors[0] = {group.row_parts, group.domain[0] / group.row_parts / kRowsAtOnce};
    try {
      return Lowering(graph, memory, group, scalar_index, factors, scheduled).run();
    } catch (const SplitRequest&) { throw LoweringError("a pass over rows and columns has its own loops"); }
  }
  for (int attempt = 0; attempt < 8; ++attempt) {
    Lowering lowering(graph, memory, group, scalar_index, factors, scheduled);
    try {
      return lowering.run();
    } catch (const SplitRequest& split) {
      const auto [dim, at] = lowering.factor_of(split.dim);
      std::vector<int64_t>& f = factors[dim];
      f[at] /= split.low;
      f.insert(f.begin() + static_cast<int64_t>(at) + 1, split.low);
    }
  }
  throw LoweringError("too many cuts of one loop");
}

}  // namespace tailor::jit
