#include <algorithm>
#include <functional>
#include <numeric>

#include "ir/choices.h"
#include "jit/lower.h"

namespace tailor::jit {
namespace {

/// A folded dimension this short is unrolled, and lanes go to an outer dim.
constexpr int64_t kMostUnrolled = 8;

/// Every index function of the nest.
std::vector<IndexMap*> maps_of(LoopNest& nest) {
  std::vector<IndexMap*> maps;
  const auto add = [&](Access& a) {
    maps.push_back(&a.index);
    for (Bound& b : a.bounds) maps.push_back(&b.coordinate);
  };
  for (Expr& e : nest.exprs) {
    if (e.kind == ExprKind::Load) add(e.access);
    if (e.kind == ExprKind::Index) maps.push_back(&e.index);
  }
  for (Stage& s : nest.stages)
    for (Store& store : s.stores) add(store.access);
  return maps;
}

/// The access whose layout decides the order of loops: the first store to memory that moves along most dims, else such a load.
const IndexMap* leading_map(const LoopNest& nest, bool inner) {
  const auto moves = [&](const IndexMap& m) {
    int count = 0;
    for (size_t d = 0; d < nest.dims.size(); ++d) count += nest.dims[d].inner == inner && m.strides[d].value != 0;
    return count;
  };
  const IndexMap* best = nullptr;
  int most = 0;
  const auto consider = [&](const Access& a) {
    if (nest.buffers[static_cast<size_t>(a.buffer)].kind == BufferKind::Scratch) return;
    if (const int m = moves(a.index); m > most) most = m, best = &a.index;
  };
  for (const Stage& s : nest.stages)
    for (const Store& store : s.stores) consider(store.access);
  for (const Expr& e : nest.exprs)
    if (e.kind == ExprKind::Load) consider(e.access);
  return best;
}

void permute(LoopNest& nest, const std::vector<size_t>& order) {  // order[new] = old
  std::vector<LoopDim> dims;
  for (size_t d : order) dims.push_back(nest.dims[d]);
  nest.dims = std::move(dims);
  for (IndexMap* m : maps_of(nest)) {
    std::vector<Size> strides;
    for (size_t d : order) strides.push_back(m->strides[d]);
    m->strides = std::move(strides);
  }
  std::vector<int> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  for (Stage& s : nest.stages) {
    for (int& d : s.dims) d = position[static_cast<size_t>(d)];
    std::sort(s.dims.begin(), s.dims.end());
  }
}

bool folds_indices(const LoopNest& nest) {
  return std::any_of(nest.reductions.begin(), nest.reductions.end(), [](const Reduction& r) { return r.index >= 0; });
}

// Large strides outside, by the leading access; dims that it does not move along stay outermost.
void order_loops(LoopNest& nest) {
  std::vector<size_t> order(nest.dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(nest.dims[a].inner, a) < std::pair(nest.dims[b].inner, b); });
  const auto sort_part = [&](bool inner) {
    const IndexMap* lead = leading_map(nest, inner);
    if (lead == nullptr) return;
    const auto first = std::find_if(order.begin(), order.end(), [&](size_t d) { return nest.dims[d].inner == inner; });
    const auto last = std::find_if(first, order.end(), [&](size_t d) { return nest.dims[d].inner != inner; });
    const auto key = [&](size_t d) { return lead->strides[d].value == 0 ? INT64_MAX : std::abs(lead->strides[d].value); };
    std::sort(first, last, [&](size_t a, size_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  };
  sort_part(false);
  if (!folds_indices(nest)) sort_part(true);
  if (ir::sizes_vary()) {
    std::vector<size_t> sorted = order;
    for (size_t& d : order) d = static_cast<size_t>(ir::choose_number(static_cast<int64_t>(d)));
    std::sort(sorted.begin(), sorted.end());
    if (!std::is_permutation(order.begin(), order.end(), sorted.begin(), sorted.end())) ir::refuse_choice();
  }
  permute(nest, order);
}

// Scratch is indexed in the order in which the inner loops run.
void lay_out_scratch(LoopNest& nest) {
  const auto lay_out = [&](Access& a) {
    if (nest.buffers[static_cast<size_t>(a.buffer)].kind != BufferKind::Scratch) return;
    int64_t stride = 1;
    for (size_t d = nest.dims.size(); d-- > 0;) {
      a.index.strides[d] = nest.dims[d].inner ? stride : 0;
      if (nest.dims[d].inner) stride *= nest.dims[d].extent.value;
    }
  };
  for (Expr& e : nest.exprs)
    if (e.kind == ExprKind::Load) lay_out(e.access);
  for (Stage& s : nest.stages)
    for (Store& store : s.stores) lay_out(store.access);
}

// Neighbouring dims that every access walks as one become one.
void merge_loops(LoopNest& nest) {
  for (size_t d = nest.dims.size(); d-- > 1;) {
    LoopDim &outer = nest.dims[d - 1], &inner = nest.dims[d];
    if (outer.inner != inner.inner) continue;
    const std::vector<IndexMap*> maps = maps_of(nest);
    const bool together = std::all_of(
        maps.begin(), maps.end(), [&](const IndexMap* m) { return m->strides[d - 1].value == m->strides[d].value * inner.extent.value; });
    if (!ir::choose(together, together)) continue;
    outer.extent = outer.extent.value * inner.extent.value;
    nest.dims.erase(nest.dims.begin() + static_cast<int64_t>(d));
    for (IndexMap* m : maps) {
      m->strides[d - 1] = m->strides[d];
      m->strides.erase(m->strides.begin() + static_cast<int64_t>(d));
    }
    for (Stage& s : nest.stages) {
      std::erase(s.dims, static_cast<int>(d));
      for (int& x : s.dims)
        if (x > static_cast<int>(d)) --x;
    }
  }
}

int64_t unit_accesses(const LoopNest& nest, int dim) {
  int64_t count = 0;
  const auto add = [&](const Access& a) {
    if (nest.buffers[static_cast<size_t>(a.buffer)].kind == BufferKind::Scratch) return;
    const int64_t stride = a.index.strides[static_cast<size_t>(dim)].value;
    if (stride == 1)
      ++count;
    else if (stride != 0)
      --count;
  };
  for (const Stage& s : nest.stages) {
    for (int e : s.exprs)
      if (nest.exprs[static_cast<size_t>(e)].kind == ExprKind::Load) add(nest.exprs[static_cast<size_t>(e)].access);
    for (const Store& store : s.stores) add(store.access);
  }
  return count;
}

void choose_lanes(LoopNest& nest) {
  int last_outer = -1, last_inner = -1;
  int64_t folded = 1;
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    if (nest.dims[d].inner)
      last_inner = static_cast<int>(d), folded *= nest.dims[d].extent.value;
    else
      last_outer = static_cast<int>(d);
  }
  nest.vector_dim = last_outer;
  if (last_inner < 0) return;
  if (last_outer >= 0 && ir::choose(folded <= kMostUnrolled)) {
    for (LoopDim& d : nest.dims) d.unrolled = d.inner;
    return;
  }
  // A few outer points would leave most lanes empty.
  const bool few = last_outer >= 0 && nest.dims[static_cast<size_t>(last_outer)].extent.value < kMostUnrolled &&
                   nest.dims[static_cast<size_t>(last_inner)].extent.value >= kMostUnrolled;
  if (last_outer < 0 || ir::choose(few || unit_accesses(nest, last_inner) >= unit_accesses(nest, last_outer))) nest.vector_dim = last_inner;
}

}  // namespace

void schedule_loops(LoopNest& nest) {
  order_loops(nest);
  lay_out_scratch(nest);
  merge_loops(nest);
  choose_lanes(nest);
  unroll_fields(nest);
}

}  // namespace tailor::jit
