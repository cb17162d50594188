#include <tailor/tailor.h>

#include <iostream>

int main() {
  auto f = tailor::compile([](const tailor::Tensor& x) { return tailor::relu(x) * 2; });
  f(tailor::ones({3}));
  const float sum = f(tailor::ones({3})).sum().item<float>();
  std::cout << sum << "\n";
  return sum == 6 && f.stats().hits == 1 ? 0 : 1;
}
