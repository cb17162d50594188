#pragma once
// One interface to matrix products, for eager kernels and compiled code alike:
//
//   C[b] = alpha * A[b] * B[b] + beta * C[b]        A [m, k], B [k, n], any strides, any number of batches
//
//   gemm::Problem p;
//   p.m = 64; p.n = 256; p.k = 128;
//   p.a = {x, 128, 1};  p.b = {w, 1, 128};  p.c = {y, 256, 1};     // y = x @ w.T
//   gemm::run(p);
//
// f32 and the half types accumulate in float32, f64 in float64, integers wrap. Every element of C is one chain of fused multiply-adds
// over k in ascending order (few rows or columns, and a last few columns beside full vectors: lanes over k, folded in a fixed order), so
// results depend neither on the number of threads nor on which tile an element falls into.

#include <cstdint>
#include <memory>

#include "kernels/epilogue.h"

namespace tailor::kernels::gemm {

/// First element and strides in elements; `batch` is the distance from one batch to the next.
struct Matrix {
  void* data = nullptr;
  int64_t row = 0, column = 0, batch = 0;
  Matrix() = default;
  Matrix(const void* d, int64_t r, int64_t c, int64_t b = 0) : data(const_cast<void*>(d)), row(r), column(c), batch(b) {}
};

/// B laid out for the kernels of one instruction set.
class PackedB;
/// Packs B [k, n]; done once for weights. The result owns its memory.
std::shared_ptr<const PackedB> pack_b(ScalarType dtype, int64_t k, int64_t n, const Matrix& b);
int64_t packed_bytes(const PackedB& packed);
/// The same as the weights of a call.
std::shared_ptr<const Prepacked> prepack_b(ScalarType dtype, int64_t k, int64_t n, const Matrix& b);
const PackedB* as_packed_b(const Prepacked* packed);

struct Problem {
  ScalarType dtype = kFloat32;  // of A, B and C
  int64_t batches = 1, m = 0, n = 0, k = 0;
  Matrix a, b, c;
  const PackedB* packed = nullptr;  // instead of b; one batch's B for all batches
  double alpha = 1, beta = 0;       // beta 0: C is not read
  Epilogue epilogue;
};

void run(const Problem& problem);

}  // namespace tailor::kernels::gemm
