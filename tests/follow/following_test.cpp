// Following, case by case: what a first design of it got wrong. Each function is called several times; results, side effects and
// the counters named are eager's on each.

#include <gtest/gtest.h>

#include <thread>

#include "support/expect.h"

namespace tailor {
namespace {

using testing::f32;

// B01
TEST(Following, TensorKeptFromTheLastCallIsNotThisCalls) {
  Tensor prev;
  auto f = compile([&](Tensor x) {
    Tensor y = x * 2;
    Tensor z = prev.defined() ? y + prev : y + y;
    prev = y;
    return z;
  });
  EXPECT_VALUES(f(f32({1})), 4);
  EXPECT_VALUES(f(f32({10})), 22);
  EXPECT_VALUES(f(f32({100})), 220);
  EXPECT_VALUES(f(f32({1000})), 2200);
}

// B02
TEST(Following, PureWithPlainSizesAndScalars) {
  auto f = compile(
      [](Tensor x) {
        const int64_t n = x.size(0);
        return x.narrow(0, 0, n > 100 ? 100 : n / 2 + 1);
      },
      {.pure = true});
  for (int round = 0; round < 3; ++round) {
    for (int64_t n : {2, 4, 300}) EXPECT_EQ(f(ones({n})).size(0), n > 100 ? 100 : n / 2 + 1);
  }
  auto g = compile([](Tensor x, double s) { return s > 0.5 ? x * s : x; }, {.pure = true});
  for (int round = 0; round < 4; ++round) {
    EXPECT_VALUES(g(f32({8}), 0.75), 6);
    EXPECT_VALUES(g(f32({8}), 0.875), 7);
    EXPECT_VALUES(g(f32({8}), 0.25), 8);
  }
}

// B03
TEST(Following, TensorsMadeInsideByHostCode) {
  float a = 0;
  auto f = compile([&](Tensor x) {
    a += 1;
    Tensor m = tensor({a, 2 * a});
    return x * m;
  });
  for (int i = 1; i <= 20; ++i) EXPECT_VALUES(f(f32({1, 1})), static_cast<float>(i), static_cast<float>(2 * i));
  EXPECT_EQ(f.stats().recompiles, 0u);
  EXPECT_EQ(f.stats().misses, 1u);
  EXPECT_EQ(f.stats().evictions, 0u);
}

// B03
TEST(Following, InputsThatDieEarly) {
  Tensor buffer = ones({3, 4});
  bool views = false;
  const auto load = [&](int i) { return views ? buffer.select(0, i) : full({4}, i + 1.0); };
  auto f = compile([&](Tensor y) {
    for (int i = 0; i < 3; ++i) {
      Tensor t = load(i);
      y = y + t;
    }
    return y;
  });
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(zeros({4})), 6, 6, 6, 6);
  views = true;
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(zeros({4})), 3, 3, 3, 3);
  views = false;
  EXPECT_VALUES(f(zeros({4})), 6, 6, 6, 6);
}

// B04
TEST(Following, HostReadOfACapturedTensorThatWasWritten) {
  Tensor w = f32({0});
  Tensor view_of_w = w.view({1, 1});
  auto f = compile([&](Tensor x) {
    w.add_(1);
    const float v = w.item<float>();
    return x * v;
  });
  for (int i = 1; i <= 5; ++i) EXPECT_VALUES(f(f32({1})), static_cast<float>(i));
  auto g = compile([&](Tensor x) {
    w.add_(1);
    const float v = view_of_w.item<float>();
    return x * v;
  });
  for (int i = 6; i <= 9; ++i) EXPECT_VALUES(g(f32({1})), static_cast<float>(i));
}

// B04
TEST(Following, HostWriteAfterAFollowedRead) {
  Tensor w = f32({1, 2});
  auto f = compile([&](Tensor x) {
    Tensor y = w * 2;
    w.data_ptr<float>()[0] = 9;
    return y + x;
  });
  for (int i = 0; i < 4; ++i) {
    w.fill_(1);
    EXPECT_VALUES(f(f32({0, 0})), 2, 2);
    EXPECT_VALUES(w, 9, 1);
  }
}

// B04
TEST(Following, PrintingInside) {
  std::ostringstream out;
  auto f = compile([&](Tensor x) {
    Tensor y = x * 2;
    out << y;
    return y;
  });
  std::ostringstream eager;
  for (int i = 0; i < 3; ++i) {
    out.str("");
    eager.str("");
    f(f32({1.5, static_cast<double>(i)}));
    eager << f32({3, 2.0 * i});
    EXPECT_EQ(out.str(), eager.str());
  }
}

// B05
TEST(Following, DivergenceHalfWayRunsEachOpOnce) {
  Tensor c = f32({0}), d = f32({0});
  bool flag = false;
  auto f = compile([&](Tensor x) {
    c.add_(1);
    Tensor y = x + c;
    if (flag) y = y * 3;
    d.copy_(y);
    return y;
  });
  for (int call = 1; call <= 8; ++call) {
    flag = call == 3 || call == 4;
    const float want = (10.0f + static_cast<float>(call)) * (flag ? 3 : 1);
    EXPECT_VALUES(f(f32({10})), want);
    EXPECT_VALUES(d, want);
    EXPECT_VALUES(c, static_cast<float>(call));
  }
  const uint64_t before = f.stats().recompiles, hits = f.stats().hits;
  flag = true;
  f(f32({1}));
  flag = false;
  f(f32({1}));
  EXPECT_EQ(f.stats().recompiles, before);
  EXPECT_EQ(f.stats().hits, hits + 2);
}

// B06
TEST(Following, ExceptionHalfWay) {
  Tensor c = f32({0});
  bool bad = false;
  auto f = compile([&](Tensor x) {
    c.add_(1);
    Tensor y = x * 2;
    if (bad) throw std::runtime_error("user");
    return y;
  });
  int calls = 0;
  const auto call = [&](bool throws) {
    bad = throws;
    ++calls;
    if (throws) {
      try {
        f(f32({3}));
        ADD_FAILURE() << "no exception";
      } catch (const std::runtime_error& e) { EXPECT_STREQ(e.what(), "user"); }
    } else {
      EXPECT_VALUES(f(f32({3})), 6);
    }
    EXPECT_VALUES(c, static_cast<float>(calls));
  };
  call(true);  // the very first call
  call(false);
  call(false);
  call(true);
  call(false);
  const uint64_t hits = f.stats().hits;
  call(false);
  EXPECT_EQ(f.stats().hits, hits + 1);
  auto g = compile([](Tensor) -> Tensor { throw 42; });
  EXPECT_THROW(g(f32({1})), int);
}

// Eager never comes to the user's own exception when an op before it fails.
TEST(Following, AnOpThatFailsBeforeTheBodyThrows) {
  bool bad = false;
  auto f = compile([&](Tensor x, Tensor y) {
    Tensor z = floor_divide(x, y);
    if (bad) throw 7;
    return z;
  });
  const Tensor x = tensor({6, 8}, kInt64), y = tensor({2, 4}, kInt64), zero = tensor({2, 0}, kInt64);
  for (int i = 0; i < 2; ++i) {
    f(x, y);
    bad = true;
    EXPECT_THROW(f(x, y), int);
    try {
      f(x, zero);
      ADD_FAILURE() << "no exception";
    } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find("division by zero"), std::string::npos) << e.what(); }
    bad = false;
  }
}

// Whether a tensor is a leaf is no part of its description, but decides whether it may be written.
TEST(Following, LeavesAreNotWritten) {
  const Tensor source = ones({2}).requires_grad_();
  for (bool pure : {false, true}) {
    auto f = compile([&](Tensor y) { return y.mul_(2); }, {.pure = pure});
    for (int i = 0; i < 4; ++i) EXPECT_FALSE(f(source * 1).is_leaf());
    EXPECT_THROW(f(ones({2}).requires_grad_()), Error);
    EXPECT_THROW(f(ones({2}).requires_grad_()), Error);
    auto g = compile([&](Tensor y) { return y.narrow(0, 0, 1); }, {.pure = pure});
    for (int i = 0; i < 4; ++i) g(source * 1).mul_(3);
    EXPECT_THROW(g(source).mul_(3), Error);
    EXPECT_THROW(g(source).mul_(3), Error);
  }
}

// B07
TEST(Following, ReaderOnAnotherThread) {
  auto f = compile([](Tensor x) {
    Tensor y = x * 2;
    double v = 0;
    std::thread t([&] { v = y.sum().item<double>(); });
    t.join();
    return y + v;
  });
  for (int i = 1; i <= 4; ++i)
    EXPECT_VALUES(f(f32({1.0 * i, 1})), static_cast<float>(2 * i + 2 * i + 2), static_cast<float>(2 + 2 * i + 2));
}

// B07
TEST(Following, TwoThreadsFollowOneEntry) {
  struct Fn {
    Tensor operator()(Tensor x, Tensor buffer) {
      buffer.add_(x);
      return buffer * 2;
    }
  };
  auto f = compile(Fn{});
  const auto work = [&](float step) {
    Tensor buffer = f32({0, 0}), x = f32({step, step});
    for (int i = 1; i <= 200; ++i) {
      Tensor y = f(x, buffer);
      ASSERT_EQ(testing::values(y)[0], 2 * step * static_cast<float>(i));
    }
  };
  std::thread a(work, 1.0f), b(work, 2.0f);
  for (int i = 0; i < 20; ++i) f.reset();
  a.join();
  b.join();
}

// B08
TEST(Following, SurvivorsThatComeAndGo) {
  bool keep = false;
  std::vector<Tensor> kept;
  auto f = compile([&](Tensor x) {
    Tensor y = x + 1;
    if (keep) kept.push_back(y);
    x.mul_(0);
    return y * 2;
  });
  for (int call = 0; call < 8; ++call) {
    keep = call % 3 == 1;
    Tensor x = f32({static_cast<double>(call)});
    EXPECT_VALUES(f(x), static_cast<float>(2 * (call + 1)));
    EXPECT_VALUES(x, 0);
  }
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_VALUES(kept[0], 2);
  EXPECT_VALUES(kept[1], 5);
  EXPECT_VALUES(kept[2], 8);
}

// B08
TEST(Following, OutputsAreNeverMerged) {
  auto f = compile([](Tensor x) { return std::vector<Tensor>{x + 1, x + 1}; });
  auto g = compile([](Tensor) { return std::vector<Tensor>{ones({3}), ones({3})}; });
  for (int i = 0; i < 3; ++i) {
    auto r = f(f32({1, 2}));
    r[0].fill_(7);
    EXPECT_VALUES(r[1], 2, 3);
    auto s = g(f32({1}));
    s[0].fill_(7);
    EXPECT_VALUES(s[1], 1, 1, 1);
  }
}

// B09
TEST(Following, ErrorsThatDependOnData) {
  auto f = compile([](Tensor x, Tensor i) {
    gather(x, 0, i);
    return x + 1;
  });
  const Tensor good = tensor({0, 1}, kLong), bad = tensor({0, 5}, kLong), x = f32({1, 2});
  for (int round = 0; round < 3; ++round) {
    EXPECT_VALUES(f(x, good), 2, 3);
    EXPECT_VALUES(f(x, good), 2, 3);
    EXPECT_THROW(f(x, bad), Error);
  }
  EXPECT_VALUES(f(x, good), 2, 3);
}

TEST(Following, EffectsBeforeADataErrorHaveHappened) {
  Tensor c = f32({0});
  auto f = compile([&](Tensor x, Tensor i) {
    c.add_(1);
    Tensor y = gather(x, 0, i);
    c.add_(10);
    return y;
  });
  const Tensor good = tensor({0, 1}, kLong), bad = tensor({0, 5}, kLong), x = f32({1, 2});
  f(x, good);
  f(x, good);
  EXPECT_VALUES(c, 22);
  EXPECT_THROW(f(x, bad), Error);
  EXPECT_VALUES(c, 23);
}

// B10
TEST(Following, IntegersThatAreNotSizes) {
  Tensor cache = zeros({1, 64});
  int64_t pos = 0;
  auto f = compile([&](Tensor k) {
    cache.narrow(1, pos, 1).copy_(k);
    return cache.sum();
  });
  float want = 0;
  for (pos = 0; pos < 64; ++pos) {
    want += static_cast<float>(pos + 1);
    EXPECT_VALUES(f(full({1, 1}, static_cast<double>(pos + 1))), want);
  }
  EXPECT_LE(f.stats().recompiles + 1, 2u);
  EXPECT_EQ(f.stats().entries, 1);
}

// B11
TEST(Following, ModesThatChangeInsideACall) {
  Tensor w = f32({2}).requires_grad_();
  bool early = false;
  auto f = compile([&](Tensor x) {
    std::optional<NoGradGuard> guard;
    if (early) guard.emplace();
    Tensor y = x * w;
    if (!guard) guard.emplace();
    Tensor z = y * 2;
    guard.reset();
    return std::make_pair(y, z);
  });
  for (int i = 0; i < 6; ++i) {
    early = i % 2;
    auto [y, z] = f(f32({3}));
    EXPECT_EQ(y.requires_grad(), !early);
    EXPECT_FALSE(z.requires_grad());
    EXPECT_EQ(z.item<float>(), 12);
  }
}

// B14
TEST(Following, ScalarsAreLiftedOnceAndKeepTheirBits) {
  double e = 2;
  for (ScalarType dtype : {kFloat32, kFloat64, kBFloat16}) {
    auto f = compile([&](Tensor x) { return pow(x, e); });
    const Tensor x = (arange(37) * 0.1 + 0.25).to(dtype);
    for (double value : {2.0, 3.0, 2.5, -1.0, 0.5, 2.0}) {
      e = value;
      testing::expect_same_bits(f(x), pow(x, e));
    }
    EXPECT_EQ(f.stats().lifts, 1u);
    EXPECT_LE(f.stats().recompiles, 1u);
  }
}

TEST(Following, CapturedScalarsAndTensorsNeverGoStale) {
  double k = 1;
  bool shift = false;
  auto scaled = compile([&](Tensor x) {
    Tensor y = x * k;
    return shift ? y + 1 : y;
  });
  EXPECT_VALUES(scaled(f32({4})), 4);
  k = 10;
  EXPECT_VALUES(scaled(f32({4})), 40);
  shift = true;
  EXPECT_VALUES(scaled(f32({4})), 41);
  Tensor w = f32({1, 1});
  auto plus = compile([&](Tensor x) { return x + w; });
  EXPECT_VALUES(plus(f32({1, 1})), 2, 2);
  w.fill_(5);
  EXPECT_VALUES(plus(f32({1, 1})), 6, 6);
  w = f32({7, 7});
  EXPECT_VALUES(plus(f32({1, 1})), 8, 8);
}

TEST(Following, AliasedArgumentsThatAreWritten) {
  auto f = compile([](Tensor x, Tensor y) {
    x *= 2;
    return x + y;
  });
  EXPECT_VALUES(f(ones({4}), ones({4})), 3, 3, 3, 3);
  EXPECT_VALUES(f(ones({4}), ones({4})), 3, 3, 3, 3);
  Tensor base = ones({8});
  EXPECT_VALUES(f(base.narrow(0, 0, 4), base.narrow(0, 2, 4)), 4, 4, 3, 3);
  EXPECT_VALUES(base, 2, 2, 2, 2, 1, 1, 1, 1);
  base = ones({8});
  EXPECT_VALUES(f(base.narrow(0, 0, 4), base.narrow(0, 4, 4)), 3, 3, 3, 3);
  EXPECT_VALUES(base, 2, 2, 2, 2, 1, 1, 1, 1);
}

// A15
TEST(Following, BranchesOnData) {
  auto f = compile([](Tensor x) {
    if (x.sum().item<float>() > 0) return x + 1;
    return x - 1;
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_VALUES(f(f32({1})), 2);
    EXPECT_VALUES(f(f32({-1})), -2);
  }
  const uint64_t recompiles = f.stats().recompiles;
  f(f32({1}));
  f(f32({-1}));
  EXPECT_EQ(f.stats().recompiles, recompiles);
  auto g = compile([](Tensor x) { return ones({static_cast<int64_t>(x[0].item<float>())}); });
  EXPECT_EQ(g(f32({2})).size(0), 2);
  EXPECT_EQ(g(f32({3})).size(0), 3);
  EXPECT_EQ(g(f32({2})).size(0), 2);
}

TEST(Following, OutputsOfEarlierCallsStayValid) {
  auto f = compile([](Tensor x) { return x + 1; });
  Tensor a = f(f32({1})), b = f(f32({2})), c = f(f32({3}));
  EXPECT_VALUES(a, 2);
  EXPECT_VALUES(b, 3);
  EXPECT_VALUES(c, 4);
  Tensor y = f32({1});
  auto twice = compile([](Tensor x) { return x * 2; });
  for (int i = 0; i < 5; ++i) y = twice(y);
  EXPECT_VALUES(y, 32);
}

TEST(Following, MutationOfAnInputThatIsNotReturned) {
  Tensor acc = f32({0});
  auto f = compile([](Tensor x, Tensor a) {
    a += x;
    return x * 2;
  });
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(f(f32({1}), acc), 2);
  EXPECT_VALUES(acc, 3);
  auto g = compile([&](Tensor x) { acc += x; });
  for (int i = 0; i < 3; ++i) g(f32({1}));
  EXPECT_VALUES(acc, 6);
}

TEST(Following, TensorsThatEscape) {
  std::vector<Tensor> list;
  auto f = compile([&](Tensor x, Tensor y) {
    Tensor z = x + y;
    list.push_back(z);
    return z.exp();
  });
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(f(f32({1}), f32({2})).item<float>(), 20.0855369f, 1e-5);
  ASSERT_EQ(list.size(), 3u);
  for (const Tensor& t : list) EXPECT_VALUES(t, 3);
}

TEST(Following, ReadBeforeWrite) {
  auto f = compile([](Tensor x) {
    Tensor y = x.log();
    x.log_();
    return y;
  });
  auto g = compile([](Tensor x) {
    Tensor y = x.narrow(0, 1, 2) * 2;
    x.fill_(0);
    return y;
  });
  for (int i = 0; i < 3; ++i) {
    Tensor x = f32({3});
    EXPECT_NEAR(f(x).item<float>(), 1.0986123f, 1e-6);
    EXPECT_NEAR(x.item<float>(), 1.0986123f, 1e-6);
    Tensor z = f32({1, 2, 3});
    EXPECT_VALUES(g(z), 4, 6);
    EXPECT_VALUES(z, 0, 0, 0);
  }
}

TEST(Following, RandomNumbersDifferFromCallToCall) {
  auto f = compile([](Tensor x) { return x + rand({4}); });
  manual_seed(0);
  Tensor a = f(zeros({4})), b = f(zeros({4}));
  manual_seed(0);
  Tensor c = f(zeros({4})), d = f(zeros({4}));
  EXPECT_FALSE(equal(a, b));
  EXPECT_TRUE(equal(a, c));
  EXPECT_TRUE(equal(b, d));
  manual_seed(0);
  testing::expect_same_bits(a, zeros({4}) + rand({4}));
}

TEST(Following, CompiledFunctionsInsideOthersAreInlined) {
  auto inner = compile([](Tensor x) { return x * 2; });
  auto outer = compile([&](Tensor x) { return inner(x) + 1; });
  for (int i = 0; i < 3; ++i) EXPECT_VALUES(outer(f32({3})), 7);
  EXPECT_EQ(inner.stats().calls, 0u);
}

TEST(Following, DeepChains) {
  auto f = compile([](Tensor x) {
    for (int i = 0; i < 2000; ++i) x = x + 1;
    return x;
  });
  for (int i = 0; i < 2; ++i) EXPECT_VALUES(f(f32({0})), 2000);
}

// A step is told by what its operands are, too: a tensor, a number of some kind, or nothing.
TEST(Following, OperandsOfOtherKindsMakeOtherSteps) {
  int way = 0;
  const Tensor two = f32({2});
  const auto body = [&](const Tensor& x) {
    switch (way) {
      case 0: return x * two;
      case 1: return x * 3;
      case 2: return x * 4.0;
      case 3: return x * true;
      case 4: return clamp(x, std::nullopt, 6);
      case 5: return clamp(x, 7, std::nullopt);
      case 6: return add(x, x, 7);
      default: return x * x;
    }
  };
  auto f = compile(body, {.name = "by_kind"});
  for (int round = 0; round < 4; ++round)
    for (way = 0; way < 8; ++way) testing::expect_same_bits(f(f32({5, 8})), body(f32({5, 8})));
  EXPECT_EQ(f.stats().hits, 3u * 8);
  EXPECT_EQ(f.stats().entries, 1);
}

// A value that is handed out again by the next call is that step's and of that description.
TEST(Following, ValuesAreHandedOutAgainOnlyWhereTheyFit) {
  int way = 0;
  Tensor kept;
  const auto body = [&](const Tensor& x) {
    Tensor y = x + 1;
    if (way % 2 == 1) y = y.to(kFloat64);
    Tensor z = y * 2;
    if (way % 3 == 1) kept = z;
    if (way % 5 == 4) y.unsqueeze_(0);
    return (z + y).sum();
  };
  auto f = compile(body);
  for (way = 0; way < 60; ++way) {
    const Tensor got = f(f32({1, 2, 3})), held = kept, expected = body(f32({1, 2, 3}));
    testing::expect_same_bits(got, expected);
    if (held.defined()) testing::expect_same_bits(held, kept);
  }
}

TEST(Following, StepsOfManyOperands) {
  const auto body = [](const Tensor& x, const Tensor& y) {
    return cat({x, y, x, y, x, y}) + addcmul(cat({x, y, y, x, x, y}), cat({y, y, x, x, x, y}), cat({x, x, x, x, x, x}), 0.5);
  };
  auto f = compile(body);
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({3, 2}), y = randn({3, 2});
    testing::expect_same_bits(f(x, y), body(x, y));
  }
  EXPECT_EQ(f.stats().hits, 3u);
}

TEST(Following, DoublingDag) {
  auto f = compile([](Tensor x) {
    for (int i = 0; i < 40; ++i) x = x + x;
    return x;
  });
  for (int i = 0; i < 2; ++i) EXPECT_VALUES(f(f32({1})), 1099511627776.0f);
}

}  // namespace
}  // namespace tailor
