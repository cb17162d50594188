// Rows and columns of a matrix folded in one pass: several rows at once, each folded along itself, and all of them into the row of
// results of their part, which stays in the cache.
//
//   for each part of the rows (parallel):
//     for each group of rows of the part:
//       for each column: fold each row along itself; the part's results at this column = fold of them and of the rows
//       store what the rows gave

#include <limits>

#include "jit/lowering.h"

namespace tailor::jit {

using ir::Node;
using ir::ValueId;

LoweredNest Lowering::run_both_ways() {
  if (deepest_ != 0) throw LoweringError("a pass over rows and columns needs what it folds");
  const Place wide{0, true}, narrow{1, false};
  std::vector<std::map<ValueId, int>> reductions;
  std::map<ValueId, int> totals;
  for (ValueId v : row_folds_) totals[v] = total_so_far(v, wide);
  for (int64_t row = 0; row < kRowsAtOnce; ++row) {
    domain_[0].offset = row;
    reduction_ids_.clear();
    emit_wide(0);
    reductions.push_back(reduction_ids_);
    for (ValueId v : row_folds_) totals[v] = fold_row(v, totals[v], wide);
  }
  for (ValueId v : row_folds_) {
    Store store;
    store.value = totals[v];
    store.access.buffer = buffer_of(v, true);
    stage(wide).stores.push_back(store);
    store_indices_.push_back({wide.order(), stage(wide).stores.size() - 1, element_index(v, part_coordinates(v))});
  }
  for (int64_t row = 0; row < kRowsAtOnce; ++row) {
    domain_[0].offset = row;
    reduction_ids_ = reductions[static_cast<size_t>(row)];
    emit_stores(narrow);
  }
  finish();
  return std::move(out_);
}

Coordinates Lowering::part_coordinates(ValueId v) const {
  const Dims sizes = graph_.spec(v).sizes;
  Coordinates at(sizes.size(), zero());
  if (sizes[0] != 1) at[0] = Affine::loop(0, extents_.size());
  at.back() = domain_[1];
  return at;
}

int Lowering::fold_row(ValueId v, int total, Place place) {
  const Node& n = graph_.node_of(v);
  const ValueId matrix = graph_.node_of(n.operands[0].tensor).operands[0].tensor;
  const int value = emit(matrix, here(graph_.spec(matrix).sizes, true), place);
  Expr e;
  e.kind = ExprKind::Op;
  e.op = ir::find_op(n.op->name == "sum" ? "add" : n.op->name == "amax" ? "maximum" : "minimum");
  e.type = e.compute = graph_.spec(v).dtype;
  e.args = {total, value};
  return add(std::move(e), place);
}

// What the part's earlier rows have given: nothing at its first group of rows.
int Lowering::total_so_far(ValueId v, Place place) {
  const Node& n = graph_.node_of(v);
  const ScalarType type = graph_.spec(v).dtype;
  const double infinity = std::numeric_limits<double>::infinity();
  const double identity = n.op->name == "sum" ? 0 : n.op->name == "amax" ? -infinity : infinity;
  Expr group;
  group.kind = ExprKind::Index;
  group.type = kInt64;
  Expr first;
  first.kind = ExprKind::Op;
  first.op = ir::find_op("eq");
  first.type = kBool;
  first.compute = kInt64;
  first.args = {add(std::move(group), place, {Affine::loop(1, extents_.size()), {}}), literal(tailor::Scalar(int64_t{0}), kInt64, place)};
  Expr chosen;
  chosen.kind = ExprKind::Op;
  chosen.op = ir::find_op("where");
  chosen.type = chosen.compute = type;
  chosen.args = {add(std::move(first), place), literal(tailor::Scalar(identity), type, place), load(v, part_coordinates(v), place)};
  return add(std::move(chosen), place);
}

}  // namespace tailor::jit
