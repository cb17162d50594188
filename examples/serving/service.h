#pragma once
// An inference service: requests of every batch and length, served by worker threads from one compiled encoder.

#include <tailor/tailor.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "../support/figures.h"

namespace serving {

namespace tl = tailor;

constexpr int64_t kWidth = 64, kHeads = 4;

struct Request {
  tl::Tensor x;     // [batch, length, 64]
  tl::Tensor gate;  // [16], filled with a number: above 0.5 the deep branch is taken
  bool deep = false;
};

/// The requests of requests.csv with data made up from a fixed seed; the first `most` of them.
inline std::vector<Request> load_requests(const std::string& path, size_t most) {
  std::ifstream file(path);
  if (!file) throw tl::Error("cannot read " + path);
  std::vector<Request> requests;
  std::string line;
  tl::manual_seed(11);
  while (requests.size() < most && std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line.rfind("id", 0) == 0) continue;
    std::stringstream cells(line);
    std::vector<std::string> all;
    for (std::string cell; std::getline(cells, cell, ',');) all.push_back(cell);
    if (all.size() != 8) throw tl::Error(path + ": a row has " + std::to_string(all.size()) + " cells, expected 8");
    Request request;
    request.x = tl::randn({std::stoll(all[2]), std::stoll(all[3]), kWidth});
    request.gate = tl::full({16}, std::stod(all[4]));
    request.deep = all[5] == "deep";
    requests.push_back(std::move(request));
  }
  return requests;
}

struct Layer : tl::nn::Module {
  tl::nn::LayerNorm n1{nullptr}, n2{nullptr};
  tl::nn::Linear qkv{nullptr}, o{nullptr}, f1{nullptr}, f2{nullptr};
  Layer() {
    n1 = register_module("n1", tl::nn::LayerNorm(tl::nn::LayerNormOptions({kWidth})));
    n2 = register_module("n2", tl::nn::LayerNorm(tl::nn::LayerNormOptions({kWidth})));
    qkv = register_module("qkv", tl::nn::Linear(kWidth, 3 * kWidth));
    o = register_module("o", tl::nn::Linear(kWidth, kWidth));
    f1 = register_module("f1", tl::nn::Linear(kWidth, 4 * kWidth));
    f2 = register_module("f2", tl::nn::Linear(4 * kWidth, kWidth));
  }
  /// x [batch, length, 64]; mask bool [length] or undefined.
  tl::Tensor forward(tl::Tensor x, const tl::Tensor& mask) {
    const int64_t batch = x.size(0), length = x.size(1);
    std::vector<tl::Tensor> heads;
    for (const tl::Tensor& part : qkv(n1(x)).chunk(3, -1))
      heads.push_back(part.view({batch, length, kHeads, kWidth / kHeads}).transpose(1, 2));
    tl::Tensor scores = tl::matmul(heads[0], heads[1].transpose(2, 3)) * 0.25;
    if (mask.defined()) scores = scores.masked_fill(mask.logical_not(), -1e30);
    x = x + o(tl::matmul(tl::softmax(scores, -1), heads[2]).transpose(1, 2).reshape({batch, length, kWidth}));
    return x + f2(tl::gelu(f1(n2(x))));
  }
};

/// Two layers, and two more for requests whose gate says so.
struct Encoder : tl::nn::Module {
  std::vector<std::shared_ptr<Layer>> layers;
  Encoder() {
    for (int i = 0; i < 4; ++i) layers.push_back(register_module("layer" + std::to_string(i), std::make_shared<Layer>()));
  }
  tl::Tensor run(tl::Tensor x, const tl::Tensor& mask, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) x = layers[i]->forward(x, mask);
    return x;
  }
  tl::Tensor forward(const tl::Tensor& x, const tl::Tensor& gate, const tl::Tensor& mask) {
    const tl::Tensor y = run(x, mask, 0, 2);
    return (gate.mean() > 0.5).item<bool>() ? run(y, mask, 2, 4) : y;  // data decides: the host looks
  }
};

/// How requests are served: a function of a request, and what is known about it.
struct Policy {
  std::string name;
  std::function<tl::Tensor(const Request&)> serve;
  std::function<std::vector<tl::Stats>()> stats = [] { return std::vector<tl::Stats>(); };
  std::function<double()> waste = [] { return 0.0; };
};

inline std::vector<Policy> policies(const std::shared_ptr<Encoder>& net) {
  std::vector<Policy> all;
  const auto body = [net](const tl::Tensor& x, const tl::Tensor& gate, const tl::Tensor& mask) { return net->forward(x, gate, mask); };
  all.push_back({"eager", [body](const Request& r) { return body(r.x, r.gate, {}); }});
  const auto compiled = [&](std::string name, tl::CompileOptions options, bool marked) {
    options.name = name;
    const auto f = tl::compile(body, options);
    all.push_back({name,
                   [f, marked](const Request& r) {
                     if (marked) {
                       tl::mark_dynamic(r.x, 0, {.min = 2, .max = 32});
                       tl::mark_dynamic(r.x, 1, {.min = 2, .max = 512});
                     }
                     return f(r.x, r.gate, {});
                   },
                   [f] { return std::vector{f.stats()}; }});
  };
  compiled("static", {.dynamic = tl::Dynamic::Never}, false);
  compiled("automatic", {.wait_for_compile = true}, false);
  compiled("automatic, no wait", {}, false);
  compiled("marked", {.wait_for_compile = true}, true);
  {
    const auto f = tl::bucketed(
        body,
        {{.name = "batch", .policy = tl::BucketPolicy::powers_of_two(), .arguments = {{0, 0}}, .results = {{0, 0}}},
         {.name = "length", .policy = tl::BucketPolicy::powers_of_two(), .arguments = {{0, 1}}, .mask = 2, .results = {{0, 1}}}},
        {.name = "bucketed", .dynamic = tl::Dynamic::Never, .cache_size_limit = 64, .wait_for_compile = true});
    all.push_back({"bucketed", [f](const Request& r) { return f(r.x, r.gate, {}); }, [f] { return std::vector{f.stats()}; },
                   [f] { return f.padding().waste(); }});
  }
  {
    // The caller looks at the gate and chooses the function: no branch is left inside.
    const auto half = [net](const tl::Tensor& x) { return net->run(x, {}, 0, 2); };
    const auto whole = [net](const tl::Tensor& x) { return net->run(x, {}, 0, 4); };
    const auto shallow = tl::compile(half, {.name = "shallow", .wait_for_compile = true}),
               deep = tl::compile(whole, {.name = "deep", .wait_for_compile = true});
    all.push_back({"split by branch",
                   [shallow, deep](const Request& r) { return (r.gate.mean() > 0.5).item<bool>() ? deep(r.x) : shallow(r.x); },
                   [shallow, deep] {
                     return std::vector{shallow.stats(), deep.stats()};
                   }});
  }
  return all;
}

/// Serves every request once with `workers` threads; microseconds of each.
inline std::vector<double> serve_all(const Policy& policy, const std::vector<Request>& requests, int workers, double* seconds) {
  std::vector<double> latency(requests.size());
  std::atomic<size_t> next{0};
  std::exception_ptr error;
  std::atomic<bool> failed{false};
  const scenario::Stopwatch all;
  std::vector<std::thread> threads;
  for (int t = 0; t < workers; ++t) {
    threads.emplace_back([&] {
      tl::NoGradGuard no_grad;
      try {
        for (size_t i; !failed && (i = next++) < requests.size();) {
          const scenario::Stopwatch one;
          (void)policy.serve(requests[i]);
          latency[i] = one.us();
        }
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  *seconds = all.us() / 1e6;
  return latency;
}

/// Whether a sample of the requests gets what eager computes.
inline bool right(const Policy& policy, const Encoder& net, const std::vector<Request>& requests) {
  tl::NoGradGuard no_grad;
  for (size_t i = 0; i < requests.size(); i += 37) {
    const tl::Tensor want = const_cast<Encoder&>(net).forward(requests[i].x, requests[i].gate, {});
    if (!tl::allclose(policy.serve(requests[i]), want, 1e-3, 1e-4)) return false;
  }
  return true;
}

/// Every policy, cold and warm: the whole list once with nothing compiled, and once more.
inline std::vector<scenario::Row> replay(const std::string& csv, size_t most = 2000, int workers = 4) {
  const std::vector<Request> requests = load_requests(csv, most);
  int64_t tokens = 0;
  for (const Request& r : requests) tokens += r.x.size(0) * r.x.size(1);
  tl::manual_seed(3);
  const auto net = std::make_shared<Encoder>();
  net->eval();
  const int before = tl::get_num_threads();
  tl::set_num_threads(1);  // the workers are the parallelism
  std::vector<scenario::Row> rows;
  for (const Policy& policy : policies(net)) {
    double cold_s = 0, warm_s = 0;
    const std::vector<double> cold = serve_all(policy, requests, workers, &cold_s);
    const std::vector<tl::Stats> cold_stats = policy.stats();
    const std::vector<double> warm = serve_all(policy, requests, workers, &warm_s);
    const std::vector<tl::Stats> warm_stats = policy.stats();
    const auto sum = [](const std::vector<tl::Stats>& list, auto member) {
      double total = 0;
      for (const tl::Stats& s : list) total += static_cast<double>(s.*member);
      return total;
    };
    const double calls = sum(cold_stats, &tl::Stats::calls), all_calls = sum(warm_stats, &tl::Stats::calls);
    const double hits = sum(cold_stats, &tl::Stats::hits), warm_hits = sum(warm_stats, &tl::Stats::hits) - hits;
    scenario::Row row;
    row.mode = policy.name;
    row.figures = {{"hit % cold", calls > 0 ? 100 * hits / calls : 0},
                   {"hit % warm", all_calls > calls ? 100 * warm_hits / (all_calls - calls) : 0},
                   {"recompiles", sum(warm_stats, &tl::Stats::misses) + sum(warm_stats, &tl::Stats::recompiles)},
                   {"compile ms", sum(warm_stats, &tl::Stats::compile_ms)},
                   {"waste %", 100 * policy.waste()},
                   {"cold p50 us", scenario::percentile(cold, 50)},
                   {"cold p95 us", scenario::percentile(cold, 95)},
                   {"cold p99 us", scenario::percentile(cold, 99)},
                   {"warm p50 us", scenario::percentile(warm, 50)},
                   {"warm p95 us", scenario::percentile(warm, 95)},
                   {"warm p99 us", scenario::percentile(warm, 99)},
                   {"cold req/s", static_cast<double>(requests.size()) / cold_s},
                   {"warm req/s", static_cast<double>(requests.size()) / warm_s},
                   {"warm tokens/s", static_cast<double>(tokens) / warm_s}};
    if (!right(policy, *net, requests)) row.remark = "RESULTS DIFFER FROM EAGER";
    rows.push_back(std::move(row));
  }
  tl::set_num_threads(before);
  return rows;
}

}  // namespace serving
