// Threads, forks, eviction and exceptions against compiled functions. Also the program to run under thread and address sanitizers.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "runtime/allocator.h"
#include "support/sanitizers.h"
#include "tailor/threads.h"
#include "traps/both_ways.h"

namespace tailor {
namespace {

using testing::f32;
using testing::Tensors;

void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  std::barrier<> start(count);
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      work(t);
    });
  for (std::thread& t : threads) t.join();
}

bool all_equal(const Tensor& t, float value) {
  for (float v : testing::values(t))
    if (v != value) return false;
  return true;
}

// A20: an entry never outlives its function in the look-up of another.
TEST(Threads, FunctionsComeAndGoAtOneAddress) {
  for (int i = 0; i < 60; ++i) {
    auto f = std::make_unique<Compiled<Tensor(Tensor)>>(compile([i](Tensor x) { return x + i; }));
    std::thread([&] { EXPECT_TRUE(all_equal((*f)(zeros({8})), static_cast<float>(i))); }).join();
    std::thread([&] { f.reset(); }).join();
  }
  for (int i = 0; i < 60; ++i) {
    auto f = compile([i](Tensor x) { return x + i; });
    EXPECT_TRUE(all_equal(f(zeros({8})), static_cast<float>(i)));
    EXPECT_LE(f.stats().entries, 1);
  }
}

// A37
TEST(Threads, ManyCompileAndCallAtOnce) {
  auto shared = compile([](Tensor x) { return x * 2 + 1; });
  std::atomic<int> wrong{0};
  in_threads(8, [&](int t) {
    for (int k = 0; k < 6; ++k) {
      auto f = compile([k, t](Tensor x) { return x * k + t; });
      for (int call = 0; call < 3; ++call) wrong += !all_equal(f(full({5}, 2.0)), static_cast<float>(2 * k + t));
      const int64_t n = 1 + (k + t) % 4;
      const Tensor y = shared(full({n}, 3.0));
      wrong += y.numel() != n || !all_equal(y, 7);
    }
  });
  EXPECT_EQ(wrong, 0);
  for (int64_t n = 1; n <= 4; ++n) shared(ones({n}));
  EXPECT_EQ(shared.stats().entries, 2);  // one for size 1, one for the others
}

// A57, with resets, and copies of the handle that outlive the original.
TEST(Threads, EvictionWhileOthersRun) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  auto f = std::make_unique<Compiled<Tensor(Tensor)>>(compile([](Tensor x) { return (x * 2 + 1).sum(1); }, {.cache_size_limit = 2}));
  std::thread resetter([&, copy = *f] {
    while (!stop) {
      copy.reset();
      (void)copy.stats();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  const std::vector<Compiled<Tensor(Tensor)>> copies(4, *f);
  in_threads(4, [&](int t) {
    const Compiled<Tensor(Tensor)> mine = copies[static_cast<size_t>(t)];
    if (t == 0) f.reset();
    for (int i = 0; i < 60; ++i) {
      const int64_t n = 3 + (i + t) % 6;
      const Tensor y = mine(ones({2, n}));
      wrong += y.numel() != 2 || !all_equal(y, static_cast<float>(3 * n));
    }
  });
  stop = true;
  resetter.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, PureFunctionsAreSharedAndEvicted) {
  Tensor w = full({4}, 3.0);
  auto f = compile([&](Tensor x) { return x * w; }, {.cache_size_limit = 2, .pure = true});
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    for (int i = 0; i < 150; ++i) {
      const int64_t rows = 1 + (i / 30 + t) % 3;
      wrong += !all_equal(f(full({rows, 4}, 2.0)), 6);
      if (i % 50 == 25 && t == 0) f.reset();
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Each thread has a path of its own; all of them record into one tree.
TEST(Threads, DivergeInOneTree) {
  static thread_local int path = 0;
  auto f = compile([](Tensor x) {
    Tensor y = x + 1;
    for (int i = 0; i < path; ++i) y = y * 2;
    if (path % 2) y = y + y.sum().item<float>();
    return y;
  });
  std::atomic<int> wrong{0};
  in_threads(6, [&](int t) {
    for (int i = 0; i < 30; ++i) {
      path = (t + i / 10) % 4;
      float want = 2;
      for (int k = 0; k < path; ++k) want *= 2;
      if (path % 2) want += 3 * want;
      wrong += !all_equal(f(ones({3})), want);
    }
  });
  EXPECT_EQ(wrong, 0);
}

// B07: values and writes of calls under way are read by other threads, both ways round.
TEST(Threads, ReadEachOthersPendingValues) {
  std::atomic<int> wrong{0};
  auto outer = compile([&](Tensor x, Tensor buffer) {
    Tensor y = x * 2;
    buffer.add_(1);
    Tensor seen, doubled;
    std::thread reader([&] {
      seen = buffer * 1;
      doubled = y + y;
    });
    reader.join();
    return y + seen + doubled;
  });
  in_threads(3, [&](int t) {
    Tensor buffer = zeros({2});
    for (int i = 1; i <= 25; ++i) {
      const float x = static_cast<float>(t + 1);
      wrong += !all_equal(outer(full({2}, x), buffer), 2 * x + static_cast<float>(i) + 4 * x);
    }
  });
  EXPECT_EQ(wrong, 0);
}

// Two calls under way hand each other values; neither may wait for the other for ever.
TEST(Threads, CallsThatFeedEachOther) {
  struct Mailbox {
    Tensor value;
    std::barrier<> meet{2};
  };
  std::atomic<int> wrong{0};
  Mailbox box[2];
  std::barrier<> meet(2);
  auto f = compile([&](Tensor x, int64_t me) {
    Tensor mine = x * 2;
    Tensor local = x + 1;
    box[me].value = mine;
    meet.arrive_and_wait();
    Tensor theirs = box[1 - me].value;
    Tensor sum = mine + theirs;
    meet.arrive_and_wait();
    return sum + local;
  });
  in_threads(2, [&](int t) {
    for (int i = 0; i < 30; ++i) {
      const float x = static_cast<float>(t + 1);
      wrong += !all_equal(f(full({2}, x), t), 6 + x + 1);
    }
  });
  EXPECT_EQ(wrong, 0);
}

// A56
TEST(Threads, ModesBelongToTheirThread) {
  auto f = compile([](Tensor x, Tensor w) { return x * w; });
  const Tensor x = f32({1, 2}), w = f32({3, 4}).requires_grad_();
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    for (int i = 0; i < 100; ++i) {
      std::optional<NoGradGuard> guard;
      if (t % 2) guard.emplace();
      wrong += f(x, w).requires_grad() != (t % 2 == 0);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ThreadCountIsNotBakedIn) {
  const int before = get_num_threads();
  auto f = compile([](Tensor x) { return (x + 1).sum(); });
  const Tensor x = arange(1000000) - 1;
  for (int n : {1, 8, 2, 1, 3}) {
    set_num_threads(n);
    EXPECT_EQ(f(x).item<int64_t>(), 499999500000);
  }
  auto g = compile([](Tensor t) { return (t * 2).sum(1); });
  const Tensor m = full({300, 1000}, 0.1);
  set_num_threads(8);
  const Tensor want = g(m);
  for (int n : {8, 1, 3}) {
    set_num_threads(n);
    testing::expect_same_bits(g(m), want);
    testing::expect_same_bits((m * 2).sum(1), want);
  }
  set_num_threads(before);
}

// Throws before each op in turn: effects are eager's, the exception passes unchanged, modes are restored and the cache still works.
TEST(Threads, ExceptionsAtEveryOp) {
  constexpr int kOps = 6;
  int throw_at = -1;
  Tensor c;
  const auto body = [&](Tensor x) {
    int op = 0;
    const auto step = [&] {
      if (op++ == throw_at) throw std::runtime_error("at " + std::to_string(throw_at));
    };
    NoGradGuard no_grad;
    step();
    Tensor y = x * 2;
    step();
    c.add_(y);
    step();
    Tensor z = y.sum();
    step();
    c.mul_(z);
    step();
    Tensor r = c.narrow(0, 0, 1) + z;
    step();
    return r;
  };
  for (bool pure : {false, true}) {
    auto f = compile(body, {.pure = pure});
    for (int round = 0; round < 3; ++round) {
      for (throw_at = round == 0 ? 0 : -1; throw_at < kOps; ++throw_at) {
        SCOPED_TRACE(std::to_string(round) + " throws at " + std::to_string(throw_at));
        const auto run = [&](auto&& g) {
          c = f32({1, 2});
          std::string text = "returned";
          Tensor r = zeros({1});
          try {
            r = g(f32({3, 4}));
          } catch (const std::runtime_error& e) { text = e.what(); }
          EXPECT_TRUE(GradMode::is_enabled());
          return std::make_tuple(text, r, c);
        };
        const auto [text, r, effect] = run(body);
        const auto [text2, r2, effect2] = run(f);
        EXPECT_EQ(text, text2);
        testing::expect_same_bits(r2, r);
        testing::expect_same_bits(effect2, effect);
        EXPECT_VALUES(f32({1}) + f32({2}), 3);
      }
    }
  }
}

// A21
TEST(Threads, ForkAfterUse) {
  if (testing::kThreadSanitizer) GTEST_SKIP() << "the sanitizer allows no threads in a forked child";
  auto f = compile([](Tensor x) { return (x + 1).sum(); });
  const Tensor x = zeros({1000000});
  EXPECT_EQ(f(x).item<float>(), 1000000);
  const pid_t child = fork();
  if (child == 0) {
    bool right = f(x).item<float>() == 1000000;
    auto g = compile([](Tensor t) { return t * 3 + 1; });
    right = right && all_equal(g(ones({1000})), 4) && all_equal(g(ones({1000})), 4);
    _exit(right ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  for (int waited = 0; waited < 2000; ++waited) {
    if (waitpid(child, &status, WNOHANG) == child) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  EXPECT_EQ(f(x).item<float>(), 1000000);
}

TEST(Threads, OneTensorIsAnArgumentOfManyCallsAtOnce) {
  const Tensor weight = full({16}, 3.0);
  for (const bool pure : {false, true}) {
    auto f = compile([](const Tensor& x, const Tensor& w) { return x * w + w; }, {.pure = pure});
    std::atomic<int> wrong{0};
    in_threads(4, [&](int t) {
      const Tensor x = full({16}, static_cast<double>(t));
      for (int i = 0; i < 400; ++i) {
        wrong += !all_equal(f(x, weight), static_cast<float>(3 * t + 3));
        wrong += !all_equal(f(weight, weight), 12);
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(weight.use_count(), 1u);
    EXPECT_TRUE(all_equal(weight, 3));
  }
}

/// Calls f(argument) a few times, so that the tensor is the one of the call before, and then once more while `last` is set.
template <class F>
void last_call_of_many(const F& f, const Tensor& argument, bool& last) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(all_equal(f(argument), 7));
  last = true;
  EXPECT_TRUE(all_equal(f(argument), 7));
  last = false;
}

// Nobody counts an argument that is the tensor of the call before; it stays while the call needs it, and no longer.
TEST(Threads, AnArgumentDiesWhileItsCallRuns) {
  constexpr int64_t kLength = 1 << 20;
  enum class Where { Here, OtherThread, CapturedHere };
  for (const Where where : {Where::Here, Where::OtherThread, Where::CapturedHere}) {
    Tensor handle;
    bool last = false;
    const auto drop = [&] {
      if (!last) return;
      if (where == Where::OtherThread)
        std::thread([&] { handle.reset(); }).join();
      else
        handle.reset();
    };
    auto f = compile([&](const Tensor& x) {
      const Tensor doubled = (where == Where::CapturedHere ? handle : x) * 2;
      drop();
      return doubled + 1;
    });
    const Tensor other = full({kLength}, 3.0);
    handle = other;
    last_call_of_many(f, other, last);  // compiled; the handle that is dropped is not the last one
    const uint64_t before = allocator_stats().bytes_in_use;
    handle = full({kLength}, 3.0);
    last_call_of_many(f, handle, last);
    EXPECT_FALSE(handle.defined());
    handle = other;
    f(other);
    EXPECT_LE(allocator_stats().bytes_in_use, before + kLength) << "its memory is held";
  }
}

// The handle of a value that is not computed yet goes on another thread; the next calls use the value's place again.
TEST(Threads, AFollowedValueIsDroppedElsewhere) {
  auto f = compile([](const Tensor& x) {
    Tensor unused = x * 2;
    std::thread([&unused] { unused.reset(); }).join();
    Tensor copied = x * 3;
    std::thread([copied] {}).join();
    return copied + 1;
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(all_equal(f(full({8}, static_cast<double>(i))), static_cast<float>(3 * i + 1)));
  EXPECT_GE(f.stats().hits, 48u);
  EXPECT_EQ(f.stats().recompiles, 0u);
}

// Values that threads drop at the very moment when their call ends: each is freed once, by whoever comes second.
TEST(Threads, AValueIsDroppedWhileItsCallEnds) {
  std::vector<Tensor> kept(2);
  std::atomic<int> given{0}, taken{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over.load()) {
      if (given.load() == taken.load()) {
        std::this_thread::yield();
        continue;
      }
      kept[static_cast<size_t>(taken.load() % 2)].reset();
      taken.fetch_add(1);
    }
  });
  auto f = compile([&](const Tensor& x) {
    Tensor y = x * 2;
    while (given.load() != taken.load()) std::this_thread::yield();
    kept[static_cast<size_t>(given.load() % 2)] = y + 1;
    given.fetch_add(1);
    return y;
  });
  int wrong = 0;
  for (int i = 0; i < 100; ++i) wrong += !all_equal(f(full({8}, static_cast<double>(i))), static_cast<float>(2 * i));
  over = true;
  other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tailor
