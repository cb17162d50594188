// A program written for libtorch, unchanged: #include <torch/torch.h>, the torch, at and c10 names, its macros.

#include <torch/torch.h>

#include <gtest/gtest.h>

namespace F = torch::nn::functional;
using namespace torch::indexing;

struct ConvNetImpl : torch::nn::Module {
  explicit ConvNetImpl(int64_t classes)
      : conv1(torch::nn::Conv2dOptions(1, 4, /*kernel_size=*/3).stride(1).padding(1).bias(false)),
        bn(torch::nn::BatchNorm2dOptions(4).eps(1e-5)),
        fc(torch::nn::LinearOptions(4 * 4 * 4, classes)) {
    register_module("conv1", conv1);
    register_module("bn", bn);
    register_module("fc", fc);
    scale = register_parameter("scale", torch::ones({1}));
    seen = register_buffer("seen", torch::zeros({1}, torch::kLong));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(bn(conv1->forward(x))), 2);
    x = x.view({x.size(0), -1}) * scale;
    x = torch::dropout(x, /*p=*/0.5, is_training());
    return torch::log_softmax(fc(x), /*dim=*/1);
  }
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn;
  torch::nn::Linear fc;
  torch::Tensor scale, seen;
};
TORCH_MODULE(ConvNet);

struct Options {
  TORCH_ARG(double, rate) = 0.1;
  TORCH_ARG(std::vector<int64_t>, sizes) = {1, 2};
};

TEST(Compat, Network) {
  torch::manual_seed(0);
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  ConvNet net(10);
  net->to(device);
  net->eval();
  torch::NoGradGuard no_grad;
  auto x = torch::randn({2, 1, 8, 8}, torch::TensorOptions().dtype(torch::kFloat32).device(device));
  auto out = net->forward(x);
  ASSERT_EQ(out.sizes(), torch::IntArrayRef({2, 10}));
  auto total = out.exp().sum(1);
  EXPECT_TRUE(torch::allclose(total, torch::ones({2})));
  auto target = torch::tensor({1, 2}, torch::kLong);
  auto loss = torch::nll_loss(out, target);
  EXPECT_NEAR(loss.item<float>(), torch::nn::functional::nll_loss(out, target).item<double>(), 1e-6);
  auto pred = out.argmax(1);
  EXPECT_EQ(pred.eq(target).sum().item<int64_t>() >= 0, true);
  int64_t count = 0;
  for (auto& p : net->parameters()) count += p.numel();
  EXPECT_EQ(count, 4 * 9 + 8 + 640 + 10 + 1);
  for (const auto& pair : net->named_parameters()) EXPECT_TRUE(pair.value().defined()) << pair.key();
}

TEST(Compat, TensorsAndIndexing) {
  auto x = torch::arange(12, torch::dtype(torch::kFloat32)).reshape({3, 4});
  EXPECT_EQ(x.index({1, Slice(1, 3)}).sum().item<float>(), 11);
  EXPECT_EQ(x.index({"...", 0}).sizes(), c10::IntArrayRef({3}));
  EXPECT_EQ(x.index({Slice(None, None, 2), Slice()}).size(0), 2);
  EXPECT_EQ(x.index({torch::tensor({0, 2})}).sizes(), (std::vector<int64_t>{2, 4}));
  x.index_put_({Slice(), 0}, 100);
  x.index_put_({x > 50}, torch::tensor(1.0f));
  EXPECT_EQ(x.sum().item<float>(), 66 - 12 + 3);
  EXPECT_EQ(x.index({None, Ellipsis, 0}).dim(), 2);
  auto a = x.accessor<float, 2>();
  EXPECT_EQ(a[2][3], 11);
  float raw[] = {1, 2, 3};
  auto blob = torch::from_blob(raw, {3}, torch::kFloat).clone();
  raw[0] = 9;
  EXPECT_EQ(blob[0].item<float>(), 1);
  auto [values, indices] = torch::max(x, 1);
  EXPECT_EQ(std::get<0>(x.topk(1, 1)).numel(), 3);
  EXPECT_EQ(values.numel() + indices.numel(), 6);
  auto parts = torch::chunk(x, 2, 1);
  EXPECT_TRUE(torch::equal(torch::cat({parts[0], parts[1]}, 1), x));
  EXPECT_EQ(torch::stack({x, x}).sizes(), at::IntArrayRef({2, 3, 4}));
  at::Tensor b = at::ones({2}) + 1;
  b += 2.5;
  b[0] = 7;
  EXPECT_EQ((b * 2).sum().item<double>(), 23);
  EXPECT_EQ(torch::full({2, 2}, 3).dtype(), torch::kLong);
  EXPECT_EQ(torch::linspace(0, 1, 5)[4].item<float>(), 1);
  EXPECT_EQ(torch::where(x > 5, x, torch::zeros_like(x)).min().item<float>(), 0);
  EXPECT_EQ(torch::empty({0}).numel(), 0);
  c10::optional<torch::Tensor> none = c10::nullopt;
  EXPECT_FALSE(none.has_value());
  EXPECT_THROW(torch::mm(torch::ones({2, 3}), torch::ones({2, 3})), c10::Error);
  EXPECT_THROW(TORCH_CHECK(1 + 1 == 3, "sum is ", 2), torch::Error);
}

TEST(Compat, FunctionalAndInit) {
  torch::nn::Linear fc(4, 4);
  torch::nn::init::kaiming_normal_(fc->weight, 0.0, torch::kFanOut, torch::kReLU);
  torch::nn::init::constant_(fc->bias, 0.5);
  EXPECT_EQ(fc->bias.sum().item<float>(), 2);
  auto x = torch::rand({2, 4});
  auto loss = F::cross_entropy(x, torch::tensor({0, 1}), F::CrossEntropyFuncOptions().reduction(torch::kSum).label_smoothing(0.1));
  EXPECT_TRUE(std::isfinite(loss.item<double>()));
  EXPECT_EQ(F::mse_loss(x, x, torch::nn::MSELossOptions(torch::kNone)).sizes(), x.sizes());
  EXPECT_EQ(F::interpolate(torch::ones({1, 1, 2, 2}),
                           F::InterpolateFuncOptions().size(std::vector<int64_t>{4, 4}).mode(torch::kBilinear).align_corners(false))
                .size(3),
            4);
  EXPECT_EQ(F::pad(x, F::PadFuncOptions({1, 1}).mode(torch::kConstant).value(2)).size(1), 6);
  EXPECT_EQ(F::leaky_relu(torch::tensor({-1.0}), F::LeakyReLUFuncOptions().negative_slope(0.2)).item<float>(), -0.2f);
  EXPECT_EQ(Options().rate(0.5).sizes({3}).rate(), 0.5);
  torch::nn::Sequential seq(torch::nn::Linear(4, 3), torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.1)),
                            torch::nn::Functional(torch::relu), torch::nn::Softmax(torch::nn::SoftmaxOptions(1)));
  EXPECT_EQ(seq->forward(x).sizes(), torch::IntArrayRef({2, 3}));
  torch::nn::ModuleList list;
  for (int i = 0; i < 3; ++i) list->push_back(torch::nn::Linear(4, 4));
  for (const auto& module : *list) x = module->as<torch::nn::Linear::Impl>()->forward(x);
  EXPECT_EQ(x.size(1), 4);
}
