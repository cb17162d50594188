#include "jit/lowering.h"

#include "ir/ops/reduction.h"

namespace tailor::jit {

using ir::Node;
using ir::TensorSpec;
using ir::ValueId;

ScalarType Lowering::folded_type(const Node& n, ScalarType result) {
  const std::string_view op = n.op->name;
  return op == "any" || op == "all" ? kBool : compute_type(result);
}

ReduceOp Lowering::reduce_op(const Node& n, int output) {
  const std::string_view op = n.op->name;
  if (op == "sum") return ReduceOp::Sum;
  if (op == "prod") return ReduceOp::Prod;
  if (op == "any") return ReduceOp::Any;
  if (op == "all") return ReduceOp::All;
  if (op == "amax") return ReduceOp::Max;
  if (op == "amin") return ReduceOp::Min;
  if (op == "argmax") return ReduceOp::ArgMax;
  if (op == "argmin") return ReduceOp::ArgMin;
  if (op == "max_dim") return output == 0 ? ReduceOp::Max : ReduceOp::ArgMax;
  internal_check(op == "min_dim", "op ", op, " is no reduction");
  return output == 0 ? ReduceOp::Min : ReduceOp::ArgMin;
}

void Lowering::open_reduction(ValueId v, Place place) {
  const Node& n = graph_.node_of(v);
  const ValueId source = n.operands[0].tensor;
  const TensorSpec& spec = graph_.spec(source);
  if (!is_wide(spec.sizes)) throw LoweringError("a reduction of another shape than its group");
  const Coordinates at = here(spec.sizes, true);
  Reduction r;
  r.op = reduce_op(n, graph_.values[static_cast<size_t>(v)].output);
  const bool arg = r.op == ReduceOp::ArgMax || r.op == ReduceOp::ArgMin;
  const ScalarType result = graph_.spec(v).dtype;
  int value = emit(source, at, place);
  r.accumulate = arg ? compute_type(spec.dtype) : folded_type(n, result);
  // sum(dtype=...) converts before it adds; the half types are added up in float.
  if (!arg) value = cast(value, is_half_type(result) ? result : r.accumulate, place);
  r.value = value;
  if (arg) {
    Expr e;
    e.kind = ExprKind::Index;
    e.type = kInt64;
    const uint32_t mask = reduced_mask(graph_, n);
    Affine index = zero();
    for (size_t d = 0; d < spec.sizes.size(); ++d)
      if (mask >> d & 1) {
        for (int64_t& c : index.coefficients) c *= spec.sizes[d];
        index.add(at[d]);
      }
    r.index = add(std::move(e), place, {index, {}});
  }
  const auto id = static_cast<int>(nest().reductions.size());
  nest().reductions.push_back(r);
  stage(place).reductions.push_back(id);
  reduction_ids_[v] = id;
}

int Lowering::reduced(ValueId v, const Node& n, const Coordinates& at, Place place) {
  const ValueId source = n.operands[0].tensor;
  const TensorSpec& spec = graph_.spec(source);
  const uint32_t mask = reduced_mask(graph_, n);
  const bool keepdim = graph_.spec(v).rank() == spec.rank();
  if (ir::reduced_count(spec.sizes, mask) == 1) return of_one(v, n, at, place);
  // Only the reduction of the current outer point is at hand.
  const Coordinates identity = here(spec.sizes, true);
  size_t next = 0;
  for (size_t d = 0; d < spec.sizes.size(); ++d) {
    if (mask >> d & 1) {
      next += keepdim ? 1 : 0;
      continue;
    }
    if (spec.sizes[d] != 1 && at[next] != identity[d]) throw LoweringError("a reduction is wanted at another place");
    ++next;
  }
  const auto it = reduction_ids_.find(v);
  if (it == reduction_ids_.end()) throw LoweringError("a reduction is wanted before it is done");
  Expr e;
  e.kind = ExprKind::Reduced;
  e.param = it->second;
  const Reduction& r = nest().reductions[static_cast<size_t>(it->second)];
  e.type = r.op == ReduceOp::ArgMax || r.op == ReduceOp::ArgMin ? kInt64 : r.accumulate;
  return cast(add(std::move(e), place), graph_.spec(v).dtype, place);
}

int Lowering::of_one(ValueId v, const Node& n, const Coordinates& at, Place place) {
  const ReduceOp op = reduce_op(n, graph_.values[static_cast<size_t>(v)].output);
  const ScalarType result = graph_.spec(v).dtype;
  if (op == ReduceOp::ArgMax || op == ReduceOp::ArgMin) return literal(tailor::Scalar(0), result, place);
  const int value = emit(n.operands[0].tensor, operand_coordinates(n, at, {}), place);
  return cast(op == ReduceOp::Any || op == ReduceOp::All ? cast(value, kBool, place) : value, result, place);
}

Coordinates Lowering::operand_coordinates(const Node& n, const Coordinates& at, std::span<const int64_t> folded) const {
  const TensorSpec& spec = graph_.spec(n.operands[0].tensor);
  const uint32_t mask = reduced_mask(graph_, n);
  const bool keepdim = graph_.spec(n.outputs[0]).rank() == spec.rank();
  Coordinates result;
  size_t next = 0, f = 0;
  for (size_t d = 0; d < spec.sizes.size(); ++d) {
    if (mask >> d & 1) {
      result.push_back(zero());
      if (!folded.empty()) result.back().offset = folded[f++];
      next += keepdim ? 1 : 0;
    } else {
      result.push_back(at[next++]);
    }
  }
  return result;
}

int Lowering::expanded(const Node& n, const Coordinates& at, Place place) {
  const TensorSpec& spec = graph_.spec(n.operands[0].tensor);
  const uint32_t mask = reduced_mask(graph_, n);
  const ScalarType result = graph_.spec(n.outputs[0]).dtype, type = compute_type(result);
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < spec.sizes.size(); ++d)
    if (mask >> d & 1) sizes.push_back(spec.sizes[d]);
  const std::string_view op = n.op->name;
  const ir::OpDef* fold = ir::find_op(op == "sum" ? "add" : op == "prod" ? "mul" : op == "amax" ? "maximum" : "minimum");
  int total = -1;
  std::vector<int64_t> position(sizes.size(), 0);
  for (int64_t i = 0; i < product(sizes); ++i) {
    int value = emit(n.operands[0].tensor, operand_coordinates(n, at, position), place);
    value = cast(cast(value, result, place), type, place);
    if (total < 0) {
      total = value;
    } else {
      Expr e;
      e.kind = ExprKind::Op;
      e.op = fold;
      e.type = e.compute = type;
      e.args = {total, value};
      total = add(std::move(e), place);
    }
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++position[d] < sizes[d]) break;
      position[d] = 0;
    }
  }
  return cast(total, result, place);
}

}  // namespace tailor::jit
