// What user code can do to a handle in the middle of a compiled call besides computing with it: reading its offset, changing its
// description, giving it other data, dropping it early. Each function is recorded once and then followed.

#include <thread>

#include "traps/both_ways.h"

namespace tailor {
namespace {

using testing::both_ways;
using testing::f32;
using testing::Tensors;

constexpr int kCalls = 4;

TEST(Handles, StorageOffsetOfAViewMadeInside) {
  both_ways(Tensors{arange(12).to(kFloat32)}, [](const Tensors& in) {
    Tensor v = (in[0] * 2).narrow(0, 3, 4);
    return v + static_cast<double>(v.storage_offset());
  });
}

TEST(Handles, AliasingOfValuesMadeInside) {
  both_ways(Tensors{arange(12).to(kFloat32)}, [](const Tensors& in) {
    Tensor y = in[0] * 2, v = y.narrow(0, 3, 4), z = in[0] * 2;
    return v + (y.is_alias_of(v) ? 10.0 : 20.0) + (y.is_alias_of(z) ? 100.0 : 200.0);
  });
}

TEST(Handles, VersionsOfValuesMadeInside) {
  both_ways(Tensors{arange(4).to(kFloat32)}, [](const Tensors& in) {
    Tensor y = in[0] * 2;
    const int64_t before = y._version();
    y.add_(1);
    y.add_(1);
    return y + static_cast<double>(y._version() - before);
  });
}

TEST(Handles, VersionsCountEveryWriteOfACompiledCall) {
  auto f = compile([](Tensor x) {
    x.add_(1);
    x.mul_(2);
    return x + 1;
  });
  Tensor x = f32({1, 2});
  for (int i = 0; i < kCalls; ++i) {
    const int64_t before = x._version();
    f(x);
    EXPECT_EQ(x._version(), before + 2);
  }
}

TEST(Handles, AsStridedOfAViewMadeInside) {
  both_ways(Tensors{arange(12).to(kFloat32)}, [](const Tensors& in) {
    Tensor v = (in[0] * 2).narrow(0, 3, 4);
    return v.as_strided({2}, {1}) + v.as_strided({2}, {1}, 0);
  });
  both_ways(Tensors{arange(12).to(kFloat32)}, [](const Tensors& in) { return (in[0] * 2).as_strided({100}, {1}) + 0; });
}

TEST(Handles, DescriptionChangedInPlace) {
  const Tensor x = arange(6).to(kFloat32).view({2, 3});
  both_ways(x, [](Tensor t) {
    Tensor y = t * 2;
    y.t_();
    return y + 1;
  });
  both_ways(x, [](Tensor t) {
    Tensor y = t * 2;
    y.unsqueeze_(0);
    Tensor z = y + 1;
    z.squeeze_();
    return z * z;
  });
  both_ways(x, [](Tensor t) {
    Tensor y = t * 2;
    y.requires_grad_();
    Tensor z = y * 3;
    y.add(1);
    return z;
  });
  both_ways(x, [](Tensor t) {
    Tensor y = t * 2;
    y.resize_({4});
    return y + 1;
  });
}

TEST(Handles, DescriptionOfAnArgumentChangedInside) {
  both_ways(
      [] {
        return Tensors{arange(6).to(kFloat32).view({2, 3})};
      },
      [](const Tensors& in) {
        Tensor y = in[0] * 2;
        in[0].t_();
        Tensor z = in[0] + 1;
        in[0].resize_({2, 2});
        return Tensors{y, z, in[0] * 1};
      });
}

TEST(Handles, DataReplacedInside) {
  Tensor w = f32({1, 2}), other = f32({30, 40});
  auto f = compile([&](Tensor x) {
    Tensor y = w * 2;
    w.set_data(other);
    Tensor z = w + x;
    return y + z;
  });
  for (int i = 0; i < kCalls; ++i) {
    w.set_data(f32({1, 2}));
    EXPECT_VALUES(f(f32({0, 0})), 32, 44);
  }
}

TEST(Handles, MetadataOfAPreviousResultChangedByTheCaller) {
  auto f = compile([](Tensor x) { return x * 2; });
  Tensor keep;
  for (int i = 0; i < kCalls; ++i) {
    Tensor y = f(f32({1, 2}).view({1, 2}));
    y.t_();
    y.requires_grad_();
    EXPECT_EQ(y.size(0), 2);
    keep = y;
    EXPECT_EQ(f(f32({1, 2}).view({1, 2})).size(0), 1);
    EXPECT_FALSE(f(f32({1, 2}).view({1, 2})).requires_grad());
  }
}

// In-place ops spread requires_grad to what they write.
TEST(Handles, WritesSpreadRequiresGrad) {
  both_ways(
      [] {
        return Tensors{f32({1, 2}), f32({3, 4}).requires_grad_()};
      },
      [](const Tensors& in) {
        Tensor y = in[0] * 2;
        y.add_(in[1]);
        Tensor z = y * 3;
        in[0].mul_(in[1]);
        return Tensors{y, z, in[0] + 1};
      });
}

TEST(Handles, ResultsAreLeavesWhereEagerHasThem) {
  both_ways(
      [] {
        return Tensors{f32({1, 2}), f32({3, 4}).requires_grad_()};
      },
      [](const Tensors& in) {
        Tensor y = in[0] * in[1];
        return Tensors{y, y.narrow(0, 0, 1), in[1].narrow(0, 0, 1), y.detach(), in[0] + 1};
      });
  Tensor w = f32({3, 4}).requires_grad_();
  bool more = false;
  auto f = compile([&](Tensor x) {
    Tensor y = x * w;
    y.add_(1);
    if (more) y.mul_(2);
    return y;
  });
  for (int i = 0; i < 6; ++i) {
    more = i % 3 == 2;
    Tensor y = f(f32({1, 1}));
    EXPECT_NO_THROW(y.add_(1));
    testing::expect_same_bits(y.detach(), f32(more ? std::initializer_list<double>{9, 11} : std::initializer_list<double>{5, 6}));
  }
}

TEST(Handles, ViewsOfLeavesMayNotBeWritten) {
  both_ways(
      [] {
        return Tensors{f32({1, 2}), f32({3, 4}).requires_grad_()};
      },
      [](const Tensors& in) {
        Tensor v = in[1].narrow(0, 0, 1);
        v.add_(1);
        return Tensors{v};
      });
  auto f = compile([](Tensor w) { return w.narrow(0, 0, 1); });
  Tensor w = f32({3, 4}).requires_grad_();
  for (int i = 0; i < kCalls; ++i) EXPECT_THROW(f(w).add_(1), Error);
}

// The argument's last handle is the callee's: memory of tensors made later may lie where it lay.
TEST(Handles, ArgumentsThatDieInside) {
  for (bool pure : {false, true}) {
    auto f = compile(
        [](Tensor x, Tensor z) {
          x = Tensor();
          Tensor c = tensor({5.0f, 6.0f});
          return z * c;
        },
        {.pure = pure});
    for (int i = 0; i < 12; ++i) EXPECT_VALUES(f(f32({1, 2}), f32({2, 2})), 10, 12);
  }
}

TEST(Handles, UnreadTemporariesOfPureFunctions) {
  auto f = compile([](Tensor, Tensor z) { return z * 2; }, {.pure = true});
  for (int i = 0; i < 12; ++i) EXPECT_VALUES(f(f32({1, 2, 3}), f32({2, 2})), 4, 4);
}

TEST(Handles, TwoBlobsOverOneMemory) {
  std::vector<float> memory(8, 1.0f);
  for (bool pure : {false, true}) {
    auto f = compile(
        [](Tensor x, Tensor y) {
          x *= 2;
          return x + y;
        },
        {.pure = pure});
    for (int i = 0; i < kCalls; ++i) EXPECT_VALUES(f(ones({4}), ones({4})), 3, 3, 3, 3);
    for (int i = 0; i < kCalls; ++i) {
      std::fill(memory.begin(), memory.end(), 1.0f);
      EXPECT_VALUES(f(from_blob(memory.data(), {4}), from_blob(memory.data() + 2, {4})), 4, 4, 3, 3);
      EXPECT_EQ(memory[1], 2);
      EXPECT_EQ(memory[4], 1);
    }
  }
}

TEST(Handles, LazyValueGivenToACompiledCallOfAnotherThread) {
  Tensor shared;
  auto inner = compile([&](Tensor z) { return z + shared; });
  auto outer = compile([&](Tensor x) {
    Tensor y = x * 2, r;
    shared = y;
    std::thread([&] { r = inner(f32({100})); }).join();
    return r + y;
  });
  for (int i = 1; i <= 6; ++i) EXPECT_VALUES(outer(f32({1.0 * i})), static_cast<float>(100 + 4 * i));
}

TEST(Handles, PendingWriteReadByACompiledCallOfAnotherThread) {
  Tensor c = f32({0}), view = c.view({1, 1});
  auto inner = compile([&](Tensor z) { return z + view; });
  auto outer = compile([&](Tensor x) {
    Tensor r;
    c.add_(x);
    std::thread([&] { r = inner(f32({100})); }).join();
    return r + c;
  });
  for (int i = 1; i <= 6; ++i) EXPECT_VALUES(outer(f32({1})), static_cast<float>(100 + 2 * i));
}

// The op that fails comes before a write: the write was announced and must not be waited for afterwards.
TEST(Handles, AnnouncedWritesOfACallThatFailedAreForgotten) {
  Tensor c = f32({0});
  auto f = compile([&](Tensor x, Tensor i) {
    Tensor y = gather(x, 0, i);
    c.add_(1);
    return y;
  });
  const Tensor good = tensor({0, 1}, kLong), bad = tensor({0, 5}, kLong), x = f32({1, 2});
  float want = 0;
  for (int round = 0; round < 4; ++round) {
    EXPECT_VALUES(f(x, good), 1, 2);
    EXPECT_VALUES(c, ++want);
    EXPECT_THROW(f(x, bad), Error);
    EXPECT_VALUES(c, want);
    EXPECT_VALUES(c + 1, want + 1);
  }
}

TEST(Handles, ValuesOfACallThatFailedSaySo) {
  Tensor kept;
  auto f = compile([&](Tensor x, Tensor i) {
    Tensor y = gather(x, 0, i);
    kept = y * 2;
    return y;
  });
  const Tensor good = tensor({0, 1}, kLong), bad = tensor({0, 5}, kLong), x = f32({1, 2});
  for (int round = 0; round < 3; ++round) {
    EXPECT_VALUES(f(x, good), 1, 2);
    EXPECT_VALUES(kept, 2, 4);
    kept = Tensor();
    EXPECT_THROW(f(x, bad), Error);
    if (kept.defined()) {
      EXPECT_THROW(kept.item(), Error);
      EXPECT_THROW(kept + 1, Error);
      EXPECT_THROW(f(kept, good), Error);
    }
  }
}

}  // namespace
}  // namespace tailor
