#pragma once
// The one pool of threads. Loading the library starts no thread; the pool starts with the first parallel work and starts anew in
// a forked child.

#include <cstdint>
#include <functional>

namespace tailor {

/// Threads used by parallel work, the caller's included. Default: TAILOR_NUM_THREADS, OMP_NUM_THREADS, else the cores.
int get_num_threads();
void set_num_threads(int n);  // throws Error for n < 1
/// True on a thread that is inside parallel work: nested work runs serially.
bool in_parallel_region();

/// Calls `f(b, e)` on disjoint ranges that cover [begin, end), each at least `grain` long but the last. Serial when there is too
/// little. Workers take the caller's floating-point mode. The first exception is rethrown after all ranges ended.
void parallel_for(int64_t begin, int64_t end, int64_t grain, const std::function<void(int64_t, int64_t)>& f);

}  // namespace tailor
