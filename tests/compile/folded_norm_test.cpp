// Batch norms (and any scale and shift of channels) that became part of the weights before them: whatever of it changes is seen at the next
// call.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "jit/prepared.h"
#include "support/expect.h"

namespace tailor {
namespace {

struct Net : nn::Module {
  nn::Conv2d conv{nullptr}, plain{nullptr};
  nn::BatchNorm2d norm{nullptr}, plain_norm{nullptr};
  nn::Linear linear{nullptr};
  nn::BatchNorm1d linear_norm{nullptr};
  Net() {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(3, 20, 3).padding(1)));
    norm = register_module("norm", nn::BatchNorm2d(20));
    plain = register_module("plain", nn::Conv2d(nn::Conv2dOptions(20, 24, 3).stride(2).bias(false)));
    plain_norm = register_module("plain_norm", nn::BatchNorm2d(24));
    linear = register_module("linear", nn::Linear(24, 80));
    linear_norm = register_module("linear_norm", nn::BatchNorm1d(80));
    for (nn::BatchNorm2d n : {norm, plain_norm}) vary(n->weight, n->bias, n->running_mean, n->running_var);
    vary(linear_norm->weight, linear_norm->bias, linear_norm->running_mean, linear_norm->running_var);
  }
  static void vary(Tensor& weight, Tensor& bias, Tensor& mean, Tensor& variance) {
    NoGradGuard no_grad;
    weight.uniform_(0.5, 2);
    bias.uniform_(-1, 1);
    mean.uniform_(-1, 1);
    variance.uniform_(0.5, 2);
  }
  Tensor forward(const Tensor& x) {
    const Tensor y = relu(plain_norm(plain(relu(norm(conv(x))))));
    return linear_norm(linear(y.permute({0, 2, 3, 1}).reshape({-1, 24})));
  }
};

void expect_near(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.sizes().vec(), wanted.sizes().vec());
  EXPECT_LE((got - wanted).abs().max().item<float>(), 1e-4f * (1 + wanted.abs().max().item<float>()));
}

int copies() { return jit::shared_packs().count; }

class FoldedNorm : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(copies(), 0); }
  void TearDown() override { EXPECT_EQ(copies(), 0); }
  NoGradGuard no_grad_;
};

struct Mutation {
  const char* name;
  void (*apply)(Net& net);
};
const Mutation kMutations[] = {
    {"conv weight", [](Net& n) { n.conv->weight.mul_(1.5); }},
    {"conv bias", [](Net& n) { n.conv->bias.add_(1); }},
    {"norm weight", [](Net& n) { n.norm->weight.mul_(-1); }},
    {"norm bias", [](Net& n) { n.norm->bias.sub_(0.5); }},
    {"running mean", [](Net& n) { n.norm->running_mean.add_(2); }},
    {"running variance", [](Net& n) { n.norm->running_var.mul_(4); }},
    {"weight without bias", [](Net& n) { n.plain->weight[3].zero_(); }},
    {"its norm's weight", [](Net& n) { n.plain_norm->weight.fill_(0.25); }},
    {"its norm's bias", [](Net& n) { n.plain_norm->bias.copy_(randn({24})); }},
    {"its running mean", [](Net& n) { n.plain_norm->running_mean.zero_(); }},
    {"its running variance", [](Net& n) { n.plain_norm->running_var.narrow(0, 4, 8).fill_(9); }},
    {"linear weight", [](Net& n) { n.linear->weight.neg_(); }},
    {"linear bias", [](Net& n) { n.linear->bias.mul_(3); }},
    {"linear norm's weight", [](Net& n) { n.linear_norm->weight.add_(1); }},
    {"linear norm's bias", [](Net& n) { n.linear_norm->bias.detach().add_(1); }},
    {"linear running mean", [](Net& n) { n.linear_norm->running_mean.data().sub_(1); }},
    {"linear running variance", [](Net& n) { n.linear_norm->running_var.set_data(rand({80}) + 0.5); }},
    {"another tensor", [](Net& n) { n.norm->running_mean = randn({20}); }},
    {"another norm", [](Net& n) { n.norm = nn::BatchNorm2d(20); }},
    {"a write through a pointer", [](Net& n) { n.norm->running_var.data_ptr<float>()[7] = 100; }},
    {"an executable that writes it",
     [](Net& n) {
       auto update = compile([&n] { n.plain_norm->running_mean.mul_(0.5); });
       update();
       update();
     }},
    {"statistics of training",
     [](Net& n) {
       n.train();
       for (int i = 0; i < 3; ++i) n.forward(randn({16, 3, 12, 12}) * 3 + 1);
       n.eval();
     }},
    {"a loaded state",
     [](Net& n) {
       const std::string path = (std::filesystem::temp_directory_path() / "tailor_folded_norm.safetensors").string();
       auto other = std::make_shared<Net>();
       save(*other, path);
       load(n, path);
       std::filesystem::remove(path);
     }},
};

TEST_F(FoldedNorm, EveryWriteIsSeenAtTheNextCall) {
  for (const Mutation& mutation : kMutations) {
    SCOPED_TRACE(mutation.name);
    for (const int64_t images : {3, 16}) {
      for (const bool pure : {false, true}) {
        auto net = std::make_shared<Net>();
        net->eval();
        const Tensor x = randn({images, 3, 12, 12});
        auto f = compile(net, {.pure = pure});
        for (int call = 0; call < 4; ++call) expect_near(f(x), net->forward(x));
        for (int round = 0; round < 2; ++round) {
          mutation.apply(*net);
          for (int call = 0; call < 4; ++call) expect_near(f(x), net->forward(x));
        }
      }
    }
  }
}

TEST_F(FoldedNorm, ModesTakeTurns) {
  auto net = std::make_shared<Net>();
  auto f = compile(net);
  const Tensor x = randn({16, 3, 12, 12});
  for (int round = 0; round < 3; ++round) {
    net->eval();
    for (int call = 0; call < 4; ++call) expect_near(f(x), net->forward(x));
    net->train();  // changes the statistics
    for (int call = 0; call < 2; ++call) expect_near(f(x + round), net->forward(x + round));
  }
  EXPECT_LE(f.stats().misses, 2u);
}

TEST_F(FoldedNorm, ScaledWeightsAreKept) {
  auto net = std::make_shared<Net>();
  net->eval();
  auto f = compile(net);
  const Tensor x = randn({16, 3, 12, 12});
  for (int call = 0; call < 3; ++call) f(x);
  // Weights and biases of three products (together: they share a factor), and the layouts of the convolutions' weights.
  EXPECT_EQ(copies(), 5);
  EXPECT_GT(jit::shared_packs().bytes, 4 * (2 * (3 * 20 * 9 + 20 * 24 * 9) + 24 * 80));
  f(randn({32, 3, 12, 12}));
  f(randn({48, 3, 12, 12}));
  EXPECT_EQ(f.stats().entries, 1);
  f.reset();
  EXPECT_EQ(copies(), 0);
}

// Ops ahead are called one by one, but large weights between them are not kept beside what comes of them.
TEST_F(FoldedNorm, LargeWeightsBetweenOpsAreNotKept) {
  for (const int64_t rows : {30, 300}) {
    const Tensor w = randn({rows, 400}), row = rand({400}) + 0.5, x = randn({70, rows});
    const auto body = [&](const Tensor& a) { return matmul(a, (w * 2 + 1) * row); };
    auto f = compile(body);
    for (int call = 0; call < 4; ++call) expect_near(f(x), body(x));
    EXPECT_EQ(copies(), 2);  // the product's weights, and their layout
    if (rows == 300) { EXPECT_LT(jit::shared_packs().bytes, rows * 400 * 4 * 5 / 2); }
  }
}

TEST_F(FoldedNorm, CanBeTurnedOff) {
  auto net = std::make_shared<Net>();
  net->eval();
  auto f = compile(net, {.fold_weights = false});
  const Tensor x = randn({16, 3, 12, 12});
  for (int call = 0; call < 3; ++call) expect_near(f(x), net->forward(x));
  EXPECT_EQ(copies(), 2);
}

// One that changes on each call does not keep the others from being folded ahead, and is right on each.
TEST_F(FoldedNorm, RestlessStatistics) {
  auto net = std::make_shared<Net>();
  net->eval();
  auto f = compile(net);
  const Tensor x = randn({16, 3, 12, 12});
  for (int call = 0; call < 30; ++call) {
    net->norm->running_mean.add_(0.125);
    expect_near(f(x), net->forward(x));
  }
  EXPECT_EQ(copies(), 3);
}

TEST_F(FoldedNorm, ScalesAndShiftsOfChannels) {
  const Tensor w = randn({32, 5, 3}), scale = rand({32, 1}) + 0.5, shift = randn({32, 1}), w2 = randn({5, 24}), row = rand({24}) + 0.5;
  const std::function<Tensor(const Tensor&)> functions[] = {
      [&](const Tensor& x) { return conv1d(x, w) * scale + shift; },
      [&](const Tensor& x) { return (shift - conv1d(x, w)) / scale; },
      [&](const Tensor& x) { return scale * (shift + conv1d(x, w)) * scale - shift; },
      [&](const Tensor& x) { return (conv1d(x, w) - shift) * scale - shift; },
      [&](const Tensor& x) {
        return relu(matmul(x.transpose(1, 2).reshape({-1, 5}), w2) * row + row);
      },
      [&](const Tensor& x) {
        return matmul(x.transpose(1, 2).reshape({-1, 5}), w2 * 2) / row;
      },
      // Not by channel, or read by others too: these stay as they are.
      [&](const Tensor& x) {
        return conv1d(x, w) * scale.t().reshape({1, 32, 1}).expand({1, 32, 14});
      },
      [&](const Tensor& x) {
        const Tensor y = conv1d(x, w);
        return y * scale + y;
      },
      [&](const Tensor& x) { return conv1d(x, w) * x.mean(); },
  };
  for (size_t i = 0; i < std::size(functions); ++i) {
    SCOPED_TRACE(i);
    auto f = compile(functions[i]);
    for (const int64_t n : {6, 6, 6, 9, 9, 70, 1, 1, 1}) {
      const Tensor x = randn({n, 5, 16});
      expect_near(f(x), functions[i](x));
    }
  }
}

// float64 is folded too; half types, which round once, are not.
TEST_F(FoldedNorm, OtherTypes) {
  for (const ScalarType type : {kFloat64, kBFloat16}) {
    const Tensor w = randn({32, 5, 3}).to(type), scale = (rand({32, 1}) + 0.5).to(type);
    const auto body = [&](const Tensor& x) { return conv1d(x, w) * scale; };
    auto f = compile(body);
    const Tensor x = randn({6, 5, 16}).to(type);
    for (int call = 0; call < 4; ++call) {
      const Tensor wanted = body(x).to(kFloat64), got = f(x).to(kFloat64);
      EXPECT_LE((got - wanted).abs().max().item<double>(), (type == kFloat64 ? 1e-12 : 0) * wanted.abs().max().item<double>());
    }
    EXPECT_EQ(copies(), type == kFloat64 ? 2 : 1);  // scaled, and laid out
  }
}

}  // namespace
}  // namespace tailor
