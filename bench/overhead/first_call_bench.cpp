// What the first call of a fused pointwise kernel costs: in a process that has compiled nothing yet, later in the same process, and with
// the kernel on disk. Every sample is a process of its own, which runs this program again and reports its own times.

#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tailor/tailor.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

extern char** environ;

namespace tailor {
namespace {

using Clock = std::chrono::steady_clock;

/// Milliseconds, by the clock and of all threads' processor time (which a busy machine disturbs less).
struct Cost {
  double wall = 0, cpu = 0;
};

class Stopwatch {
 public:
  Cost lap() {
    const auto wall = Clock::now();
    const double cpu = processor_ms();
    const Cost cost{std::chrono::duration<double, std::milli>(wall - wall_).count(), cpu - cpu_};
    wall_ = wall, cpu_ = cpu;
    return cost;
  }

 private:
  static double processor_ms() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
  }
  Clock::time_point wall_ = Clock::now();
  double cpu_ = processor_ms();
};

/// compile() and the first call; the same of another function, later; the program from its start to its end.
struct Times {
  Cost first, later, life;
};

Times measure() {
  const Tensor x = randn({64, 256}), y = randn({64, 256});
  Times t;
  Stopwatch watch;
  auto f = compile([](const Tensor& a, const Tensor& b) { return relu(a * b + a) * sigmoid(b); });
  f(x, y);
  t.first = watch.lap();
  auto g = compile([](const Tensor& a, const Tensor& b) { return tanh(a * b - a) * sigmoid(b); });
  g(x, y);
  t.later = watch.lap();
  return t;
}

Times in_process(const std::string& cache) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::vector<std::string> texts = {"TAILOR_FIRST_CALL=" + std::to_string(ends[1]),
                                    cache.empty() ? "TAILOR_CACHE=0" : "TAILOR_CACHE_DIR=" + cache};
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  for (char** e = environ; *e != nullptr; ++e)
    if (std::strncmp(*e, "TAILOR_CACHE", 12) != 0) environment.push_back(*e);
  environment.push_back(nullptr);
  char name[] = "first_call_bench";
  char* arguments[] = {name, nullptr};
  pid_t child = 0;
  const auto start = Clock::now();
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environment.data()) != 0) std::abort();
  close(ends[1]);
  Times t;
  if (read(ends[0], &t, sizeof t) != sizeof t) t = {};
  close(ends[0]);
  rusage used{};
  wait4(child, nullptr, 0, &used);
  t.life.wall = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  for (const timeval& v : {used.ru_utime, used.ru_stime})
    t.life.cpu += static_cast<double>(v.tv_sec) * 1e3 + static_cast<double>(v.tv_usec) / 1e3;
  return t;
}

void first_call(benchmark::State& state, bool warm, Cost Times::*which) {
  std::string folder;
  if (warm) {
    folder = (std::filesystem::temp_directory_path() / "tailor-first-call-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return state.SkipWithError("no temporary folder");
    in_process(folder);
  }
  for (auto _ : state) {
    const Cost cost = in_process(folder).*which;
    state.SetIterationTime(cost.wall / 1e3);
    state.counters["cpu_ms"] = cost.cpu;
  }
  std::error_code error;
  if (warm) std::filesystem::remove_all(folder, error);
}

}  // namespace
}  // namespace tailor

int main(int argc, char** argv) {
  using namespace tailor;
  if (const char* const pipe_end = std::getenv("TAILOR_FIRST_CALL")) {  // a process to be measured
    const Times t = measure();
    return write(std::atoi(pipe_end), &t, sizeof t) == sizeof t ? 0 : 1;
  }
  benchmark::Initialize(&argc, argv);
  for (const bool warm : {false, true}) {
    const std::string kernels = warm ? "from_disk/" : "compiled/";
    for (const auto& [which, name] :
         {std::pair(&Times::first, "first_call"), {&Times::later, "later_first_call"}, {&Times::life, "program"}})
      benchmark::RegisterBenchmark((kernels + name).c_str(), first_call, warm, which)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->Iterations(1)
          ->Repetitions(21)
          ->ReportAggregatesOnly();
  }
  benchmark::RunSpecifiedBenchmarks();
}
