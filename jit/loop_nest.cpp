#include "jit/loop_nest.h"

#include <sstream>

namespace tailor::jit {
namespace {

constexpr std::string_view kReduceNames[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
constexpr std::string_view kBufferNames[] = {"in", "out", "tmp", "scratch"};

struct Printer {
  const LoopNest& nest;
  std::ostringstream out;

  std::string text(const Size& size) { return size.is_static() ? std::to_string(size.value) : "s" + std::to_string(size.param); }

  static bool is_zero(const Size& size) { return size.is_static() && size.value == 0; }

  std::string text(const IndexMap& map) {
    std::string sum;
    for (size_t d = 0; d < map.strides.size(); ++d) {
      const Size& stride = map.strides[d];
      if (is_zero(stride)) continue;
      if (!sum.empty()) sum += " + ";
      if (!(stride.is_static() && stride.value == 1)) sum += text(stride) + "*";
      sum += "i" + std::to_string(d);
    }
    if (sum.empty()) return text(map.offset);
    return is_zero(map.offset) ? sum : text(map.offset) + " + " + sum;
  }

  std::string text(const Access& access) {
    std::string t = "b" + std::to_string(access.buffer) + "[" + text(access.index) + "]";
    for (const Bound& bound : access.bounds) t += " if " + text(bound.low) + " <= " + text(bound.coordinate) + " < " + text(bound.high);
    return t;
  }

  std::string text(const Scalar& scalar) {
    std::ostringstream s;
    if (scalar.is_boolean())
      s << (scalar.to_bool() ? "true" : "false");
    else if (scalar.is_integral())
      s << scalar.to_int();
    else
      s << scalar.to_double();
    return s.str();
  }

  void dims() {
    for (size_t d = 0; d < nest.dims.size(); ++d) {
      const LoopDim& dim = nest.dims[d];
      out << "  i" << d << ": " << (dim.inner ? "inner" : "outer") << ' ' << text(dim.extent) << (dim.unrolled ? " unrolled" : "")
          << (static_cast<int>(d) == nest.vector_dim ? " vector" : "") << '\n';
    }
  }

  void buffers() {
    for (size_t b = 0; b < nest.buffers.size(); ++b) {
      const Buffer& buffer = nest.buffers[b];
      out << "  b" << b << ": " << kBufferNames[static_cast<int>(buffer.kind)] << ' ' << short_name(buffer.dtype);
      if (buffer.kind == BufferKind::Scratch) out << '[' << text(buffer.elements) << ']';
      out << '\n';
    }
  }

  void expr(int id, std::string_view indent) {
    const Expr& e = nest.exprs[static_cast<size_t>(id)];
    out << indent << '%' << id << ": " << short_name(e.type) << " = ";
    switch (e.kind) {
      case ExprKind::Load:
        out << "load " << text(e.access);
        if (!e.access.bounds.empty()) out << " else " << text(e.otherwise);
        break;
      case ExprKind::Literal: out << text(e.literal); break;
      case ExprKind::Param: out << "param p" << e.param << ": " << short_name(e.literal.type()); break;
      case ExprKind::Index: out << "index " << text(e.index); break;
      case ExprKind::Op: out << (e.op != nullptr ? e.op->name : "?") << '.' << short_name(e.compute); break;
      case ExprKind::Cast: out << "cast"; break;
      case ExprKind::Reduced: out << "reduced r" << e.param; break;
    }
    for (size_t i = 0; i < e.args.size(); ++i) out << (i == 0 ? " " : ", ") << '%' << e.args[i];
    out << '\n';
  }

  void stage(const Stage& stage) {
    out << "  stage";
    for (const int d : stage.dims) out << " i" << d;
    out << '\n';
    for (const int id : stage.exprs) expr(id, "    ");
    for (const int r : stage.reductions) {
      const Reduction& reduction = nest.reductions[static_cast<size_t>(r)];
      out << "    r" << r << ": " << short_name(reduction.accumulate) << " = " << kReduceNames[static_cast<int>(reduction.op)] << " %"
          << reduction.value;
      if (reduction.index >= 0) out << " at %" << reduction.index;
      out << '\n';
    }
    for (const Store& store : stage.stores) out << "    store " << text(store.access) << " = %" << store.value << '\n';
  }

  std::string print() {
    out << "nest " << nest.name << (nest.nontemporal ? " nontemporal" : "") << '\n';
    dims();
    buffers();
    for (const Stage& s : nest.stages) stage(s);
    return out.str();
  }
};

}  // namespace

std::string to_string(const LoopNest& nest) { return Printer{nest, {}}.print(); }

}  // namespace tailor::jit
