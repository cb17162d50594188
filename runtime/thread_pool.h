#pragma once
// The one pool of threads. Loading the library starts no thread; the pool starts with the first parallel work and starts anew in
// a forked child.
//
//   parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) { for (int64_t r = begin; r < end; ++r) work(r); });

#include <cstdint>
#include <memory>
#include <type_traits>

namespace tailor {

/// Threads used by parallel work, the caller's included. Default: TAILOR_NUM_THREADS, OMP_NUM_THREADS, else the cores.
int get_num_threads();
void set_num_threads(int n);  // throws Error for n < 1
/// True on a thread that is inside parallel work: nested work runs serially.
bool in_parallel_region();

namespace detail {
using RangeFn = void (*)(void* context, int64_t begin, int64_t end);
void parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFn f, void* context);
}  // namespace detail

/// Calls `f(b, e)` on disjoint ranges that cover [begin, end), each at least `grain` long but the last. Serial when there is too
/// little. Workers take the caller's floating-point mode. The first exception is rethrown after all ranges ended; ranges not begun
/// by then are left out.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (end - begin <= grain || end - begin <= 1) {
    if (begin < end) f(begin, end);
    return;
  }
  using Function = std::remove_reference_t<F>;
  detail::parallel_for(
      begin, end, grain, [](void* context, int64_t b, int64_t e) { (*static_cast<Function*>(context))(b, e); },
      const_cast<void*>(static_cast<const void*>(std::addressof(f))));
}

}  // namespace tailor
