// Lengths that vary, padded to a few: attention over a mask, and what the padding costs.

#include <tailor/tailor.h>

#include <iostream>

namespace tl = tailor;

/// x: [length, 16]; mask: bool [length], true for what is real.
tl::Tensor attend(const tl::Tensor& x, const tl::Tensor& mask) {
  const tl::Tensor scores = tl::matmul(x, x.t()).masked_fill(mask.logical_not(), -1e30);
  return tl::matmul(tl::softmax(scores, -1), x);
}

int main() {
  const auto fast = tl::bucketed(attend, {{
                                             .name = "length",
                                             .policy = tl::BucketPolicy::learned(4, 32),
                                             .arguments = {{.tensor = 0, .dim = 0}},
                                             .mask = 1,
                                             .results = {{.tensor = 0, .dim = 0}},
                                         }});
  bool right = true;
  for (int64_t i = 0; i < 200; ++i) {
    const int64_t length = i % 4 == 0 ? 77 : 16 + i * 7 % 30;
    const tl::Tensor x = tl::randn({length, 16});
    const tl::Tensor y = fast(x, tl::Tensor());  // the mask is made by the wrapper
    right = right && tl::allclose(y, attend(x, tl::ones({length}, tl::kBool)), 1e-4, 1e-5);
  }
  std::cout << fast.padding() << fast.stats();
  return right ? 0 : 1;
}
