#include "kernels/gemm/integer.h"

#include <algorithm>
#include <type_traits>

#include "kernels/scratch.h"
#include "runtime/thread_pool.h"

namespace tailor::kernels::gemm {
namespace {

// One row of C at a time over a row of B: the inner loop runs along memory in the usual layout. Unsigned, so that sums wrap.
template <class T>
void rows_of(const Problem& p, int64_t batch, int64_t begin, int64_t end) {
  using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  const T* a = static_cast<const T*>(p.a.data) + batch * p.a.batch;
  const T* b = static_cast<const T*>(p.b.data) + batch * p.b.batch;
  T* c = static_cast<T*>(p.c.data) + batch * p.c.batch;
  const U alpha = static_cast<U>(static_cast<int64_t>(p.alpha)), beta = static_cast<U>(static_cast<int64_t>(p.beta));
  Scratch<U> sums(p.n);
  for (int64_t i = begin; i < end; ++i) {
    std::fill_n(sums.data(), p.n, U(0));
    for (int64_t q = 0; q < p.k; ++q) {
      const U x = static_cast<U>(a[i * p.a.row + q * p.a.column]);
      const T* row = b + q * p.b.row;
      if (p.b.column == 1)
        for (int64_t j = 0; j < p.n; ++j) sums[j] += x * static_cast<U>(row[j]);
      else
        for (int64_t j = 0; j < p.n; ++j) sums[j] += x * static_cast<U>(row[j * p.b.column]);
    }
    for (int64_t j = 0; j < p.n; ++j) {
      T& to = c[i * p.c.row + j * p.c.column];
      to = static_cast<T>(alpha * sums[j] + (beta == 0 ? U(0) : beta * static_cast<U>(to)));
    }
    if (p.epilogue.fn != nullptr) p.epilogue.fn(p.epilogue.context, {c + i * p.c.row, batch, i, 1, 0, p.n, p.c.row, p.c.column});
  }
}

}  // namespace

void run_integer(const Problem& p) {
  visit_dtype(p.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      parallel_for(0, p.batches * p.m, std::max<int64_t>(1, (int64_t{1} << 15) / std::max<int64_t>(p.n * p.k, 1)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t at = begin; at < end;) {
                       const int64_t batch = at / p.m, last = std::min(end, (batch + 1) * p.m);
                       rows_of<T>(p, batch, at - batch * p.m, last - batch * p.m);
                       at = last;
                     }
                   });
    }
  });
}

}  // namespace tailor::kernels::gemm
