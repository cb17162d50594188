#include "kernels/copy.h"

#include <algorithm>

#include "kernels/pointwise/strided.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels {
namespace {

// ---- fill ---------------------------------------------------------------------------------------------------------

template <class T>
void fill_strided(char* to, int64_t stride, int64_t n, const char* element) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride, element, sizeof(T));
}

void fill_row(char* to, int64_t stride, int64_t n, const char* pattern, int64_t width) {
  if (stride == width) {
    int64_t bytes = n * width;
    for (; bytes >= kMaxVectorBytes; bytes -= kMaxVectorBytes, to += kMaxVectorBytes) std::memcpy(to, pattern, kMaxVectorBytes);
    std::memcpy(to, pattern, static_cast<size_t>(bytes));
    return;
  }
  switch (width) {
    case 1: return fill_strided<uint8_t>(to, stride, n, pattern);
    case 2: return fill_strided<uint16_t>(to, stride, n, pattern);
    case 4: return fill_strided<uint32_t>(to, stride, n, pattern);
    case 8: return fill_strided<uint64_t>(to, stride, n, pattern);
  }
}

/// Calls f(cursor, n) for the rows of [begin, end), or of its pieces on several threads.
template <class F>
void for_rows(const LoopDims& dims, int sides, const F& f) {
  const auto run = [&](int64_t begin, int64_t end) {
    RowCursor cursor(dims, sides, begin);
    while (begin < end) {
      const int64_t n = std::min(cursor.left_in_row(), end - begin);
      f(cursor, n);
      cursor.advance(n);
      begin += n;
    }
  };
  if (dims.numel >= 2 * kGrain && !in_parallel_region())
    parallel_for(0, dims.numel, kGrain, run);
  else
    run(0, dims.numel);
}

void fill_with(TensorArg dst, const char* element) {
  const int64_t width = element_size(dst.spec->dtype);
  const LoopDims dims = loop_dims(&dst, 1);
  alignas(kMaxVectorBytes) char pattern[kMaxVectorBytes];
  splat(pattern, element, width);
  const int64_t stride = dims.rank > 0 ? dims.inner_stride(0) : width;
  for_rows(dims, 1, [&](const RowCursor& cursor, int64_t n) { fill_row(dst.as<char>() + cursor.offset(0), stride, n, pattern, width); });
}

// ---- copy ---------------------------------------------------------------------------------------------------------

/// What a copy does with n elements in a row.
struct RowCopy {
  int64_t to_width, from_width, to_stride, from_stride;
  ConvertLoop convert;  // null where the dtypes are equal

  void operator()(char* to, const char* from, int64_t n) const {
    if (from_stride == 0 && n > 1) {
      alignas(8) char element[8];
      alignas(kMaxVectorBytes) char pattern[kMaxVectorBytes];
      convert ? convert(from, element, 1) : static_cast<void>(std::memcpy(element, from, static_cast<size_t>(from_width)));
      splat(pattern, element, to_width);
      fill_row(to, to_stride, n, pattern, to_width);
    } else if (convert == nullptr) {
      if (to_stride == to_width)
        gather(from, from_stride, to, n, to_width);
      else if (from_stride == from_width)
        scatter(from, to, to_stride, n, to_width);
      else
        both_strided(to, from, n);
    } else if (to_stride == to_width && from_stride == from_width) {
      convert(from, to, n);
    } else {
      in_blocks(to, from, n);
    }
  }

 private:
  template <class T>
  void both_strided_as(char* to, const char* from, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(T));
  }
  void both_strided(char* to, const char* from, int64_t n) const {
    switch (to_width) {
      case 1: return both_strided_as<uint8_t>(to, from, n);
      case 2: return both_strided_as<uint16_t>(to, from, n);
      case 4: return both_strided_as<uint32_t>(to, from, n);
      case 8: return both_strided_as<uint64_t>(to, from, n);
    }
  }
  void in_blocks(char* to, const char* from, int64_t n) const {
    alignas(kMaxVectorBytes) char source[kBlock * 8], converted[kBlock * 8];
    for (int64_t done = 0; done < n; done += kBlock) {
      const int64_t count = std::min(kBlock, n - done);
      const char* in = from + done * from_stride;
      char* out = to + done * to_stride;
      if (from_stride != from_width) {
        gather(in, from_stride, source, count, from_width);
        in = source;
      }
      convert(in, to_stride == to_width ? out : converted, count);
      if (to_stride != to_width) scatter(converted, out, to_stride, count, to_width);
    }
  }
};

// A tile is one cache line each way, so that every line of the source is read once and whole: rows of large powers of two share one
// set of the cache, which has no room for more.
constexpr int64_t kLine = 64;

template <class T, bool Whole>
void transpose_lines(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows, int64_t columns) {
  constexpr int64_t kSide = kLine / static_cast<int64_t>(sizeof(T));
  alignas(kLine) T tile[kSide][kSide];
  if constexpr (Whole) rows = columns = kSide;
  const auto row_bytes = static_cast<size_t>(rows) * sizeof(T), column_bytes = static_cast<size_t>(columns) * sizeof(T);
  for (int64_t c = 0; c < columns; ++c) std::memcpy(tile[c], from + c * from_column, Whole ? kLine : row_bytes);
  for (int64_t r = 0; r < rows; ++r) {
    T line[kSide];
    for (int64_t c = 0; c < columns; ++c) line[c] = tile[c][r];
    std::memcpy(to + r * to_row, line, Whole ? kLine : column_bytes);
  }
}

// The destination is contiguous along columns, the source along rows.
template <class T>
void transpose_tile(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows, int64_t columns) {
  constexpr int64_t kSide = kLine / static_cast<int64_t>(sizeof(T));
  if (rows == kSide && columns == kSide)
    transpose_lines<T, true>(to, to_row, from, from_column, rows, columns);
  else
    transpose_lines<T, false>(to, to_row, from, from_column, rows, columns);
}

void transpose_tile(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows, int64_t columns, int64_t width) {
  switch (width) {
    case 1: return transpose_tile<uint8_t>(to, to_row, from, from_column, rows, columns);
    case 2: return transpose_tile<uint16_t>(to, to_row, from, from_column, rows, columns);
    case 4: return transpose_tile<uint32_t>(to, to_row, from, from_column, rows, columns);
    case 8: return transpose_tile<uint64_t>(to, to_row, from, from_column, rows, columns);
  }
}

/// The dimension along which the source is contiguous, if that is not the last one and both are long enough for tiles; else -1.
int transposed_dim(const LoopDims& dims, int64_t to_width, int64_t from_width) {
  const int last = dims.rank - 1;
  if (last < 1 || dims.strides[0][last] != to_width || dims.strides[1][last] == from_width || dims.sizes[last] < 8) return -1;
  for (int d = 0; d < last; ++d)
    if (dims.strides[1][d] == from_width && dims.sizes[d] >= 8) return d;
  return -1;
}

void copy_transposed(TensorArg dst, TensorArg src, const LoopDims& dims, int row_dim, ConvertLoop convert) {
  const int64_t to_width = element_size(dst.spec->dtype), from_width = element_size(src.spec->dtype);
  const int last = dims.rank - 1;
  const int64_t rows = dims.sizes[row_dim], columns = dims.sizes[last];
  const int64_t side = kLine / from_width;
  const int64_t tile_rows = (rows + side - 1) / side;
  const int64_t to_row = dims.strides[0][row_dim], from_column = dims.strides[1][last];
  // One item of work: a strip of `side` rows, at one place of the other dimensions.
  LoopDims outer;
  for (int d = 0; d < last; ++d) {
    outer.sizes[outer.rank] = d == row_dim ? tile_rows : dims.sizes[d];
    const int64_t scale = d == row_dim ? side : 1;
    for (int s = 0; s < 2; ++s) outer.strides[s][outer.rank] = dims.strides[s][d] * scale;
    outer.numel *= outer.sizes[outer.rank++];
  }
  const auto run = [&](int64_t begin, int64_t end) {
    alignas(kMaxVectorBytes) char tile[kLine * kLine], converted[kLine * kLine * 8];
    for (int64_t item = begin; item < end; ++item) {
      RowCursor cursor(outer, 2, item);
      int64_t place = item;
      for (int d = outer.rank - 1; d > row_dim; --d) place /= outer.sizes[d];
      const int64_t count = std::min(side, rows - place % tile_rows * side);
      char* to = dst.as<char>() + cursor.offset(0);
      const char* from = src.as<char>() + cursor.offset(1);
      for (int64_t c = 0; c < columns; c += side) {
        const int64_t width = std::min(side, columns - c);
        char* out = to + c * to_width;
        const char* in = from + c * from_column;
        if (convert == nullptr) {
          transpose_tile(out, to_row, in, from_column, count, width, to_width);
          continue;
        }
        transpose_tile(tile, width * from_width, in, from_column, count, width, from_width);
        convert(tile, converted, count * width);
        for (int64_t r = 0; r < count; ++r)
          std::memcpy(out + r * to_row, converted + r * width * to_width, static_cast<size_t>(width * to_width));
      }
    }
  };
  const int64_t item = side * columns;
  if (dims.numel >= 2 * kGrain && !in_parallel_region())
    parallel_for(0, outer.numel, std::max<int64_t>(1, kGrain / item), run);
  else
    run(0, outer.numel);
}

}  // namespace

void fill(TensorArg dst, Scalar value) {
  if (dst.spec->numel() == 0) return;
  const uint64_t bits = scalar_bits(value, dst.spec->dtype);
  fill_with(dst, reinterpret_cast<const char*>(&bits));
}

void copy(TensorArg dst, TensorArg src) {
  const ScalarType to = dst.spec->dtype, from = src.spec->dtype;
  const TensorArg sides[] = {dst, src};
  const LoopDims dims = loop_dims(sides, 2);
  if (dims.numel == 0) return;
  RowCopy row{element_size(to), element_size(from), 0, 0, to == from ? nullptr : convert_loop(from, to)};
  row.to_stride = dims.rank > 0 ? dims.inner_stride(0) : row.to_width;
  row.from_stride = dims.rank > 0 ? dims.inner_stride(1) : row.from_width;
  if (const int d = transposed_dim(dims, row.to_width, row.from_width); d >= 0) {
    copy_transposed(dst, src, dims, d, row.convert);
    return;
  }
  for_rows(dims, 2,
           [&](const RowCursor& cursor, int64_t n) { row(dst.as<char>() + cursor.offset(0), src.as<char>() + cursor.offset(1), n); });
}

}  // namespace tailor::kernels
