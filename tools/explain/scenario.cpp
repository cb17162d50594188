#include "explain/scenario.h"

namespace tailor::tools {

std::vector<FunctionReport> run_scenario() {
  NoGradGuard no_grad;
  manual_seed(0);
  const Tensor w = randn({64, 16}), b = randn({16});
  bool residual = false;
  auto layer = compile(
      [&](const Tensor& x, double scale) {
        Tensor y = gelu(matmul(x, w) + b) * scale;
        if (residual) y = y + y.mean();
        return y;
      },
      {.name = "layer", .dynamic = Dynamic::Never});
  const auto repeat = [](int times, const auto& call) {
    for (int i = 0; i < times; ++i) call();
  };
  const Tensor x = randn({32, 64});
  repeat(5, [&] { layer(x, 0.5); });
  repeat(4, [&] { layer(x, 0.25); });  // another number: it becomes an argument
  residual = true;
  repeat(3, [&] { layer(x, 0.5); });  // another path
  residual = false;
  repeat(3, [&] { layer(randn({48, 64}), 0.5); });  // another size
  repeat(2, [&] { layer(x, 0.5); });

  auto normalize = compile([](const Tensor& t) { return (t - t.mean()) / (t.std() + 1e-5); },
                           {.name = "normalize", .dynamic = Dynamic::Never, .cache_size_limit = 4, .storm_limit = 4});
  for (int64_t n = 10; n < 20; ++n) normalize(randn({n}));  // one size after another: a storm
  normalize(randn({10}).to(kFloat64));

  auto pair = compile([](const Tensor& p, const Tensor& q) { return std::make_pair(p + q, p * q); }, {.name = "pair", .pure = true});
  const Tensor p = randn({128}), q = randn({128});
  repeat(10, [&] { pair(p, q); });
  return {layer.report(), normalize.report(), pair.report()};
}

}  // namespace tailor::tools
