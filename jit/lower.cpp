#include "jit/lower.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/infer.h"
#include "ir/ops/reduction.h"
#include "ir/promotion.h"

namespace tailor::jit {

using ir::Graph;
using ir::MemoryMap;
using ir::Node;
using ir::TensorSpec;
using ir::Value;
using ir::ValueId;

namespace {

constexpr int64_t kMostScratchBytes = 256 * 1024;
constexpr int64_t kCostlyToRepeat = 8;

/// Where in the nest something is computed. Wide stages loop over the inner dims; the narrow stage before wide stage k is the place
/// for what reductions up to k have given.
struct Place {
  int level = 0;
  bool wide = true;
  int order() const { return wide ? 2 * level : 2 * level - 1; }
};

class Lowering {
 public:
  Lowering(const Graph& graph, const MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index,
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
        inner_.push_back(group.mask >> d & 1);
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
  }

  /// Which domain dim a loop belongs to, and its place among that dim's factors.
  std::pair<size_t, size_t> factor_of(size_t loop) const {
    size_t first = loop;
    while (first > 0 && domain_dim_[first - 1] == domain_dim_[loop]) --first;
    return {domain_dim_[loop], loop - first};
  }

  LoweredNest run() {
    collect();
    for (int level = 0; level <= deepest_; ++level) {
      if (level > 0) emit_stores({level, false});
      emit_wide(level);
    }
    emit_stores({deepest_ + 1, false});
    check_hazards();
    finish();
    return std::move(out_);
  }

 private:
  struct PendingStore {
    ValueId value;   // what is stored
    ValueId target;  // whose memory and layout
    int level;
    bool wide, effect;
  };
  struct AccessIndex {
    Affine index;
    std::vector<std::pair<Affine, std::pair<int64_t, int64_t>>> bounds;
  };

  LoopNest& nest() { return out_.nest; }
  const Node& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  bool is_member(ValueId v) const { return member_[static_cast<size_t>(graph_.values[static_cast<size_t>(v)].node)] != 0; }

  // ---- what has to be computed, and when ----

  // The number of reductions passed on the way to a value.
  int level(ValueId v) {
    if (const auto it = levels_.find(v); it != levels_.end()) return it->second;
    int result = 0;
    const Node& n = graph_.node_of(v);
    const bool view = n.kind == ir::NodeKind::CallOp && n.op->kind == ir::OpKind::View;
    if (view) {
      result = level(n.operands[0].tensor);
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

  bool is_wide(IntArrayRef sizes) const { return squeezed(sizes) == group_.domain; }

  void collect() {
    for (ValueId v : group_.stored) stores_.push_back({v, v, level(v), is_wide(graph_.spec(v).sizes), false});
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

  void emit_stores(Place place) {
    for (const PendingStore& s : stores_)
      if (s.wide == place.wide &&
          (s.level == place.level || (!place.wide && !s.effect && place.level == deepest_ + 1 && s.level > place.level)))
        emit_store(s, place);
  }

  void emit_wide(int level) {
    const Place place{level, true};
    for (const auto& [v, l] : reductions_)
      if (l == level) open_reduction(v, place);
    emit_stores(place);
  }

  Stage& stage(Place place) {
    auto it = stages_.find(place.order());
    if (it == stages_.end()) {
      it = stages_.emplace(place.order(), Stage{}).first;
      if (place.wide)
        for (size_t d = 0; d < extents_.size(); ++d)
          if (inner_[d]) it->second.dims.push_back(static_cast<int>(d));
    }
    return it->second;
  }

  // The coordinates of a wide or narrow value at the current point.
  Coordinates here(IntArrayRef sizes, bool wide) const {
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
  Affine zero() const { return Affine::constant(0, extents_.size()); }

  // ---- memory ----

  int buffer_of(ValueId v, bool written) {
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

  Affine element_index(ValueId v, const Coordinates& at) const {
    const TensorSpec& spec = graph_.spec(v);
    return linear_index(at, spec.strides, memory_.byte_offset(v) / element_size(spec.dtype), extents_.size());
  }

  // ---- expressions ----

  using Bounds = std::vector<std::pair<Affine, std::pair<int64_t, int64_t>>>;

  int add(Expr e, Place place, AccessIndex index = {}) {
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
    const auto [it, fresh] = known_.try_emplace(std::move(key), static_cast<int>(nest().exprs.size()));
    if (!fresh) return it->second;
    if (!place.wide)
      for (size_t d = 0; d < extents_.size(); ++d)
        if (inner_[d] && !index.index.coefficients.empty() && index.index.coefficients[d] != 0 && extents_[d] > 1)
          throw LoweringError("a narrow value reads along a folded dimension");
    nest().exprs.push_back(std::move(e));
    indices_.push_back(std::move(index));
    stage(place).exprs.push_back(it->second);
    return it->second;
  }

  int literal(const tailor::Scalar& s, ScalarType type, Place place) {
    Expr e;
    e.kind = ExprKind::Literal;
    e.type = type;
    e.literal = s;
    return add(std::move(e), place);
  }

  int cast(int value, ScalarType type, Place place) {
    if (nest().exprs[static_cast<size_t>(value)].type == type) return value;
    Expr e;
    e.kind = ExprKind::Cast;
    e.type = type;
    e.args = {value};
    return add(std::move(e), place);
  }

  int load(ValueId v, const Coordinates& at, Place place) {
    Expr e;
    e.kind = ExprKind::Load;
    e.type = graph_.spec(v).dtype;
    e.access.buffer = buffer_of(v, false);
    return add(std::move(e), place, {element_index(v, at), {}});
  }

  /// The value `v` at coordinates `at`.
  int emit(ValueId v, const Coordinates& at, Place place) {
    const Node& n = graph_.node_of(v);
    const bool call = n.kind == ir::NodeKind::CallOp;
    if (n.kind == ir::NodeKind::Scalar) return parameter(v, graph_.spec(v).dtype, place);
    if (n.kind == ir::NodeKind::Constant && graph_.spec(v).numel() == 1) return constant(n, graph_.spec(v).dtype, place);
    if (call && n.op->kind == ir::OpKind::View && computes(v)) return emit(n.operands[0].tensor, through_view(n, at), place);
    if (!is_member(v)) return load(v, at, place);
    std::vector<int64_t> key{v, place.order()};
    for (const Affine& a : at) {
      key.push_back(a.offset);
      key.insert(key.end(), a.coefficients.begin(), a.coefficients.end());
    }
    if (const auto it = emitted_.find(key); it != emitted_.end()) return it->second;
    int result = -1;
    if (const std::optional<int> kept = again(v, at, place))
      result = *kept;
    else
      result = compute(v, n, at, place);
    emitted_.emplace(std::move(key), result);
    return result;
  }

  // Whether a view leads to something that this group computes.
  bool computes(ValueId v) const {
    for (;;) {
      const Node& n = graph_.node_of(v);
      if (n.kind != ir::NodeKind::CallOp || n.op->kind != ir::OpKind::View) return is_member(v);
      if (graph_.spec(v).dtype != graph_.spec(n.operands[0].tensor).dtype) return false;
      v = n.operands[0].tensor;
    }
  }

  Coordinates through_view(const Node& n, const Coordinates& at) {
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
    return delinearize(linear_index(at, view.strides, view.offset, extents_.size()), spec.sizes, extents_);
  }

  int parameter(ValueId v, ScalarType type, Place place) {
    Expr e;
    e.kind = ExprKind::Param;
    e.type = type;
    e.literal = graph_.node_of(v).scalar;
    e.param = scalar_index_[static_cast<size_t>(v)];
    nest().scalar_params = std::max<int64_t>(nest().scalar_params, e.param + 1);
    return add(std::move(e), place);
  }

  int constant(const Node& n, ScalarType type, Place place) {
    return visit_dtype(type, [&]<class T>() {
      T value;
      std::memcpy(static_cast<void*>(&value), n.constant->bytes.data(), sizeof value);
      return literal(tailor::Scalar(value), type, place);
    });
  }

  // A wide value that costs much and was computed in an earlier stage is read back: from where it is stored, else from scratch.
  std::optional<int> again(ValueId v, const Coordinates& at, Place place) {
    if (!place.wide || group_.mask == 0) return std::nullopt;
    const TensorSpec& spec = graph_.spec(v);
    if (!is_wide(spec.sizes) || at != here(spec.sizes, true) || cost(v) < kCostlyToRepeat) return std::nullopt;
    for (int l = 0; l < place.level; ++l) {
      std::vector<int64_t> key{v, Place{l, true}.order()};
      for (const Affine& a : at) {
        key.push_back(a.offset);
        key.insert(key.end(), a.coefficients.begin(), a.coefficients.end());
      }
      const auto it = emitted_.find(key);
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

  std::optional<int> from_scratch(ValueId v, int earlier, Place from, Place place) {
    const ScalarType type = graph_.spec(v).dtype;
    Affine index = zero();
    int64_t count = 1;
    for (size_t d = extents_.size(); d-- > 0;)
      if (inner_[d]) index.coefficients[d] = count, count *= extents_[d];
    if (count * element_size(type) > kMostScratchBytes) return std::nullopt;
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

  // What evaluating a value from memory takes.
  int64_t cost(ValueId v) {
    if (const auto it = costs_.find(v); it != costs_.end()) return it->second;
    int64_t total = 0;
    const Node& n = graph_.node_of(v);
    if (n.kind == ir::NodeKind::CallOp && n.op->kind == ir::OpKind::View) {
      total = cost(n.operands[0].tensor);
    } else if (is_member(v) && !(role_of(graph_, n) == Role::Reduction)) {
      static constexpr std::string_view cheap[] = {"add", "sub", "rsub", "mul",   "neg",     "abs",     "to",   "eq",    "ne",   "lt",
                                                   "le",  "gt",  "ge",   "where", "maximum", "minimum", "relu", "clone", "full", "square"};
      total = std::find(std::begin(cheap), std::end(cheap), n.op->name) != std::end(cheap) ? 1
              : n.op->name == "div" || n.op->name == "sqrt"                                ? 4
                                                                                           : 12;
      for (const Value& o : n.operands)
        if (o.is_tensor()) total += cost(o.tensor);
    }
    costs_[v] = total;
    return total;
  }

  int compute(ValueId v, const Node& n, const Coordinates& at, Place place) {
    const TensorSpec& spec = graph_.spec(v);
    const std::string_view op = n.op->name;
    if (n.op->kind == ir::OpKind::Reduction)
      return role_of(graph_, n) == Role::Reduction ? reduced(v, n, at, place) : expanded(n, at, place);
    if (op == "clone") return emit(n.operands[0].tensor, at, place);
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

  /// An operand of a call whose result has `sizes`, at the result's coordinates, in `type` (Undefined: its own).
  int operand(const Value& o, IntArrayRef sizes, const Coordinates& at, ScalarType type, Place place) {
    if (o.is_scalar()) return literal(o.scalar, type, place);
    if (graph_.node_of(o.tensor).kind == ir::NodeKind::Scalar)
      return parameter(o.tensor, type == ScalarType::Undefined ? graph_.spec(o.tensor).dtype : type, place);
    const TensorSpec& spec = graph_.spec(o.tensor);
    Coordinates mine;
    for (size_t d = 0; d < spec.sizes.size(); ++d) mine.push_back(spec.sizes[d] == 1 ? zero() : at[d + sizes.size() - spec.sizes.size()]);
    const int value = emit(o.tensor, mine, place);
    return type == ScalarType::Undefined ? value : cast(value, type, place);
  }

  // ---- reductions ----

  static ScalarType folded_type(const Node& n, ScalarType result) {
    const std::string_view op = n.op->name;
    return op == "any" || op == "all" ? kBool : compute_type(result);
  }

  static ReduceOp reduce_op(const Node& n, int output) {
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

  void open_reduction(ValueId v, Place place) {
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

  int reduced(ValueId v, const Node& n, const Coordinates& at, Place place) {
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

  // Over one element only.
  int of_one(ValueId v, const Node& n, const Coordinates& at, Place place) {
    const ReduceOp op = reduce_op(n, graph_.values[static_cast<size_t>(v)].output);
    const ScalarType result = graph_.spec(v).dtype;
    if (op == ReduceOp::ArgMax || op == ReduceOp::ArgMin) return literal(tailor::Scalar(0), result, place);
    const int value = emit(n.operands[0].tensor, operand_coordinates(n, at, {}), place);
    return cast(op == ReduceOp::Any || op == ReduceOp::All ? cast(value, kBool, place) : value, result, place);
  }

  // The operand's coordinates: those of the result, and `folded` (in order) along the folded dims.
  Coordinates operand_coordinates(const Node& n, const Coordinates& at, std::span<const int64_t> folded) const {
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

  // A reduction over few elements, written out.
  int expanded(const Node& n, const Coordinates& at, Place place) {
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

  // ---- stores ----

  void emit_store(const PendingStore& s, Place place) {
    const TensorSpec& spec = graph_.spec(s.target);
    const Coordinates at = here(spec.sizes, s.wide);
    Store store;
    store.value = cast(emit(s.value, at, place), spec.dtype, place);
    store.access.buffer = buffer_of(s.target, true);
    stage(place).stores.push_back(store);
    store_indices_.push_back({place.order(), stage(place).stores.size() - 1, element_index(s.target, at)});
    if (s.effect) effects_.push_back({place.order(), store.access.buffer, element_index(s.target, at)});
  }

  // The group reads memory that it overwrites: every such read must be of the very element written, and not after the write.
  void check_hazards() const {
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

  IndexMap map_of(const Affine& a) const {
    IndexMap map;
    map.offset = a.offset;
    for (int64_t c : a.coefficients) map.strides.emplace_back(c);
    return map;
  }

  void finish() {
    LoopNest& n = nest();
    for (size_t d = 0; d < extents_.size(); ++d) n.dims.push_back({Size(extents_[d]), inner_[d] != 0, false});
    for (size_t e = 0; e < n.exprs.size(); ++e) {
      if (n.exprs[e].kind == ExprKind::Load) n.exprs[e].access.index = map_of(indices_[e].index);
      if (n.exprs[e].kind == ExprKind::Index) n.exprs[e].index = map_of(indices_[e].index);
    }
    for (const auto& s : store_indices_) stages_.at(s.order).stores[s.store].access.index = map_of(s.index);
    for (auto& [order, st] : stages_) n.stages.push_back(std::move(st));
    out_.points = 1;
    for (int64_t e : extents_) out_.points *= e;
    for (const Expr& e : n.exprs) out_.work += e.kind == ExprKind::Op ? 2 : 1;
    out_.work *= out_.points;
    name();
    if (scheduled_) schedule_loops(n);
  }

  void name() {
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

  struct StoreIndex {
    int order;
    size_t store;
    Affine index;
  };
  struct EffectStore {
    int order;
    int buffer;
    Affine index;
  };

  const Graph& graph_;
  const MemoryMap& memory_;
  const Group& group_;
  const std::vector<int>& scalar_index_;
  std::vector<std::vector<int64_t>> factors_;  // of each domain dim, outermost first
  const bool scheduled_;
  std::vector<char> member_;
  std::vector<int64_t> extents_;
  std::vector<char> inner_;
  std::vector<size_t> domain_dim_;
  Coordinates domain_;
  std::vector<PendingStore> stores_;
  std::map<ValueId, int> levels_, reductions_, reduction_ids_;
  std::map<ValueId, int64_t> costs_;
  int deepest_ = 0;
  std::map<int, Stage> stages_;
  std::map<std::tuple<ValueId, ScalarType, ValueId, int64_t>, int> buffers_;
  std::map<ValueId, int> scratch_;
  std::map<std::vector<int64_t>, int> known_, emitted_;
  std::vector<AccessIndex> indices_;
  std::vector<StoreIndex> store_indices_;
  std::vector<EffectStore> effects_;
  LoweredNest out_;
};

}  // namespace

LoweredNest lower(const Graph& graph, const MemoryMap& memory, const Group& group, const std::vector<int>& scalar_index, bool scheduled) {
  std::vector<std::vector<int64_t>> factors;
  for (int64_t s : group.domain) factors.push_back({s});
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
