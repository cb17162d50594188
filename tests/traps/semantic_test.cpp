// What a compiled call must leave exactly as eager leaves it: aliases, orders of reads and writes, strides, modes, random numbers.

#include <cmath>

#include "traps/both_ways.h"

namespace tailor {
namespace {

using testing::both_ways;
using testing::f32;
using testing::Function;
using testing::Tensors;

constexpr int kCalls = 4;

// A01
TEST(Semantic, OverlappingViewsOfOneTensor) {
  both_ways(
      [] {
        return Tensors{f32({1, 2, 3, 4, 5})};
      },
      [](const Tensors& in) {
        in[0].narrow(0, 1, 4).copy_(in[0].narrow(0, 0, 4).clone());
        return in;
      });
  both_ways(
      [] {
        return Tensors{f32({1, 2, 3, 4, 5})};
      },
      [](const Tensors& in) {
        in[0].narrow(0, 1, 4).copy_(in[0].narrow(0, 0, 4));
        in[0].narrow(0, 0, 4).add_(in[0].narrow(0, 1, 4));
        return in;
      });
  auto shift = compile([](Tensor x) {
    x.narrow(0, 1, 1023).copy_(x.narrow(0, 0, 1023).clone());
    return x;
  });
  for (int i = 0; i < kCalls; ++i) {
    Tensor x = arange(1024).to(kFloat32).view({1024, 1}).expand({1024, 512}).contiguous();
    Tensor y = shift(x);
    EXPECT_TRUE(y.is_same(x));
    Tensor want = (arange(1024) - 1).clamp(0).to(kFloat32).view({1024, 1}).expand({1024, 512});
    EXPECT_TRUE(equal(x, want));
  }
}

TEST(Semantic, InPlaceOnTransposedAndExpandedOperands) {
  both_ways(
      [] {
        return Tensors{arange(9).to(kFloat32).view({3, 3})};
      },
      [](const Tensors& in) {
        in[0].add_(in[0].t());
        in[0].select(0, 1).mul_(in[0].select(1, 0));
        in[0].diagonal().fill_(7);
        return Tensors{in[0] * 1};
      });
  both_ways([] { return Tensors{ones({1}).expand({4})}; },
            [](const Tensors& in) {
              in[0].add_(1);  // several elements in one place: an error
              return in;
            });
}

// A29, A18 with views
TEST(Semantic, ResultsThatAreViewsOfArguments) {
  auto f = compile([](Tensor x) { return std::make_pair(x.narrow(0, 1, 2), x); });
  for (int i = 0; i < kCalls; ++i) {
    Tensor x = f32({1, 2, 3});
    auto [v, same] = f(x);
    v.fill_(9);
    EXPECT_VALUES(x, 1, 9, 9);
    EXPECT_TRUE(same.is_same(x));
    EXPECT_TRUE(v.is_alias_of(x));
  }
  auto g = compile([](Tensor x) {
    Tensor y = x + 1;
    return std::make_pair(y, y.narrow(0, 0, 1));
  });
  for (int i = 0; i < kCalls; ++i) {
    auto [y, v] = g(f32({1, 2}));
    v.fill_(5);
    EXPECT_VALUES(y, 5, 3);
  }
}

// A31
TEST(Semantic, ValuesReadBeforeAWrite) {
  both_ways(
      [] {
        return Tensors{f32({1, 2, 3}), f32({4, 5, 6})};
      },
      [](const Tensors& in) {
        Tensor before = in[0] + 0, view = in[0].narrow(0, 0, 2);
        Tensor twice = view * 2;
        in[0].copy_(in[1]);
        Tensor after = view * 2;
        in[1].zero_();
        return Tensors{before, twice, after, view, in[0] + in[1]};
      });
}

// A35
TEST(Semantic, RandomOps) {
  auto two = compile([](Tensor x) {
    Tensor a = rand({5});
    Tensor unused = randn({3});
    return x + a + rand({5}) * 2;
  });
  for (int i = 0; i < kCalls; ++i) {
    manual_seed(7 + i);
    Tensor got = two(zeros({5})), next = two(zeros({5}));
    manual_seed(7 + i);
    const auto eager = [] {
      Tensor a = rand({5});
      randn({3});
      return zeros({5}) + a + rand({5}) * 2;
    };
    testing::expect_same_bits(got, eager());
    testing::expect_same_bits(next, eager());
  }
  double p = 0;
  auto drop = compile([&](Tensor x) { return dropout(x, p, true); });
  const Tensor x = ones({100000});
  for (int round = 0; round < 2; ++round) {
    p = 0;
    testing::expect_same_bits(drop(x), x);
    p = 1;
    testing::expect_same_bits(drop(x), zeros({100000}));
    p = 0.5;
    manual_seed(round);
    const Tensor kept = drop(x);
    manual_seed(round);
    testing::expect_same_bits(kept, dropout(x, p, true));
    EXPECT_NEAR(kept.sum().item<float>(), 100000, 2000);
    EXPECT_EQ(kept.amax().item<float>(), 2);
  }
}

// A48, as far as flags go
TEST(Semantic, RequiresGradAndGradMode) {
  auto f = compile([](Tensor x, Tensor w) { return (w * x).sum(); });
  const Tensor x = f32({2, 3});
  Tensor w = f32({1, 1}).requires_grad_();
  for (int round = 0; round < 3; ++round) {
    {
      NoGradGuard guard;
      EXPECT_FALSE(f(x, w).requires_grad());
    }
    EXPECT_TRUE(f(x, w).requires_grad());
    EXPECT_FALSE(f(x, w).is_leaf());
    w.requires_grad_(false);
    EXPECT_FALSE(f(x, w).requires_grad());
    EXPECT_VALUES(f(x, w), 5);
    w.requires_grad_(true);
    EXPECT_TRUE(f(x, w).requires_grad());
  }
  EXPECT_LE(f.stats().misses, 3u);
}

// A14, as far as errors go
TEST(Semantic, LeavesMayNotBeWritten) {
  Tensor w = f32({1}).requires_grad_();
  auto f = compile([&](Tensor x) {
    w.add_(x);
    return x + 1;
  });
  for (int i = 0; i < kCalls; ++i) {
    EXPECT_THROW(f(f32({1})), Error);
    NoGradGuard guard;
    EXPECT_VALUES(f(f32({1})), 2);
    EXPECT_EQ(w.item<float>(), static_cast<float>(i + 2));
  }
  auto g = compile([&](Tensor x) {
    Tensor y = x * w;
    y.detach_();
    Tensor z = y + 1;
    return z.requires_grad();
  });
  for (int i = 0; i < kCalls; ++i) EXPECT_FALSE(g(f32({1})));
}

// A50
TEST(Semantic, StridesOfEveryKind) {
  const Tensor a = arange(9).to(kFloat32).view({3, 3}), wide = arange(18).to(kFloat32).view({3, 6});
  const std::vector<Tensor> inputs = {a, a.t(), tensor(5.0f).expand({3, 3}), wide.slice(1, 0, std::nullopt, 2), wide.narrow(1, 2, 3), a};
  auto f = compile([](Tensor x) { return x * 2 + 1; });
  auto sums = compile([](Tensor x) { return x.sum(0); });
  for (int round = 0; round < 3; ++round) {
    for (const Tensor& x : inputs) {
      testing::expect_same(f(x), x * 2 + 1);
      testing::expect_same_bits(sums(x), x.sum(0));
    }
  }
  EXPECT_EQ(f.stats().entries, 5);
  for (const Tensor& x : inputs) both_ways(x, [](Tensor t) { return t * 2 + t.t(); });
}

// A51, static shapes
TEST(Semantic, SizesOfOneAreNotBakedIn) {
  const Tensor b = f32({10, 20, 30, 40, 50, 60}).view({2, 3});
  auto f = compile([](Tensor x, Tensor y) { return x + y; });
  for (int round = 0; round < 3; ++round) {
    EXPECT_VALUES(f(f32({1, 2, 3}).view({1, 3}), b), 11, 22, 33, 41, 52, 63);
    EXPECT_VALUES(f(f32({1, 2, 3, 4, 5, 6}).view({2, 3}), b), 11, 22, 33, 44, 55, 66);
    EXPECT_VALUES(f(f32({1, 2}).view({2, 1}), b), 11, 21, 31, 42, 52, 62);
    EXPECT_EQ(f(zeros({0, 3}), zeros({0, 3})).sizes().vec(), (std::vector<int64_t>{0, 3}));
  }
}

// A52
TEST(Semantic, LengthsThatChange) {
  auto f = compile([](Tensor x) { return std::make_tuple(x * 2, 0 * x, ones({3}), x.mean()); });
  auto g = compile([](Tensor buf, Tensor idx) { return buf.take(idx).sum(); });
  const Tensor buf = f32({10, 20, 30, 40, 50});
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 2; n <= 5; ++n) {
      auto [twice, nought, one, mean] = f(arange(1, n + 1).to(kFloat32));
      EXPECT_EQ(nought.numel(), n);
      EXPECT_EQ(one.numel(), 3);
      EXPECT_EQ(mean.item<float>(), static_cast<float>(n + 1) / 2);
      EXPECT_EQ(twice.sum().item<float>(), static_cast<float>(n * (n + 1)));
    }
    float want = 0;
    for (int64_t n = 1; n <= 4; ++n) {
      want += static_cast<float>(10 * n);
      EXPECT_EQ(g(buf, arange(n)).item<float>(), want);
    }
  }
}

// A63
TEST(Semantic, ProcessOptionsAndInstructionSets) {
  auto f = compile([] { return ones({2}) + 0.1; });
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(f().scalar_type(), kFloat32);
    set_default_dtype(kFloat64);
    EXPECT_EQ(f().scalar_type(), kFloat64);
    EXPECT_EQ(f()[0].item<double>(), 1.1);
    set_default_dtype(kFloat32);
  }
  const float a = 0.1f;
  const Tensor x = full({17}, a), c = full({17}, a * a);
  const auto body = [](Tensor t, Tensor u) { return (t * t - u).sqrt(); };
  auto fast = compile(body, {.fast_math = true});
  for (int i = 0; i < 2; ++i) fast(x, c);
  auto exact = compile(body);
  for (int i = 0; i < 2; ++i) testing::expect_same_bits(exact(x, c), zeros({17}));
}

// Shapes that depend on data.
TEST(Semantic, ShapesThatDependOnData) {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> ops = {
      {"nonzero", [](const Tensor& x) { return x.nonzero(); }},
      {"masked_select", [](const Tensor& x) { return x.masked_select(x > 0) * 2; }},
      {"mask index", [](const Tensor& x) { return x.index({x > 0}) + 1; }},
      {"where", [](const Tensor& x) { return where(x > 0)[0]; }},
      {"one_hot", [](const Tensor& x) { return one_hot(x.to(kLong).abs()); }},
      {"repeat_interleave", [](const Tensor& x) { return x.repeat_interleave(x.to(kLong).abs()); }},
      {"mask assignment",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.index_put_({x > 0}, 9);
         return y;
       }},
      {"mask assignment of values",
       [](const Tensor& x) {
         Tensor y = x * 1;
         y.index_put_({x > 0}, arange((x > 0).sum().item<int64_t>()).to(kFloat32));
         return y;
       }},
  };
  const std::vector<Tensor> inputs = {f32({1, 0, 2, -1}), f32({0, 0, 0, 1}), f32({1, 2, 3, 4}), f32({0, 0, 0, 0}), f32({1, 0, 2, -1})};
  for (const auto& [name, op] : ops) {
    SCOPED_TRACE(name);
    for (bool pure : {false, true}) {
      auto f = compile([&op = op](Tensor x) { return op(x + 0); }, {.pure = pure});
      for (int round = 0; round < 2; ++round)
        for (const Tensor& x : inputs) testing::expect_same(f(x), op(x + 0));
    }
  }
}

// The modes of the process change between two ops of one call.
TEST(Semantic, DefaultDtypeChangedInside) {
  bool more = false;
  const auto body = [&](Tensor x) {
    Tensor y = x / 2;
    set_default_dtype(kFloat64);
    Tensor z = x / 4;
    if (more) z = z * 3;
    set_default_dtype(kFloat32);
    return Tensors{y, z, x / 8};
  };
  for (bool pure : {false, true}) {
    auto f = compile(body, {.pure = pure});
    const Tensor x = tensor({1, 2, 3});
    for (int i = 0; i < 9; ++i) {
      more = !pure && i % 3 == 2;
      testing::expect_same(f(x), body(x));
    }
  }
}

// B04
TEST(Semantic, HostReadsThroughViewsMadeBefore) {
  Tensor w = f32({0, 0}), second = w.narrow(0, 1, 1);
  auto f = compile([&](Tensor x) {
    w.add_(1);
    const float v = second.item<float>();
    second.mul_(2);
    return x * v + w.data_ptr<float>()[1];
  });
  float state = 0;
  for (int i = 0; i < 6; ++i) {
    const float v = state + 1;
    state = 2 * v;
    EXPECT_VALUES(f(f32({10})), 10 * v + state);
  }
}

// B09: the documented place of an error that depends on data is the end of the segment, not the line of the op.
TEST(Semantic, DataErrorsInsideTryBlocks) {
  auto f = compile([](Tensor x, Tensor i) {
    try {
      Tensor y = gather(x, 0, i);
      return y + y.sum().item<float>();  // a read on the host: the error comes here, inside
    } catch (const Error&) { return zeros_like(x); }
  });
  const Tensor good = tensor({0, 1}, kLong), bad = tensor({0, 5}, kLong), x = f32({1, 2});
  for (int round = 0; round < 3; ++round) {
    for (int call = 0; call < 2; ++call) {
      EXPECT_VALUES(f(x, good), 4, 5);
      EXPECT_VALUES(f(x, bad), 0, 0);
    }
  }
}

// B12
struct Two : nn::Module {
  nn::Linear fc1{register_module("fc1", nn::Linear(nn::LinearOptions(2, 2).bias(false)))};
  nn::Linear fc2{register_module("fc2", nn::Linear(nn::LinearOptions(2, 2).bias(false)))};
  Tensor forward(Tensor x) { return fc2->forward(fc1->forward(x) + 1); }
};

TEST(Semantic, ParametersThatAreReplacedSwappedAndMoved) {
  for (bool pure : {false, true}) {
    NoGradGuard no_grad;
    auto net = std::make_shared<Two>();
    auto f = compile(net, {.pure = pure});
    const Tensor x = f32({1, 2}).view({1, 2});
    const auto check = [&](const char* what) {
      SCOPED_TRACE(std::string(what) + (pure ? ", pure" : ""));
      for (int i = 0; i < 4; ++i) EXPECT_TRUE(allclose(f(x), net->forward(x)));
    };
    for (int round = 0; round < 3; ++round) {
      check("at first");
      net->fc1->weight = randn({2, 2});
      check("assigned");
      std::swap(net->fc1, net->fc2);
      check("swapped modules");
      std::swap(net->fc1->weight, net->fc2->weight);
      check("swapped weights");
      Tensor kept = std::move(net->fc1->weight);
      net->fc1->weight = randn({2, 2});
      check("moved from and assigned");
      net->fc2 = nn::Linear(nn::LinearOptions(2, 2).bias(false));
      check("another module");
      net->fc1->weight.fill_(0.5);
      check("filled");
      net->fc1->weight.set_data(randn({2, 2}));
      check("other data");
      net->fc1->weight.data_ptr<float>()[0] = 7;  // B13
      check("written through a pointer");
      kept = kept.clone();
    }
  }
}

// B13
TEST(Semantic, ValuesBehindAPointer) {
  for (bool pure : {false, true}) {
    Tensor w = f32({1, 2});
    float* p = w.data_ptr<float>();
    std::vector<float> memory = {3, 4};
    Tensor blob = from_blob(memory.data(), {2});
    auto f = compile([&](Tensor x) { return x * w + blob; }, {.pure = pure});
    for (int i = 0; i < 8; ++i) {
      p[0] = static_cast<float>(i);
      memory[1] = static_cast<float>(10 * i);
      EXPECT_VALUES(f(f32({1, 1})), static_cast<float>(i + 3), static_cast<float>(2 + 10 * i));
    }
  }
}

// B14
TEST(Semantic, LiftedNumbersKeepTheirBits) {
  double s = 0;
  using Op = std::function<Tensor(const Tensor&)>;
  const std::vector<std::pair<const char*, Op>> ops = {
      {"mul", [&](const Tensor& x) { return x * s; }},
      {"rsub", [&](const Tensor& x) { return s - x; }},
      {"div", [&](const Tensor& x) { return x / s; }},
      {"add alpha", [&](const Tensor& x) { return x.add(x, s); }},
      {"clamp", [&](const Tensor& x) { return x.clamp(s, 2 * s + 1); }},
      {"leaky_relu", [&](const Tensor& x) { return leaky_relu(x, s); }},
      {"pow", [&](const Tensor& x) { return x.pow(s); }},
      {"scalar pow", [&](const Tensor& x) { return tailor::pow(s, x); }},
      {"fill", [&](const Tensor& x) { return x + full({1}, s, x.scalar_type()); }},
      {"where", [&](const Tensor& x) { return where(x > s, x, s); }},
      {"elu", [&](const Tensor& x) { return elu(x, s); }},
      {"floor_divide", [&](const Tensor& x) { return x.floor_divide(s); }},
  };
  for (ScalarType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
    const Tensor x = ((arange(37) - 18) * 0.37).to(dtype);
    for (const auto& [name, op] : ops) {
      SCOPED_TRACE(std::string(name) + " in " + std::string(to_string(dtype)));
      auto f = compile([&op = op](Tensor t) { return op(t); });
      for (double value : {0.3, 2.0, -1.0, 0.5, 3.0, -0.0, 1e-3, 0.3, std::nan("")}) {
        s = value;
        testing::expect_same_bits(f(x), op(x));
      }
      EXPECT_LE(f.stats().recompiles, 1u);
      EXPECT_EQ(f.stats().op_by_op, 0u);
    }
  }
}

}  // namespace
}  // namespace tailor
