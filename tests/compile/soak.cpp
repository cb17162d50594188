// soak [--minutes N | --steps N] [--threads N] [--seed S] [--only TEXT]: compiled functions and random programs under random shapes, modes,
// captured tensors, errors, stances, evictions, resets and new functions on several threads. Every result, and everything else that a body
// may have changed, is compared with eager code; what the library holds and the size of the process must stay flat after a warm-up. Meant
// to run for long, under a sanitizer too; the tests run a few thousand steps.

#include <malloc.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <sstream>
#include <thread>

#include "soak/call.h"

extern "C" [[gnu::weak]] size_t __sanitizer_get_current_allocated_bytes();  // where a sanitizer has the heap

namespace {

using namespace soak;

struct Options {
  double minutes = 0;
  int64_t steps = 3000;  // of all threads
  int threads = 4;
  uint64_t seed = 1;
  std::string only;  // functions whose names have it
};

/// Of the heap; the process may keep more.
double megabytes_in_use() {
  const struct mallinfo2 heap = mallinfo2();
  const size_t bytes =
      __sanitizer_get_current_allocated_bytes != nullptr ? __sanitizer_get_current_allocated_bytes() : heap.uordblks + heap.hblkhd;
  return static_cast<double>(bytes) / 1e6;
}

/// What there is after a part of the run, and without all that was compiled.
struct Usage {
  double megabytes = 0, megabytes_left = 0;
  uint64_t entries = 0, paths = 0, code_bytes = 0, bindings = 0, calls = 0, hits = 0, skipped = 0;
};
Usage usage(const std::vector<Function>& all) {
  Usage u;
  u.megabytes = megabytes_in_use();
  for (const Function& f : all) {
    const tl::Stats s = f.stats();
    u.entries += static_cast<uint64_t>(s.entries);
    u.paths += static_cast<uint64_t>(s.paths);
    u.bindings += static_cast<uint64_t>(s.bindings);
    u.code_bytes += s.code_bytes;
    u.calls += s.calls;
    u.hits += s.hits;
    u.skipped += s.skipped;
  }
  tl::wait_for_compiles();
  tl::reset_all();
  u.megabytes_left = megabytes_in_use();
  return u;
}

std::ostream& operator<<(std::ostream& out, const Usage& u) {
  return out << u.megabytes << " MB, " << u.megabytes_left << " without " << u.entries << " entries, " << u.paths << " paths, "
             << u.bindings << " bindings of sizes, " << u.code_bytes << " bytes of code; " << u.hits << " of " << u.calls
             << " calls since their reset hit, " << u.skipped << " without the body";
}

std::atomic<uint64_t> warnings{0};

/// Held shared by calls, and alone by those that change a mode of the process.
std::shared_mutex modes;

/// A captured tensor of all threads; now and then another one takes its place, and it dies wherever it is used last.
Tensor shared_tensor(uint64_t draw) {
  static std::mutex mutex;
  static Tensor shared = make_state(1).weight;
  std::lock_guard lock(mutex);
  if (draw % 16 == 0) shared = make_state(draw).weight;
  return shared;
}

/// One thread's state twice: what eager code has made of it, and compiled code.
struct Worker {
  explicit Worker(uint64_t seed) : draws(seed) { begin_anew(); }
  void begin_anew() {
    const uint64_t seed = draws.next();
    eager = make_state(seed);
    compiled = make_state(seed);
    eager.shared = compiled.shared = shared_tensor(seed);
    marked = false;
  }
  std::string step(const Function& f);
  std::string compare(const Function& f, const std::function<Results(Call&)>& fast, Seeds seeds, bool may_refuse);

  Draws draws;
  State eager, compiled;
  bool marked = false;  // what the state keeps may have a dim that must not be forced to one size
};

/// One call on copies of everything.
std::string Worker::compare(const Function& f, const std::function<Results(Call&)>& fast, Seeds seeds, bool may_refuse) {
  Call a = make_call(seeds), b = make_call(seeds);
  const Outcome want = outcome_of(f.eager, a, eager), got = outcome_of(fast, b, compiled);
  marked = marked || a.marked;
  const bool mark_refused = marked && got.error.find("MarkError") != std::string::npos;
  if ((may_refuse || a.marked || mark_refused) && !(got.error + want.error).empty())
    return begin_anew(), "";  // have done less than eager code
  std::string what;
  if (got.error != want.error) what = "error \"" + got.error + "\" instead of \"" + want.error + "\"";
  if (what.empty()) what = difference(got.results, want.results);
  if (what.empty()) {
    what = difference(visible(b, compiled), visible(a, eager));
    if (!what.empty()) what = "changed otherwise: " + what;
  }
  // A write through one result shows wherever its memory does.
  if (const tl::NoGradGuard no_grad; what.empty() && draws.one_in(4)) {
    for (size_t i = 0; i < got.results.size(); ++i) {
      const Tensor& t = want.results[i];
      if (t.numel() == 0 || t.is_alias_of(eager.shared) || std::find(t.strides().begin(), t.strides().end(), 0) != t.strides().end())
        continue;
      got.results[i].fill_(static_cast<double>(i));
      t.fill_(static_cast<double>(i));
    }
    what = difference(got.results, want.results);
    if (what.empty()) what = difference(visible(b, compiled), visible(a, eager));
    if (!what.empty()) what = "shares memory otherwise: " + what;
    begin_anew();
  }
  if (what.empty()) return what;
  std::ostringstream out;
  out << f.name << ", call " << seeds.tensors << ", " << seeds.way << ", x " << b.x.toString() << b.x.sizes() << b.x.strides() << ", y "
      << b.y.toString() << b.y.sizes() << b.y.strides() << ", way " << b.way << ", trips " << b.trips << ": " << what;
  return out.str();
}

std::string Worker::step(const Function& f) {
  std::shared_lock shared(modes, std::defer_lock);
  std::unique_lock alone(modes, std::defer_lock);
  const bool other_dtype = draws.one_in(300);
  if (f.changes_modes || other_dtype)
    alone.lock();
  else
    shared.lock();
  struct DefaultDtype {
    const tl::ScalarType before = tl::get_default_dtype();
    ~DefaultDtype() {
      if (tl::get_default_dtype() != before) tl::set_default_dtype(before);
    }
  } default_dtype;
  if (other_dtype) tl::set_default_dtype(tl::kFloat64);
  std::optional<tl::NoGradGuard> no_grad;
  if (draws.one_in(2)) no_grad.emplace();
  std::optional<tl::StanceScope> stance;
  bool may_refuse = f.may_refuse;
  switch (draws.pick(60)) {
    case 0: stance.emplace(tl::Stance::ForceEager); break;
    case 1: stance.emplace(tl::Stance::EagerOnRecompile); break;
    case 2:
      stance.emplace(tl::Stance::FailOnRecompile);
      may_refuse = true;
      break;
    default: break;
  }
  if (draws.one_in(3)) {
    const uint64_t seed = draws.next();
    const Tensor captured = shared_tensor(seed);
    change(eager, seed, captured);
    change(compiled, seed, captured);
  }
  const auto seed = [&](int64_t often) { return draws.one_in(3) ? draws.next() : static_cast<uint64_t>(draws.pick(often)); };
  const Seeds seeds{seed(12), seed(8)};
  switch (draws.pick(400)) {
    case 0:
    case 1: f.reset(); break;
    case 2:
    case 3: {  // a function that comes and goes
      const auto fresh = f.fresh();
      for (int i = 0; i < 3; ++i) {
        if (std::string what = compare(f, fresh, seeds, may_refuse); !what.empty()) return "a new function of " + what;
      }
      break;
    }
    case 4: tl::set_num_threads(1 + static_cast<int>(draws.pick(2))); break;
    case 5:
      if (draws.one_in(16)) tl::reset_all();
      break;
    case 6: tl::set_total_cache_limit({.entries = draws.one_in(3) ? 60u : 0u}); break;
    case 7: (void)tl::total_cache(); break;
    case 8: f.look(); break;
    default: break;
  }
  for (int64_t i = 1 + draws.pick(3); i > 0; --i) {
    if (std::string what = compare(f, f.fast, seeds, may_refuse); !what.empty()) return what;
  }
  return {};
}

class Run {
 public:
  Run(const Options& options, const std::vector<Function>& all) : options_(options), all_(all) {
    for (int t = 0; t < options.threads; ++t) workers_.emplace_back(options.seed * 1000 + static_cast<uint64_t>(t));
  }
  /// Goes on until this share of what the options ask for is over. What went wrong, or nothing.
  std::string until(double share);
  int64_t done() const { return done_; }

 private:
  double progress() const;
  void work(size_t worker, double share);

  const Options& options_;
  const std::vector<Function>& all_;
  std::vector<Worker> workers_;
  std::atomic<int64_t> done_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::string wrong_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

double Run::progress() const {
  if (options_.minutes <= 0) return static_cast<double>(done_.load()) / static_cast<double>(options_.steps);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() / (60 * options_.minutes);
}

void Run::work(size_t number, double share) {
  Worker& worker = workers_[number];
  for (; !stop_ && progress() < share; ++done_) {
    // All threads call the same few functions for some time.
    const int64_t few = worker.draws.pick(std::min<int64_t>(6, static_cast<int64_t>(all_.size())));
    const Function& f = all_[static_cast<size_t>(6 * (done_ / 256) + few) % all_.size()];
    std::string what;
    try {
      what = worker.step(f);
    } catch (const std::exception& error) { what = f.name + ": " + error.what(); }
    if (what.empty()) continue;
    std::lock_guard lock(mutex_);
    if (!stop_.exchange(true)) wrong_ = "thread " + std::to_string(number) + " after " + std::to_string(done_) + " steps: " + what;
  }
}

std::string Run::until(double share) {
  std::vector<std::thread> threads;
  for (size_t t = 0; t < workers_.size(); ++t) threads.emplace_back([this, t, share] { work(t, share); });
  for (std::thread& thread : threads) thread.join();
  return wrong_;
}

int soak_for(const Options& options) {
  tl::set_warning_sink([](std::string_view, std::string_view) { ++warnings; });
  std::vector<Function> all = functions(options.seed);
  std::erase_if(all, [&](const Function& f) { return f.name.find(options.only) == std::string::npos; });
  Run run(options, all);
  std::vector<Usage> usages;
  for (const double share : {0.4, 1.0}) {
    if (const std::string wrong = run.until(share); !wrong.empty()) {
      std::cerr << "soak: something differs from eager, or a call failed: seed " << options.seed << ", " << wrong << "\n";
      return 1;
    }
    usages.push_back(usage(all));
  }
  const Usage &warm = usages[0], &end = usages[1];
  std::cout << run.done() << " steps on " << options.threads << " threads, all as eager; " << warnings
            << " warnings\nafter two fifths: " << warm << "\nat the end:       " << end << "\n";
  const bool flat = end.megabytes_left < 1.1 * warm.megabytes_left + 8 && end.entries <= 8 * all.size() && end.paths <= 64 * 8 * all.size();
  if (!flat) std::cerr << "soak: memory grows\n";
  return flat ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--minutes") options.minutes = std::atof(argv[i + 1]);
    if (flag == "--steps") options.steps = std::atoll(argv[i + 1]);
    if (flag == "--threads") options.threads = std::atoi(argv[i + 1]);
    if (flag == "--seed") options.seed = static_cast<uint64_t>(std::atoll(argv[i + 1]));
    if (flag == "--only") options.only = argv[i + 1];
  }
  return soak_for(options);
}
