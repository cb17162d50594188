// A pure function that reads sizes through SymInt is skipped in sizes that its body was never run in: one run of the body for each way
// through it.

#include <tailor/tailor.h>

#include <iostream>

namespace tl = tailor;

int main() {
  int bodies = 0;
  const auto fast = tl::compile(
      [&](const tl::Tensor& x) {
        ++bodies;
        const tl::SymInt n = x.sym_size(0);
        if (n % 2 == 0) return x.view({2, n / 2, -1}).mean(0);  // the two halves
        return x.narrow(0, 0, n / 2) / n;
      },
      {.name = "halves", .pure = true});
  bool right = true;
  for (int64_t n = 2; n <= 200; ++n) {
    const tl::Tensor x = tl::ones({n, 8});
    const tl::Tensor y = fast(x);
    right = right && y.size(0) == n / 2 && tl::allclose(y, tl::full({n / 2, 8}, n % 2 == 0 ? 1.0 : 1.0 / static_cast<double>(n)));
  }
  right = right && bodies == 2;
  std::cout << "199 sizes, the body ran " << bodies << " times\n" << tl::explain(fast)(tl::ones({300, 8})) << fast.stats();
  return right ? 0 : 1;
}
