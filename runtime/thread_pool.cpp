#include "runtime/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <climits>
#include <exception>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/config.h"
#include "runtime/error.h"

namespace tailor {
namespace {

#if defined(__x86_64__)
using FloatMode = unsigned;
FloatMode float_mode() { return _mm_getcsr(); }
void set_float_mode(FloatMode mode) { _mm_setcsr(mode); }
void relax() { _mm_pause(); }
#else
using FloatMode = std::fenv_t;
FloatMode float_mode() {
  std::fenv_t mode;
  std::fegetenv(&mode);
  return mode;
}
void set_float_mode(const FloatMode& mode) { std::fesetenv(&mode); }
void relax() {}
#endif

constexpr int kSpins = 600;  // a few microseconds
constexpr int kMaxThreads = 4096;

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// One job at a time. Its fields are written only while it is closed and no worker is inside; a worker counts itself in before it
// looks whether the job is open, and the caller closes the job before it looks whether a worker is inside, so one of them sees the other.
struct Pool {
  std::atomic<bool> busy{false};               // some caller owns the job
  alignas(64) std::atomic<uint32_t> epoch{0};  // bumped by every job; workers sleep on it
  std::atomic<uint32_t> sleepers{0};
  alignas(64) std::atomic<uint32_t> inside{0};
  std::atomic<bool> open{false};
  alignas(64) std::atomic<int64_t> next{0};
  int64_t end = 0, chunk = 1;
  detail::RangeFn f = nullptr;
  void* context = nullptr;
  FloatMode mode{};
  std::atomic<int> limit{0};  // workers that may take part
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  std::exception_ptr error;
  int started = 0;  // by the owner of the job
};

constinit std::atomic<int> thread_count{0};  // 0: not decided yet
constinit thread_local bool inside_region = false;

void restart_in_child();

// Never destroyed: workers sleep on it until the process ends.
Pool& pool() {
  static Pool* const p = [] {
    pthread_atfork(nullptr, nullptr, restart_in_child);
    return new Pool;
  }();
  return *p;
}

// The child has no workers; whatever job the parent ran is not the child's.
void restart_in_child() {
  Pool& p = pool();
  p.busy.store(false);
  p.sleepers.store(0);
  p.inside.store(0);
  p.open.store(false);
  p.failed.clear();
  p.started = 0;
}

void take_ranges(Pool& p) {
  for (;;) {
    const int64_t begin = p.next.fetch_add(p.chunk, std::memory_order_relaxed);
    if (begin >= p.end) return;
    try {
      p.f(p.context, begin, std::min(begin + p.chunk, p.end));
    } catch (...) {
      if (!p.failed.test_and_set()) p.error = std::current_exception();
      p.next.store(p.end, std::memory_order_relaxed);
    }
  }
}

void* worker(void* argument) {
  const int id = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  Pool& p = pool();
  inside_region = true;
  uint32_t seen = 0;
  for (;;) {
    p.inside.fetch_add(1);
    if (p.open.load() && id < p.limit.load(std::memory_order_relaxed)) {
      set_float_mode(p.mode);
      take_ranges(p);
    }
    // The epoch is read after the work: a job that this thread helped finish is not looked at again.
    seen = p.epoch.load();
    const bool still_open = p.open.load() && p.next.load() < p.end && id < p.limit.load(std::memory_order_relaxed);
    p.inside.fetch_sub(1);
    if (still_open) continue;
    int spins = 0;
    while (p.epoch.load(std::memory_order_acquire) == seen && spins < kSpins) relax(), ++spins;
    while (p.epoch.load() == seen) {
      p.sleepers.fetch_add(1);
      futex_wait(p.epoch, seen);
      p.sleepers.fetch_sub(1);
    }
  }
  return nullptr;
}

// Fewer than wanted when the system refuses.
int start_workers(Pool& p, int wanted) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  for (; p.started < wanted; ++p.started) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, worker, reinterpret_cast<void*>(static_cast<intptr_t>(p.started))) != 0) break;
  }
  pthread_attr_destroy(&attributes);
  return std::min(p.started, wanted);
}

struct Region {
  Region() { inside_region = true; }
  ~Region() { inside_region = false; }
};

}  // namespace

int get_num_threads() {
  int n = thread_count.load(std::memory_order_relaxed);
  if (n == 0) [[unlikely]] {
    int expected = 0;
    n = config().num_threads;
    if (!thread_count.compare_exchange_strong(expected, n)) n = expected;
  }
  return n;
}

void set_num_threads(int n) {
  check(n >= 1 && n <= kMaxThreads, "set_num_threads: expected a number from 1 to ", kMaxThreads, ", got ", n);
  thread_count.store(n);
}

bool in_parallel_region() { return inside_region; }

namespace detail {

void parallel_for(int64_t begin, int64_t end, int64_t grain, RangeFn f, void* context) {
  if (begin >= end) return;
  const int64_t length = end - begin, threads = get_num_threads();
  grain = std::max<int64_t>(grain, 1);
  if (threads == 1 || inside_region || length <= grain) return f(context, begin, end);
  Pool& p = pool();
  if (p.busy.exchange(true, std::memory_order_acquire)) return f(context, begin, end);  // another thread's work has the workers

  // A few ranges a thread even out their speeds; their bounds never matter to results.
  const int64_t chunk = std::max(grain, (length + threads * 4 - 1) / (threads * 4));
  const int64_t chunks = (length + chunk - 1) / chunk;
  p.limit.store(start_workers(p, static_cast<int>(std::min(threads, chunks) - 1)), std::memory_order_relaxed);
  p.next.store(begin, std::memory_order_relaxed);
  p.end = end;
  p.chunk = chunk;
  p.f = f;
  p.context = context;
  p.mode = float_mode();
  p.open.store(true);
  p.epoch.fetch_add(1);
  if (p.sleepers.load() > 0) futex_wake(p.epoch);
  {
    const Region region;
    take_ranges(p);
  }
  p.open.store(false);
  for (int spins = 0; p.inside.load() != 0; ++spins) {
    if (spins < 20000)
      relax();
    else
      sched_yield();
  }
  std::exception_ptr error;
  if (p.failed.test()) {
    std::swap(error, p.error);
    p.failed.clear();
  }
  p.busy.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

}  // namespace detail
}  // namespace tailor
