// Nested containers, optionals and plain aggregates are arguments like any other; their structure is guarded.

#include <tailor/tailor.h>

#include <iostream>

namespace tl = tailor;

struct Batch {
  tl::Tensor tokens;
  std::optional<tl::Tensor> mask;
  std::vector<tl::Tensor> cache;
  int position;
};

int main() {
  auto decode = tl::compile([](const Batch& b) {
    tl::Tensor y = b.tokens * (b.position + 1);
    if (b.mask) y = y.masked_fill(*b.mask, 0);
    for (const tl::Tensor& c : b.cache) y = y + c;
    return y;
  });
  const tl::Tensor tokens = tl::ones({4}), mask = tl::tensor({true, false, false, true});
  bool right = true;
  for (int position = 0; position < 5; ++position) {
    const Batch plain{tokens, std::nullopt, {}, position}, full{tokens, mask, {tokens, tokens}, position};
    right = right && decode(plain).sum().item<float>() == 4.0f * static_cast<float>(position + 1);
    right = right && decode(full).sum().item<float>() == 2.0f * static_cast<float>(position + 1) + 8;
  }
  std::cout << decode.stats();
  // One entry: what is in a batch selects none, what the body does with it is a path.
  return right && decode.stats().entries == 1 && decode.stats().paths == 2 ? 0 : 1;
}
