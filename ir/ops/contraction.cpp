#include "ir/ops/contraction.h"

#include "ir/ops/compose.h"
#include "ir/ops/view.h"

namespace tailor::ir {

void check_expandable(IntArrayRef self, IntArrayRef sizes) {
  check(self.size() <= sizes.size(), "expand(", self, ", size=", sizes, "): the number of sizes provided (", sizes.size(),
        ") must be greater or equal to the number of dimensions in the tensor (", self.size(), ")");
  for (size_t i = 0; i < self.size(); ++i) {
    const size_t at = sizes.size() - self.size() + i;
    check(self[i] == sizes[at] || self[i] == 1, "The expanded size of the tensor (", sizes[at], ") must match the existing size (", self[i],
          ") at non-singleton dimension ", at, ".  Target sizes: ", sizes, ".  Tensor sizes: ", self);
  }
}

Dims matmul_sizes(IntArrayRef a, IntArrayRef b) {
  check(!a.empty() && !b.empty(), "matmul: both arguments need to be at least 1D, but they are ", a.size(), "D and ", b.size(), "D");
  const int64_t m = a.size() > 1 ? a[a.size() - 2] : 1, k = a.back(), inner = b.size() > 1 ? b[b.size() - 2] : b[0],
                n = b.size() > 1 ? b.back() : 1;
  if (a.size() == 1 && b.size() == 1) {
    check(k == inner, "matmul: inconsistent tensor size, expected tensor ", a, " and src ", b,
          " to have the same number of elements, but got ", k, " and ", inner, " elements respectively");
  } else {
    int64_t rows = m;
    if (a.size() > 2 && b.size() <= 2) rows = product(IntArrayRef(a.data(), a.size() - 1));
    check(k == inner, "matmul: mat1 and mat2 shapes cannot be multiplied (", rows, "x", k, " and ", inner, "x", n, ")");
  }
  Dims sizes;
  if (a.size() > 2 || b.size() > 2) {
    const auto batch = [](IntArrayRef s) { return IntArrayRef(s.data(), s.size() > 2 ? s.size() - 2 : 0); };
    sizes = broadcast_shapes(batch(a), batch(b));
  }
  if (a.size() > 1) sizes.push_back(m);
  if (b.size() > 1) sizes.push_back(n);
  return sizes;
}

namespace {

using Specs = std::vector<TensorSpec>;
using Values = std::span<const Value>;
using AttrRefs = std::span<const AttrRef>;

void check_same_dtype(const OpDef& op, const TensorSpec& a, const TensorSpec& b) {
  check(a.dtype == b.dtype, op.name, ": expected both operands to have the same dtype, but got: ", a.dtype, " and ", b.dtype);
  check<NotImplementedError>(a.dtype != kBool, op.name, ": not implemented for 'Bool'");
  check(a.device == b.device, op.name, ": expected both operands on the same device, but got: ", a.device, " and ", b.device);
}

void check_inner(const OpDef& op, int64_t m, int64_t k, int64_t inner, int64_t n) {
  check(k == inner, op.name, ": mat1 and mat2 shapes cannot be multiplied (", m, "x", k, " and ", inner, "x", n, ")");
}

Specs infer_mm(const OpDef& op, const SpecCall& call) {
  const TensorSpec &a = call.tensor(0), &b = call.tensor(1);
  check(a.rank() == 2, op.name, ": self must be a matrix, got ", a.rank(), "D");
  check(b.rank() == 2, op.name, ": mat2 must be a matrix, got ", b.rank(), "D");
  check_inner(op, a.sizes[0], a.sizes[1], b.sizes[0], b.sizes[1]);
  check_same_dtype(op, a, b);
  return {TensorSpec(a.dtype, {a.sizes[0], b.sizes[1]}, a.device)};
}

Dims bmm_sizes(const OpDef& op, const TensorSpec& a, const TensorSpec& b) {
  check(a.rank() == 3, op.name, ": batch1 must be a 3D tensor, got ", a.rank(), "D");
  check(b.rank() == 3, op.name, ": batch2 must be a 3D tensor, got ", b.rank(), "D");
  check(a.sizes[0] == b.sizes[0] && a.sizes[2] == b.sizes[1], op.name, ": expected size for first two dimensions of batch2 tensor to be: [",
        a.sizes[0], ", ", a.sizes[2], "] but got: [", b.sizes[0], ", ", b.sizes[1], "].");
  check_same_dtype(op, a, b);
  return {a.sizes[0], a.sizes[1], b.sizes[2]};
}

Specs infer_bmm(const OpDef& op, const SpecCall& call) {
  return {TensorSpec(call.tensor(0).dtype, bmm_sizes(op, call.tensor(0), call.tensor(1)), call.tensor(0).device)};
}

Specs infer_batched_mm(const OpDef& op, const SpecCall& call) {
  const TensorSpec &a = call.tensor(0), &b = call.tensor(1);
  check(a.rank() >= 2 && a.rank() == b.rank(), op.name, ": expected operands of equal rank, at least 2, got ", a.rank(), " and ", b.rank());
  check_same_dtype(op, a, b);
  return {TensorSpec(a.dtype, matmul_sizes(a.sizes, b.sizes), a.device)};
}

Specs infer_matmul(const OpDef& op, const SpecCall& call) {
  const TensorSpec &a = call.tensor(0), &b = call.tensor(1);
  Dims sizes = matmul_sizes(a.sizes, b.sizes);
  check_same_dtype(op, a, b);
  return {TensorSpec(a.dtype, sizes, a.device)};
}

std::vector<int> decompose_matmul(Builder& b, Values operands, AttrRefs) {
  int x = operands[0].tensor, y = operands[1].tensor;
  const Dims xs = b.spec(x).sizes, ys = b.spec(y).sizes;
  const Dims sizes = matmul_sizes(xs, ys);
  if (ys.size() <= 2) {  // all leading dims of x are rows of one matrix
    const int64_t k = xs.back();
    const int64_t rows = product(IntArrayRef(xs.begin(), xs.size() - 1));
    if (xs.size() != 2) x = reshape(b, x, Dims{rows, k});
    if (ys.size() == 1) y = b.call("unsqueeze", {y}, {1});
    const int c = b.call("mm", {x, y});
    return {xs.size() == 2 && ys.size() == 2 ? c : reshape(b, c, sizes)};
  }
  if (xs.size() == 1) x = b.call("unsqueeze", {x}, {0});
  for (size_t rank = std::max<size_t>(xs.size(), 2); rank < ys.size(); ++rank) x = b.call("unsqueeze", {x}, {0});
  for (size_t rank = ys.size(); rank < xs.size(); ++rank) y = b.call("unsqueeze", {y}, {0});
  const bool plain = b.spec(x).rank() == 3 && b.spec(x).sizes[0] == b.spec(y).sizes[0];
  const int c = b.call(plain ? "bmm" : "batched_mm", {x, y});
  return {xs.size() == 1 ? b.call("squeeze", {c}, {IntArrayRef(-2)}) : c};
}

Specs infer_mv(const OpDef& op, const SpecCall& call) {
  const TensorSpec &a = call.tensor(0), &b = call.tensor(1);
  check(a.rank() == 2 && b.rank() == 1, op.name, ": vector + matrix @ vector expected, got ", a.rank(), ", ", b.rank());
  check(a.sizes[1] == b.sizes[0], op.name, ": size mismatch, got input (", a.sizes[0], "), mat (", a.sizes[0], "x", a.sizes[1], "), vec (",
        b.sizes[0], ")");
  check_same_dtype(op, a, b);
  return {TensorSpec(a.dtype, {a.sizes[0]}, a.device)};
}

std::vector<int> decompose_mv(Builder& b, Values operands, AttrRefs) {
  const int64_t rows = b.spec(operands[0].tensor).sizes[0];
  return {reshape(b, b.call("mm", {operands[0], b.call("unsqueeze", {operands[1]}, {1})}), Dims{rows})};
}

Specs infer_dot(const OpDef& op, const SpecCall& call) {
  const TensorSpec &a = call.tensor(0), &b = call.tensor(1);
  check(a.rank() == 1 && b.rank() == 1, op.name, ": 1D tensors expected, but got ", a.rank(), "D and ", b.rank(), "D tensors");
  check_same_dtype(op, a, b);
  check(a.sizes[0] == b.sizes[0], op.name, ": inconsistent tensor size, expected tensor ", a.sizes, " and src ", b.sizes,
        " to have the same number of elements, but got ", a.sizes[0], " and ", b.sizes[0], " elements respectively");
  return {TensorSpec(a.dtype, IntArrayRef(), a.device)};
}

std::vector<int> decompose_dot(Builder& b, Values operands, AttrRefs) {
  const int c = b.call("mm", {b.call("unsqueeze", {operands[0]}, {0}), b.call("unsqueeze", {operands[1]}, {1})});
  return {reshape(b, c, IntArrayRef())};
}

Specs infer_outer(const OpDef& op, const SpecCall& call) {
  const TensorSpec &a = call.tensor(0), &b = call.tensor(1);
  check(a.rank() == 1, op.name, ": Expected 1-D argument self, but got ", a.rank(), "-D");
  check(b.rank() == 1, op.name, ": Expected 1-D argument vec2, but got ", b.rank(), "-D");
  return {TensorSpec(promote_types(a.dtype, b.dtype), {a.sizes[0], b.sizes[0]}, a.device)};
}

std::vector<int> decompose_outer(Builder& b, Values operands, AttrRefs) {
  return {b.call("mul", {b.call("unsqueeze", {operands[0]}, {1}), operands[1]})};
}

Specs infer_linear(const OpDef& op, const SpecCall& call) {
  const TensorSpec &x = call.tensor(0), &w = call.tensor(1);
  check(x.rank() >= 1, op.name, ": input must be at least 1D, got 0D");
  check(w.rank() == 1 || w.rank() == 2, op.name, ": weight must be 1D or 2D, got ", w.rank(), "D");
  const int64_t k = x.sizes.back(), rows = product(x.sizes) / std::max<int64_t>(k, 1), n = w.rank() == 2 ? w.sizes[0] : 1;
  check_inner(op, rows, k, w.sizes.back(), n);
  check_same_dtype(op, x, w);
  Dims sizes = x.sizes;
  sizes.erase(sizes.size() - 1);
  if (w.rank() == 2) sizes.push_back(n);
  if (call.has_tensor(2)) {
    check_same_dtype(op, x, call.tensor(2));
    check_expandable(call.tensor(2).sizes, sizes);
  }
  return {TensorSpec(x.dtype, sizes, x.device)};
}

std::vector<int> decompose_linear(Builder& b, Values operands, AttrRefs) {
  Compose c(b);
  const ScalarType type = b.spec(operands[0].tensor).dtype;
  const bool biased = operands.size() > 2 && operands[2].is_tensor();
  // With a bias the product of half types must not be rounded before the bias is added.
  const auto widened = [&](int v) { return biased ? c.wide(v) : v; };
  const int w = widened(operands[1].tensor);
  int y = b.call("matmul", {widened(operands[0].tensor), b.spec(w).rank() == 2 ? b.call("t", {w}) : w});
  if (biased) y = c.cast(c.add(y, widened(operands[2].tensor)), type);
  return {y};
}

// beta and alpha of addmm and its kin; integer operands take integer factors.
void check_factor(const OpDef& op, const SpecCall& call, size_t index, ScalarType type) {
  if (index >= call.operands.size() || call.operands[index].is_none()) return;
  internal_check(call.operands[index].is_scalar(), op.name, ": operand ", index, " must be a scalar");
  check(!is_integral(type, true) || !call.operands[index].scalar.is_floating_point(), op.name, ": For integral input tensors, argument ",
        op.operand_names[index], " must not be a floating point number.");
}

Specs infer_add_product(const OpDef& op, const SpecCall& call) {
  const TensorSpec &self = call.tensor(0), &a = call.tensor(1), &b = call.tensor(2);
  Dims sizes;
  if (op.name == "addmm") {
    check(a.rank() == 2, op.name, ": mat1 must be a matrix, got ", a.rank(), "-D tensor");
    check(b.rank() == 2, op.name, ": mat2 must be a matrix, got ", b.rank(), "-D tensor");
    check_inner(op, a.sizes[0], a.sizes[1], b.sizes[0], b.sizes[1]);
    sizes = {a.sizes[0], b.sizes[1]};
  } else {
    sizes = bmm_sizes(op, a, b);
  }
  check_same_dtype(op, a, b);
  check_same_dtype(op, self, a);
  check_expandable(self.sizes, sizes);
  check_factor(op, call, 3, a.dtype);
  check_factor(op, call, 4, a.dtype);
  return {TensorSpec(a.dtype, sizes, a.device)};
}

std::vector<int> decompose_add_product(Builder& b, Values operands, AttrRefs) {
  Compose c(b);
  const ScalarType type = b.spec(operands[1].tensor).dtype;
  const auto is = [&](size_t i, double number) {
    return i >= operands.size() || operands[i].is_none() ? number == 1
                                                         : operands[i].is_scalar() && operands[i].scalar.to_double() == number;
  };
  const std::string_view product_op = b.spec(operands[1].tensor).rank() == 2 ? "mm" : "bmm";
  int y = b.call(product_op, {c.wide(operands[1].tensor), c.wide(operands[2].tensor)});
  if (!is(4, 1)) y = c.mul(y, operands[4]);
  if (is(3, 0)) return {c.cast(y, type)};
  int self = c.wide(operands[0].tensor);
  if (!is(3, 1)) self = c.mul(self, operands[3]);
  // A factor that is only known at run time may be zero, which leaves nothing of NaN and infinities either.
  if (operands.size() > 3 && operands[3].is_tensor()) self = c.where(c.ne(operands[3], Compose::lit(0)), self, Compose::lit(0));
  return {c.cast(c.add(y, self), type)};
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](std::string_view name, std::vector<std::string_view> operands, decltype(OpDef::infer) infer,
                      decltype(OpDef::decompose) decompose = nullptr, OpKind kind = OpKind::Composite) {
    OpDef def;
    def.name = name;
    def.kind = kind;
    def.operand_names = std::move(operands);
    def.infer = infer;
    def.decompose = decompose;
    register_op(std::move(def));
  };
  add("mm", {"self", "mat2"}, infer_mm, nullptr, OpKind::Contraction);
  add("bmm", {"self", "mat2"}, infer_bmm, nullptr, OpKind::Contraction);
  add("batched_mm", {"self", "mat2"}, infer_batched_mm, nullptr, OpKind::Contraction);
  add("linear", {"input", "weight", "bias"}, infer_linear, decompose_linear, OpKind::Contraction);
  add("matmul", {"self", "other"}, infer_matmul, decompose_matmul);
  add("mv", {"self", "vec"}, infer_mv, decompose_mv);
  add("dot", {"self", "other"}, infer_dot, decompose_dot);
  add("outer", {"self", "vec2"}, infer_outer, decompose_outer);
  add("addmm", {"self", "mat1", "mat2", "beta", "alpha"}, infer_add_product, decompose_add_product);
  add("baddbmm", {"self", "batch1", "batch2", "beta", "alpha"}, infer_add_product, decompose_add_product);
  return true;
}();

}  // namespace
}  // namespace tailor::ir
