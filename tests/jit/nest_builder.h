#pragma once
// Builds loop nests for tests, in one expression each.

#include <initializer_list>
#include <string_view>
#include <vector>

#include "jit/loop_nest.h"

namespace tailor::jit {

class NestBuilder {
 public:
  explicit NestBuilder(std::string name = "test") { nest_.name = std::move(name); }

  int outer(Size extent) { return dim({.extent = extent, .inner = false, .unrolled = false}); }
  int inner(Size extent) { return dim({.extent = extent, .inner = true, .unrolled = false}); }
  int unrolled(Size extent) { return dim({.extent = extent, .inner = true, .unrolled = true}); }
  /// A run-time size: pass its value in `sizes` at this position.
  Size size() { return Size::parameter(static_cast<int>(nest_.size_params++)); }
  void vectorise(int dim) { nest_.vector_dim = dim; }
  int buffer(BufferKind kind, ScalarType dtype, Size elements = 0) {
    nest_.buffers.push_back({kind, dtype, elements});
    return static_cast<int>(nest_.buffers.size()) - 1;
  }

  void stage(std::vector<int> dims = {}) {
    nest_.stages.emplace_back();
    nest_.stages.back().dims = std::move(dims);
  }
  static IndexMap map(std::vector<Size> strides, Size offset = 0) { return {offset, std::move(strides)}; }
  int load(int buffer, IndexMap index, std::vector<Bound> bounds = {}, Scalar otherwise = 0) {
    Expr e;
    e.kind = ExprKind::Load, e.type = nest_.buffers[static_cast<size_t>(buffer)].dtype;
    e.access = {buffer, std::move(index), std::move(bounds)};
    e.otherwise = otherwise;
    return add(std::move(e));
  }
  int literal(Scalar value, ScalarType type) {
    Expr e;
    e.type = type, e.literal = value;
    return add(std::move(e));
  }
  int param(Scalar seen, ScalarType type) {
    Expr e;
    e.kind = ExprKind::Param, e.type = type, e.literal = seen, e.param = static_cast<int>(nest_.scalar_params++);
    return add(std::move(e));
  }
  int index(IndexMap map, ScalarType type = kInt64) {
    Expr e;
    e.kind = ExprKind::Index, e.type = type, e.index = std::move(map);
    return add(std::move(e));
  }
  int op(std::string_view name, std::vector<int> args, ScalarType type, ScalarType compute) {
    Expr e;
    e.kind = ExprKind::Op, e.type = type, e.compute = compute, e.args = std::move(args), e.op = ir::find_op(name);
    internal_check(e.op != nullptr, "no op ", name);
    return add(std::move(e));
  }
  int op(std::string_view name, std::vector<int> args, ScalarType type) { return op(name, std::move(args), type, compute_type(type)); }
  int cast(int arg, ScalarType type) {
    Expr e;
    e.kind = ExprKind::Cast, e.type = type, e.args = {arg};
    return add(std::move(e));
  }
  int reduce(ReduceOp op, int value, ScalarType accumulate, int index = -1) {
    nest_.reductions.push_back({op, value, index, accumulate});
    const int id = static_cast<int>(nest_.reductions.size()) - 1;
    nest_.stages.back().reductions.push_back(id);
    return id;
  }
  int reduced(int reduction, ScalarType type) {
    Expr e;
    e.kind = ExprKind::Reduced, e.type = type, e.param = reduction;
    return add(std::move(e));
  }
  void store(int buffer, IndexMap index, int value, std::vector<Bound> bounds = {}) {
    nest_.stages.back().stores.push_back({{buffer, std::move(index), std::move(bounds)}, value});
  }
  LoopNest& nest() { return nest_; }

 private:
  int dim(LoopDim d) {
    nest_.dims.push_back(d);
    return static_cast<int>(nest_.dims.size()) - 1;
  }
  int add(Expr e) {
    nest_.exprs.push_back(std::move(e));
    const int id = static_cast<int>(nest_.exprs.size()) - 1;
    nest_.stages.back().exprs.push_back(id);
    return id;
  }
  LoopNest nest_;
};

}  // namespace tailor::jit
