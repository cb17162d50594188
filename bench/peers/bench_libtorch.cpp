// Times the C++ side of PyTorch on the workloads whose name it shares with workloads.py: eager, and with
// --aoti PACKAGE a model compiled ahead of time by AOTInductor (see export_aoti.py). Prints one JSON row a line.
//
//   T=$(python -c 'import torch,os;print(os.path.dirname(torch.__file__))')
//   g++ -O2 -std=c++20 bench_libtorch.cpp -I$T/include -I$T/include/torch/csrc/api/include -L$T/lib -Wl,-rpath,$T/lib -ltorch -ltorch_cpu
//   -lc10 -o bench_libtorch
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;
static double seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

static void report(const char* workload, const char* mode, const std::function<void()>& call) {
  call();
  call();
  auto t = Clock::now();
  call();
  const double one = std::max(seconds(t), 1e-8);
  const int inner = std::max(1, int(2e-4 / one));
  std::vector<double> us;
  const auto start = Clock::now();
  while (seconds(start) < 1.0 || us.size() < 20) {
    t = Clock::now();
    for (int i = 0; i < inner; ++i) call();
    us.push_back(seconds(t) / inner * 1e6);
  }
  std::sort(us.begin(), us.end());
  std::printf("{\"workload\":\"%s\",\"mode\":\"%s\",\"us\":%.3f,\"min_us\":%.3f,\"q1_us\":%.3f,\"q3_us\":%.3f,\"samples\":%zu}\n", workload,
              mode, us[us.size() / 2], us[0], us[us.size() / 4], us[us.size() * 3 / 4], us.size());
  std::fflush(stdout);
}

static torch::nn::Sequential mlp(std::vector<int64_t> widths) {
  torch::nn::Sequential net;
  for (size_t i = 0; i + 1 < widths.size(); ++i) {
    net->push_back(torch::nn::Linear(widths[i], widths[i + 1]));
    if (i + 2 < widths.size()) net->push_back(torch::nn::ReLU());
  }
  return net;
}

int main(int argc, char** argv) {
  int threads = 1;
  std::string aoti;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--threads")) threads = std::stoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--aoti")) aoti = argv[i + 1];
  }
  torch::set_num_threads(threads);
  torch::manual_seed(0);
  if (!aoti.empty()) {  // mlp_b64 as a package
    c10::InferenceMode guard;
    torch::inductor::AOTIModelPackageLoader loader(aoti);
    const std::vector<at::Tensor> in{torch::randn({64, 784})};
    report("mlp_b64", "aotinductor-c++", [&] { auto y = loader.run(in); });
    return 0;
  }
  {
    c10::InferenceMode guard;
    auto x = torch::randn(8), y = torch::randn(8);
    report("add_8", "eager-c++", [&] { auto z = x + y; });
    auto a = torch::randn(64), b = torch::randn(64);
    report("chain10_64", "eager-c++", [&] {
      auto v = a;
      for (int i = 0; i < 5; ++i) v = torch::relu(v * b + 0.5);
    });
    torch::nn::Sequential deep;
    for (int i = 0; i < 500; ++i) deep->push_back(torch::nn::Linear(4, 4));
    auto one = torch::randn({1, 4});
    report("module_1000_params", "eager-c++", [&] { auto z = deep->forward(one); });
    auto p = torch::randn(4 << 20), q = torch::randn(4 << 20);
    report("pointwise_4m", "eager-c++", [&] { auto z = torch::sigmoid(p * 1.5 + q) * torch::tanh(q) + torch::exp(-p * p); });
    report("cheap_pointwise_4m", "eager-c++", [&] { auto z = torch::relu(p * 1.5 + q) - 0.25 * q; });
    auto net = mlp({784, 512, 512, 10});
    for (auto [batch, name] : {std::pair{1, "mlp_b1"}, {64, "mlp_b64"}, {1024, "mlp_b1024"}}) {
      auto in = torch::randn({batch, 784});
      report(name, "eager-c++", [&] { auto z = net->forward(in); });
    }
  }
  auto net = mlp({64, 128, 128, 10});
  torch::optim::Adam opt(net->parameters(), torch::optim::AdamOptions(1e-3));
  auto x = torch::rand({64, 64});
  auto t = torch::randint(0, 10, {64}, torch::kLong);
  report("train_digits_mlp_adam_b64", "eager-c++", [&] {
    opt.zero_grad();
    auto loss = torch::nn::functional::cross_entropy(net->forward(x), t);
    loss.backward();
    opt.step();
  });
}
