// Weights that are laid out once: whoever changes them, by whatever way, is seen at the next call; what may change unseen is left alone.

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "jit/prepared.h"
#include "support/expect.h"

namespace tailor {
namespace {

struct Net : nn::Module {
  nn::Linear first{nullptr}, second{nullptr};
  Tensor table{register_buffer("table", randn({48, 96}))};
  Net() {
    first = register_module("first", nn::Linear(96, 80));
    second = register_module("second", nn::Linear(80, 96));
  }
  Tensor forward(const Tensor& x) { return matmul(second(relu(first(x))), table.t()); }
};
constexpr int kWeights = 3;

// Two calls find out that the weights last.
template <class F>
void settle(F& f, const Tensor& x) {
  for (int i = 0; i < 4; ++i) f(x);
}

void expect_near(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.sizes().vec(), wanted.sizes().vec());
  EXPECT_LE((got - wanted).abs().max().item<float>(), 1e-4f * (1 + wanted.abs().max().item<float>()));
}

int packs() { return jit::shared_packs().count; }

class Weights : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { ASSERT_EQ(packs(), 0); }
  void TearDown() override { EXPECT_EQ(packs(), 0); }
  NoGradGuard no_grad_;
};

struct Mutation {
  const char* name;
  void (*apply)(Net& net);
  int packed_later = kWeights;
};
const Mutation kMutations[] = {
    {"in-place op", [](Net& n) { n.first->weight.mul_(2); }},
    {"fill_", [](Net& n) { n.second->weight.fill_(0.25); }},
    {"copy_",
     [](Net& n) {
       n.first->weight.copy_(randn({80, 96}));
     }},
    {"add_ scaled, as optimizers do",
     [](Net& n) {
       n.first->weight.add_(randn({80, 96}), -0.5);
     }},
    {"a view of a row", [](Net& n) { n.first->weight[3].zero_(); }},
    {"an index",
     [](Net& n) {
       n.second->weight.index_put_({5, 7}, 1000);
     }},
    {"a transposed view", [](Net& n) { n.table.t().narrow(0, 3, 2).add_(7); }},
    {"a reshaped alias", [](Net& n) { n.table.view({-1}).mul_(-1); }},
    {"a detached alias", [](Net& n) { n.first->weight.detach().sub_(1); }},
    {"data", [](Net& n) { n.first->weight.data().mul_(3); }},
    {"random values in place", [](Net& n) { nn::init::uniform_(n.second->weight, -1, 1); }},
    {"set_data",
     [](Net& n) {
       n.first->weight.set_data(randn({80, 96}));
     }},
    {"another tensor",
     [](Net& n) {
       n.first->weight = randn({80, 96}).set_requires_grad(true);
     }},
    {"another buffer", [](Net& n) { n.table = n.table * 2; }},
    {"swapped storage",
     [](Net& n) {
       const Tensor other = randn({48, 96});
       const Tensor mine = n.table.detach();
       n.table.set_data(other);
       other.set_data(mine);
     }},
    {"another layer", [](Net& n) { n.first = nn::Linear(96, 80); }},
    {"an executable that writes it",
     [](Net& n) {
       auto update = compile([&n] { n.first->weight.mul_(0.5); });
       update();
       update();
     }},
    {"a write through a pointer", [](Net& n) { n.first->weight.data_ptr<float>()[17] = 1e3f; }, kWeights - 1},
    {"a write through an accessor", [](Net& n) { n.table.accessor<float, 2>()[1][2] = -1e3f; }, kWeights - 1},
    {"memory from outside",
     [](Net& n) {
       static std::vector<float> values(80 * 96, 0.125f);
       n.first->weight.set_data(from_blob(values.data(), {80, 96}));
     },
     kWeights - 1},
};

TEST_P(Weights, EveryWriteIsSeenAtTheNextCall) {
  const Mutation& mutation = kMutations[GetParam()];
  SCOPED_TRACE(mutation.name);
  for (const int64_t rows : {1, 3, 5, 40}) {
    for (const bool pure : {false, true}) {
      auto net = std::make_shared<Net>();
      net->eval();
      const Tensor x = randn({rows, 96});
      auto f = compile(net, {.pure = pure});
      settle(f, x);
      EXPECT_EQ(packs(), kWeights);
      expect_near(f(x), net->forward(x));
      for (int round = 0; round < 2; ++round) {
        mutation.apply(*net);
        for (int call = 0; call < 4; ++call) expect_near(f(x), net->forward(x));
        EXPECT_EQ(packs(), mutation.packed_later);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, Weights, ::testing::Range(0, static_cast<int>(std::size(kMutations))));

TEST_F(Weights, ExposedMemoryIsReadAsItIs) {
  auto net = std::make_shared<Net>();
  float* const pointer = net->first->weight.data_ptr<float>();
  auto f = compile(net);
  const Tensor x = randn({6, 96});
  settle(f, x);
  EXPECT_EQ(packs(), kWeights - 1);
  for (int i = 0; i < 3; ++i) {
    pointer[i] = 50.f + static_cast<float>(i);  // nobody is told
    expect_near(f(x), net->forward(x));
  }
}

TEST_F(Weights, ExposureAfterPackingGivesTheCopyBack) {
  auto net = std::make_shared<Net>();
  auto f = compile(net);
  const Tensor x = randn({6, 96});
  settle(f, x);
  float* const pointer = net->second->weight.data_ptr<float>();
  settle(f, x);
  EXPECT_EQ(packs(), kWeights - 1);
  pointer[0] = 300;
  expect_near(f(x), net->forward(x));
}

TEST_F(Weights, EntriesShareCopiesAndGiveThemBack) {
  auto net = std::make_shared<Net>();
  {
    auto f = compile(net, {.dynamic = Dynamic::Never});
    auto g = compile(net, {.dynamic = Dynamic::Never, .pure = true});
    for (const int64_t rows : {1, 2, 30}) {
      settle(f, randn({rows, 96}));
      settle(g, randn({rows, 96}));
    }
    EXPECT_EQ(f.stats().entries, 3);
    EXPECT_EQ(packs(), kWeights);
    f.reset();
    EXPECT_EQ(packs(), kWeights);
    g.reset();
    EXPECT_EQ(packs(), 0);
  }
  auto one = compile(net, {.dynamic = Dynamic::Never, .cache_size_limit = 1});
  settle(one, randn({2, 96}));
  EXPECT_EQ(packs(), kWeights);
  one(randn({3, 96}));  // takes the place of the first entry
  EXPECT_EQ(packs(), 0);
}

TEST_F(Weights, ArgumentsAreNotWeightsUnlessRegistered) {
  auto product = compile([](const Tensor& x, const Tensor& w) { return matmul(x, w); });
  const Tensor x = randn({5, 96}), w = randn({96, 64});
  for (int i = 0; i < 4; ++i) product(x, w);
  EXPECT_EQ(packs(), 0);
  auto net = std::make_shared<Net>();
  auto linear = compile([](const Tensor& x, const Tensor& w) { return nn::functional::linear(x, w); });
  for (int i = 0; i < 4; ++i) linear(x, net->first->weight);
  EXPECT_EQ(packs(), 1);
  net->first->weight.add_(1);
  expect_near(linear(x, net->first->weight), nn::functional::linear(x, net->first->weight));
}

TEST_F(Weights, CapturedTensorsThatKeepChangingDoNotKeepOthersFromBeingLaidOut) {
  Tensor steady = randn({96, 80}), restless = randn({80, 64});
  auto f = compile([&](const Tensor& x) { return matmul(matmul(x, steady), restless); });
  const Tensor x = randn({5, 96});
  for (int i = 0; i < 40; ++i) {
    restless.add_(0.01);
    expect_near(f(x), matmul(matmul(x, steady), restless));
  }
  EXPECT_EQ(packs(), 1);
  // Once it rests, it is found out.
  for (int i = 0; i < 600; ++i) f(x);
  expect_near(f(x), matmul(matmul(x, steady), restless));
  EXPECT_EQ(packs(), 2);
}

TEST_F(Weights, WeightsThatTheSegmentWritesStayAsTheyAre) {
  auto net = std::make_shared<Net>();
  auto f = compile([net](const Tensor& x) {
    const Tensor y = net->forward(x);
    net->first->weight.mul_(0.5);
    return y + net->first(x).sum();
  });
  const Tensor x = randn({5, 96});
  for (int i = 0; i < 6; ++i) {
    const Tensor before = net->first->weight.clone();
    const Tensor got = f(x);
    net->first->weight.copy_(before);
    const Tensor y = net->forward(x);
    net->first->weight.mul_(0.5);
    expect_near(got, y + net->first(x).sum());
  }
}

TEST_F(Weights, ThreadsAndWritesInTurn) {
  auto net = std::make_shared<Net>();
  auto f = compile(net);
  const Tensor x = randn({5, 96});
  for (int round = 0; round < 20; ++round) {
    const Tensor wanted = net->forward(x);
    std::vector<std::thread> threads;
    std::vector<Tensor> results(2);
    for (size_t t = 0; t < results.size(); ++t)
      threads.emplace_back([&, t] {
        NoGradGuard no_grad;
        for (int i = 0; i < 5; ++i) results[t] = f(x);
      });
    for (std::thread& t : threads) t.join();
    for (const Tensor& result : results) expect_near(result, wanted);
    net->second->weight.mul_(1.1);
  }
}

TEST_F(Weights, HalfAndDoubleAndTransposedWeights) {
  for (const ScalarType type : {kFloat64, kFloat16, kBFloat16}) {
    const Tensor w = randn({96, 80}).to(type), v = randn({72, 80}).to(type);
    auto f = compile([&](const Tensor& x) { return matmul(matmul(x, w), v.t()); });
    for (const int64_t rows : {1, 7, 33}) {
      const Tensor x = randn({rows, 96}).to(type);
      settle(f, x);
      const Tensor wanted = matmul(matmul(x, w), v.t()).to(kFloat32), got = f(x).to(kFloat32);
      const float tolerance = type == kFloat64 ? 1e-5f : 0.02f;
      EXPECT_LE((got - wanted).abs().max().item<float>(), tolerance * (1 + wanted.abs().max().item<float>()));
    }
    EXPECT_EQ(packs(), 2);
  }
}

}  // namespace
}  // namespace tailor
