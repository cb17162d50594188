// Values at coordinates: loads, views, pointwise ops.

#include "jit/lowering.h"

#include <algorithm>

#include "ir/choices.h"
#include "ir/infer.h"
#include "ir/promotion.h"

namespace tailor::jit {

using ir::Node;
using ir::TensorSpec;
using ir::Value;
using ir::ValueId;

namespace {
constexpr int64_t kMostScratchBytes = 256 * 1024;
constexpr int64_t kCostlyToRepeat = 8;
}  // namespace

int Lowering::buffer_of(ValueId v, bool written) {
  const ValueId root = memory_.root(v);
  const ScalarType type = graph_.spec(v).dtype;
  const int64_t width = element_size(type), bytes = memory_.byte_offset(v);
  // Accesses through views of one place share a buffer; what is no whole number of elements away gets its own.
  const int64_t shift = bytes % width;
  const auto key = std::tuple(root, type, memory_.offset_scalar(v), shift);
  auto it = buffers_.find(key);
  if (it == buffers_.end()) {
    Buffer buffer;
    buffer.dtype = type;
    buffer.kind = BufferKind::Input;
    it = buffers_.emplace(key, static_cast<int>(nest().buffers.size())).first;
    nest().buffers.push_back(buffer);
    out_.memory.push_back({root, shift, memory_.offset_scalar(v), false});
  }
  if (written) {
    nest().buffers[static_cast<size_t>(it->second)].kind = BufferKind::Output;
    out_.memory[static_cast<size_t>(it->second)].written = true;
  }
  return it->second;
}

Affine Lowering::element_index(ValueId v, const Coordinates& at) const {
  const TensorSpec& spec = graph_.spec(v);
  return linear_index(at, spec.strides, memory_.byte_offset(v) / element_size(spec.dtype), extents_.size());
}

int Lowering::add(Expr e, Place place, AccessIndex index) {
  std::vector<int64_t> key{place.order(),
                           static_cast<int64_t>(e.kind),
                           static_cast<int64_t>(e.type),
                           static_cast<int64_t>(e.compute),
                           reinterpret_cast<int64_t>(e.op),
                           e.access.buffer,
                           e.literal.bits(),
                           static_cast<int64_t>(e.literal.kind()),
                           e.param,
                           index.index.offset};
  key.insert(key.end(), index.index.coefficients.begin(), index.index.coefficients.end());
  key.push_back(-1);
  key.insert(key.end(), e.args.begin(), e.args.end());
  if (!index.bounds.empty()) {
    key.insert(key.end(), {-1, e.otherwise.bits(), static_cast<int64_t>(e.otherwise.kind())});
    for (const Guard& g : index.bounds) {
      key.insert(key.end(), {g.low, g.high, g.coordinate.offset});
      key.insert(key.end(), g.coordinate.coefficients.begin(), g.coordinate.coefficients.end());
    }
  }
  const auto [it, fresh] = known_.try_emplace(std::move(key), static_cast<int>(nest().exprs.size()));
  if (!fresh) return it->second;
  if (!place.wide)
    for (size_t d = 0; d < extents_.size(); ++d) {
      const auto moves = [&](const Affine& a) { return !a.coefficients.empty() && a.coefficients[d] != 0; };
      if (inner_[d] && extents_[d] > 1 && (moves(index.index) || std::any_of(index.bounds.begin(), index.bounds.end(), [&](const Guard& g) {
                                             return moves(g.coordinate);
                                           })))
        throw LoweringError("a narrow value reads along a folded dimension");
    }
  nest().exprs.push_back(std::move(e));
  indices_.push_back(std::move(index));
  stage(place).exprs.push_back(it->second);
  return it->second;
}

int Lowering::literal(const tailor::Scalar& s, ScalarType type, Place place) {
  Expr e;
  e.kind = ExprKind::Literal;
  e.type = type;
  e.literal = s;
  return add(std::move(e), place);
}

int Lowering::cast(int value, ScalarType type, Place place) {
  if (nest().exprs[static_cast<size_t>(value)].type == type) return value;
  Expr e;
  e.kind = ExprKind::Cast;
  e.type = type;
  e.args = {value};
  return add(std::move(e), place);
}

int Lowering::load(ValueId v, const Coordinates& at, Place place, tailor::Scalar otherwise) {
  Expr e;
  e.kind = ExprKind::Load;
  e.type = graph_.spec(v).dtype;
  e.access.buffer = buffer_of(v, false);
  e.otherwise = otherwise;
  return add(std::move(e), place, {element_index(v, at), live_guards()});
}

int Lowering::emit(ValueId v, const Coordinates& at, Place place) {
  const Node& n = graph_.node_of(v);
  const bool call = n.kind == ir::NodeKind::CallOp;
  if (n.kind == ir::NodeKind::Scalar) return parameter(v, graph_.spec(v).dtype, place);
  if (n.kind == ir::NodeKind::Constant && graph_.spec(v).numel() == 1) return constant(n, graph_.spec(v).dtype, place);
  if (call && n.op->kind == ir::OpKind::View && computes(v)) return emit(n.operands[0].tensor, through_view(n, at), place);
  if (!is_member(v)) return load(v, at, place);
  std::vector<int64_t> key = key_of(v, at, place.order());
  if (const auto it = emitted_.find(key); it != emitted_.end()) return it->second;
  int result = -1;
  if (const std::optional<int> kept = again(v, at, place))
    result = *kept;
  else
    result = compute(v, n, at, place);
  emitted_.emplace(std::move(key), result);
  return result;
}

std::vector<int64_t> Lowering::key_of(ValueId v, const Coordinates& at, int order) const {
  std::vector<int64_t> key{v, order};
  const auto append = [&](const Affine& a) {
    key.push_back(a.offset);
    key.insert(key.end(), a.coefficients.begin(), a.coefficients.end());
  };
  for (const Affine& a : at) append(a);
  for (const Guard& g : live_guards()) {
    append(g.coordinate);
    key.insert(key.end(), {g.low, g.high});
  }
  return key;
}

bool Lowering::computes(ValueId v) const {
  for (;;) {
    const Node& n = graph_.node_of(v);
    if (n.kind != ir::NodeKind::CallOp || n.op->kind != ir::OpKind::View) return is_member(v);
    if (graph_.spec(v).dtype != graph_.spec(n.operands[0].tensor).dtype) return false;
    v = n.operands[0].tensor;
  }
}

Coordinates Lowering::through_view(const Node& n, const Coordinates& at) {
  const ValueId source = n.operands[0].tensor;
  const TensorSpec& spec = graph_.spec(source);
  if (n.operands.size() > 1 && !n.operands[1].is_scalar()) throw LoweringError("a view at a varying position");
  if ((n.op->name == "as_strided" || n.op->name == "view_at") && !spec.is_contiguous())
    throw LoweringError("as_strided of a value that is not contiguous");
  const std::vector<ir::AttrRef> attrs = ir::attr_refs(n);
  ir::ViewResult view;
  try {
    view = n.op->view(TensorSpec(spec.dtype, spec.sizes), attrs);
  } catch (const Error& e) { throw LoweringError(e.what()); }
  if (n.operands.size() > 1) view.offset += n.operands[1].scalar.to_int();
  if (spec.numel() == 0) return Coordinates(spec.sizes.size(), zero());
  // Dim by dim where the view permits: that holds for coordinates that lie outside too.
  try {
    const Coordinates of_view = delinearize({view.offset, IntArrayRef(view.strides).vec()}, spec.sizes, IntArrayRef(view.sizes).vec());
    Coordinates result;
    for (const Affine& a : of_view) {
      result.push_back(Affine::constant(a.offset, extents_.size()));
      for (size_t d = 0; d < at.size(); ++d) result.back().add(at[d], a.coefficients[d]);
    }
    return result;
  } catch (const LoweringError&) {
  } catch (const SplitRequest&) {}
  return delinearize(linear_index(at, view.strides, view.offset, extents_.size()), spec.sizes, extents_);
}

int Lowering::parameter(ValueId v, ScalarType type, Place place) {
  Expr e;
  e.kind = ExprKind::Param;
  e.type = type;
  e.literal = graph_.node_of(v).scalar;
  e.param = scalar_index_[static_cast<size_t>(v)];
  nest().scalar_params = std::max<int64_t>(nest().scalar_params, e.param + 1);
  return add(std::move(e), place);
}

int Lowering::constant(const Node& n, ScalarType type, Place place) {
  return visit_dtype(type, [&]<class T>() {
    T value;
    std::memcpy(static_cast<void*>(&value), n.constant->bytes.data(), sizeof value);
    return literal(tailor::Scalar(value), type, place);
  });
}

std::optional<int> Lowering::again(ValueId v, const Coordinates& at, Place place) {
  if (!place.wide || group_.mask == 0 || !live_guards().empty()) return std::nullopt;
  const TensorSpec& spec = graph_.spec(v);
  if (!is_wide(spec.sizes) || at != here(spec.sizes, true) || cost(v) < kCostlyToRepeat) return std::nullopt;
  for (int l = 0; l < place.level; ++l) {
    const auto it = emitted_.find(key_of(v, at, Place{l, true}.order()));
    if (it == emitted_.end()) continue;
    const int earlier = it->second;
    if (nest().exprs[static_cast<size_t>(earlier)].kind == ExprKind::Load) return std::nullopt;
    const bool in_memory = std::any_of(stores_.begin(), stores_.end(),
                                       [&](const PendingStore& s) { return s.value == v && !s.effect && s.wide && s.level == l; });
    if (in_memory) return load(v, at, place);
    return from_scratch(v, earlier, Place{l, true}, place);
  }
  return std::nullopt;
}

std::optional<int> Lowering::from_scratch(ValueId v, int earlier, Place from, Place place) {
  const ScalarType type = graph_.spec(v).dtype;
  Affine index = zero();
  int64_t count = 1;
  for (size_t d = extents_.size(); d-- > 0;)
    if (inner_[d]) index.coefficients[d] = count, count *= extents_[d];
  if (!ir::choose(count * element_size(type) <= kMostScratchBytes)) return std::nullopt;
  auto it = scratch_.find(v);
  if (it == scratch_.end()) {
    Buffer buffer;
    buffer.kind = BufferKind::Scratch;
    buffer.dtype = type;
    buffer.elements = count;
    it = scratch_.emplace(v, static_cast<int>(nest().buffers.size())).first;
    nest().buffers.push_back(buffer);
    out_.memory.push_back({});
    Store store;
    store.access.buffer = it->second;
    store.value = earlier;
    stage(from).stores.push_back(store);
    store_indices_.push_back({from.order(), stage(from).stores.size() - 1, index});
  }
  Expr e;
  e.kind = ExprKind::Load;
  e.type = type;
  e.access.buffer = it->second;
  return add(std::move(e), place, {index, {}});
}

int64_t Lowering::cost(ValueId v) {
  if (const auto it = costs_.find(v); it != costs_.end()) return it->second;
  int64_t total = 0;
  const Node& n = graph_.node_of(v);
  if (n.kind == ir::NodeKind::CallOp && n.op->kind == ir::OpKind::View) {
    total = cost(n.operands[0].tensor);
  } else if (is_member(v) && !(role_of(graph_, n) == Role::Reduction)) {
    static constexpr std::string_view cheap[] = {"add",  "sub",    "rsub", "mul",  "neg",   "abs",     "to",      "eq",   "ne",
                                                 "lt",   "le",     "gt",   "ge",   "where", "maximum", "minimum", "relu", "clone",
                                                 "full", "square", "pad",  "flip", "roll",  "cat",     "tril",    "triu", "arange"};
    total = std::find(std::begin(cheap), std::end(cheap), n.op->name) != std::end(cheap) ? 1
            : n.op->name == "div" || n.op->name == "sqrt"                                ? 4
                                                                                         : 12;
    for (const Value& o : n.operands)
      if (o.is_tensor()) total += cost(o.tensor);
  }
  costs_[v] = total;
  return total;
}

int Lowering::compute(ValueId v, const Node& n, const Coordinates& at, Place place) {
  const TensorSpec& spec = graph_.spec(v);
  const std::string_view op = n.op->name;
  if (n.op->kind == ir::OpKind::Reduction) return role_of(graph_, n) == Role::Reduction ? reduced(v, n, at, place) : expanded(n, at, place);
  if (op == "clone") return emit(n.operands[0].tensor, at, place);
  if (role_of(graph_, n) == Role::Moved) return moved(v, n, at, place);
  if (op == "tril" || op == "triu") return triangle(v, n, at, place);
  if (op == "arange") return counted(v, n, at, place);
  if (op == "full") return operand(n.operands[0], {}, at, spec.dtype, place);
  if (op == "zero_") return literal(tailor::Scalar(0), spec.dtype, place);
  if (op == "fill_" || op == "copy_") return operand(n.operands[1], spec.sizes, at, spec.dtype, place);
  if (n.op->kind != ir::OpKind::Pointwise) throw LoweringError("op " + std::string(op) + " has no loops");

  std::vector<ir::SpecOperand> operands;
  for (const Value& o : n.operands) {
    if (o.is_none())
      operands.emplace_back();
    else if (o.is_scalar())
      operands.emplace_back(o.scalar);
    else if (graph_.node_of(o.tensor).kind == ir::NodeKind::Scalar)
      operands.emplace_back(graph_.node_of(o.tensor).scalar);
    else
      operands.emplace_back(&graph_.spec(o.tensor));
  }
  const std::vector<ir::AttrRef> attrs = ir::attr_refs(n);
  const ir::PointwiseTypes types = ir::pointwise_types(*n.op, {operands, attrs});
  int result = -1;
  if (n.op->pointwise.rule == ir::DTypeRule::Cast) {
    result = cast(operand(n.operands[0], spec.sizes, at, ScalarType::Undefined, place), types.result, place);
  } else {
    Expr e;
    e.kind = ExprKind::Op;
    e.op = n.op;
    e.type = types.result;
    e.compute = types.compute;
    const int count = ir::formula_arity(n.operands);
    for (int i = 0; i < count; ++i) {
      const bool truth = n.op->pointwise.rule == ir::DTypeRule::Logical || (n.op->pointwise.first_is_mask && i == 0);
      e.args.push_back(operand(n.operands[static_cast<size_t>(i)], spec.sizes, at, truth ? kBool : types.compute, place));
    }
    result = add(std::move(e), place);
  }
  return cast(result, spec.dtype, place);
}

int Lowering::operand(const Value& o, IntArrayRef sizes, const Coordinates& at, ScalarType type, Place place) {
  if (o.is_scalar()) return literal(o.scalar, type, place);
  if (graph_.node_of(o.tensor).kind == ir::NodeKind::Scalar)
    return parameter(o.tensor, type == ScalarType::Undefined ? graph_.spec(o.tensor).dtype : type, place);
  const TensorSpec& spec = graph_.spec(o.tensor);
  Coordinates mine;
  for (size_t d = 0; d < spec.sizes.size(); ++d) mine.push_back(spec.sizes[d] == 1 ? zero() : at[d + sizes.size() - spec.sizes.size()]);
  const int value = emit(o.tensor, mine, place);
  return type == ScalarType::Undefined ? value : cast(value, type, place);
}

}  // namespace tailor::jit
