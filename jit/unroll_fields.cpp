// Folds over rows for each of a few fields (the coordinates of bodies): all fields in one pass, so that what they share is read and
// computed once, and records are read whole.
#include <algorithm>

#include "ir/choices.h"
#include "jit/fusion.h"
#include "jit/lower.h"

namespace tailor::jit {
namespace {

constexpr size_t kMostExprs = 48;  // of a nest whose code is repeated

/// A nest with its loop over fields written out.
class Unrolling {
 public:
  Unrolling(const LoopNest& nest, int dim)
      : from_(nest),
        to_(nest),
        dim_(static_cast<size_t>(dim)),
        fields_(static_cast<size_t>(nest.dims[static_cast<size_t>(dim)].extent.value)),
        exprs_(nest.exprs.size()),
        reductions_(nest.reductions.size()) {}

  LoopNest run() {
    to_.exprs.clear();
    to_.reductions.clear();
    for (Stage& s : to_.stages) stage(s);
    to_.dims.erase(to_.dims.begin() + static_cast<int64_t>(dim_));
    if (to_.vector_dim > static_cast<int>(dim_)) --to_.vector_dim;
    return std::move(to_);
  }

 private:
  // A copy for each field, or one for all.
  using Copies = std::vector<int>;
  static int of(const Copies& copies, size_t field) { return copies[copies.size() == 1 ? 0 : field]; }

  bool moves(const IndexMap& map) const { return map.strides[dim_].value != 0; }
  bool varies(const Expr& e) const {
    const auto repeated = [](const Copies& c) { return c.size() > 1; };
    return (e.kind == ExprKind::Load && moves(e.access.index)) || (e.kind == ExprKind::Index && moves(e.index)) ||
           (e.kind == ExprKind::Reduced && repeated(reductions_[static_cast<size_t>(e.param)])) ||
           std::any_of(e.args.begin(), e.args.end(), [&](int a) { return repeated(exprs_[static_cast<size_t>(a)]); });
  }
  IndexMap at(IndexMap map, size_t field) const {
    if (map.strides.empty()) return map;
    map.offset.value += map.strides[dim_].value * static_cast<int64_t>(field);
    map.strides.erase(map.strides.begin() + static_cast<int64_t>(dim_));
    return map;
  }

  // What the stage computes already, or -1: one field may have been named apart from the others (the terms of a square of distance).
  int known(const Stage& s, const Expr& e) const {
    if (e.kind != ExprKind::Load && e.kind != ExprKind::Op) return -1;
    for (int id : s.exprs) {
      const Expr& other = to_.exprs[static_cast<size_t>(id)];
      if (other.kind != e.kind || other.type != e.type) continue;
      if (e.kind == ExprKind::Op) {
        if (other.op == e.op && other.compute == e.compute && other.args == e.args) return id;
      } else if (other.access.buffer == e.access.buffer) {
        const bool same = other.access.index.offset == e.access.index.offset && other.access.index.strides == e.access.index.strides;
        if (ir::choose(same, same)) return id;
      }
    }
    return -1;
  }

  void stage(Stage& s) {
    const Stage old = std::move(s);
    s = {};
    for (int d : old.dims) s.dims.push_back(d > static_cast<int>(dim_) ? d - 1 : d);
    for (int id : old.exprs) {
      const Expr& e = from_.exprs[static_cast<size_t>(id)];
      Copies& copies = exprs_[static_cast<size_t>(id)];
      const size_t count = varies(e) ? fields_ : 1;
      for (size_t field = 0; field < count; ++field) {
        Expr copy = e;
        for (int& a : copy.args) a = of(exprs_[static_cast<size_t>(a)], field);
        copy.access.index = at(copy.access.index, field);
        copy.index = at(copy.index, field);
        if (e.kind == ExprKind::Reduced) copy.param = of(reductions_[static_cast<size_t>(e.param)], field);
        copies.push_back(known(s, copy));
        if (copies.back() >= 0) continue;
        copies.back() = static_cast<int>(to_.exprs.size());
        s.exprs.push_back(copies.back());
        to_.exprs.push_back(std::move(copy));
      }
    }
    for (int id : old.reductions) {
      const Reduction& r = from_.reductions[static_cast<size_t>(id)];
      const Copies& values = exprs_[static_cast<size_t>(r.value)];
      for (size_t field = 0; field < values.size(); ++field) {
        reductions_[static_cast<size_t>(id)].push_back(static_cast<int>(to_.reductions.size()));
        s.reductions.push_back(reductions_[static_cast<size_t>(id)].back());
        to_.reductions.push_back(r);
        to_.reductions.back().value = values[field];
      }
    }
    for (const Store& store : old.stores)
      for (size_t field = 0; field < (moves(store.access.index) ? fields_ : 1); ++field)
        s.stores.push_back({{store.access.buffer, at(store.access.index, field), {}}, of(exprs_[static_cast<size_t>(store.value)], field)});
  }

  const LoopNest& from_;
  LoopNest to_;
  const size_t dim_, fields_;
  std::vector<Copies> exprs_, reductions_;
};

// The loop over fields, or -1: the innermost outer one, beside rows that are folded with lanes along them.
int fields_of(const LoopNest& nest) {
  if (nest.vector_dim < 0 || !nest.dims[static_cast<size_t>(nest.vector_dim)].inner || nest.exprs.size() > kMostExprs) return -1;
  int dim = -1, outer = 0;
  for (size_t d = 0; d < nest.dims.size(); ++d) {
    if (nest.dims[d].unrolled) return -1;
    if (!nest.dims[d].inner) dim = static_cast<int>(d), ++outer;
  }
  if (outer < 2 || nest.dims[static_cast<size_t>(dim)].extent.value < 2 || nest.dims[static_cast<size_t>(dim)].extent.value > kMostFields)
    return -1;
  for (const Buffer& b : nest.buffers)
    if (b.kind == BufferKind::Scratch) return -1;
  for (const Reduction& r : nest.reductions)
    if (r.index >= 0) return -1;
  for (const Stage& s : nest.stages)
    for (const Store& store : s.stores)
      if (!store.access.bounds.empty()) return -1;
  bool shared = false;
  for (const Expr& e : nest.exprs) {
    if (e.kind != ExprKind::Load) continue;
    if (!e.access.bounds.empty()) return -1;
    const std::vector<Size>& strides = e.access.index.strides;
    shared |= strides[static_cast<size_t>(dim)].value == 0 && strides[static_cast<size_t>(nest.vector_dim)].value != 0;
  }
  return shared && !nest.reductions.empty() ? dim : -1;
}

}  // namespace

void unroll_fields(LoopNest& nest) {
  const int own = fields_of(nest), dim = static_cast<int>(ir::choose_number(own));
  if (dim < 0) return;
  if (dim != own) ir::refuse_choice();
  const int64_t fields = nest.dims[static_cast<size_t>(dim)].extent.value;
  if (fields != ir::choose_number(fields)) ir::refuse_choice();
  nest = Unrolling(nest, dim).run();
}

}  // namespace tailor::jit
