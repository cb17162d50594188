#include "jit/loop_interpreter.h"

#include <cmath>
#include <functional>

#include "ir/formula.h"

namespace tailor::jit {
namespace {

using ir::Bits;

struct Accumulator {
  Bits value = 0;
  Bits index = 0;
  bool empty = true;
};

class Machine {
 public:
  Machine(const LoopNest& nest, void* const* buffers, const int64_t* sizes, const int64_t* scalars)
      : nest_(nest),
        sizes_(sizes),
        scalars_(scalars),
        position_(nest.dims.size(), 0),
        values_(nest.exprs.size(), 0),
        folded_(nest.reductions.size()) {
    for (size_t i = 0; i < nest.buffers.size(); ++i) {
      const Buffer& buffer = nest.buffers[i];
      if (buffer.kind == BufferKind::Scratch) {
        scratch_.emplace_back(static_cast<size_t>(value(buffer.elements) * element_size(buffer.dtype)));
        memory_.push_back(scratch_.back().data());
      } else {
        memory_.push_back(static_cast<std::byte*>(buffers[i]));
      }
    }
    for (size_t d = 0; d < nest.dims.size(); ++d)
      if (!nest.dims[d].inner) outer_.push_back(static_cast<int>(d));
  }

  void run(int64_t begin, int64_t end) {
    if (outer_.empty()) {
      stages();
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      position_[static_cast<size_t>(outer_[0])] = i;
      loop(std::span(outer_).subspan(1), [&] { stages(); });
    }
  }

 private:
  int64_t value(const Size& size) const { return size.is_static() ? size.value : sizes_[size.param]; }
  int64_t at(const IndexMap& map) const {
    int64_t result = value(map.offset);
    for (size_t d = 0; d < map.strides.size(); ++d) result += value(map.strides[d]) * position_[d];
    return result;
  }
  bool inside(const Access& access) const {
    for (const Bound& b : access.bounds) {
      const int64_t c = at(b.coordinate);
      if (c < value(b.low) || c >= value(b.high)) return false;
    }
    return true;
  }
  template <class F>
  void loop(std::span<const int> dims, F&& f) {
    if (dims.empty()) {
      f();
      return;
    }
    const auto d = static_cast<size_t>(dims[0]);
    const int64_t extent = value(nest_.dims[d].extent);
    for (position_[d] = 0; position_[d] < extent; ++position_[d]) loop(dims.subspan(1), f);
    position_[d] = 0;
  }

  void stages() {
    for (const Stage& stage : nest_.stages) {
      for (int r : stage.reductions) folded_[static_cast<size_t>(r)] = identity(nest_.reductions[static_cast<size_t>(r)]);
      loop(std::span(stage.dims), [&] {
        for (int e : stage.exprs) values_[static_cast<size_t>(e)] = evaluate(nest_.exprs[static_cast<size_t>(e)]);
        for (int r : stage.reductions) fold(nest_.reductions[static_cast<size_t>(r)], folded_[static_cast<size_t>(r)]);
        for (const Store& store : stage.stores) {
          if (!inside(store.access)) continue;
          const ScalarType type = nest_.buffers[static_cast<size_t>(store.access.buffer)].dtype;
          ir::store_bits(memory_[static_cast<size_t>(store.access.buffer)] + at(store.access.index) * element_size(type),
                         ir::convert(values_[static_cast<size_t>(store.value)], nest_.exprs[static_cast<size_t>(store.value)].type, type),
                         type);
        }
      });
    }
  }

  Bits evaluate(const Expr& e) {
    switch (e.kind) {
      case ExprKind::Load: {
        if (!inside(e.access)) return ir::convert(e.otherwise, e.type);
        return ir::load_bits(memory_[static_cast<size_t>(e.access.buffer)] + at(e.access.index) * element_size(e.type), e.type);
      }
      case ExprKind::Literal: return ir::convert(e.literal, e.type);
      case ExprKind::Param: return ir::convert(tailor::Scalar::from_bits(e.literal.kind(), scalars_[e.param]), e.type);
      case ExprKind::Index: return ir::convert(tailor::Scalar(at(e.index)), e.type);
      case ExprKind::Op: {
        const ir::Formula formula = ir::find_formula(*e.op, e.compute);
        internal_check(formula != nullptr, "loop nest: op ", e.op->name, " has no formula for ", e.compute);
        std::vector<Bits> args;
        for (size_t i = 0; i < e.args.size(); ++i) {
          const auto a = static_cast<size_t>(e.args[i]);
          args.push_back(ir::convert(values_[a], nest_.exprs[a].type, ir::takes_truth(*e.op, i) ? kBool : e.compute));
        }
        const Bits result = formula(args.data(), static_cast<int>(args.size()));
        return ir::convert(result, ir::gives_truth(*e.op) ? kBool : e.compute, e.type);
      }
      case ExprKind::Cast:
        return ir::convert(values_[static_cast<size_t>(e.args[0])], nest_.exprs[static_cast<size_t>(e.args[0])].type, e.type);
      case ExprKind::Reduced: {
        const Reduction& r = nest_.reductions[static_cast<size_t>(e.param)];
        const Accumulator& a = folded_[static_cast<size_t>(e.param)];
        if (r.op == ReduceOp::ArgMax || r.op == ReduceOp::ArgMin) return ir::convert(a.index, kInt64, e.type);
        return ir::convert(a.value, r.accumulate, e.type);
      }
    }
    return 0;
  }

  static Accumulator identity(const Reduction& r) {
    Accumulator a;
    if (r.op == ReduceOp::Prod || r.op == ReduceOp::All) a.value = ir::convert(tailor::Scalar(1), r.accumulate);
    return a;
  }

  void fold(const Reduction& r, Accumulator& a) {
    const auto v = static_cast<size_t>(r.value);
    const Bits x = ir::convert(values_[v], nest_.exprs[v].type, r.accumulate);
    visit_dtype(r.accumulate, [&]<class T>() {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        internal_check(false, "loop nest: reduction accumulates in a half type");
      } else {
        const T value = narrow<T>(x), current = narrow<T>(a.value);
        const auto is_nan = [](T t) {
          if constexpr (std::is_floating_point_v<T>)
            return std::isnan(t);
          else
            return t != t;
        };
        bool take = false;
        switch (r.op) {
          case ReduceOp::Sum:
          case ReduceOp::Prod: {
            const bool sum = r.op == ReduceOp::Sum;
            if constexpr (std::is_same_v<T, bool>) {
              a.value = sum ? (value || current) : (value && current);
            } else if constexpr (std::is_floating_point_v<T>) {
              a.value = widen(sum ? current + value : current * value);
            } else {
              using U = std::make_unsigned_t<T>;
              const auto p = static_cast<uint64_t>(static_cast<U>(current)), q = static_cast<uint64_t>(static_cast<U>(value));
              a.value = widen(static_cast<T>(static_cast<U>(sum ? p + q : p * q)));
            }
            return;
          }
          case ReduceOp::Any: a.value = current || value; return;
          case ReduceOp::All: a.value = current && value; return;
          case ReduceOp::Max:
          case ReduceOp::ArgMax: take = a.empty || (!is_nan(current) && (is_nan(value) || value > current)); break;
          case ReduceOp::Min:
          case ReduceOp::ArgMin: take = a.empty || (!is_nan(current) && (is_nan(value) || value < current)); break;
        }
        if (!take) return;
        a.value = x;
        a.empty = false;
        if (r.index >= 0) a.index = values_[static_cast<size_t>(r.index)];
      }
    });
  }

  template <class T>
  static T narrow(Bits b) {
    T t;
    std::memcpy(&t, &b, sizeof t);
    return t;
  }
  template <class T>
  static Bits widen(T t) {
    Bits b = 0;
    std::memcpy(&b, &t, sizeof t);
    return b;
  }

  const LoopNest& nest_;
  const int64_t* sizes_;
  const int64_t* scalars_;
  std::vector<std::byte*> memory_;
  std::vector<std::vector<std::byte>> scratch_;
  std::vector<int64_t> position_;
  std::vector<Bits> values_;
  std::vector<Accumulator> folded_;
  std::vector<int> outer_;
};

}  // namespace

void interpret_nest(const LoopNest& nest, void* const* buffers, const int64_t* sizes, const int64_t* scalars, int64_t begin, int64_t end) {
  Machine(nest, buffers, sizes, scalars).run(begin, end);
}

}  // namespace tailor::jit
