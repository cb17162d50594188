// Sizes and shapes of programs that break compilers: many inputs, deep chains, shared subexpressions, odd names, caches at their
// limit, input that is wrong.

#include <cmath>
#include <thread>

#include "traps/both_ways.h"

namespace tailor {
namespace {

using testing::both_ways;
using testing::f32;
using testing::Function;
using testing::Tensors;

// A58
TEST(Robustness, TwoHundredInputsOfOneKernel) {
  for (bool strided : {false, true}) {
    Tensors in;
    for (int i = 1; i <= 200; ++i) {
      const Tensor t = full({32, 16}, 1.0 * i);
      in.push_back(strided && i % 2 ? t.view({16, 32}).t() : t);
    }
    const Tensors out = both_ways(in, Function([](const Tensors& t) {
                                    Tensor s = t[0];
                                    for (size_t i = 1; i < t.size(); ++i) s = s + t[i];
                                    return Tensors{s};
                                  }));
    EXPECT_TRUE(equal(out[0], full({32, 16}, 20100.0)));
  }
  Tensors eight;
  for (int i = 0; i < 8; ++i) eight.push_back(full({33}, 1.5).to(kFloat16));
  both_ways(eight, Function([](const Tensors& t) {
              Tensor p = t[0];
              for (size_t i = 1; i < t.size(); ++i) p = p * t[i];
              return Tensors{p};
            }));
}

TEST(Robustness, SixtyOutputsOfOneInput) {
  const Tensors out = both_ways(Tensors{arange(19).to(kFloat32)}, Function([](const Tensors& t) {
                                  Tensors all;
                                  for (int i = 0; i < 60; ++i) all.push_back(t[0] * i + 1);
                                  return all;
                                }));
  for (int i = 0; i < 60; ++i) EXPECT_EQ(out[static_cast<size_t>(i)][18].item<float>(), static_cast<float>(18 * i + 1));
}

// A40
TEST(Robustness, SharedSubexpressions) {
  auto twice = compile([](Tensor x) {
    for (int i = 0; i < 30; ++i) x = x * x - x;
    return x;
  });
  auto pair = compile([](Tensor a, Tensor b) {
    for (int i = 0; i < 40; ++i) std::tie(a, b) = std::make_tuple(a + b, a - b);
    return std::make_pair(a, b);
  });
  for (int call = 0; call < 3; ++call) {
    EXPECT_VALUES(twice(f32({1})), 0);
    auto [a, b] = pair(f32({1}), f32({1}));
    EXPECT_VALUES(a, 1048576);
    EXPECT_VALUES(b, 1048576);
  }
}

// A41
TEST(Robustness, ChainOfTwentyThousandOps) {
  std::thread([] {
    auto f = compile([](Tensor x) {
      for (int i = 0; i < 20000; ++i) x = x + 1;
      return x;
    });
    for (int call = 0; call < 3; ++call) EXPECT_VALUES(f(f32({0})), 20000);
  }).join();
}

TEST(Robustness, ManySmallConstantsAndGathers) {
  both_ways(Tensors{arange(8).to(kFloat32), tensor({1, 0, 3}, kLong)}, Function([](const Tensors& in) {
              Tensor y = in[0];
              for (int i = 0; i < 25; ++i) {
                y = y + full({}, 0.5 * i);
                y = y + gather(y, 0, in[1]).narrow(0, 1, 1);
                y = y / y.abs().amax();
              }
              return Tensors{y};
            }));
}

// A59
TEST(Robustness, NamesOfFunctions) {
  for (const char* name : {"exp", "main", "kernel", "memcpy", "expf", "malloc", "a b\"c%s\n", "", "exp"}) {
    auto f = compile([](Tensor x) { return x.exp() + 0; }, {.name = name});
    auto g = compile([](Tensor x) { return x + 2; }, {.name = name});
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(f(f32({1})).item<float>(), 2.71828183f, 1e-6);
      EXPECT_VALUES(g(f32({1})), 3);
    }
    { const auto dropped = std::move(f); }
    auto h = compile([](Tensor x) { return x + 5; }, {.name = name});
    for (int i = 0; i < 2; ++i) EXPECT_VALUES(h(f32({1})), 6);
  }
  std::vector<Compiled<Tensor(Tensor)>> kept;
  for (int k = 0; k < 60; ++k) {
    kept.push_back(compile([k](Tensor x) { return x + k; }, {.name = "one"}));
    kept.back()(f32({0}));
  }
  for (int k = 0; k < 60; ++k) EXPECT_VALUES(kept[static_cast<size_t>(k)](f32({0})), static_cast<float>(k));
}

// A62
TEST(Robustness, CacheAtItsLimit) {
  auto f =
      compile([](Tensor x) { return x + 1; }, {.dynamic = Dynamic::Never, .cache_size_limit = 8, .at_limit = CacheLimitPolicy::RunEager});
  for (int64_t n = 1; n <= 12; ++n) EXPECT_EQ(f(ones({n})).sum().item<float>(), static_cast<float>(2 * n));
  EXPECT_EQ(f.stats().entries, 8);
  EXPECT_EQ(f.stats().eager.at_limit, 4u);
  const uint64_t hits = f.stats().hits, misses = f.stats().misses;
  for (int64_t n = 1; n <= 8; ++n) f(ones({n}));
  EXPECT_EQ(f.stats().hits, hits + 8);
  EXPECT_EQ(f.stats().misses, misses);
  auto g = compile([](Tensor x) { return x + 1; }, {.dynamic = Dynamic::Never, .cache_size_limit = 2});
  for (int round = 0; round < 3; ++round)
    for (int64_t n = 1; n <= 4; ++n) EXPECT_EQ(g(ones({n})).sum().item<float>(), static_cast<float>(2 * n));
  EXPECT_EQ(g.stats().entries, 2);
  EXPECT_GT(g.stats().evictions, 0u);
}

// A36
TEST(Robustness, NumbersThatChangeOnEveryCall) {
  for (bool pure : {false, true}) {
    auto f = compile([](Tensor x, double s) { return x * s; }, {.pure = pure});
    const Tensor x = ones({4});
    for (int i = 1; i <= 3000; ++i) ASSERT_EQ(f(x, 0.5 * i)[3].item<float>(), static_cast<float>(0.5 * i));
    EXPECT_LE(f.stats().recompiles, 1u);
    EXPECT_EQ(f.stats().entries, 1);
  }
}

// Paths past the limit run eagerly, and rightly.
TEST(Robustness, MorePathsThanAreRecorded) {
  int path = 0;
  Tensor c = f32({0});
  auto f = compile([&](Tensor x) {
    c.add_(1);
    Tensor y = x + 1;
    for (int bit = 0; bit < 8; ++bit) y = path >> bit & 1 ? y * 3 : y - 1;
    return y;
  });
  const auto want = [](float x, int p) {
    float y = x + 1;
    for (int bit = 0; bit < 8; ++bit) y = p >> bit & 1 ? y * 3 : y - 1;
    return y;
  };
  float calls = 0;
  for (int i = 0; i < 300; ++i) {
    path = i * 37 % 256;
    ASSERT_EQ(f(f32({2})).item<float>(), want(2, path));
    ASSERT_EQ(c.item<float>(), ++calls);
  }
}

// Wrong input is the same error in both, with the same text, and what follows works.
TEST(Robustness, WrongInput) {
  using Case = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<const char*, Case>> cases = {
      {"shapes", [](const Tensor& x) { return x + ones({3}); }},
      {"inner dimensions",
       [](const Tensor& x) {
         return matmul(x, ones({3, 3}));
       }},
      {"rank", [](const Tensor& x) { return x.transpose(0, 5); }},
      {"dim", [](const Tensor& x) { return x.sum(7); }},
      {"view",
       [](const Tensor& x) {
         return x.view({3, 3});
       }},
      {"index", [](const Tensor& x) { return x.select(0, 9); }},
      {"narrow", [](const Tensor& x) { return x.narrow(0, 1, 9); }},
      {"dtype", [](const Tensor& x) { return x.bitwise_and(1); }},
      {"in place dtype", [](const Tensor& x) { return x.to(kInt32).add_(1.5); }},
      {"in place shape",
       [](const Tensor& x) {
         return x.clone().add_(ones({5, 2, 2}));
       }},
      {"cat",
       [](const Tensor& x) {
         return cat({x, ones({2, 2, 2})});
       }},
      {"undefined", [](const Tensor& x) { return x + Tensor(); }},
      {"device", [](const Tensor& x) { return x.cuda(); }},
      {"item", [](const Tensor& x) { return x + x.item<float>(); }},
      {"negative size", [](const Tensor& x) { return x + ones({-1}); }},
      {"expand",
       [](const Tensor& x) {
         return x.expand({3, 2});
       }},
      {"huge",
       [](const Tensor& x) {
         return x + empty({int64_t{1} << 40, 1 << 10}).sum();
       }},
      {"overflowing sizes",
       [](const Tensor& x) {
         return x + empty({int64_t{1} << 40, int64_t{1} << 40}).sum();
       }},
      {"overflowing view",
       [](const Tensor& x) {
         return x.narrow(0, 0, 1).narrow(1, 0, 1).expand({int64_t{1} << 40, int64_t{1} << 40}).sum() + x;
       }},
      {"accessor", [](const Tensor& x) { return x + x.accessor<double, 2>()[0][0]; }},
  };
  for (const auto& [name, f] : cases) {
    SCOPED_TRACE(name);
    bool bad = true;
    const Function once = [&, &f = f](const Tensors& in) {
      Tensor y = in[0] * 2;
      if (bad) y = f(y);
      return Tensors{y + 1};
    };
    const auto text = [](const auto& g) {
      try {
        g({ones({2, 2})});
      } catch (const Error& e) { return std::string(e.what()); }
      return std::string("no error");
    };
    const std::string want = text(once);
    EXPECT_NE(want, "no error");
    if (std::string_view(name) != "undefined" && std::string_view(name) != "device") {
      EXPECT_NE(want.find("robustness_test.cpp:"), std::string::npos) << want;
    }
    auto fast = compile(once);
    for (int call = 0; call < 2; ++call) EXPECT_EQ(text(fast), want);
    for (int call = 0; call < 3; ++call) {
      bad = false;
      EXPECT_VALUES(fast({ones({2, 2})})[0], 3, 3, 3, 3);
      bad = true;
      EXPECT_EQ(text(fast), want);
    }
  }
}

TEST(Robustness, TooLargeIsOutOfMemory) {
  EXPECT_THROW(empty({int64_t{1} << 50}), OutOfMemoryError);
  bool huge = false;
  auto f = compile([&](Tensor x) { return x + (huge ? x.expand({int64_t{1} << 50}) : x); });
  for (int i = 0; i < 6; ++i) {
    huge = i % 2 == 1;
    if (huge) {
      EXPECT_THROW(f(ones({1})), OutOfMemoryError);
    } else {
      EXPECT_VALUES(f(ones({1})), 2);
    }
  }
}

}  // namespace
}  // namespace tailor
