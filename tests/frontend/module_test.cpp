// Modules: registration, traversal, modes, initial values, layers, containers.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "frontend/nn/epoch.h"
#include "tailor/tailor.h"

using namespace tailor;

namespace {

struct NetImpl : nn::Module {
  nn::Linear fc1{nullptr}, fc2{nullptr};
  nn::Dropout drop;
  NetImpl(int64_t in = 4, int64_t out = 2) {
    fc1 = register_module("fc1", nn::Linear(in, 8));
    fc2 = register_module("fc2", nn::Linear(nn::LinearOptions(8, out).bias(false)));
    register_module("drop", drop);
  }
  Tensor forward(Tensor x) { return fc2(drop(relu(fc1(x)))); }
};
TAILOR_MODULE(Net);

std::string message(auto&& f) {
  try {
    f();
  } catch (const std::exception& e) { return e.what(); }
  return "no error";
}

}  // namespace

TEST(Module, NamesParametersInOrder) {
  Net net;
  EXPECT_EQ(net->named_parameters().keys(), (std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight"}));
  EXPECT_EQ(net->parameters().size(), 3u);
  EXPECT_TRUE(net->parameters()[0].is_same(net->fc1->weight));
  EXPECT_TRUE(net->fc1->weight.requires_grad());
  EXPECT_EQ(net->named_modules().keys(), (std::vector<std::string>{"", "fc1", "fc2", "drop"}));
  EXPECT_EQ(net->children().size(), 3u);
}

TEST(Module, RegistrationErrors) {
  Net net;
  EXPECT_EQ(message([&] { net->register_module("fc1", nn::ReLU()); }), "Submodule 'fc1' already defined");
  EXPECT_EQ(message([&] { net->register_parameter("a.b", ones({1})); }), "Parameter name must not contain a dot (got 'a.b')");
  EXPECT_EQ(message([&] { net->register_buffer("", ones({1})); }), "Buffer name must not be empty");
  EXPECT_EQ(message([&] { (void)nn::Linear(nullptr)->weight; }), "Accessing empty ModuleHolder");
}

TEST(Module, TrainAndEvalReachAll) {
  Net net;
  net->eval();
  EXPECT_FALSE(net->drop->is_training());
  const Tensor x = ones({3, 4});
  EXPECT_TRUE(equal(net->drop(x), x));
  net->train();
  EXPECT_TRUE(net->fc1->is_training());
}

TEST(Module, EpochSeesChanges) {
  Net net;
  uint64_t before = detail::module_epoch();
  const auto bumped = [&] { return std::exchange(before, detail::module_epoch()) != before; };
  { auto p = net->named_parameters(); }
  { auto p = net->parameters(); }
  Tensor copy = net->fc1->weight;
  EXPECT_FALSE(bumped());
  net->fc1->weight = ones({8, 4});
  EXPECT_TRUE(bumped());
  Tensor taken = std::move(net->fc1->bias);
  EXPECT_TRUE(bumped());
  std::swap(net->fc1, net->fc2);
  EXPECT_TRUE(bumped());
  net->fc1 = nn::Linear(4, 8);
  EXPECT_TRUE(bumped());
  net->eval();
  EXPECT_TRUE(bumped());
  net->eval();
  EXPECT_FALSE(bumped());
  net->register_buffer("b", ones({1}));
  EXPECT_TRUE(bumped());
}

TEST(Module, ToConvertsFloats) {
  nn::BatchNorm1d bn(3);
  bn->to(kFloat64);
  EXPECT_EQ(bn->weight.dtype(), kFloat64);
  EXPECT_EQ(bn->running_mean.dtype(), kFloat64);
  EXPECT_EQ(bn->num_batches_tracked.dtype(), kInt64);
  EXPECT_TRUE(bn->weight.requires_grad());
}

TEST(Module, CloneIsDeep) {
  nn::Linear a(2, 3);
  auto b = std::dynamic_pointer_cast<nn::LinearImpl>(a->clone());
  EXPECT_TRUE(equal(a->weight.detach(), b->weight.detach()));
  EXPECT_FALSE(a->weight.is_alias_of(b->weight));
  EXPECT_THROW(Net()->clone(), Error);
}

TEST(Module, InitialValuesAreWithinTheirBounds) {
  manual_seed(1);
  nn::Linear fc(100, 50);
  EXPECT_LE(fc->weight.detach().abs().max().item<float>(), 0.1f);
  EXPECT_GT(fc->weight.detach().abs().max().item<float>(), 0.095f);
  EXPECT_LE(fc->bias.detach().abs().max().item<float>(), 0.1f);
  manual_seed(1);
  nn::Linear again(100, 50);
  EXPECT_TRUE(equal(fc->weight.detach(), again->weight.detach()));
  Tensor w = empty({30, 20});
  nn::init::xavier_uniform_(w);
  EXPECT_LE(w.abs().max().item<double>(), std::sqrt(6.0 / 50));
  EXPECT_EQ(std::get<1>(nn::init::_calculate_fan_in_and_fan_out(empty({4, 3, 2, 2}))), 16);
  nn::Embedding table(nn::EmbeddingOptions(5, 3).padding_idx(2));
  EXPECT_EQ(table->weight.detach()[2].abs().sum().item<float>(), 0);
}

TEST(Module, LayersCompute) {
  NoGradGuard no_grad;
  nn::Linear fc(2, 1);
  fc->weight.copy_(tensor({{2.0, 3.0}}));
  fc->bias.fill_(1);
  EXPECT_EQ(fc(tensor({{1.0, 10.0}})).item<float>(), 33);
  nn::Conv2d conv(nn::Conv2dOptions(1, 1, 3).padding(1).bias(false));
  conv->weight.fill_(1);
  EXPECT_EQ(conv(ones({1, 1, 3, 3})).sum().item<float>(), 49);
  nn::BatchNorm1d bn(1);
  const Tensor y = bn(tensor({{1.0}, {3.0}}));
  EXPECT_NEAR(y[1].item<float>(), 1, 1e-4);
  EXPECT_NEAR(bn->running_mean.item<float>(), 0.2, 1e-6);
  EXPECT_NEAR(bn->running_var.item<float>(), 0.9 + 0.2, 1e-6);
  EXPECT_EQ(bn->num_batches_tracked.item<int64_t>(), 1);
  EXPECT_EQ(nn::MaxPool2d(2)(arange(16, kFloat).view({1, 4, 4})).sum().item<float>(), 5 + 7 + 13 + 15);
  EXPECT_EQ(nn::AdaptiveAvgPool2d(1)(ones({2, 3, 4, 4})).sizes(), (IntArrayRef{2, 3, 1, 1}));
  EXPECT_EQ(nn::Flatten()(ones({2, 3, 4})).sizes(), (IntArrayRef{2, 12}));
  EXPECT_NEAR(nn::MSELoss()(ones({2}), zeros({2})).item<float>(), 1, 0);
}

TEST(Module, SequentialRunsInOrder) {
  nn::Sequential net(nn::Linear(2, 3), nn::ReLU(), nn::Linear(3, 1));
  EXPECT_EQ(net->size(), 3u);
  EXPECT_EQ(net(ones({5, 2})).sizes(), (IntArrayRef{5, 1}));
  EXPECT_EQ(net->named_parameters().keys(), (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"}));
  net->push_back("last", nn::Sigmoid());
  net->push_back(nn::Functional([](Tensor x) { return x * 2; }));
  EXPECT_EQ(net->ptr(3)->name().substr(0, 6), "tailor");
  EXPECT_EQ(net->at<nn::LinearImpl>(0).options.out_features(), 3);
  EXPECT_LE(net(ones({5, 2})).max().item<float>(), 2);
  nn::Sequential named({{"fc", nn::Linear(1, 1)}, {"act", nn::ReLU()}});
  EXPECT_EQ(named->named_children().keys(), (std::vector<std::string>{"fc", "act"}));
  nn::Sequential none;
  EXPECT_TRUE(message([&] { none->forward(ones({1})); }).starts_with("Cannot call forward() on an empty Sequential, at module_test.cpp:"));
  nn::ModuleList list(nn::Linear(1, 2), nn::ReLU());
  EXPECT_EQ(list->size(), 2u);
  EXPECT_NE((*list)[0]->as<nn::LinearImpl>(), nullptr);
}

TEST(Module, PrintsAsATree) {
  std::ostringstream out;
  out << nn::Sequential(nn::Linear(2, 3), nn::ReLU(), nn::Conv2d(nn::Conv2dOptions(1, 2, 3).padding(1)));
  EXPECT_EQ(out.str(),
            "torch::nn::Sequential(\n"
            "  (0): torch::nn::Linear(in_features=2, out_features=3, bias=true)\n"
            "  (1): torch::nn::ReLU()\n"
            "  (2): torch::nn::Conv2d(1, 2, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1])\n"
            ")");
}

TEST(Module, ErrorsInsideLayersNameTheCaller) {
  nn::Linear fc(3, 2);
  const std::string text = message([&] { fc(ones({1, 4})); });
  EXPECT_NE(text.find("module_test.cpp:" + std::to_string(__LINE__ - 1)), std::string::npos) << text;
}
