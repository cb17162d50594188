#pragma once
// Branches that data decides, three ways: one function whose recorded steps are a tree, a function for each branch with the caller
// deciding, and both branches computed with `where` choosing.

#include <tailor/tailor.h>

#include <functional>
#include <map>
#include <random>

#include "../support/figures.h"

namespace branches {

namespace tl = tailor;

constexpr int64_t kWidth = 64, kWindow = 32, kLong = 64;
constexpr size_t kExperts = 4;
constexpr double kSure = 0.5;

struct Block : tl::nn::Module {
  tl::nn::Linear up{nullptr}, down{nullptr};
  explicit Block(int64_t width) {
    up = register_module("up", tl::nn::Linear(width, 2 * width));
    down = register_module("down", tl::nn::Linear(2 * width, width));
  }
  tl::Tensor forward(const tl::Tensor& x) { return x + down(tl::gelu(up(x))); }
};

/// One way of computing a scenario: makes a call on input `i`, says which branch it took.
struct Form {
  std::string name;
  std::function<tl::Tensor(const tl::Tensor&)> call;
  std::function<std::vector<tl::Stats>()> stats = [] { return std::vector<tl::Stats>(); };
};

/// A scenario: its inputs, its forms (the first one is eager, and right), and how often each branch is taken.
struct Scenario {
  std::vector<tl::Tensor> inputs;
  std::vector<Form> forms;
  std::shared_ptr<std::map<std::string, uint64_t>> taken = std::make_shared<std::map<std::string, uint64_t>>();
};

template <class F>
Form compiled_form(std::string name, F f) {
  const auto fast = tl::compile(std::move(f), {.name = name});
  return {name, fast, [fast] { return std::vector{fast.stats()}; }};
}

/// Early exit: after each of three stages the network stops when it is sure enough of all rows.
inline Scenario early_exit(int calls) {
  tl::manual_seed(1);
  struct Net : tl::nn::Module {
    std::vector<std::shared_ptr<Block>> stages;
    std::vector<tl::nn::Linear> heads;
    Net() {
      for (int i = 0; i < 3; ++i) {
        stages.push_back(register_module("stage" + std::to_string(i), std::make_shared<Block>(kWidth)));
        heads.push_back(register_module("head" + std::to_string(i), tl::nn::Linear(kWidth, 10)));
      }
    }
  };
  const auto net = std::make_shared<Net>();
  Scenario s;
  std::mt19937 random(2);
  for (int i = 0; i < calls; ++i) s.inputs.push_back(tl::randn({16, kWidth}) * (0.5 + static_cast<double>(random() % 8)));
  const auto taken = s.taken;
  const auto confidence = [](const tl::Tensor& logits) { return tl::softmax(logits, -1).amax(-1).mean(); };
  const auto body = [net, confidence, taken](tl::Tensor x, bool count) {
    tl::Tensor logits;
    for (size_t i = 0; i < 3; ++i) {
      x = net->stages[i]->forward(x);
      logits = net->heads[i](x);
      if (i == 2 || confidence(logits).template item<double>() > kSure) {
        if (count) ++(*taken)["exit after stage " + std::to_string(i + 1)];
        break;
      }
    }
    return logits;
  };
  s.forms.push_back({"eager", [body](const tl::Tensor& x) { return body(x, false); }});
  s.forms.push_back(compiled_form("trace tree", [body](const tl::Tensor& x) { return body(x, true); }));
  {
    std::vector<tl::Compiled<std::tuple<tl::Tensor, tl::Tensor, tl::Tensor>(const tl::Tensor&)>> stages;
    for (size_t i = 0; i < 3; ++i) {
      stages.push_back(tl::compile(
          [net, confidence, i](const tl::Tensor& x) {
            const tl::Tensor y = net->stages[i]->forward(x), logits = net->heads[i](y);
            return std::make_tuple(y, logits, confidence(logits));
          },
          {.name = "stage " + std::to_string(i + 1)}));
    }
    s.forms.push_back({"split functions",
                       [stages](tl::Tensor x) {
                         for (size_t i = 0;; ++i) {
                           auto [y, logits, sure] = stages[i](x);
                           if (i == 2 || sure.item<double>() > kSure) return logits;
                           x = y;
                         }
                       },
                       [stages] {
                         std::vector<tl::Stats> all;
                         for (const auto& f : stages) all.push_back(f.stats());
                         return all;
                       }});
  }
  s.forms.push_back(compiled_form("where", [net, confidence](tl::Tensor x) {
    tl::Tensor logits[3], sure[3];
    for (size_t i = 0; i < 3; ++i) {
      x = net->stages[i]->forward(x);
      logits[i] = net->heads[i](x);
      sure[i] = confidence(logits[i]) > kSure;
    }
    return tl::where(sure[0], logits[0], tl::where(sure[1], logits[1], logits[2]));
  }));
  return s;
}

/// A mixture of four experts: a gate sends each batch to one of them.
inline Scenario experts(int calls) {
  tl::manual_seed(2);
  struct Net : tl::nn::Module {
    tl::nn::Linear gate{nullptr};
    std::vector<std::shared_ptr<Block>> experts;
    Net() {
      gate = register_module("gate", tl::nn::Linear(kWidth, kExperts));
      for (size_t i = 0; i < kExperts; ++i)
        experts.push_back(register_module("expert" + std::to_string(i), std::make_shared<Block>(kWidth)));
    }
  };
  const auto net = std::make_shared<Net>();
  Scenario s;
  for (int i = 0; i < calls; ++i) s.inputs.push_back(tl::randn({16, kWidth}));
  const auto taken = s.taken;
  const auto choose = [net](const tl::Tensor& x) { return net->gate(x).mean(0).argmax(); };
  const auto body = [net, choose, taken](const tl::Tensor& x, bool count) {
    const auto expert = choose(x).template item<int64_t>();
    if (count) ++(*taken)["expert " + std::to_string(expert)];
    return net->experts[static_cast<size_t>(expert)]->forward(x);
  };
  s.forms.push_back({"eager", [body](const tl::Tensor& x) { return body(x, false); }});
  s.forms.push_back(compiled_form("trace tree", [body](const tl::Tensor& x) { return body(x, true); }));
  {
    const auto gate = tl::compile(choose, {.name = "gate"});
    std::vector<tl::Compiled<tl::Tensor(const tl::Tensor&)>> each;
    for (size_t i = 0; i < kExperts; ++i)
      each.push_back(
          tl::compile([net, i](const tl::Tensor& x) { return net->experts[i]->forward(x); }, {.name = "expert " + std::to_string(i)}));
    s.forms.push_back({"split functions",
                       [gate, each](const tl::Tensor& x) { return each[static_cast<size_t>(gate(x).item<int64_t>())](x); },
                       [gate, each] {
                         std::vector<tl::Stats> all{gate.stats()};
                         for (const auto& f : each) all.push_back(f.stats());
                         return all;
                       }});
  }
  s.forms.push_back(compiled_form("where", [net, choose](const tl::Tensor& x) {
    const tl::Tensor expert = choose(x);
    tl::Tensor y = net->experts[0]->forward(x);
    for (size_t i = 1; i < kExperts; ++i) y = tl::where(expert == static_cast<int64_t>(i), net->experts[i]->forward(x), y);
    return y;
  }));
  return s;
}

/// Attention in one piece for short sequences, in windows of 32 for long ones: the size decides, no data is read.
inline Scenario length_dependent(int calls) {
  Scenario s;
  tl::manual_seed(3);
  std::mt19937 random(4);
  for (int i = 0; i < calls; ++i) {
    const int64_t length =
        random() % 4 == 0 ? kWindow * (3 + static_cast<int64_t>(random() % 3)) : 16 + 8 * static_cast<int64_t>(random() % 5);
    s.inputs.push_back(tl::randn({length, kWidth}));
  }
  const auto taken = s.taken;
  const auto attend = [](const tl::Tensor& x) {  // [..., length, width]
    return tl::matmul(tl::softmax(tl::matmul(x, x.transpose(-2, -1)) * 0.2, -1), x);
  };
  const auto windowed = [attend](const tl::Tensor& x) {
    return attend(x.view({x.size(0) / kWindow, kWindow, kWidth})).reshape({x.size(0), kWidth});
  };
  const auto body = [attend, windowed, taken](const tl::Tensor& x, bool count) {
    const bool is_long = x.size(0) > kLong;
    if (count) ++(*taken)[is_long ? "windows" : "one piece"];
    return is_long ? windowed(x) : attend(x);
  };
  s.forms.push_back({"eager", [body](const tl::Tensor& x) { return body(x, false); }});
  s.forms.push_back(compiled_form("trace tree", [body](const tl::Tensor& x) { return body(x, true); }));
  {
    const auto whole = tl::compile(attend, {.name = "one piece"});
    const auto parts = tl::compile(windowed, {.name = "windows"});
    s.forms.push_back({"split functions", [whole, parts](const tl::Tensor& x) { return x.size(0) > kLong ? parts(x) : whole(x); },
                       [whole, parts] {
                         return std::vector{whole.stats(), parts.stats()};
                       }});
  }
  // `where` here is a mask: one algorithm for both, which lets a long sequence look only into its own window.
  s.forms.push_back(compiled_form("where", [](const tl::Tensor& x) {
    const tl::Tensor window = tl::floor_divide(tl::arange(x.size(0)), kWindow);
    const tl::Tensor scores = tl::matmul(x, x.t()) * 0.2;
    const tl::Tensor far = x.size(0) > kLong ? window.unsqueeze(0) != window.unsqueeze(1) : tl::zeros({x.size(0), x.size(0)}, tl::kBool);
    return tl::matmul(tl::softmax(scores.masked_fill(far, -1e30), -1), x);
  }));
  return s;
}

/// Every form over the inputs, twice: what the second pass costs, hits, entries, paths.
inline std::vector<scenario::Row> compare(const Scenario& s) {
  tl::NoGradGuard no_grad;
  std::vector<scenario::Row> rows;
  std::vector<tl::Tensor> want;
  for (const tl::Tensor& x : s.inputs) want.push_back(s.forms[0].call(x));
  for (const Form& form : s.forms) {
    scenario::Row row;
    row.mode = form.name;
    const scenario::Stopwatch cold;
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      if (!tl::allclose(form.call(s.inputs[i]), want[i], 1e-3, 1e-4)) row.remark = "RESULTS DIFFER FROM EAGER";
    }
    const double cold_us = cold.us();
    std::vector<double> us;
    for (const tl::Tensor& x : s.inputs) {
      const scenario::Stopwatch one;
      (void)form.call(x);
      us.push_back(one.us());
    }
    tl::Stats all;
    for (const tl::Stats& one : form.stats()) {
      all.calls += one.calls, all.hits += one.hits, all.misses += one.misses, all.recompiles += one.recompiles;
      all.entries += one.entries, all.paths += one.paths, all.compile_ms += one.compile_ms;
    }
    row.figures = {{"cold ms", cold_us / 1e3},
                   {"warm p50 us", scenario::percentile(us, 50)},
                   {"warm p99 us", scenario::percentile(us, 99)},
                   {"hit %", 100 * all.hit_rate()},
                   {"entries", static_cast<double>(all.entries)},
                   {"paths", static_cast<double>(all.paths)},
                   {"recompiles", static_cast<double>(all.misses + all.recompiles)},
                   {"compile ms", all.compile_ms}};
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace branches
