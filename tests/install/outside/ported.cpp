#include <torch/torch.h>

#include <iostream>

int main() {
  torch::Tensor x = torch::arange(6, torch::kFloat32).view({2, 3});
  torch::nn::Linear fc(3, 1);
  std::cout << x << "\n" << fc->forward(x).sizes() << "\n";
  return x.sum().item<float>() == 15 ? 0 : 1;
}
