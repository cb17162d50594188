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

/// How many registers of each value an iteration of a folding stage handles. A fold of little else than loads is bound by the
/// latency of its additions, and columns by the cache lines they touch; a stage that computes much keeps the processor busy by itself
/// and would run out of registers.
unsigned registers_for(const LoopNest& nest, const Stage& stage, bool columns) {
  if (stage.reductions.empty() || stage.dims.empty()) return 1;
  const int cost = stage_cost(nest, stage);
  const auto folds = stage.reductions.size();
  if (columns && cost <= 3 && folds == 1) return 16;
  return cost <= 6 && folds <= 2 ? 4 : cost <= 12 && folds <= 2 ? 2 : 1;
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
    for (size_t i = 0; i < nest.stages.size(); ++i)
      if (std::find(nest.stages[i].dims.begin(), nest.stages[i].dims.end(), nest.vector_dim) != nest.stages[i].dims.end())
        s.per_stage[i] = fit(s.native * registers_for(nest, nest.stages[i], false), dim.extent);
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
  return s;
}

}  // namespace tailor::jit
