#include "frontend/compile/background.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "tailor/policy.h"

namespace tailor::detail {
namespace {

void stop();

struct Worker {
  std::mutex at_work;  // held during a job: a fork waits for its end, since the compiler's own locks would stay locked in the child
  std::mutex mutex;    // guards what follows; taken after at_work
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  std::thread thread;
  bool started = false, stopping = false;
  size_t unfinished = 0;

  void start() {  // mutex is held
    if (started || stopping) return;
    started = true;
    thread = std::thread([this] { work(); });
  }

  void work() {
    for (;;) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stopping || !jobs.empty(); });
        if (stopping) return;
      }
      std::lock_guard busy(at_work);
      std::function<void()> job;
      {
        std::lock_guard lock(mutex);
        if (stopping) return;
        if (jobs.empty()) continue;
        job = std::move(jobs.front());
        jobs.pop_front();
      }
      job();
      job = nullptr;  // what it held goes before anybody is told
      static const int again = std::atexit(stop);
      (void)again;
      std::lock_guard lock(mutex);
      --unfinished;
      changed.notify_all();
    }
  }
};

// Never destroyed: a job may be given while the process ends, and is then dropped.
Worker& worker() {
  static Worker* const one = new Worker;
  return *one;
}

void stop() {
  Worker& w = worker();
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard lock(w.mutex);
    w.stopping = true;
    dropped.swap(w.jobs);
    w.unfinished -= dropped.size();
    w.changed.notify_all();
  }
  if (w.thread.joinable()) w.thread.join();
}

void before_fork() {
  worker().at_work.lock();
  worker().mutex.lock();
}
void after_fork_in_parent() {
  worker().mutex.unlock();
  worker().at_work.unlock();
}
void after_fork_in_child() {
  Worker& w = worker();
  new (&w.thread) std::thread;               // the parent's thread is not here; it can be neither joined nor detached
  new (&w.changed) std::condition_variable;  // it counts waiters that are not here
  w.started = false;
  w.unfinished = w.jobs.size();
  w.mutex.unlock();
  w.at_work.unlock();
}

bool on_main_thread() { return getpid() == static_cast<pid_t>(syscall(SYS_gettid)); }

}  // namespace

// The compiler makes statics of its own while it works, and those go before what was registered earlier. So the thread is joined when the
// main thread's variables go, which is before any static, and by a handler that is registered after the first job, too.
void prepare_background() {
  static const bool installed = [] {
    std::atexit(stop);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    return true;
  }();
  (void)installed;
  if (!on_main_thread()) return;
  struct StopWhenItEnds {
    ~StopWhenItEnds() { stop(); }
  };
  static thread_local const StopWhenItEnds main_thread;
  (void)main_thread;
}

bool in_background(std::function<void()> job) {
  prepare_background();
  Worker& w = worker();
  std::lock_guard lock(w.mutex);
  if (w.stopping) return false;
  w.jobs.push_back(std::move(job));
  ++w.unfinished;
  w.start();
  w.changed.notify_all();
  return true;
}

void wait_for_background() {
  Worker& w = worker();
  std::unique_lock lock(w.mutex);
  if (!w.jobs.empty()) w.start();  // in a child that took them over
  w.changed.wait(lock, [&] { return w.unfinished == 0; });
}

}  // namespace tailor::detail

namespace tailor {
void wait_for_compiles() { detail::wait_for_background(); }
}  // namespace tailor
