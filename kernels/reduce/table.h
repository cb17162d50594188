#pragma once
// The inner loops of the reductions, one table of them per instruction set.

#include "kernels/kernels.h"

namespace tailor::kernels::reduce {

enum class Fold : uint8_t { Sum, Prod, Max, Min, Any, All };
inline constexpr int kFoldCount = 6;

/// What a fold accumulates in between blocks: double for floating point operands, int64 for the others (and for any, all: 0 or 1).
union Acc {
  double real;
  int64_t whole;
};

/// Folds each of `rows` rows of `n` contiguous elements, `row_stride` elements apart: out[r] = fold of row r.
using RowsFn = void (*)(const void* x, int64_t rows, int64_t row_stride, int64_t n, Acc* out);
/// Folds `rows` rows of `columns` contiguous elements into one row: acc[c] = acc[c] fold x[0][c] fold x[1][c] ...
/// `columns` is at most kColumns.
using ColumnsFn = void (*)(const void* x, int64_t rows, int64_t row_stride, int64_t columns, Acc* acc);
inline constexpr int64_t kColumns = 1024;

/// The extremum of each row and the index where it is first.
using ArgRowsFn = void (*)(const void* x, int64_t rows, int64_t row_stride, int64_t n, Acc* out, int64_t* index);
/// As ColumnsFn; `first` is the index of row 0. acc and index hold the result so far (`first` > 0) or nothing yet.
using ArgColumnsFn = void (*)(const void* x, int64_t rows, int64_t row_stride, int64_t columns, int64_t first, Acc* acc, int64_t* index);

/// By (Fold, dtype). kBool shares the functions of kUInt8. The arg functions exist for Max and Min.
struct Table {
  RowsFn rows[kFoldCount][kScalarTypeCount];
  ColumnsFn columns[kFoldCount][kScalarTypeCount];
  ArgRowsFn arg_rows[2][kScalarTypeCount];
  ArgColumnsFn arg_columns[2][kScalarTypeCount];
};

const Table& table_sse2();
const Table& table_avx2();
const Table& table_avx512();

inline const Table& table() {
  switch (isa()) {
    case Isa::Avx512: return table_avx512();
    case Isa::Avx2: return table_avx2();
    case Isa::Sse2: break;
  }
  return table_sse2();
}

}  // namespace tailor::kernels::reduce
