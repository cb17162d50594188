// soak [--minutes N | --steps N] [--threads N] [--seed S]: compiled functions under random shapes, modes, evictions, resets and new
// functions on several threads. Every result is compared with eager code; what the library holds and the size of the process must stay flat
// after a warm-up. Meant to run for long, under a sanitizer too; the tests run a few thousand steps.

#include <tailor/tailor.h>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

namespace tl = tailor;
using tl::Tensor;

namespace {

struct Options {
  double minutes = 0;
  int64_t steps = 3000;  // of all threads
  int threads = 4;
  uint64_t seed = 1;
};

struct Call {
  Tensor x, y;
  std::vector<Tensor> list;
  double number = 1;
  int64_t way = 0;
};

using Results = std::vector<Tensor>;

Results pointwise(const Call& c) { return {(c.x * c.number + c.y).sigmoid(), tl::where(c.x > 0, c.x, c.y.neg())}; }
Results product(const Call& c) {
  const Tensor p = tl::matmul(c.x, c.x.t());
  return {tl::softmax(p, -1), c.x.size(0) > 8 ? p.sum(0) : p.amax(1), c.x.mean() * c.number};
}
Results written(const Call& c) {
  Tensor t = c.x.clone();
  t[0].add_(c.y[0]);
  t.narrow(1, 0, 2).mul_(2);
  if (t[0][0].item<float>() > 0) t.neg_();
  return {t, t.t().contiguous()};
}
Results container(const Call& c) {
  Tensor t = c.x;
  for (const Tensor& e : c.list) t = t + e;
  return {t, tl::cat(c.list.empty() ? std::vector<Tensor>{c.x} : c.list)};
}
Results ways(const Call& c) {
  Tensor t = c.x;
  for (int64_t w = c.way; w > 0; w >>= 1) t = w & 1 ? t + c.number : (t * c.y).tanh();
  return {t};
}
struct Net : tl::nn::Module {
  tl::nn::Linear a{nullptr}, b{nullptr};
  Net() {
    a = register_module("a", tl::nn::Linear(8, 16));
    b = register_module("b", tl::nn::Linear(16, 4));
  }
};
Net& net() {
  static auto* all = new Net;
  return *all;
}
Results layers(const Call& c) { return {net().b(tl::relu(net().a(c.x)))}; }

using Compiled = tl::Compiled<Results(const Call&)>;
struct Function {
  const char* name;
  Results (*body)(const Call&);
  Compiled fast;
};

std::vector<Function> functions() {
  std::vector<Function> all;
  const auto add = [&](const char* name, Results (*body)(const Call&), tl::CompileOptions options) {
    options.name = name;
    options.at_storm = tl::StormPolicy::KeepCompiling;
    all.push_back({name, body, tl::compile(body, options)});
  };
  add("pointwise", pointwise, {});
  add("pointwise, evicting", pointwise, {.dynamic = tl::Dynamic::Never, .cache_size_limit = 2, .backend = tl::Backend::Interpreter});
  add("product", product, {.backend = tl::Backend::Interpreter});
  add("written", written, {});
  add("container", container, {.cache_size_limit = 4, .backend = tl::Backend::Interpreter});
  add("ways", ways, {.backend = tl::Backend::Interpreter});
  add("layers, pure", layers, {.pure = true});
  add("layers, in the background", layers, {.cache_size_limit = 4, .async = true});
  return all;
}

Call random_call(std::mt19937_64& random) {
  const auto pick = [&](int n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  Call c;
  const int64_t rows = 1 + pick(12);
  const tl::ScalarType type = pick(6) == 0 ? tl::kFloat64 : tl::kFloat32;
  const auto matrix = [&] {
    Tensor t = ((tl::arange(rows * 8) * static_cast<double>(1 + pick(7))).remainder(5.0) - 2).to(tl::kFloat32).view({rows, 8}) / 4;
    return pick(3) == 0 ? t.t().contiguous().t() : t;
  };
  c.x = matrix();
  c.y = matrix();
  if (pick(8) == 0) c.y = c.x;
  for (int64_t i = pick(4); i > 0; --i) c.list.push_back(matrix());
  if (type != tl::kFloat32 && pick(2) == 0) c.y = c.y.to(type);
  c.number = static_cast<double>(pick(20)) / 4;
  c.way = pick(256);
  return c;
}

/// What differs, or nothing.
std::string difference(const Results& got, const Results& want) {
  std::ostringstream out;
  if (got.size() != want.size()) return "another number of results";
  const tl::NoGradGuard no_grad;
  for (size_t i = 0; i < got.size(); ++i) {
    const bool described =
        got[i].scalar_type() == want[i].scalar_type() && got[i].sizes() == want[i].sizes() && got[i].strides() == want[i].strides();
    if (described && tl::allclose(got[i].detach(), want[i].detach(), 1e-4, 1e-5, true)) continue;
    for (const auto& [name, t] : {std::pair{"got", got[i]}, {"instead of", want[i]}})
      out << name << " " << t.toString() << t.sizes() << " with strides " << t.strides() << "\n" << t.detach() << "\n";
    return "result " + std::to_string(i) + ": " + out.str();
  }
  return {};
}

struct Usage {
  double megabytes = 0;
  uint64_t entries = 0, paths = 0, code_bytes = 0, bindings = 0;
};
Usage usage(const std::vector<Function>& all) {
  Usage u;
  std::ifstream statm("/proc/self/statm");
  long pages = 0, resident = 0;
  statm >> pages >> resident;
  u.megabytes = static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
  for (const Function& f : all) {
    const tl::Stats s = f.fast.stats();
    u.entries += static_cast<uint64_t>(s.entries);
    u.paths += static_cast<uint64_t>(s.paths);
    u.bindings += static_cast<uint64_t>(s.bindings);
    u.code_bytes += s.code_bytes;
  }
  return u;
}

std::ostream& operator<<(std::ostream& out, const Usage& u) {
  return out << u.megabytes << " MB resident, " << u.entries << " entries, " << u.paths << " paths, " << u.bindings
             << " bindings of sizes, " << u.code_bytes << " bytes of code";
}

/// One step; the text of what went wrong, or nothing.
std::string step(std::vector<Function>& all, std::mt19937_64& random) {
  Function& f = all[random() % all.size()];
  std::optional<tl::NoGradGuard> no_grad;
  if (random() % 2) no_grad.emplace();
  const Call call = random_call(random);
  switch (random() % 200) {
    case 0: f.fast.reset(); break;
    case 1: {  // a function that comes and goes
      const Compiled fresh = tl::compile(f.body, {.backend = tl::Backend::Interpreter});
      const Results want = f.body(call);
      for (int i = 0; i < 3; ++i) {
        if (const std::string what = difference(fresh(call), want); !what.empty())
          return std::string("a new function of ") + f.name + ": " + what;
      }
      break;
    }
    case 2: tl::set_num_threads(1 + static_cast<int>(random() % 2)); break;
    default: break;
  }
  const Results want = f.body(call);
  for (int i = 0; i < 2; ++i) {
    if (const std::string what = difference(f.fast(call), want); !what.empty()) {
      std::ostringstream out;
      out << f.name << ", x " << call.x.toString() << call.x.sizes() << call.x.strides() << ", y " << call.y.toString() << call.y.sizes()
          << call.y.strides() << ": " << what;
      return out.str();
    }
  }
  return {};
}

int soak(const Options& options) {
  std::vector<Function> all = functions();
  net().eval();
  std::atomic<int64_t> done{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::string wrong;
  const auto begin = std::chrono::steady_clock::now();
  // How much of the run is over, from 0 to 1.
  const auto progress = [&] {
    if (options.minutes <= 0) return static_cast<double>(done.load()) / static_cast<double>(options.steps);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / (60 * options.minutes);
  };
  Usage warm, most;  // after two fifths; the most seen until then
  bool warmed = false;
  const auto sample = [&] {  // by the first thread
    const Usage now = usage(all);
    if (!warmed) { most.megabytes = std::max(most.megabytes, now.megabytes), most.code_bytes = std::max(most.code_bytes, now.code_bytes); }
    if (!warmed && progress() >= 0.4) warm = now, warmed = true;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, t] {
      const uint64_t seed = options.seed * 1000 + static_cast<uint64_t>(t);
      std::mt19937_64 random(seed);
      for (int64_t i = 0; !stop && progress() < 1; ++i, ++done) {
        std::string what;
        try {
          what = step(all, random);
        } catch (const std::exception& error) { what = error.what(); }
        if (t == 0 && i % 32 == 0) sample();
        if (what.empty()) continue;
        std::lock_guard lock(mutex);
        if (!stop.exchange(true)) wrong = "thread seed " + std::to_string(seed) + ", step " + std::to_string(i) + ": " + what;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!wrong.empty()) {
    std::cerr << "soak: a result differs from eager, or a call failed: " << wrong << "\n";
    return 1;
  }
  const Usage end = usage(all);
  std::cout << done << " steps on " << options.threads << " threads, every result as eager's\nafter two fifths: " << warm
            << "\nat the end:       " << end << "\n";
  const bool flat = end.megabytes < 1.15 * most.megabytes + 32 && end.entries <= 8 * all.size() && end.paths <= 64 * 8 * all.size() &&
                    static_cast<double>(end.code_bytes) < 1.5 * static_cast<double>(most.code_bytes) + 1e6;
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
  }
  return soak(options);
}
