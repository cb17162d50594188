// The eager kernels of the matrix products.
#include <algorithm>
#include <cstring>

#include "kernels/copy.h"
#include "kernels/gemm/gemm.h"
#include "kernels/kernels.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::gemm {
namespace {

using ir::TensorSpec;

// One operand of a batched product: leading dims as the result's, 0 strides where it is broadcast.
struct Batched {
  std::byte* data;
  int64_t row, column;
  Dims strides;
};

Batched batched(const TensorArg& t, IntArrayRef batch) {
  const TensorSpec& s = *t.spec;
  const size_t rank = s.sizes.size();
  Batched b{static_cast<std::byte*>(t.data), s.strides[rank - 2], s.strides[rank - 1], Dims(batch.size(), 0)};
  for (size_t d = 0; d + 2 < rank; ++d) {
    const size_t at = batch.size() - (rank - 2) + d;
    b.strides[at] = s.sizes[d] == 1 ? 0 : s.strides[d];
  }
  return b;
}

// Merges dims that one stride can walk through in all three operands; rows take in a batch dim over which B does not change.
void collapse(Dims& sizes, Batched& a, Batched& b, Batched& c, int64_t& m) {
  for (size_t d = sizes.size(); d-- > 0;)
    if (sizes[d] == 1)
      for (Dims* dims : {&sizes, &a.strides, &b.strides, &c.strides}) dims->erase(d);
  for (size_t d = sizes.size(); d-- > 1;) {
    const auto joins = [&](const Batched& t) { return t.strides[d - 1] == t.strides[d] * sizes[d]; };
    if (!joins(a) || !joins(b) || !joins(c)) continue;
    sizes[d - 1] *= sizes[d];
    for (Batched* t : {&a, &b, &c}) {
      t->strides[d - 1] = t->strides[d];
      t->strides.erase(d);
    }
    sizes.erase(d);
  }
  while (!sizes.empty() && b.strides.back() == 0 && a.strides.back() == m * a.row && c.strides.back() == m * c.row) {
    m *= sizes.back();
    for (Dims* dims : {&sizes, &a.strides, &b.strides, &c.strides}) dims->erase(dims->size() - 1);
  }
}

// The epilogue of a call, whose rows are numbered as its layout says: a product of several batches or more rows passes through here.
struct Renumbered {
  const Epilogue* to = nullptr;
  int64_t rows = 1;       // of a batch in the call's terms
  int64_t m = 1;          // of a batch in the product's terms
  int64_t first_row = 0;  // of the product, counted through all batches
  int64_t element = 1;    // bytes
  static void call(void* context, const Region& part) {
    const Renumbered& self = *static_cast<const Renumbered*>(context);
    Region r = part;
    int64_t row = self.first_row + part.batch * self.m + part.row, left = part.rows;
    while (left > 0) {
      r.batch = row / self.rows;
      r.row = row % self.rows;
      r.rows = std::min(left, self.rows - r.row);
      self.to->fn(self.to->context, r);
      r.data = static_cast<std::byte*>(r.data) + r.rows * r.row_stride * self.element;
      row += r.rows;
      left -= r.rows;
    }
  }
};

constexpr ResultLayout kMatrices{1, 1}, kRows{-1, 1};

// What follows a call's product.
Renumbered after(const Call& call, const ResultLayout& layout, const Epilogue& epilogue) {
  Renumbered r;
  if (epilogue.fn == nullptr) return r;
  const TensorSpec& out = *call.outputs[0].spec;
  r.to = &epilogue;
  r.rows = result_extents(layout, out.sizes).rows;
  r.element = element_size(out.dtype);
  return r;
}

// Runs over all batches; `p` has the sizes, factors and dtype, and an epilogue of its own only when there is at most one batch dim.
void run_batched(Problem p, Dims sizes, Batched a, Batched b, Batched c, const Renumbered& then = {}) {
  if (product(sizes) == 0 || p.m == 0 || p.n == 0) return;
  if (p.epilogue.fn == nullptr) collapse(sizes, a, b, c, p.m);
  const int64_t size = element_size(p.dtype);
  p.batches = sizes.empty() ? 1 : sizes.back();
  const auto inner = [&](const Batched& t) { return sizes.empty() ? 0 : t.strides.back(); };
  const int64_t outer = product(sizes) / p.batches;
  const auto one = [&](int64_t index) {
    int64_t at[3] = {};
    Renumbered rows = then;
    rows.m = p.m;
    rows.first_row = index * p.batches * p.m;
    for (size_t d = sizes.size(); d-- > 1;) {
      const int64_t i = index % sizes[d - 1];
      index /= sizes[d - 1];
      at[0] += i * a.strides[d - 1];
      at[1] += i * b.strides[d - 1];
      at[2] += i * c.strides[d - 1];
    }
    Problem q = p;
    q.a = Matrix(a.data + at[0] * size, a.row, a.column, inner(a));
    q.b = Matrix(b.data + at[1] * size, b.row, b.column, inner(b));
    q.c = Matrix(c.data + at[2] * size, c.row, c.column, inner(c));
    if (then.to != nullptr) q.epilogue = {Renumbered::call, &rows};
    run(q);
  };
  if (outer == 1) return one(0);
  const bool large = p.batches * p.m * p.n * p.k >= int64_t{1} << 22;
  parallel_for(0, outer, large ? outer : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) one(i);
  });
}

// Seen with at least two dims: vectors become a row (left operand) or a column (right operand).
struct Raised {
  TensorSpec spec;
  TensorArg arg;
  Raised(const TensorArg& t, bool left) : spec(*t.spec), arg{t.data, &spec} {
    if (spec.rank() >= 2) return;
    spec.sizes.insert(left ? 0 : 1, 1);
    spec.strides.insert(left ? 0 : 1, 0);
  }
};

void product_kernel(const Call& call, const Epilogue& epilogue) {
  const bool vectors = call.tensor(0).spec->rank() == 1 || call.tensor(1).spec->rank() == 1;
  const Raised a(call.tensor(0), true), b(call.tensor(1), false);
  TensorSpec out = *call.outputs[0].spec;
  if (call.tensor(0).spec->rank() == 1) {  // the row that the result does not have
    const size_t at = out.sizes.size() - (call.tensor(1).spec->rank() >= 2 ? 1 : 0);
    out.sizes.insert(at, 1);
    out.strides.insert(at, 0);
  }
  if (call.tensor(1).spec->rank() == 1) {
    out.sizes.push_back(1);
    out.strides.push_back(0);
  }
  Problem p;
  p.dtype = out.dtype;
  const size_t rank = out.sizes.size();
  p.m = out.sizes[rank - 2];
  p.n = out.sizes[rank - 1];
  p.k = a.spec.sizes.back();
  p.packed = as_packed_b(call.prepacked);
  const Dims batch(IntArrayRef(out.sizes.begin(), rank - 2));
  const TensorArg c{call.outputs[0].data, &out};
  run_batched(p, batch, batched(a.arg, batch), batched(b.arg, batch), batched(c, batch),
              vectors ? Renumbered() : after(call, kMatrices, epilogue));
  if (vectors) finish_result(call, kMatrices, epilogue);
}

// C = alpha * C + beta * addend, part by part while C is in cache. For float and double.
struct Addend {
  const std::byte* data;
  int64_t batch, row, column;
  double alpha, beta;
  Renumbered then = {};
};

template <class T>
void add_part(void* context, const Region& r) {
  typedef T V __attribute__((vector_size(16)));
  constexpr int64_t kLanes = 16 / sizeof(T);
  Addend& add = *static_cast<Addend*>(context);
  const T alpha = static_cast<T>(add.alpha), beta = static_cast<T>(add.beta);
  for (int64_t i = 0; i < r.rows; ++i) {
    T* c = static_cast<T*>(r.data) + i * r.row_stride;
    const T* x = reinterpret_cast<const T*>(add.data) + r.batch * add.batch + (r.row + i) * add.row + r.column * add.column;
    int64_t j = 0;
    if (r.column_stride == 1 && add.column == 1)
      for (; j + kLanes <= r.columns; j += kLanes) {
        V left, right;
        std::memcpy(&left, c + j, sizeof left);
        std::memcpy(&right, x + j, sizeof right);
        left = (alpha == 1 ? left : left * alpha) + (beta == 1 ? right : right * beta);
        std::memcpy(c + j, &left, sizeof left);
      }
    for (; j < r.columns; ++j) {
      const T left = alpha == 1 ? c[j * r.column_stride] : alpha * c[j * r.column_stride];
      c[j * r.column_stride] = left + (beta == 1 ? x[j * add.column] : beta * x[j * add.column]);
    }
  }
  if (add.then.to != nullptr) Renumbered::call(&add.then, r);
}

// `addend` broadcasts to the output; float and double add it part by part, the others begin with it and round once.
void run_with_addend(Problem p, const TensorArg& out, const TensorArg& addend, const Dims& batch, Batched a, Batched b, Batched c,
                     const Renumbered& then) {
  if (p.beta == 0) return run_batched(p, batch, std::move(a), std::move(b), std::move(c), then);
  if ((p.dtype == kFloat32 || p.dtype == kFloat64) && batch.size() <= 1) {
    const TensorSpec& s = *addend.spec;
    const auto stride = [&](size_t from_end) {
      return s.sizes.size() < from_end || s.sizes[s.sizes.size() - from_end] == 1 ? 0 : s.strides[s.strides.size() - from_end];
    };
    Addend add{static_cast<const std::byte*>(addend.data), batch.empty() ? 0 : stride(3), stride(2), stride(1), p.alpha, p.beta, then};
    add.then.m = p.m;
    p.epilogue = {p.dtype == kFloat32 ? add_part<float> : add_part<double>, &add};
    p.alpha = 1;
    p.beta = 0;
    return run_batched(p, batch, std::move(a), std::move(b), std::move(c));
  }
  if (out.data != addend.data) copy(out, addend);
  run_batched(p, batch, std::move(a), std::move(b), std::move(c), then);
}

double factor(const Call& call, size_t index) {
  return call.operands.size() > index && call.operands[index].is_scalar() ? call.operands[index].scalar.to_double() : 1.0;
}

void add_product_kernel(const Call& call, const Epilogue& epilogue) {
  const TensorSpec &out = *call.outputs[0].spec, &a = *call.tensor(1).spec;
  const size_t rank = out.sizes.size();
  Problem p;
  p.dtype = out.dtype;
  p.m = out.sizes[rank - 2];
  p.n = out.sizes[rank - 1];
  p.k = a.sizes.back();
  p.packed = as_packed_b(call.prepacked);
  p.beta = factor(call, 3);
  p.alpha = factor(call, 4);
  const Dims batch(IntArrayRef(out.sizes.begin(), rank - 2));
  const bool overwritten = call.outputs[0].data == call.tensor(0).data && p.beta != 0;
  if (overwritten)
    return run_batched(p, batch, batched(call.tensor(1), batch), batched(call.tensor(2), batch), batched(call.outputs[0], batch),
                       after(call, kMatrices, epilogue));
  run_with_addend(p, call.outputs[0], call.tensor(0), batch, batched(call.tensor(1), batch), batched(call.tensor(2), batch),
                  batched(call.outputs[0], batch), after(call, kMatrices, epilogue));
}

// Rows that follow each other at one distance, seen as a matrix: the leading dims of the input of a linear layer.
bool as_matrix(const TensorSpec& s, int64_t& rows, int64_t& row) {
  rows = 1;
  row = 0;
  for (size_t d = s.sizes.size() - 1; d-- > 0;) {
    if (s.sizes[d] == 1) continue;
    if (rows == 1)
      row = s.strides[d];
    else if (s.strides[d] != row * rows)
      return false;
    rows *= s.sizes[d];
  }
  return true;
}

void linear_kernel(const Call& call, const Epilogue& epilogue) {
  const TensorSpec &x = *call.tensor(0).spec, &w = *call.tensor(1).spec, &out = *call.outputs[0].spec;
  TensorSpec y = out;
  if (w.rank() == 1) {
    y.sizes.push_back(1);
    y.strides.push_back(0);
  }
  Problem p;
  p.dtype = out.dtype;
  p.k = x.sizes.back();
  p.n = y.sizes.back();
  p.packed = as_packed_b(call.prepacked);
  const bool biased = call.has_tensor(2);
  p.beta = biased ? 1 : 0;
  int64_t rows = 0, x_row = 0, y_rows = 0, y_row = 0;
  const Batched weight{static_cast<std::byte*>(call.tensor(1).data), w.strides.back(), w.rank() == 2 ? w.strides[0] : 0, Dims()};
  const TensorArg c{call.outputs[0].data, &y};
  const Renumbered then = w.rank() == 2 ? after(call, kRows, epilogue) : Renumbered();
  const bool simple_bias = !biased || call.tensor(2).spec->rank() <= 1;
  if (as_matrix(x, rows, x_row) && as_matrix(y, y_rows, y_row) && simple_bias) {
    p.m = rows;
    const Batched a{static_cast<std::byte*>(call.tensor(0).data), x_row, x.strides.back(), Dims()},
        to{static_cast<std::byte*>(c.data), y_row, y.strides.back(), Dims()};
    if (biased)
      run_with_addend(p, call.outputs[0], call.tensor(2), Dims(), a, weight, to, then);
    else
      run_batched(p, Dims(), a, weight, to, then);
    if (w.rank() == 1) finish_result(call, kRows, epilogue);
    return;
  }
  if (biased) copy(call.outputs[0], call.tensor(2));
  const Raised a(call.tensor(0), true);
  if (y.sizes.size() < 2) {
    y.sizes.insert(0, 1);
    y.strides.insert(0, 0);
  }
  p.m = y.sizes[y.sizes.size() - 2];
  const Dims batch(IntArrayRef(y.sizes.begin(), y.sizes.size() - 2));
  Batched b = weight;
  b.strides = Dims(batch.size(), 0);
  run_batched(p, batch, batched(a.arg, batch), b, batched(c, batch), then);
  if (w.rank() == 1) finish_result(call, kRows, epilogue);
}

// ---- weights laid out ahead of calls -------------------------------------------------------------------------------

/// Elements from which on a packed matrix pays for its second form.
constexpr int64_t kFewestPacked = 4096;

// The weights as B [k, n]: operand `Operand` is that, or its transpose.
template <size_t Operand, bool Transposed>
Matrix weight_matrix(const Call& call, int64_t& k, int64_t& n) {
  const TensorSpec& w = *call.tensor(Operand).spec;
  constexpr size_t kRow = Transposed ? 1 : 0, kColumn = 1 - kRow;
  k = w.sizes[kRow];
  n = w.sizes[kColumn];
  return Matrix(call.tensor(Operand).data, w.strides[kRow], w.strides[kColumn]);
}

template <size_t Operand, bool Transposed>
std::string weight_key(const Call& call) {
  const TensorSpec& w = *call.tensor(Operand).spec;
  if (w.rank() != 2 || !is_floating_point(w.dtype) || w.numel() < kFewestPacked || call.outputs[0].spec->dtype != w.dtype) return "";
  int64_t k = 0, n = 0;
  const Matrix b = weight_matrix<Operand, Transposed>(call, k, n);
  std::string key = "panels " + std::to_string(static_cast<int>(isa())) + " " + std::to_string(static_cast<int>(w.dtype));
  for (int64_t part : {k, n, b.row, b.column}) key += " " + std::to_string(part);
  return key;
}

template <size_t Operand, bool Transposed>
std::shared_ptr<const Prepacked> pack_weight(const Call& call) {
  int64_t k = 0, n = 0;
  const Matrix b = weight_matrix<Operand, Transposed>(call, k, n);
  return prepack_b(call.tensor(Operand).spec->dtype, k, n, b);
}

template <size_t Operand, bool Transposed>
constexpr Prepacking kPanels{Operand, weight_key<Operand, Transposed>, pack_weight<Operand, Transposed>};

[[maybe_unused]] const bool registered = [] {
  for (std::string_view name : {"mm", "matmul"}) register_contraction<product_kernel>(name, kMatrices, kPanels<1, false>);
  for (std::string_view name : {"bmm", "batched_mm", "mv", "dot"}) register_contraction<product_kernel>(name, kMatrices);
  register_contraction<add_product_kernel>("addmm", kMatrices, kPanels<2, false>);
  register_contraction<add_product_kernel>("baddbmm", kMatrices);
  register_contraction<linear_kernel>("linear", kRows, kPanels<1, true>);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels::gemm
