// Ops that only move elements, as index maps: pad, flip, roll, cat read their operands at other coordinates, guarded where those may
// lie outside; tril, triu and arange compute with the coordinates themselves.

#include <algorithm>
#include <limits>

#include "ir/choices.h"
#include "ir/infer.h"
#include "ir/ops/movement.h"
#include "jit/lowering.h"

namespace tailor::jit {

using ir::Node;
using ir::TensorSpec;
using ir::ValueId;

Lowering::Range Lowering::range_of(const Affine& a) const {
  Range range{a.offset, a.offset};
  for (size_t d = 0; d < extents_.size(); ++d) {
    const int64_t reach = a.coefficients[d] * std::max<int64_t>(extents_[d] - 1, 0);
    (reach < 0 ? range.least : range.most) += reach;
  }
  return range;
}

std::vector<Lowering::Guard> Lowering::live_guards() const {
  std::vector<Guard> live;
  for (const Guard& g : guards_) {
    const Range range = range_of(g.coordinate);
    const bool holds = range.least >= g.low && range.most < g.high;
    if (ir::choose(holds, holds)) continue;
    if (std::find(live.begin(), live.end(), g) == live.end()) live.push_back(g);
  }
  return live;
}

int Lowering::guarded(const Guard& guard, ValueId v, const Coordinates& at, Place place) {
  guards_.push_back(guard);
  const int value = emit(v, at, place);
  guards_.pop_back();
  return value;
}

int Lowering::below(Affine coordinate, int64_t bound, int yes, int no, Place place) {
  const Range range = range_of(coordinate);
  if (ir::choose(range.most < bound, range.most < bound)) return yes;
  if (ir::choose(range.least >= bound, range.least >= bound)) return no;
  // Without their offsets, the coordinates of neighbours are one expression.
  bound -= std::exchange(coordinate.offset, 0);
  const Range plain = range_of(coordinate);
  constexpr int64_t kNarrow = std::numeric_limits<int32_t>::max();
  Expr index;
  index.kind = ExprKind::Index;
  const bool narrow = plain.least >= -kNarrow && plain.most <= kNarrow && std::abs(bound) <= kNarrow;
  index.type = ir::choose(narrow, narrow) ? kInt32 : kInt64;
  Expr compare;
  compare.kind = ExprKind::Op;
  compare.op = ir::find_op("lt");
  compare.type = kBool;
  compare.compute = index.type;
  const ScalarType type = index.type;
  const int position = add(std::move(index), place, {std::move(coordinate), {}});
  compare.args = {position, literal(tailor::Scalar(bound), type, place)};
  Expr select;
  select.kind = ExprKind::Op;
  select.op = ir::find_op("where");
  select.type = nest().exprs[static_cast<size_t>(yes)].type;
  select.compute = compute_type(select.type);
  const int condition = add(std::move(compare), place, {});
  select.args = {condition, cast(yes, select.compute, place), cast(no, select.compute, place)};
  return add(std::move(select), place, {});
}

int Lowering::moved(ValueId v, const Node& n, const Coordinates& at, Place place) {
  const std::string_view op = n.op->name;
  if (op == "pad") return padded(v, n, at, place);
  if (op == "cat") return concatenated(v, n, at, place);
  const ValueId source = n.operands[0].tensor;
  const TensorSpec& spec = graph_.spec(source);
  Coordinates from = at;
  if (op == "flip") {
    if (spec.rank() == 0) return emit(source, at, place);
    for (int64_t d : n.attrs[0].ref().as_ints()) {
      const auto dim = static_cast<size_t>(wrap_dim(d, spec.rank()));
      from[dim] = Affine::constant(spec.sizes[dim] - 1, extents_.size());
      from[dim].add(at[dim], -1);
    }
    return emit(source, from, place);
  }
  internal_check(op == "roll", "op ", op, " is no movement");
  const IntArrayRef dims = n.attrs[1].ref().as_ints();
  const auto dim = static_cast<size_t>(wrap_dim(dims.empty() ? 0 : dims[0], spec.rank()));
  const int64_t size = spec.sizes[dim];
  if (size == 0) return literal(tailor::Scalar(0), spec.dtype, place);
  const int64_t shift = (n.attrs[0].ref().as_ints()[0] % size + size) % size;
  if (shift == 0) return emit(source, at, place);
  from[dim].offset -= shift;
  const int above = guarded({from[dim], 0, size}, source, from, place);
  from[dim].offset += size;
  const int under = guarded({from[dim], 0, size}, source, from, place);
  return below(at[dim], shift, under, above, place);
}

int Lowering::padded(ValueId v, const Node& n, const Coordinates& at, Place place) {
  const ValueId source = n.operands[0].tensor;
  const TensorSpec& spec = graph_.spec(source);
  const ir::Value& padding = n.operands[1];
  const ScalarType type = graph_.spec(v).dtype;
  const auto border = [&] {
    if (padding.is_none()) return literal(tailor::Scalar(0), type, place);
    return padding.is_scalar() ? literal(padding.scalar, type, place) : parameter(padding.tensor, type, place);
  };
  if (spec.numel() == 0) return border();
  const IntArrayRef pad = n.attrs[0].ref().as_ints();
  Coordinates from = at;
  std::vector<Guard> edges;
  for (size_t p = 0; p < pad.size() / 2; ++p) {
    const size_t d = spec.sizes.size() - 1 - p;
    const int64_t size = spec.sizes[d];
    from[d].offset -= pad[2 * p];
    const Range range = range_of(from[d]);
    const bool outside = range.most < 0 || range.least >= size, inside = range.least >= 0 && range.most < size;
    if (ir::choose(outside, outside)) return border();
    if (!ir::choose(inside, inside)) edges.push_back({from[d], 0, size});
    if (size == 1) from[d] = zero();
  }
  const size_t outer = guards_.size();
  guards_.insert(guards_.end(), edges.begin(), edges.end());
  const bool loads = !computes(source) && graph_.node_of(source).kind != ir::NodeKind::Scalar && spec.numel() > 1;
  int value = -1;
  if (loads && !padding.is_tensor()) {  // beyond outer guards, any value will do

    value = load(source, from, place, padding.is_none() ? tailor::Scalar(0) : padding.scalar);
    edges.clear();
  } else {
    value = emit(source, from, place);
  }
  guards_.erase(guards_.begin() + static_cast<int64_t>(outer), guards_.end());
  for (const Guard& edge : edges) {
    const int outside = border();
    value = below(edge.coordinate, edge.low, outside, below(edge.coordinate, edge.high, value, outside, place), place);
  }
  return value;
}

int Lowering::concatenated(ValueId v, const Node& n, const Coordinates& at, Place place) {
  const TensorSpec& out = graph_.spec(v);
  const auto dim = static_cast<size_t>(wrap_dim(n.attrs[0].ref().as_int(), out.rank()));
  const Range range = range_of(at[dim]);
  int64_t end = out.sizes[dim];
  int result = -1;
  for (size_t i = n.operands.size(); i-- > 0;) {
    const ValueId part = n.operands[i].tensor;
    const TensorSpec& spec = graph_.spec(part);
    if (spec.numel() == 0) continue;
    const int64_t size = spec.sizes[dim], start = end - size;
    const bool elsewhere = range.most < start || range.least >= end;
    if (!ir::choose(elsewhere, elsewhere)) {
      Coordinates from = at;
      from[dim].offset -= start;
      const Guard guard{from[dim], 0, size};
      if (size == 1) from[dim] = zero();
      const int value = cast(guarded(guard, part, from, place), out.dtype, place);
      result = result < 0 ? value : below(at[dim], end, value, result, place);
    }
    end = start;
  }
  return result < 0 ? literal(tailor::Scalar(0), out.dtype, place) : result;
}

int Lowering::triangle(ValueId v, const Node& n, const Coordinates& at, Place place) {
  const TensorSpec& spec = graph_.spec(v);
  const int64_t reach = spec.sizes.back() + spec.sizes[spec.sizes.size() - 2];
  const int64_t diagonal = std::clamp<int64_t>(n.attrs[0].ref().as_int(), -reach, reach);
  Affine distance = at.back();
  distance.add(at[at.size() - 2], -1);
  const int value = emit(n.operands[0].tensor, at, place), zero = literal(tailor::Scalar(0), spec.dtype, place);
  return n.op->name == "tril" ? below(distance, diagonal + 1, value, zero, place) : below(distance, diagonal, zero, value, place);
}

int Lowering::counted(ValueId v, const Node& n, const Coordinates& at, Place place) {
  const ScalarType type = graph_.spec(v).dtype;
  Expr e;
  e.kind = ExprKind::Index;
  e.type = is_floating_point(type) ? kInt32 : type;
  Affine index = Affine::constant(n.operands[0].scalar.to_int(), extents_.size());
  index.add(at[0], n.operands[1].scalar.to_int());
  return cast(add(std::move(e), place, {std::move(index), {}}), type, place);
}

}  // namespace tailor::jit
