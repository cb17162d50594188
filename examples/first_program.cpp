// The first program: a function, called eagerly and compiled; what the second call finds in the cache, and why the third recompiles.

#include <tailor/tailor.h>

#include <iostream>

namespace tl = tailor;

tl::Tensor layer(const tl::Tensor& x, const tl::Tensor& w, const tl::Tensor& b, double scale) {
  return tl::gelu(tl::matmul(x, w) + b) * scale;
}

int main() {
  tl::manual_seed(0);
  const tl::Tensor x = tl::randn({32, 64}), w = tl::randn({64, 16}), b = tl::randn({16});
  auto fast = tl::compile(layer, {.name = "layer"});

  tl::Tensor y = fast(x, w, b, 0.5);                     // miss: recorded, guarded, compiled
  tl::Tensor y2 = fast(x, w, b, 0.5);                    // hit
  tl::Tensor y3 = fast(tl::randn({48, 64}), w, b, 0.5);  // another batch size: a guard fails
  tl::Tensor y4 = fast(x, w, b, 0.25);                   // another number: it becomes a run-time argument

  std::cout << "largest difference from eager: " << (layer(x, w, b, 0.5) - y2).abs().max().item<float>() << "\n\n" << fast.stats() << "\n";
  std::cout << tl::explain(fast)(x, w, b, 0.125);
  return tl::allclose(layer(x, w, b, 0.5), y2, 1e-4, 1e-5) && tl::allclose(layer(x, w, b, 0.25), y4, 1e-4, 1e-5) && y3.size(0) == 48 &&
                 y.size(1) == 16
             ? 0
             : 1;
}
