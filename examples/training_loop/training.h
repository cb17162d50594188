#pragma once
// The forward part of a training loop, with everything in it that makes compiled loops stutter: a last batch that is smaller, a learning
// rate that changes at every step, switching between training and evaluation, a step that logs, batches that are accumulated.

#include <tailor/tailor.h>

#include <cmath>
#include <functional>
#include <optional>

#include "../support/figures.h"

namespace training {

namespace tl = tailor;

struct Classifier : tl::nn::Module {
  tl::nn::Linear fc1{nullptr}, fc2{nullptr}, fc3{nullptr};
  tl::nn::BatchNorm1d norm{nullptr};
  Classifier() {
    fc1 = register_module("fc1", tl::nn::Linear(64, 128));
    norm = register_module("norm", tl::nn::BatchNorm1d(128));
    fc2 = register_module("fc2", tl::nn::Linear(128, 128));
    fc3 = register_module("fc3", tl::nn::Linear(128, 10));
  }
  tl::Tensor forward(const tl::Tensor& x) { return fc3(tl::relu(fc2(tl::relu(norm(fc1(x)))))); }
};

/// What a step carries on to the next one.
struct Progress {
  tl::Tensor accumulated = tl::zeros({}), average = tl::zeros({}), correct = tl::zeros({}, tl::kInt64);
  int micro = 0;  // batches accumulated since the last update of this epoch
  double logged = 0;
};

struct Loop {
  static constexpr int64_t kBatch = 64;
  static constexpr int kAccumulate = 4, kLogEvery = 10;
  tl::Tensor images, labels;
  std::shared_ptr<Classifier> net;
  Progress progress;
  int step = 0;

  Loop(tl::Tensor images, tl::Tensor labels) : images(std::move(images)), labels(std::move(labels)), net(std::make_shared<Classifier>()) {}

  /// One batch. `lr` weighs the running average of the loss, as an update would weigh gradients.
  tl::Tensor batch(const tl::Tensor& x, const tl::Tensor& y, double lr) {
    const tl::Tensor logits = net->forward(x);
    const tl::Tensor loss = tl::cross_entropy_loss(logits, y);
    if (!net->is_training()) {
      progress.correct.add_((logits.argmax(1) == y).sum());
      return loss;
    }
    progress.accumulated.add_(loss / kAccumulate);
    if (++progress.micro == kAccumulate) {
      progress.average.mul_(1 - lr).add_(progress.accumulated * lr);
      progress.accumulated.zero_();
      progress.micro = 0;
    }
    if (step % kLogEvery == 0) progress.logged = loss.item<double>();  // the host looks, once in a while
    return loss;
  }

  /// An epoch of training and one of evaluation; `run` makes a step. Adds the microseconds of each step.
  void epoch(int number, int epochs, const std::function<tl::Tensor(const tl::Tensor&, const tl::Tensor&, double)>& run,
             std::vector<double>& micros) {
    for (const bool train : {true, false}) {
      net->train(train);
      step = progress.micro = 0;
      progress.accumulated.zero_();
      for (int64_t at = 0; at < images.size(0); at += kBatch) {
        const int64_t rows = std::min(kBatch, images.size(0) - at);  // the last batch is smaller
        const double lr = 0.05 * (1 + std::cos(M_PI * (number + static_cast<double>(at) / static_cast<double>(images.size(0))) / epochs));
        const tl::Tensor x = images.narrow(0, at, rows), y = labels.narrow(0, at, rows);
        const scenario::Stopwatch watch;
        (void)run(x, y, lr);
        micros.push_back(watch.us());
        step += train;
      }
    }
  }
};

/// Eager and compiled side by side over the same data: time per step, what was compiled in which epochs, whether they agree.
inline std::vector<scenario::Row> compare(const tl::Tensor& images, const tl::Tensor& labels, int epochs) {
  tl::NoGradGuard no_grad;
  tl::manual_seed(5);
  Loop eager(images, labels);
  tl::manual_seed(5);
  Loop compiled(images, labels);
  const auto step = [&compiled](const tl::Tensor& x, const tl::Tensor& y, double lr) { return compiled.batch(x, y, lr); };
  const auto fast = tl::compile(step, {.name = "training step"});
  std::vector<double> eager_us, compiled_us, warm_eager_us, warm_us;
  uint64_t first_epochs = 0, later = 0, warm_calls = 0, warm_hits = 0;
  const int warm_up = std::min(2, epochs - 1);
  tl::Stats before = fast.stats();
  const auto compiles = [](const tl::Stats& s) { return s.misses + s.recompiles + s.lifts; };
  for (int e = 0; e < epochs; ++e) {
    eager_us.clear(), compiled_us.clear();
    eager.epoch(
        e, epochs, [&](const tl::Tensor& x, const tl::Tensor& y, double lr) { return eager.batch(x, y, lr); }, eager_us);
    compiled.epoch(
        e, epochs, [&](const tl::Tensor& x, const tl::Tensor& y, double lr) { return fast(x, y, lr); }, compiled_us);
    const tl::Stats now = fast.stats();
    (e < warm_up ? first_epochs : later) += compiles(now) - compiles(before);
    if (e >= warm_up) {
      warm_eager_us.insert(warm_eager_us.end(), eager_us.begin(), eager_us.end());
      warm_us.insert(warm_us.end(), compiled_us.begin(), compiled_us.end());
      warm_calls += now.calls - before.calls;
      warm_hits += now.hits - before.hits;
    }
    before = now;
  }
  const auto row = [](std::string mode, const std::vector<double>& us, double first, double rest, double hits) {
    double sum = 0;
    for (const double one : us) sum += one;
    return scenario::Row{std::move(mode),
                         {{"us a step", us.empty() ? 0 : sum / static_cast<double>(us.size())},
                          {"p50 us", scenario::percentile(us, 50)},
                          {"p99 us", scenario::percentile(us, 99)},
                          {"max us", scenario::percentile(us, 100)},
                          {"compiles warm-up", first},
                          {"compiles after", rest},
                          {"hit % after", hits}},
                         {}};
  };
  std::vector<scenario::Row> rows{row("eager", warm_eager_us, 0, 0, 0),
                                  row("compiled", warm_us, static_cast<double>(first_epochs), static_cast<double>(later),
                                      warm_calls ? 100 * static_cast<double>(warm_hits) / static_cast<double>(warm_calls) : 0)};
  if (!tl::allclose(eager.progress.average, compiled.progress.average, 1e-4, 1e-6) ||
      !tl::equal(eager.progress.correct, compiled.progress.correct) || std::abs(eager.progress.logged - compiled.progress.logged) > 1e-4) {
    rows[1].remark = "RESULTS DIFFER FROM EAGER";
  }
  return rows;
}

}  // namespace training
