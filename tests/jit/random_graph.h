#pragma once
// Random graphs for differential tests: pointwise ops, casts, views, broadcasts, reductions and in-place ops, through overlapping views
// too. Every op in them gives the same bits in whatever order it is computed (floats are only reduced by maxima), so that back ends
// can be compared exactly. The same seed gives the same graph everywhere.
//
// The size 19 may vary: graph_at gives the graph of the same decisions where it is another.

#include <random>
#include <vector>

#include "ir/graph.h"

namespace tailor::jit::testing {

/// What was drawn while a graph was built, to build it again for another size.
struct Decisions {
  std::vector<int64_t> drawn;
  std::vector<std::pair<bool, size_t>> steps;  // whether it was legal, and how many numbers had been drawn after it
};

class RandomGraph {
 public:
  static constexpr int64_t kSize = 19;

  /// `moving`: with many ops that read their operands at other coordinates, and with divisions of integers.
  explicit RandomGraph(uint32_t seed, bool moving = false)
      : random_(seed), moving_(moving), builder_((moving ? "moving_" : "random_") + std::to_string(seed)) {}

  /// The graph with another size in place of kSize. Throws Error where a step is not possible at it.
  static ir::Graph graph_at(uint32_t seed, bool moving, int64_t size) {
    RandomGraph first(seed, moving);
    first.build();
    RandomGraph graph(seed, moving);
    graph.size_ = size;
    graph.replayed_ = &first.decisions_;
    return graph.build();
  }

  ir::Graph build() {
    const int64_t inputs = pick(1, 3);
    for (int64_t i = 0; i < inputs; ++i) placeholder();
    if (chance(3)) scalars_.push_back(builder_.scalar(tailor::Scalar(0.75), "s0"));
    const int64_t steps = pick(3, 14);
    for (int64_t i = 0; i < steps; ++i) {
      if (replayed_ != nullptr) {
        const auto& [legal, drawn] = replayed_->steps[static_cast<size_t>(i)];
        if (legal) step();
        next_ = drawn;
        continue;
      }
      bool legal = true;
      try {
        step();
      } catch (const Error&) {  // shapes or dtypes that the op does not take: try another
        legal = false;
      }
      decisions_.steps.emplace_back(legal, decisions_.drawn.size());
    }
    std::vector<ir::ValueId> outputs;
    for (int64_t i = 0, n = pick(1, 3); i < n; ++i)
      outputs.push_back(values_[values_.size() - 1 - static_cast<size_t>(pick(0, std::min<int64_t>(4, size() - 1)))]);
    return builder_.finish(std::move(outputs));
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    if (replayed_ != nullptr) return replayed_->drawn.at(next_++);
    return decisions_.drawn.emplace_back(std::uniform_int_distribution<int64_t>(low, high)(random_));
  }
  bool chance(int64_t one_in) { return pick(1, one_in) == 1; }
  // What follows from sizes is decided at the first size.
  bool decide(bool now) {
    if (replayed_ != nullptr) return replayed_->drawn.at(next_++) != 0;
    decisions_.drawn.push_back(now);
    return now;
  }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  // Younger values more often.
  ir::ValueId any() {
    return values_[static_cast<size_t>(chance(2) ? pick(std::max<int64_t>(0, size() - 3), size() - 1) : pick(0, size() - 1))];
  }
  const ir::TensorSpec& spec(ir::ValueId v) const { return builder_.spec(v); }
  void keep(ir::ValueId v) { values_.push_back(v); }

  void placeholder() {
    static constexpr ScalarType types[] = {kFloat32, kFloat32, kFloat32, kFloat64, kFloat16, kBFloat16, kInt32, kInt64, kUInt8, kBool};
    const std::vector<Dims> shapes = {{}, {5}, {size_}, {3, size_}, {size_, 3}, {4, 1, 5}, {2, 3, 4}, {1, size_}, {3, 1}, {40, 33}};
    const ScalarType type = types[pick(0, 9)];
    ir::TensorSpec s(type, shapes[static_cast<size_t>(pick(0, static_cast<int64_t>(shapes.size()) - 1))]);
    if (s.rank() >= 2 && chance(3)) std::swap(s.sizes[0], s.sizes[1]), std::swap(s.strides[0], s.strides[1]);
    keep(builder_.placeholder(s, "x" + std::to_string(values_.size())));
  }

  void step() {
    if (moving_ && chance(3)) return move();
    switch (pick(0, 12)) {
      case 0:
      case 1: return unary();
      case 2:
      case 3:
      case 4: return binary();
      case 5: return cast();
      case 6:
      case 7: return view();
      case 8: return reduce();
      case 9: return in_place();
      case 10: return select();
      case 11: return library();
      default: return keep(builder_.call("clone", {any()}, {chance(2)}));
    }
  }

  void unary() {
    static constexpr std::string_view ops[] = {"neg", "abs",   "exp",  "tanh",  "sigmoid",     "sqrt", "floor",     "relu",
                                               "sin", "log1p", "sign", "isnan", "logical_not", "gelu", "reciprocal"};
    keep(builder_.call(ops[pick(0, 14)], {any()}));
  }

  ir::Value other() {
    if (!scalars_.empty() && chance(4)) return scalars_[0];
    if (chance(4))
      return chance(2) ? ir::Value(tailor::Scalar(pick(-2, 3))) : ir::Value(tailor::Scalar(0.5 * static_cast<double>(pick(-3, 3))));
    return any();
  }

  void binary() {
    static constexpr std::string_view ops[] = {"add", "sub", "mul", "div", "maximum", "minimum", "lt", "eq", "atan2", "add", "mul"};
    keep(builder_.call(ops[pick(0, 10)], {any(), other()}));
  }

  void select() {
    const ir::ValueId condition = builder_.call("gt", {any(), tailor::Scalar(0)});
    keep(builder_.call("where", {condition, any(), other()}));
  }

  // Ops that are calls of kernels between the nests.
  void library() {
    const ir::ValueId v = any();
    const int64_t rank = spec(v).rank();
    if (rank == 0 || decide(spec(v).numel() > 2000)) return;
    const int64_t dim = pick(0, rank - 1);
    switch (pick(0, 5)) {
      case 0: {
        const std::vector<ir::Value> operands{v, v};
        const ir::AttrRef attrs[] = {dim};
        return keep(builder_.call_many(*ir::find_op("cat"), operands, attrs).at(0));
      }
      case 1: return keep(builder_.call("flip", {v}, {IntArrayRef(dim)}));
      case 2: return keep(builder_.call("roll", {v}, {IntArrayRef{1}, IntArrayRef(dim)}));
      case 3: return keep(builder_.call("cummax", {v}, {dim}));
      case 4:
        if (rank != 2) return;
        return keep(builder_.call(
            "mm", {builder_.call("gt", {v, tailor::Scalar(0)}), builder_.call("lt", {builder_.call("t", {v}), tailor::Scalar(1)})}));
      default:
        if (rank < 2) return;
        return keep(builder_.call("tril", {v}, {pick(-1, 1)}));
    }
  }

  // `v` with the sizes of `like` but along `dim`, for cat; -1 when there is none.
  ir::ValueId beside(ir::ValueId like, int64_t dim) {
    for (int64_t tries = 0; tries < 4; ++tries) {
      const ir::ValueId v = any();
      bool fits = spec(v).rank() == spec(like).rank();
      for (int64_t d = 0; fits && d < spec(v).rank(); ++d) fits = d == dim || spec(v).size(d) == spec(like).size(d);
      if (decide(fits)) return v;
    }
    return like;
  }

  void move() {
    const ir::ValueId v = any();
    const int64_t rank = spec(v).rank();
    if (rank == 0 || decide(spec(v).numel() > 2000)) return;
    const int64_t dim = pick(0, rank - 1);
    switch (pick(0, 8)) {
      case 0:
      case 1: {
        std::vector<ir::Value> operands{v};
        while (operands.size() < 2 || chance(3)) operands.emplace_back(beside(v, dim));
        const ir::AttrRef attrs[] = {dim};
        return keep(builder_.call_many(*ir::find_op("cat"), operands, attrs).at(0));
      }
      case 2: {
        const std::vector<ir::Value> operands{v, chance(2) ? ir::Value(v) : ir::Value(builder_.call("neg", {v}))};
        const ir::AttrRef attrs[] = {pick(0, rank)};
        return keep(builder_.call_many(*ir::find_op("stack"), operands, attrs).at(0));
      }
      case 3:
      case 4: {
        std::vector<int64_t> sides;
        for (int64_t i = 0, n = 2 * pick(1, std::min<int64_t>(rank, 2)); i < n; ++i) sides.push_back(pick(-1, 3));
        const ir::Value border = chance(3)                        ? ir::Value(std::nullopt)
                                 : !scalars_.empty() && chance(2) ? ir::Value(scalars_[0])
                                                                  : ir::Value(tailor::Scalar(pick(-1, 2)));
        return keep(builder_.call("pad", {v, border}, {sides, 0}));
      }
      case 5: return keep(builder_.call("flip", {v}, {IntArrayRef(dim)}));
      case 6: return keep(builder_.call("roll", {v}, {IntArrayRef(pick(-3, 4)), IntArrayRef(dim)}));
      case 7: {
        static constexpr ScalarType types[] = {kInt64, kInt32, kFloat32, kFloat64, kBFloat16};
        const ir::ValueId steps =
            builder_.call("arange", {tailor::Scalar(pick(-3, 3)), tailor::Scalar(pick(1, 2))}, {spec(v).size(-1), types[pick(0, 4)]});
        return keep(builder_.call(chance(2) ? "add" : "gt", {v, steps}));
      }
      default:
        if (rank > 1 && chance(2)) return keep(builder_.call(chance(2) ? "tril" : "triu", {v}, {pick(-2, 2)}));
        if (is_floating_point(spec(v).dtype)) return;
        return keep(builder_.call(chance(2) ? "div_floor" : "remainder", {v, tailor::Scalar(chance(2) ? pick(1, 5) : pick(-3, -1))}));
    }
  }

  void cast() {
    static constexpr ScalarType types[] = {kFloat32, kFloat64, kFloat16, kInt32, kBool, kBFloat16};
    const ScalarType type = types[pick(0, 5)];
    ir::ValueId v = any();
    // Out of range conversions to integers are not what is tested here.
    if (!is_floating_point(type) && is_floating_point(spec(v).dtype)) v = builder_.call("tanh", {v});
    keep(builder_.call("to", {v}, {type}));
  }

  void view() {
    const ir::ValueId v = any();
    const int64_t rank = spec(v).rank();
    switch (pick(0, 7)) {
      case 0:
        if (rank < 2) return;
        return keep(builder_.call("transpose", {v}, {pick(0, rank - 1), pick(0, rank - 1)}));
      case 1: return keep(builder_.call("unsqueeze", {v}, {pick(0, rank)}));
      case 2: return keep(builder_.call("view", {v}, {IntArrayRef{-1}}));
      case 3: {
        if (rank == 0) return;
        const int64_t d = pick(0, rank - 1), n = spec(v).size(d);
        if (decide(n < 2)) return;
        return keep(builder_.call("slice", {v}, {d, pick(0, n / 2), pick(n / 2 + 1, n), pick(1, 2)}));
      }
      case 4: {
        if (rank == 0) return;
        const int64_t d = pick(0, rank - 1);
        if (decide(spec(v).size(d) == 0)) return;
        return keep(builder_.call("select", {v}, {d, pick(0, spec(v).size(d) - 1)}));
      }
      case 5: {
        std::vector<int64_t> sizes{2};
        for (int64_t s : spec(v).sizes) sizes.push_back(s == 1 ? 4 : s);
        if (decide(product(sizes) > 4000)) return;
        return keep(builder_.call("expand", {v}, {sizes}));
      }
      case 6: {  // split the last dim in two
        if (rank == 0 || decide(spec(v).sizes.back() % 2 != 0)) return;
        std::vector<int64_t> sizes = IntArrayRef(spec(v).sizes).vec();
        sizes.back() /= 2;
        sizes.push_back(2);
        return keep(builder_.call("view", {v}, {sizes}));
      }
      default: return keep(builder_.call("squeeze", {v}, {std::nullopt}));
    }
  }

  void reduce() {
    ir::ValueId v = any();
    const int64_t rank = spec(v).rank();
    if (decide(spec(v).numel() == 0)) return;
    const bool keepdim = chance(2);
    std::vector<int64_t> dims;
    if (rank > 0 && !chance(5)) dims.push_back(pick(0, rank - 1));
    switch (pick(0, 4)) {
      case 0: return keep(builder_.call("amax", {v}, {dims, keepdim}));
      case 1: return keep(builder_.call("amin", {v}, {dims, keepdim}));
      case 2: return keep(builder_.call("any", {v}, {dims.empty() ? ir::AttrRef() : ir::AttrRef(dims), keepdim}));
      case 3:
        if (rank == 0) return;
        return keep(builder_.call(chance(2) ? "argmax" : "argmin", {v}, {pick(0, rank - 1), keepdim}));
      default:
        if (is_floating_point(spec(v).dtype)) v = builder_.call("gt", {v, tailor::Scalar(0)});
        return keep(builder_.call("sum", {v}, {dims, keepdim, std::nullopt}));
    }
  }

  void in_place() {
    const ir::ValueId self = any();
    const ir::TensorSpec& s = spec(self);
    for (size_t d = 0; d < s.sizes.size(); ++d)
      if (s.strides[d] == 0 && s.sizes[d] > 1) return;  // torch refuses: several elements are one
    ir::ValueId result;
    if (chance(3)) {
      const ir::ValueId source = any();
      if (is_floating_point(spec(source).dtype) && !is_floating_point(s.dtype)) return;
      // A source that overlaps with its destination has no defined meaning: copy a fresh value.
      result = builder_.call("copy_", {self, builder_.call("clone", {source}, {true})});
    } else if (chance(4)) {
      result = builder_.call("fill_", {self, tailor::Scalar(pick(0, 3))});
    } else {
      if (!is_floating_point(s.dtype)) return;
      ir::Value operand = other();
      if (operand.is_tensor() && spec(operand.tensor).rank() > 0) operand = ir::Value(builder_.call("clone", {operand}, {true}));
      const ir::Value operands[] = {self, operand};
      result = builder_.call_inplace(*ir::find_op(chance(2) ? "add" : "mul"), operands, {});
    }
    keep(result);
  }

  std::mt19937 random_;
  bool moving_;
  int64_t size_ = kSize;
  Decisions decisions_;
  const Decisions* replayed_ = nullptr;
  size_t next_ = 0;
  ir::GraphBuilder builder_;
  std::vector<ir::ValueId> values_, scalars_;
};

}  // namespace tailor::jit::testing
