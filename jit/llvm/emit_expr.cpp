#include "ir/formula.h"
#include "ir/math/exp.h"
#include "jit/llvm/emit_at.h"
#include "jit/llvm/formulas.h"

namespace tailor::jit {

using llvm::Value;

namespace {

bool is_zero(const Size& s) { return s.is_static() && s.value == 0; }

// The bits of exp where x <= 0 or NaN, without a look at the other end.
FormulaResult exp_up_to_0(LlvmAlgebra& a, Value* const* args, int) {
  return {ir::math::bounded_exp(a, ir::math::at_least(a, a.value(args[0]), -104)).v, false};
}

}  // namespace

Size NestEmitter::vector_stride(const IndexMap& map) const {
  const auto d = static_cast<size_t>(nest_.vector_dim);
  return nest_.vector_dim >= 0 && d < map.strides.size() ? map.strides[d] : Size(0);
}

bool NestEmitter::varies(const IndexMap& map) const { return lanes_ > 1 && vector_active() && !is_zero(vector_stride(map)); }

bool NestEmitter::varies(const Access& access) const {
  if (nest_.buffers[static_cast<size_t>(access.buffer)].kind == BufferKind::Scratch && lanes_ > 1 && vector_active() &&
      !nest_.dims[static_cast<size_t>(nest_.vector_dim)].inner)
    return true;
  if (varies(access.index)) return true;
  for (const Bound& bound : access.bounds)
    if (varies(bound.coordinate)) return true;
  return false;
}

int NestEmitter::map_level(const IndexMap& map) const {
  int level = 0;
  for (size_t d = 0; d < map.strides.size(); ++d)
    if (!is_zero(map.strides[d])) level = std::max(level, dim_level_[d]);
  return level;
}

int NestEmitter::access_level(const Access& access) const {
  int level = map_level(access.index);
  for (const Bound& bound : access.bounds) level = std::max(level, map_level(bound.coordinate));
  const auto buffer = static_cast<size_t>(access.buffer);
  if (written_[buffer] || nest_.buffers[buffer].kind == BufferKind::Scratch) level = std::max(level, stage_level_);
  if (varies(access)) level = std::max(level, level_of(nest_.vector_dim));
  return level;
}

/// The index of the first lane, built level by level so that outer parts are shared and hoisted.
Value* NestEmitter::affine(const IndexMap& map) {
  Value* sum = size(map.offset);
  std::vector<int64_t> key = {-1, map.offset.value, map.offset.param};
  for (int level = 1; level <= top(); ++level) {
    const Level& l = levels_[static_cast<size_t>(level)];
    const auto d = static_cast<size_t>(l.dim);
    if (d >= map.strides.size() || is_zero(map.strides[d])) continue;
    key.insert(key.end(), {l.dim, map.strides[d].value, map.strides[d].param});
    auto& [known, at_level] = partial_[key];
    if (known == nullptr) {
      Value* stride = size(map.strides[d]);
      At at(*this, level);
      known = b_.CreateAdd(sum, b_.CreateMul(levels_[static_cast<size_t>(level)].index, stride));
      at_level = level;
    }
    sum = known;
  }
  return sum;
}

// ---- expressions ---------------------------------------------------------------------------------------------------

void NestEmitter::ensure(int id) {
  Slot& slot = slots_.at(static_cast<size_t>(id));
  if (slot.level >= 0) return;
  const Expr& e = nest_.exprs[static_cast<size_t>(id)];
  int level = 0;
  unsigned lanes = 1;
  for (const int arg : e.args) {
    ensure(arg);
    level = std::max(level, slots_[static_cast<size_t>(arg)].level);
    lanes = std::max(lanes, slots_[static_cast<size_t>(arg)].datum.lanes);
  }
  switch (e.kind) {
    case ExprKind::Load:
      level = access_level(e.access);
      lanes = varies(e.access) ? lanes_ : 1;
      break;
    case ExprKind::Index:
      level = map_level(e.index);
      lanes = varies(e.index) ? lanes_ : 1;
      break;
    case ExprKind::Reduced: {
      const Slot& done = reduced_.at(static_cast<size_t>(e.param));
      if (done.level < 0 && accumulators_[static_cast<size_t>(e.param)].column_value != nullptr) load_column_result(e.param);
      internal_check(done.level >= 0, "nest ", nest_.name, ": reduction ", e.param, " is read before it is complete");
      level = done.level;
      lanes = done.datum.lanes;
      break;
    }
    case ExprKind::Literal:
    case ExprKind::Param:
    case ExprKind::Op:
    case ExprKind::Cast: break;
  }
  At at(*this, level);
  slot.datum = emit_expr(e, lanes);
  slot.level = level;
}

/// The value of an emitted expression in `lanes` lanes; what has to be made for that is made where the expression stands.
Datum& NestEmitter::value_of(int id, unsigned lanes) {
  Slot& slot = slots_[static_cast<size_t>(id)];
  if (slot.datum.lanes == lanes) return slot.datum;
  if (slot.splat.lanes != lanes) {
    At at(*this, slot.level);
    slot.splat = convert_.splat(slot.datum, lanes);
  }
  return slot.splat;
}

/// The same, with the form that belongs to dtype `as` present: a mask for kBool, else a value.
Datum NestEmitter::operand(int id, unsigned lanes, ScalarType as) {
  ensure(id);
  Datum& datum = value_of(id, lanes);
  At at(*this, slots_[static_cast<size_t>(id)].level);
  if (as == kBool)
    convert_.as_mask(datum, nest_.exprs[static_cast<size_t>(id)].type);
  else
    convert_.as_value(datum);
  return datum;
}

Datum NestEmitter::emit_expr(const Expr& e, unsigned lanes) {
  switch (e.kind) {
    case ExprKind::Load: return emit_load(e, lanes);
    case ExprKind::Literal: return convert_.literal(e.literal, e.type, lanes);
    case ExprKind::Param: return emit_param(e);
    case ExprKind::Index: return emit_index(e, lanes);
    case ExprKind::Op: return emit_op(e, lanes);
    case ExprKind::Cast: {
      const ScalarType from = nest_.exprs[static_cast<size_t>(e.args.at(0))].type;
      Datum value = operand(e.args[0], lanes, from);
      return convert_.cast(value, from, e.type);
    }
    case ExprKind::Reduced: {
      const Reduction& r = nest_.reductions[static_cast<size_t>(e.param)];
      Datum value = reduced_[static_cast<size_t>(e.param)].datum;
      return convert_.cast(value, r.index >= 0 ? kInt64 : r.accumulate, e.type);
    }
  }
  internal_check(false, "expression of an unknown kind");
  return {};
}

// Whether two expressions give the same numbers at the same point.
bool NestEmitter::is_same(int a, int b) const {
  if (a == b) return true;
  const Expr &x = nest_.exprs[static_cast<size_t>(a)], &y = nest_.exprs[static_cast<size_t>(b)];
  return x.kind == ExprKind::Load && y.kind == ExprKind::Load && x.type == y.type && x.access.buffer == y.access.buffer &&
         !written_[static_cast<size_t>(x.access.buffer)] && x.access.bounds.empty() && y.access.bounds.empty() &&
         x.access.index.offset == y.access.index.offset && x.access.index.strides == y.access.index.strides;
}

// x - max(x), as in a softmax: not above 0, or NaN.
bool NestEmitter::is_below_maximum(int id) const {
  const Expr& e = nest_.exprs[static_cast<size_t>(id)];
  if (e.kind != ExprKind::Op || e.op->name != "sub" || e.type != kFloat32 || e.compute != kFloat32 || e.args.size() != 2) return false;
  const Expr& most = nest_.exprs[static_cast<size_t>(e.args[1])];
  if (most.kind != ExprKind::Reduced || most.type != kFloat32) return false;
  const Reduction& r = nest_.reductions[static_cast<size_t>(most.param)];
  return r.op == ReduceOp::Max && r.accumulate == kFloat32 && is_same(r.value, e.args[0]);
}

Datum NestEmitter::emit_op(const Expr& e, unsigned lanes) {
  const ScalarType compute = compute_type(e.compute);
  std::vector<Value*> args;
  for (size_t i = 0; i < e.args.size(); ++i) {
    const ScalarType type = nest_.exprs[static_cast<size_t>(e.args[i])].type;
    if (ir::takes_truth(*e.op, i)) {
      args.push_back(operand(e.args[i], lanes, kBool).mask);
    } else if (compute_type(type) == compute) {
      args.push_back(operand(e.args[i], lanes, compute == kBool ? kUInt8 : compute).value);
    } else {
      Datum datum = operand(e.args[i], lanes, type);
      datum = convert_.cast(datum, type, compute);
      args.push_back(convert_.as_value(datum));
    }
  }
  LlvmAlgebra algebra(b_, compute, lanes, target_.isa);
  const FormulaFn formula = e.op->name == "exp" && is_below_maximum(e.args[0]) ? exp_up_to_0 : find_llvm_formula(*e.op);
  const FormulaResult result = formula(algebra, args.data(), static_cast<int>(args.size()));
  Datum datum{.lanes = lanes};
  if (result.is_mask) {
    datum.mask = result.v;
    return convert_.cast(datum, kBool, e.type);
  }
  datum.value = result.v;
  if (is_half_type(e.type) && compute == kFloat32) return convert_.round(result.v, e.type, lanes);
  if (compute == kBool) {  // the formula computes with 0 and 1 but may leave another number
    datum.mask = convert_.as_mask(datum, kUInt8);
    datum.value = nullptr;
  }
  return convert_.cast(datum, compute, e.type);
}

/// Converts as Scalar::to does, so that a constant that becomes a parameter changes no bit.
Datum NestEmitter::emit_param(const Expr& e) {
  Value* word = scalar_parameter(e.param);
  Datum datum{.lanes = 1};
  const ScalarType from = e.literal.type();
  switch (e.literal.kind()) {
    case Scalar::Kind::Bool: datum.mask = b_.CreateIsNotNull(word); break;
    case Scalar::Kind::Int: datum.value = word; break;
    case Scalar::Kind::Double: datum.value = b_.CreateBitCast(word, b_.getDoubleTy()); break;
  }
  return convert_.cast(datum, from, e.type);
}

Datum NestEmitter::emit_index(const Expr& e, unsigned lanes) {
  Value* first = affine(e.index);
  const bool real = !is_integral(e.type);
  llvm::Type* type = real ? b_.getInt64Ty() : compute_llvm_type(context_, e.type);
  Datum datum{.value = b_.CreateTrunc(first, type), .lanes = lanes};
  if (lanes > 1) {
    std::vector<llvm::Constant*> numbers;
    for (unsigned i = 0; i < lanes; ++i) numbers.push_back(llvm::ConstantInt::get(type, i));
    Value* stride = b_.CreateTrunc(size(vector_stride(e.index)), type);
    Value* offsets = b_.CreateMul(llvm::ConstantVector::get(numbers), b_.CreateVectorSplat(lanes, stride));
    datum.value = b_.CreateAdd(b_.CreateVectorSplat(lanes, datum.value), offsets);
  }
  return real ? convert_.cast(datum, kInt64, e.type) : datum;
}

}  // namespace tailor::jit
