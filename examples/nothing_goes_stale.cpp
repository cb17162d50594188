// Captured values, flags and tensors are read on every call: a hit never uses an old one. A pure function skips its body instead.

#include <tailor/tailor.h>

#include <iostream>

namespace tl = tailor;

int main() {
  double k = 1.0;
  bool shift = false;
  auto scaled = tl::compile([&](tl::Tensor x) {
    auto y = x * k;
    return shift ? y + 1 : y;
  });
  const tl::Tensor x = tl::full({1}, 4.0);
  bool right = scaled(x).item<float>() == 4;
  k = 10.0;
  right = right && scaled(x).item<float>() == 40;
  shift = true;
  right = right && scaled(x).item<float>() == 41;

  auto step = tl::compile([](tl::Tensor w, tl::Tensor g, tl::Scalar lr) { return w - lr * g; });
  for (int i = 1; i <= 100; ++i)
    right = right && step(tl::ones({3}), tl::ones({3}), 1.0 / i)[0].item<float>() ==
                         static_cast<float>(1 - static_cast<double>(static_cast<float>(1.0 / i)));

  int bodies = 0;
  auto pure = tl::compile(
      [&](const tl::Tensor& a) {
        ++bodies;
        return a * 2;
      },
      {.pure = true});
  for (int i = 0; i < 1000; ++i) pure(x);
  std::cout << "scaled\n"
            << scaled.stats() << "\nstep\n"
            << step.stats() << "\npure: the body ran " << bodies << " times in 1000 calls\n"
            << pure.stats();
  return right && bodies < 20 ? 0 : 1;
}
