#include <algorithm>

#include "jit/llvm/cost.h"
#include "jit/llvm/emit.h"

namespace tailor::jit {
namespace {

/// Bytes of the element that fills a vector register: the widest type computed with, where 8-byte types beside 4-byte ones take
/// two registers.
int64_t register_element(const LoopNest& nest) {
  int64_t widest = 1;
  bool four = false;
  auto consider = [&](ScalarType type) {
    const int64_t bytes = element_size(compute_type(type));
    widest = std::max(widest, bytes);
    four = four || bytes == 4;
  };
  for (const Expr& e : nest.exprs) {
    if (e.kind == ExprKind::Index || e.kind == ExprKind::Literal || e.kind == ExprKind::Param) continue;
    consider(e.type);
    if (e.kind == ExprKind::Op) consider(e.compute);
  }
  return four ? 4 : widest;
}

constexpr int64_t kColumnBytes = 16 * 1024;  // of accumulators: half a first-level cache
constexpr int64_t kRowWorthPrefetching = 256;
constexpr int64_t kFewRows = 32, kFewColumns = 64, kSmallTile = 4, kFewPoints = 2048;

/// How many registers of each value an iteration of a folding stage handles. A fold of little else than loads is bound by the
/// latency of its additions, and columns by the cache lines they touch; a stage that computes much keeps the processor busy by itself
/// and would run out of registers.
unsigned registers_for(const LoopNest& nest, const Stage& stage, bool columns) {
  if (stage.reductions.empty() || stage.dims.empty()) return 1;
  for (const int id : stage.exprs) {  // gathers and permutations keep the processor busy
    const Expr& e = nest.exprs[static_cast<size_t>(id)];
    if (e.kind != ExprKind::Load) continue;
    const Size& stride = e.access.index.strides[static_cast<size_t>(nest.vector_dim)];
    if (!(stride == Size(0)) && !(stride == Size(1))) return 1;
  }
  const int cost = stage_cost(nest, stage);
  const auto folds = stage.reductions.size();
  if (columns && cost <= 3 && folds == 1) return 16;
  return cost <= 6 && folds <= 2 ? 4 : cost <= 12 && folds <= 2 ? 2 : 1;
}

/// Whether the folds run along columns far enough that walking row by row pays: a vector of columns at a time touches one cache line
/// in each row, which neither the prefetchers nor the page tables like.
void choose_columns(const LoopNest& nest, Schedule& s) {
  const Size& columns = nest.dims[static_cast<size_t>(nest.vector_dim)].extent;
  if (columns.is_static() && columns.value < kFewColumns) return;
  for (const Buffer& buffer : nest.buffers)
    if (buffer.kind == BufferKind::Scratch) return;
  int64_t bytes = 0;
  bool folds = false;
  for (const Stage& stage : nest.stages) {
    int64_t rows = 1;
    bool known = true;
    for (const int d : stage.dims) {
      const LoopDim& dim = nest.dims[static_cast<size_t>(d)];
      if (dim.unrolled) return;
      known = known && dim.extent.is_static();
      rows *= dim.extent.value;
    }
    if (stage.dims.empty()) continue;
    if (known && rows < kFewRows) return;
    folds = folds || !stage.reductions.empty();
    for (const int r : stage.reductions) {
      const Reduction& reduction = nest.reductions[static_cast<size_t>(r)];
      bytes += element_size(reduction.accumulate) + (reduction.index >= 0 ? 8 : 0);
    }
  }
  if (!folds) return;
  s.outer = s.native;
  s.column_block = std::max<int64_t>(kColumnBytes / bytes / s.native, 1) * s.native;
  for (const Stage& stage : nest.stages) {
    const int cost = stage_cost(nest, stage);
    s.rows_at_once.push_back(cost <= 6 ? 8 : cost <= 16 ? 4 : cost <= 40 ? 2 : 1);
  }
}

/// Loads of a pointwise nest that are contiguous along another outer dim than the vector dim.
void choose_tiles(const LoopNest& nest, const Target& target, Schedule& s) {
  if (s.outer < 4 || s.outer > s.native) return;
  const Size& columns = nest.dims[static_cast<size_t>(nest.vector_dim)].extent;
  for (const LoopDim& d : nest.dims)
    if (d.inner || (d.extent.is_static() && &d == &nest.dims[static_cast<size_t>(nest.vector_dim)] && d.extent.value < kSmallTile)) return;
  for (size_t i = 0; i < nest.exprs.size(); ++i) {
    const Expr& e = nest.exprs[i];
    if (e.kind != ExprKind::Load || !e.access.bounds.empty() || element_size(e.type) < (target.masks ? 1 : 4)) continue;
    const std::vector<Size>& strides = e.access.index.strides;
    const Size& along = strides[static_cast<size_t>(nest.vector_dim)];
    if (along.is_static() && along.value >= -1 && along.value <= 1) continue;
    for (size_t d = 0; d < strides.size(); ++d) {
      const Size& extent = nest.dims[d].extent;
      if (static_cast<int>(d) == nest.vector_dim || !(strides[d] == Size(1)) || (extent.is_static() && extent.value < kSmallTile)) continue;
      if (extent.is_static() && columns.is_static() && extent.value * columns.value < kFewPoints) continue;  // gathering compiles faster
      if (s.tile_dim < 0) s.tile_dim = static_cast<int>(d);
      if (s.tile_dim == static_cast<int>(d)) s.tiled.push_back(static_cast<int>(i));
    }
  }
}

/// Rows that are read by several stages: the stage after the first that computes most prefetches the next row.
void choose_prefetches(const LoopNest& nest, Schedule& s) {
  size_t first = nest.stages.size(), best = 0;
  int most = 0, outer = -1;
  for (size_t d = 0; d < nest.dims.size(); ++d)
    if (!nest.dims[d].inner) outer = static_cast<int>(d);
  for (size_t i = 0; i < nest.stages.size(); ++i) {
    if (nest.stages[i].dims.empty()) continue;
    if (first == nest.stages.size()) {
      first = i;
    } else if (const int cost = stage_cost(nest, nest.stages[i]); cost > most) {
      most = cost, best = i;
    }
  }
  if (outer < 0 || most == 0) return;
  auto unit_load = [&](const Expr& e) {
    return e.kind == ExprKind::Load && nest.buffers[static_cast<size_t>(e.access.buffer)].kind == BufferKind::Input &&
           e.access.bounds.empty() && e.access.index.strides[static_cast<size_t>(nest.vector_dim)] == Size(1) &&
           !(e.access.index.strides[static_cast<size_t>(outer)] == Size(0));
  };
  for (const int id : nest.stages[best].exprs) {
    const Expr& e = nest.exprs[static_cast<size_t>(id)];
    if (!unit_load(e)) continue;
    const auto& before = nest.stages[first].exprs;
    const bool again = std::any_of(before.begin(), before.end(), [&](int b) {
      const Expr& other = nest.exprs[static_cast<size_t>(b)];
      return unit_load(other) && other.access.buffer == e.access.buffer && other.access.index.offset == e.access.index.offset &&
             other.access.index.strides == e.access.index.strides;
    });
    if (again) s.prefetched.push_back(id);
  }
}

/// No more lanes than a short dim fills.
unsigned fit(unsigned lanes, const Size& extent) {
  if (extent.is_static() && extent.value > 0)
    while (lanes > 2 && extent.value <= lanes / 2) lanes /= 2;
  return lanes;
}

}  // namespace

Schedule choose_schedule(const LoopNest& nest, const Target& target) {
  Schedule s;
  s.per_stage.assign(nest.stages.size(), 1);
  if (nest.vector_dim < 0) return s;
  s.native = static_cast<unsigned>(target.vector_bytes / register_element(nest));
  const LoopDim& dim = nest.dims[static_cast<size_t>(nest.vector_dim)];
  if (dim.inner) {
    // Rows of a length known when running may be short: empty lanes cost as much as full ones.
    const unsigned most = dim.extent.is_static() ? 16 : 2;
    for (size_t i = 0; i < nest.stages.size(); ++i)
      if (std::find(nest.stages[i].dims.begin(), nest.stages[i].dims.end(), nest.vector_dim) != nest.stages[i].dims.end())
        s.per_stage[i] = fit(s.native * std::min(registers_for(nest, nest.stages[i], false), most), dim.extent);
    if (!dim.extent.is_static() || dim.extent.value >= kRowWorthPrefetching) choose_prefetches(nest, s);
    return s;
  }
  unsigned registers = 16;
  bool folds = false;
  for (const Stage& stage : nest.stages) {
    if (stage.reductions.empty()) continue;
    folds = true;
    registers = std::min(registers, registers_for(nest, stage, true));
  }
  if (!dim.extent.is_static()) registers = std::min(registers, 4u);
  s.outer = fit(s.native * (folds ? registers : 1), dim.extent);
  choose_columns(nest, s);
  choose_tiles(nest, target, s);
  return s;
}

}  // namespace tailor::jit
