// A model written as for libtorch. Its parameters are reached through the module on every call: in-place updates and replaced
// parameters are seen by the next call.

#include <tailor/tailor.h>

#include <iostream>

namespace tl = tailor;

struct Net : tl::nn::Module {
  tl::nn::Linear fc1{nullptr}, fc2{nullptr};
  Net() {
    fc1 = register_module("fc1", tl::nn::Linear(64, 128));
    fc2 = register_module("fc2", tl::nn::Linear(128, 10));
  }
  tl::Tensor forward(tl::Tensor x) { return fc2(tl::relu(fc1(x))); }
};

int main() {
  tl::NoGradGuard no_grad;
  auto net = std::make_shared<Net>();
  auto fast = tl::compile(net, {.name = "net"});
  const tl::Tensor x = tl::randn({8, 64});
  bool right = true;
  const auto agree = [&] { right = right && tl::allclose(fast(x), net->forward(x), 1e-4, 1e-5); };
  agree();
  agree();
  net->fc2->bias.add_(1);
  agree();
  net->fc1->weight = tl::randn({128, 64});
  agree();
  std::swap(net->fc1, net->fc1);
  agree();
  std::cout << fast.stats();
  return right ? 0 : 1;
}
