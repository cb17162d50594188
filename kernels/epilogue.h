#pragma once
// What is done to a result while it is still in cache: the pointwise tail of a contraction. Kernels that take epilogues are registered
// with the layout in which they number the parts of their result; compiled code looks them up here.
//
//   linear of [2, 5, 64] to [2, 5, 256]: one batch of 10 rows and 256 columns
//   conv2d to [8, 16, 32, 32]: 8 batches of 16 rows (channels) and 1024 columns (pixels)

#include <memory>
#include <string>

#include "kernels/kernels.h"

namespace tailor::kernels {

/// A finished part of a result: rows [row, row + rows), columns [column, column + columns) of `batch`. `data` is its first element.
struct Region {
  void* data;
  int64_t batch, row, rows, column, columns;
  int64_t row_stride, column_stride;
};

/// Called once for every part of the result while it is still in cache, from any thread of the pool: bias, activation, residual.
/// In half types the part holds rounded values, as a separate op would see them.
struct Epilogue {
  void (*fn)(void* context, const Region& region) = nullptr;
  void* context = nullptr;
};

/// Which dims of a result are columns and rows: so many at the end, and so many before them (-1: all the others). The rest are batches.
struct ResultLayout {
  int row_dims = 1, column_dims = 1;
};
struct ResultExtents {
  int64_t batches = 1, rows = 1, columns = 1;
};
ResultExtents result_extents(const ResultLayout& layout, IntArrayRef sizes);

/// Weights as a kernel wants them, made once for many calls: they do not change meanwhile.
class Prepacked {
 public:
  Prepacked() = default;
  Prepacked(const Prepacked&) = delete;
  Prepacked& operator=(const Prepacked&) = delete;
  virtual ~Prepacked() = default;
  virtual int64_t bytes() const = 0;
};

/// How a contraction lays out its weights ahead of its calls; `Call::prepacked` then says that it was done.
struct Prepacking {
  size_t operand = 0;  // the weights
  /// Names the layout: equal weights and equal keys give equal results of `pack`. Empty: nothing would be gained. Reads no data.
  std::string (*key)(const Call& call) = nullptr;
  /// Reads the memory of the weights only; the others may be null. Null: these values are better left as they are.
  std::shared_ptr<const Prepacked> (*pack)(const Call& call) = nullptr;
};

using ContractionKernel = void (*)(const Call& call, const Epilogue& epilogue);
struct Contraction {
  ContractionKernel kernel = nullptr;
  ResultLayout layout;
  Prepacking prepacking = {};
};
void register_contraction(std::string_view op, const Contraction& contraction);
/// Null for ops whose kernels take no epilogue.
const Contraction* find_contraction(const ir::OpDef& op);

/// Registers a kernel for calls with and without epilogue.
template <ContractionKernel kernel>
void register_contraction(std::string_view op, ResultLayout layout, const Prepacking& prepacking = {}) {
  register_kernel(op, [](const Call& call) { kernel(call, {}); });
  register_contraction(op, {kernel, layout, prepacking});
}

/// An epilogue over the whole result of a call, for kernels that had no better moment.
void finish_result(const Call& call, const ResultLayout& layout, const Epilogue& epilogue);

}  // namespace tailor::kernels
