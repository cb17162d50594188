#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "kernels/gemm/integer.h"
#include "kernels/gemm/kernel_set.h"
#include "kernels/gemm/packed.h"
#include "kernels/scratch.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::gemm {

template <>
const KernelSet<float>& kernel_set<float>(Isa isa) {
  return isa == Isa::Avx512 ? f32_avx512() : isa == Isa::Avx2 ? f32_avx2() : f32_sse2();
}
template <>
const KernelSet<double>& kernel_set<double>(Isa isa) {
  return isa == Isa::Avx512 ? f64_avx512() : isa == Isa::Avx2 ? f64_avx2() : f64_sse2();
}

namespace {

constexpr int64_t kPanelBytes = int64_t{192} << 10;  // packed B that is passed over by all rows of a chunk: stays in the second-level cache
constexpr int64_t kChunkBytes = int64_t{256} << 10;  // packed A of one chunk of rows
constexpr int64_t kInPlaceTiles = 6;                 // rows of tiles below which reading B in place beats packing it
constexpr int64_t kInPlaceColumns = 1024;            // columns of B up to which A is read in place
constexpr int64_t kInPlaceK = 16;                    // likewise, from which k on
constexpr int64_t kDotRows = 12;                     // rows of A up to which dot products along k beat tiles
constexpr int64_t kRegionBytes = int64_t{12} << 10;  // of C that an epilogue sees at once
constexpr int64_t kDotColumns = 4;                   // last columns that are dot products rather than a vector that is nearly empty
constexpr int64_t kParallelWork = int64_t{1} << 16;  // multiply-adds that pay for waking a thread

// One product of a batch, with its roles settled: rows of `a` are broadcast, rows of `b` are vectors.
template <class T>
struct Product {
  const KernelSet<T>& set;
  ScalarType dtype;
  int64_t m, n, k;
  const std::byte* a;
  int64_t a_row, a_k;
  const std::byte* b;
  int64_t b_k, b_column;
  const T* panels;  // packed B, or null: B is read in place
  std::byte* c;
  int64_t c_row, c_column;
  T alpha, beta;
  const Epilogue& epilogue;
  int64_t batch;
  bool swapped;  // C was transposed: regions are told in the caller's terms

  int64_t size() const { return element_size(dtype); }
  int64_t panel() const { return 2 * set.lanes; }
  bool native() const { return dtype == scalar_type_of<T>; }
  bool plain_c() const { return native() && c_column == 1 && alpha == T(1) && beta == T(0); }

  void finish_region(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    if (epilogue.fn == nullptr) return;
    std::byte* data = c + (row * c_row + column * c_column) * size();
    if (swapped)
      epilogue.fn(epilogue.context, {data, batch, column, columns, row, rows, c_column, c_row});
    else
      epilogue.fn(epilogue.context, {data, batch, row, rows, column, columns, c_row, c_column});
  }

  // Reading A in place: worth it unless so many columns share the packed rows that packing them costs nothing. Rows whose distance is a
  // multiple of the page size share cache sets, so fewer of them are taken together.
  bool reads_a_in_place() const {
    if (!native() || a_k != 1) return false;
    if (n <= 2 * panel()) return true;
    const int64_t distance = a_row * size();
    return n <= kInPlaceColumns && k >= kInPlaceK && distance <= (distance % 2048 == 0 ? 4096 : 16384);
  }
  int64_t rows_of_tile() const {
    if (reads_a_in_place() && m > 1 && k >= 64 && a_row * size() % 2048 == 0) return std::min(set.rows, 7);
    return set.rows;
  }

  // How many of the last columns are dot products with rows of A.
  int64_t dotted() const {
    const int64_t rest = n % set.lanes;
    return b != nullptr && rest <= kDotColumns && n > set.lanes && m > kDotColumns && k >= set.lanes && native() && a_k == 1 &&
                   alpha == T(1) && beta == T(0)
               ? rest
               : 0;
  }

  void tile(int64_t row, int64_t rows, const T* packed_a, int64_t column, int64_t last, const T* tail_panel) const {
    const int64_t columns = std::min(panel(), last - column);
    const int vectors = columns <= set.lanes ? 0 : 1;
    const T* from = panels != nullptr                            ? panels + column / panel() * panel() * k
                    : tail_panel != nullptr && columns < panel() ? tail_panel
                                                                 : reinterpret_cast<const T*>(b) + column;
    const int64_t b_step = panels != nullptr || (tail_panel != nullptr && columns < panel()) ? panel() : b_k;
    alignas(64) T scratch[kMaxRows * 32];
    const bool plain = plain_c();
    T* to = plain ? reinterpret_cast<T*>(c) + row * c_row + column : scratch;
    const int64_t to_row = plain ? c_row : panel();
    if (packed_a != nullptr)
      set.packed[rows - 1][vectors](k, packed_a, 0, from, b_step, to, to_row, columns);
    else
      set.strided[rows - 1][vectors](k, reinterpret_cast<const T*>(a) + row * a_row, a_row, from, b_step, to, to_row, columns);
    if (!plain)
      set.finish[source_index(dtype)](scratch, panel(), rows, columns, c + (row * c_row + column * c_column) * size(), c_row, c_column,
                                      alpha, beta);
  }

  // All of C in [row0, row1) x [column0, column1); column0 is a multiple of the panel.
  // `tail_panel`: the columns of a last panel that is not full; `dots`: those that are dot products, one after the other.
  void chunk(int64_t row0, int64_t row1, int64_t column0, int64_t column1, const T* tail_panel, const T* dots) const {
    const int64_t last = dots != nullptr ? n - dotted() : n;
    if (dots != nullptr && column1 == n)
      set.dot(dotted(), row1 - row0, k, dots, k, reinterpret_cast<const T*>(a) + row0 * a_row, a_row,
              reinterpret_cast<T*>(c) + row0 * c_row + last * c_column, c_column, c_row);
    const int64_t blocks = (row1 - row0 + rows_of_tile() - 1) / rows_of_tile();
    const auto block_start = [&](int64_t i) { return row0 + (row1 - row0) * i / blocks; };
    const bool in_place = reads_a_in_place();
    Scratch<T> packed(in_place ? 0 : (row1 - row0) * k);
    if (!in_place)
      for (int64_t i = 0; i < blocks; ++i) {
        const int64_t row = block_start(i), rows = block_start(i + 1) - row;
        set.pack[source_index(dtype)](packed.data() + (row - row0) * k, a + row * a_row * size(), rows, a_row, k, a_k, rows);
      }
    const int64_t bytes_of_panel = panel() * k * static_cast<int64_t>(sizeof(T));
    const int64_t width = panel() * std::max<int64_t>(1, kPanelBytes / std::max<int64_t>(bytes_of_panel, 1));
    for (int64_t j = column0; j < column1; j += width) {
      const int64_t end = std::min(j + width, column1);
      int64_t finished = row0;  // rows that the epilogue has seen
      for (int64_t i = 0; i < blocks; ++i) {
        const int64_t row = block_start(i), rows = block_start(i + 1) - row;
        for (int64_t column = j; column < std::min(end, last); column += panel())
          tile(row, rows, in_place ? nullptr : packed.data() + (row - row0) * k, column, last, tail_panel);
        // Several blocks together: what has just been stored cannot be loaded at once.
        if (swapped || ((row + rows - finished) * (end - j) * size() < kRegionBytes && row + rows < row1)) continue;
        finish_region(finished, row + rows - finished, j, end - j);
        finished = row + rows;
      }
      if (swapped) finish_region(row0, row1 - row0, j, end - j);
    }
  }

  void all() const {
    // A last panel that is not full is read through a copy, so that whole vectors never leave B.
    const int64_t last = n - dotted(), rest = last % panel();
    Scratch<T> tail(panels == nullptr && rest != 0 ? panel() * k : 0);
    if (tail.data() != nullptr)
      set.pack[source_index(dtype)](tail.data(), b + (last - rest) * b_column * size(), rest, b_column, k, b_k, panel());
    Scratch<T> dots(dotted() * k);
    for (int64_t j = 0; j < dotted(); ++j)
      for (int64_t p = 0; p < k; ++p) dots[j * k + p] = reinterpret_cast<const T*>(b)[(last + j) * b_column + p * b_k];

    const int64_t threads = in_parallel_region() || m * n * k < kParallelWork ? 1 : get_num_threads();
    const int64_t chunk_rows =
        std::clamp<int64_t>(kChunkBytes / std::max<int64_t>(k * static_cast<int64_t>(sizeof(T)), 1) / set.rows, 1, 16) * set.rows;
    int64_t row_chunks = (m + chunk_rows - 1) / chunk_rows, column_chunks = 1;
    const int64_t panels_total = (n + panel() - 1) / panel();
    if (threads > 1) {
      row_chunks = std::min((m + set.rows - 1) / set.rows, std::max(row_chunks, 2 * threads));
      if (row_chunks < 2 * threads) column_chunks = std::min(panels_total, (2 * threads + row_chunks - 1) / row_chunks);
    }
    parallel_for(0, row_chunks * column_chunks, threads == 1 ? row_chunks * column_chunks : 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t i = t / column_chunks, j = t % column_chunks;
        chunk(m * i / row_chunks, m * (i + 1) / row_chunks, panels_total * j / column_chunks * panel(),
              std::min(n, panels_total * (j + 1) / column_chunks * panel()), tail.data(), dots.data());
      }
    });
  }
};

// Few rows: B is streamed once, straight from its place. False when the layout does not suit.
template <class T>
bool few_rows(const KernelSet<T>& set, const Problem& p, const std::byte* a, const std::byte* b, std::byte* c, int64_t batch) {
  if (p.dtype != scalar_type_of<T> || p.packed != nullptr || p.alpha != 1 || p.beta != 0) return false;
  const T *x = reinterpret_cast<const T*>(a), *w = reinterpret_cast<const T*>(b);
  T* y = reinterpret_cast<T*>(c);
  const int64_t size = static_cast<int64_t>(sizeof(T));
  const int64_t grain = std::max<int64_t>(64, kParallelWork / std::max<int64_t>(p.k * p.m, 1) / 64 * 64);
  const auto finish = [&](int64_t j, int64_t columns) {
    if (p.epilogue.fn != nullptr) p.epilogue.fn(p.epilogue.context, {y + j * p.c.column, batch, 0, p.m, j, columns, p.c.row, p.c.column});
  };
  if (p.m <= kDotRows && p.b.row == 1 && p.a.column == 1) {
    parallel_for(0, p.n, grain, [&](int64_t begin, int64_t end) {
      // Groups of four rows of A share each stretch of B while it is in the first-level cache.
      const int64_t stretch =
          p.m <= 4 ? end - begin : std::max<int64_t>(8, (int64_t{16} << 10) / (std::max<int64_t>(p.k, 1) * size) / 8 * 8);
      for (int64_t j = begin; j < end; j += stretch)
        for (int64_t i = 0; i < p.m; i += 4)
          set.dot(std::min<int64_t>(4, p.m - i), std::min(stretch, end - j), p.k, x + i * p.a.row, p.a.row, w + j * p.b.column, p.b.column,
                  y + i * p.c.row + j * p.c.column, p.c.row, p.c.column);
      finish(begin, end - begin);
    });
    return true;
  }
  if (p.m == 1 && p.b.column == 1 && p.c.column == 1 && p.k > 0) {
    parallel_for(0, p.n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; j += 4096) set.axpy(std::min<int64_t>(4096, end - j), p.k, x, p.a.column, w + j, p.b.row, y + j);
      finish(begin, end - begin);
    });
    return true;
  }
  return false;
}

// Few rows and packed B: its panels are streamed once.
template <class T>
bool few_rows_of_packed(const KernelSet<T>& set, const Problem& p, const std::byte* a, std::byte* c, int64_t batch) {
  if (p.m > kSkinnyRows || p.dtype != scalar_type_of<T> || p.alpha != 1 || p.beta != 0 || p.a.column != 1 || p.c.column != 1) return false;
  const T *x = reinterpret_cast<const T*>(a), *panels = panels_of<T>(*p.packed);
  T* y = reinterpret_cast<T*>(c);
  const int64_t panel = 2 * set.lanes;
  const int64_t grain = std::max<int64_t>(8, kParallelWork / std::max<int64_t>(p.k * p.m * panel, 1));
  parallel_for(0, (p.n + panel - 1) / panel, grain, [&](int64_t begin, int64_t end) {
    const int64_t j = begin * panel, columns = std::min(end * panel, p.n) - j;
    set.skinny[p.m - 1](p.k, x, p.a.row, panels + j * p.k, y + j, p.c.row, columns);
    if (p.epilogue.fn != nullptr) p.epilogue.fn(p.epilogue.context, {y + j, batch, 0, p.m, j, columns, p.c.row, p.c.column});
  });
  return true;
}

Problem transposed(const Problem& p) {
  Problem t = p;
  std::swap(t.m, t.n);
  t.a = Matrix(p.b.data, p.b.column, p.b.row, p.b.batch);
  t.b = Matrix(p.a.data, p.a.column, p.a.row, p.a.batch);
  t.c = Matrix(p.c.data, p.c.column, p.c.row, p.c.batch);
  return t;
}

// Region in the terms of the problem before it was transposed.
struct Flipped {
  Epilogue to;
  static void call(void* context, const Region& r) {
    const Epilogue& e = static_cast<Flipped*>(context)->to;
    e.fn(e.context, {r.data, r.batch, r.column, r.columns, r.row, r.rows, r.column_stride, r.row_stride});
  }
};

template <class T>
void one(const KernelSet<T>& set, const Problem& p, int64_t batch) {
  const int64_t size = element_size(p.dtype);
  const auto at = [&](const Matrix& m) { return static_cast<std::byte*>(m.data) + batch * m.batch * size; };
  std::byte *a = at(p.a), *b = at(p.b), *c = at(p.c);
  if (p.packed != nullptr && few_rows_of_packed(set, p, a, c, batch)) return;
  if (p.m <= kDotRows && few_rows(set, p, a, b, c, batch)) return;
  if (p.n <= kDotRows && p.packed == nullptr) {
    Problem t = transposed(p);
    Flipped flipped{p.epilogue};
    if (p.epilogue.fn != nullptr) t.epilogue = {Flipped::call, &flipped};
    if (few_rows(set, t, b, a, c, batch)) return;
  }
  // The side whose lines are read along k is broadcast in place; the other is packed, which costs least when it is the smaller.
  const bool b_along_k = p.b.row == 1 && p.b.column != 1;
  const bool swap = p.packed == nullptr && ((b_along_k && 2 * p.m <= p.n) || (p.c.row == 1 && p.c.column != 1));
  const T alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
  if (swap) {
    Product<T> product{set,     p.dtype, p.n, p.m,        p.k,     b,     p.b.column, p.b.row,    a,     p.a.column,
                       p.a.row, nullptr, c,   p.c.column, p.c.row, alpha, beta,       p.epilogue, batch, true};
    const Scratch<T> panels = pack_panels(set, p.dtype, p.k, p.m, a, p.a.column, p.a.row);
    product.panels = panels.data();
    return product.all();
  }
  Product<T> product{set,        p.dtype, p.m, p.n,     p.k,        a,     p.a.row, p.a.column, b,     p.b.row,
                     p.b.column, nullptr, c,   p.c.row, p.c.column, alpha, beta,    p.epilogue, batch, false};
  if (p.packed != nullptr) {
    product.b = nullptr;
    product.panels = panels_of<T>(*p.packed);
    return product.all();
  }
  if (p.dtype == scalar_type_of<T> && p.b.column == 1 && p.m <= kInPlaceTiles * set.rows) return product.all();
  const Scratch<T> panels = pack_panels(set, p.dtype, p.k, p.n, b, p.b.row, p.b.column);
  product.panels = panels.data();
  product.all();
}

// Large products one after the other, each in parallel; small ones side by side.
template <class T>
void batches(const Problem& p) {
  const KernelSet<T>& set = kernel_set<T>(p.packed != nullptr ? isa_of(*p.packed) : isa());
  const int64_t work = p.m * p.n * p.k;
  if (p.batches == 1 || work >= int64_t{1} << 24) {
    for (int64_t i = 0; i < p.batches; ++i) one(set, p, i);
    return;
  }
  parallel_for(0, p.batches, std::max<int64_t>(1, kParallelWork / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) one(set, p, i);
  });
}

}  // namespace

void run(const Problem& p) {
  if (p.batches == 0 || p.m == 0 || p.n == 0) return;
  switch (p.dtype) {
    case kFloat32:
    case kFloat16:
    case kBFloat16: return batches<float>(p);
    case kFloat64: return batches<double>(p);
    case kUInt8:
    case kInt8:
    case kInt16:
    case kInt32:
    case kInt64: return run_integer(p);
    case kBool:
    case ScalarType::Undefined: break;
  }
  detail::raise<NotImplementedError>("matrix product: not implemented for '", p.dtype, "'");
}

}  // namespace tailor::kernels::gemm
