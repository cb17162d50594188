// Real models on real data, eager against compiled: `tools/demo.sh` builds and runs it.
//
//   tailor_demo DATA_FOLDER [--threads N]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>

#include "data.h"
#include "models.h"

namespace {

using namespace demo;
using Clock = std::chrono::steady_clock;

double micros(const std::function<void()>& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// "same bits", or the largest difference.
std::string compare(const tl::Tensor& a, const tl::Tensor& b) {
  const tl::Tensor x = a.contiguous(), y = b.contiguous();
  if (x.nbytes() == y.nbytes() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0) return "same bits";
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", (x.to(tl::kDouble) - y.to(tl::kDouble)).abs().max().item<double>());
  return text;
}

double largest_difference(const tl::Tensor& a, const tl::Tensor& b) {
  return (a.to(tl::kDouble) - b.to(tl::kDouble)).abs().max().item<double>();
}

struct Row {
  std::string name, agree = {}, truth = {};
  double eager_us = 0, compiled_us = 0, first_ms = 0;
  tl::Stats stats = {};
  bool ok = true;
};

/// Times both in turn, so that the machine's moods meet both.
void time_both(Row& row, const std::function<void()>& eager, const std::function<void()>& compiled, double seconds = 0.6) {
  std::vector<double> e, c;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (e.size() < 5 || Clock::now() < until) {
    e.push_back(micros(eager));
    c.push_back(micros(compiled));
  }
  row.eager_us = median(e);
  row.compiled_us = median(c);
}

std::string percent(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", 100 * x);
  return text;
}

template <class Net>
Row classify(const std::string& name, const std::string& folder, const std::string& file, const Digits& digits, const tl::Tensor& input,
             const tl::Tensor& expected) {
  auto net = std::make_shared<Net>();
  load_weights(*net, folder + "/" + file, [](const std::string& n) { return n; });
  net->eval();
  tl::NoGradGuard no_grad;
  auto fast = tl::compile(net, {.name = name});
  Row row{name};
  tl::Tensor eager = net->forward(input), compiled;
  row.first_ms = micros([&] { compiled = fast(input); }) / 1e3;
  compiled = fast(input);
  row.agree = compare(eager, compiled);
  time_both(
      row, [&] { eager = net->forward(input); }, [&] { compiled = fast(input); });
  const tl::Tensor test_logits = compiled.index_select(0, digits.test);
  const double right = (test_logits.argmax(1) == digits.labels.index_select(0, digits.test)).to(tl::kFloat32).mean().item<double>();
  const double off = largest_difference(test_logits, expected);
  row.ok = off < 5e-5;
  char text[96];
  std::snprintf(text, sizeof text, "%s of 360 test digits right; logits within %.1e of PyTorch's", percent(right).c_str(), off);
  row.truth = text;
  row.stats = fast.stats();
  return row;
}

/// Writes 200 characters after the prompt, greedily or by the given uniform numbers; returns ids and the logits of each choice.
struct Text {
  std::vector<int64_t> ids;
  double off = 0;
};
Text write_text(CharGpt& gpt, const std::function<tl::Tensor(tl::Tensor, int64_t)>& step, const tl::Tensor& prompt,
                const tl::Tensor& expected_logits, const float* uniform) {
  for (auto& block : gpt.blocks) {
    block->keys.zero_();
    block->values.zero_();
  }
  Text text;
  tl::Tensor logits;
  int64_t position = 0;
  for (; position < prompt.size(0); ++position) logits = step(prompt.narrow(0, position, 1), position);
  while (true) {
    const auto chosen = static_cast<int64_t>(text.ids.size());
    text.off = std::max(text.off, largest_difference(logits, expected_logits[chosen]));
    int64_t id = 0;
    if (uniform) {
      const tl::Tensor cumulative = tl::softmax(logits.to(tl::kDouble), 0).cumsum(0);
      const double* c = cumulative.data_ptr<double>();
      while (id < CharGpt::kVocabulary - 1 && c[id] <= static_cast<double>(uniform[chosen])) ++id;
    } else {
      id = logits.argmax().item<int64_t>();
    }
    text.ids.push_back(id);
    if (text.ids.size() == 200) return text;
    logits = step(tl::tensor({id}, tl::kInt64), position++);
  }
}

Row gpt(const std::string& folder, std::map<std::string, tl::Tensor>& expected) {
  CharGpt net;
  load_weights(net, folder + "/gpt.safetensors", [](std::string n) {
    if (n.size() > 2 && n[0] == 'h' && n[2] == '.') n = "h." + n.substr(1);
    for (const char* part : {"attn_", "mlp_"}) {
      if (const size_t at = n.find(part); at != std::string::npos) n[at + std::strlen(part) - 1] = '.';
    }
    return n;
  });
  net.eval();
  tl::NoGradGuard no_grad;
  auto fast = tl::compile(net, {.name = "char GPT"});
  const auto eager_step = [&](tl::Tensor token, int64_t position) { return net.forward(token, position); };
  const auto compiled_step = [&](tl::Tensor token, int64_t position) { return fast(token, position); };
  const tl::Tensor prompt = expected["gpt.decoding_prompt_ids"];

  Row row{"char GPT, a character"};
  {
    const tl::Tensor token = prompt.narrow(0, 0, 1);
    row.first_ms = micros([&] { fast(token, 0); }) / 1e3;
  }
  {  // The position becomes an argument at the second call: from then on nothing is compiled.
    const tl::Tensor token = prompt.narrow(0, 0, 1);
    for (int64_t position : {1, 2}) fast(token, position);
  }
  const std::string vocabulary = "\n !\"'(),-.0123456789:;?ABCDEFGHIJKLMNOPRSTUVWYZ_abcdefghijklmnopqrstuvwxyz";
  std::vector<double> eager_us, compiled_us;
  bool all_match = true;
  double off = 0;
  std::string written, agree = "same text";
  for (const char* mode : {"greedy.full", "sampled.full"}) {
    const std::string key = std::string("gpt.") + mode;
    const tl::Tensor want = expected[key + ".ids"], logits = expected[key + ".logits"];
    const float* uniform = std::strcmp(mode, "sampled.full") == 0 ? expected[key + ".uniform"].data_ptr<float>() : nullptr;
    Text from_eager, from_compiled;
    eager_us.push_back(micros([&] { from_eager = write_text(net, eager_step, prompt, logits, uniform); }) / 239);
    compiled_us.push_back(micros([&] { from_compiled = write_text(net, compiled_step, prompt, logits, uniform); }) / 239);
    const int64_t* ids = want.data_ptr<int64_t>();
    all_match = all_match && std::equal(from_compiled.ids.begin(), from_compiled.ids.end(), ids);
    if (from_eager.ids != from_compiled.ids) agree = "texts differ";
    off = std::max(off, from_compiled.off);
    if (uniform) {
      for (int64_t id : from_compiled.ids) written += vocabulary[static_cast<size_t>(id)];
    }
  }
  row.eager_us = median(eager_us);
  row.compiled_us = median(compiled_us);
  row.agree = agree;
  row.ok = all_match && off < 1e-3;
  char text[128];
  std::snprintf(text, sizeof text, "200 greedy and 200 sampled characters %s; logits within %.1e",
                all_match ? "as PyTorch's" : "DIFFER from PyTorch's", off);
  row.truth = text;
  row.stats = fast.stats();
  std::cout << "The GPT, sampled:\n\n  \"Dining out,\" said Mrs. Bennet, \"that is";
  for (char c : written) std::cout << c << (c == '\n' ? "  " : "");
  std::cout << "\n\n";
  return row;
}

Row options_row() {
  tl::manual_seed(0);
  const int64_t n = 1'000'000;
  const tl::Tensor s = tl::rand({n}) * 90 + 10, k = tl::rand({n}) * 90 + 10, t = tl::rand({n}) * 2 + 0.1, r = tl::full({n}, 0.03),
                   v = tl::rand({n}) * 0.4 + 0.1;
  auto fast = tl::compile(black_scholes, {.name = "Black-Scholes"});
  Row row{"Black-Scholes, 1M options"};
  std::vector<tl::Tensor> eager = black_scholes(s, k, t, r, v), compiled;
  row.first_ms = micros([&] { compiled = fast(s, k, t, r, v); }) / 1e3;
  compiled = fast(s, k, t, r, v);
  row.agree = compare(eager[0], compiled[0]);
  time_both(
      row, [&] { eager = black_scholes(s, k, t, r, v); }, [&] { compiled = fast(s, k, t, r, v); }, 1.0);
  // Put-call parity: C - P = S - K exp(-r t).
  const double parity = (compiled[0] - compiled[1] - (s - k * tl::exp(-r * t))).abs().max().item<double>();
  row.ok = parity < 1e-4;
  char text[96];
  std::snprintf(text, sizeof text, "put-call parity holds within %.1e", parity);
  row.truth = text;
  row.stats = fast.stats();
  return row;
}

void show_a_failing_guard() {
  std::cout << "A guard fails when the world changes; then the function is recorded and compiled again:\n\n";
  const auto scaled_relu = [](const tl::Tensor& x, const tl::Tensor& w) { return tl::relu(tl::matmul(x, w)); };
  auto fast = tl::compile(scaled_relu, {.name = "scaled_relu"});
  const tl::Tensor w = tl::randn({64, 32});
  fast(tl::randn({8, 64}), w);
  fast(tl::randn({8, 64}), w);
  const tl::Explanation told = tl::explain(fast)(tl::randn({16, 64}), w);
  for (const auto& miss : told.misses) std::cout << "  entry " << miss.entry << ": " << miss.text() << "\n";
  std::cout << "  outcome: " << told.outcome << " as entry " << told.entry << "\n\n  its graph\n";
  for (const auto& segment : told.segments) std::cout << segment.graph << "\n";
  std::cout << fast.stats() << "\n";
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "examples/data";
  for (int i = 2; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0) tl::set_num_threads(std::atoi(argv[i + 1]));
  }
  const Digits digits = load_digits(folder + "/digits.csv");
  std::map<std::string, tl::Tensor> expected;
  for (auto& [name, tensor] : tl::io::load_safetensors(folder + "/expected.safetensors")) expected[name] = tensor;

  std::vector<Row> rows;
  rows.push_back(classify<DigitsMlp>("digits MLP, 1797 images", folder, "digits_mlp.safetensors", digits, digits.images,
                                     expected["digits_mlp.logits"]));
  rows.push_back(classify<DigitsCnn>("digits CNN, 1797 images", folder, "digits_cnn.safetensors", digits, digits.images.view({-1, 1, 8, 8}),
                                     expected["digits_cnn.logits"]));
  rows.push_back(gpt(folder, expected));
  rows.push_back(options_row());

  std::printf("%-26s %12s %12s %7s %10s %4s %7s %6s %10s  %s\n", "", "eager us", "compiled us", "ratio", "first ms", "ops", "kernels",
              "hits", "recompiles", "results");
  bool ok = true;
  for (const Row& row : rows) {
    std::printf("%-26s %12.1f %12.1f %6.2fx %10.2f %4d %7d %6llu %10llu  eager/compiled: %s; %s\n", row.name.c_str(), row.eager_us,
                row.compiled_us, row.eager_us / row.compiled_us, row.first_ms, row.stats.ops, row.stats.kernels,
                static_cast<unsigned long long>(row.stats.hits), static_cast<unsigned long long>(row.stats.recompiles), row.agree.c_str(),
                row.truth.c_str());
    ok = ok && row.ok;
  }
  std::cout << "\n";
  show_a_failing_guard();
  if (!ok) std::cerr << "a result differs from what PyTorch computes\n";
  return ok ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "tailor_demo: " << error.what() << "\n";
  return 2;
}
