// Threads that meet at one point of a call, stepped so that the outcome does not depend on who is faster.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <thread>

#include "frontend/follow/invocation.h"
#include "runtime/log.h"
#include "support/expect.h"
#include "support/plain_host.h"

namespace tailor {
namespace {

using testing::f32;
using Host = testing::PlainHost;

void wait_until(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

// ---- calls that wait for another thread's compile ------------------------------------------------------------------------

// One entry, made by one thread while the others wait, serves every size: none of them makes an entry of its own, none runs eagerly.
TEST(Waiting, CallsInOtherSizesWidenTheEntryThatTheyWaitedFor) {
  constexpr int kThreads = 4, kRounds = 3;
  for (int time = 0; time < 5; ++time) {
    Compiled<Tensor(Tensor)> f;
    std::atomic<bool> first{true};
    f = compile(
        [&](Tensor x) {
          if (first.exchange(false)) wait_until([&] { return f.stats().calls == kThreads; });
          return (x * 2 + 1).sum(1);
        },
        {.wait_for_compile = true});
    std::vector<Stats> after(kRounds);
    std::barrier<> step(kThreads);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int round = 0; round < kRounds; ++round) {
          const Tensor y = f(ones({5 + t, 3}));
          wrong += y.size(0) != 5 + t || y[0].item<float>() != 9;
          step.arrive_and_wait();
          if (t == 0) after[static_cast<size_t>(round)] = f.stats();
          step.arrive_and_wait();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const Stats& s = after.back();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(s.entries, 1);
    EXPECT_EQ(s.misses, 2u) << "the first call, and one that made the size symbolic";
    EXPECT_EQ(s.eager.all(), 0u);
    EXPECT_EQ(s.symbolic_compiles, 1u);
    EXPECT_EQ(s.hits - after[0].hits, static_cast<uint64_t>(kThreads * (kRounds - 1)));
    EXPECT_EQ(s.recompiles, after[0].recompiles);
  }
}

std::atomic<int> stage{0};

// A thread compiles a path; another one comes to its end meanwhile.
TEST(Waiting, ACallWaitsForTheSegmentThatAnotherThreadCompiles) {
  for (int time = 0; time < 20; ++time) {
    stage = 0;
    static thread_local bool follower;
    bool further = false;
    const auto f = compile(
        [&](Tensor x) {
          Tensor y = x * 2;
          if (further) y = y + 1;
          if (follower) stage = 2;
          return y;
        },
        {.wait_for_compile = true});
    f(f32({1, 2}));
    further = true;
    set_logs("graph");
    set_log_sink([](LogChannel, std::string_view, std::string_view) {  // compiled, not yet there for others
      int begin = 0;
      stage.compare_exchange_strong(begin, 1);
      wait_until([] { return stage == 2; });
    });
    std::thread compiling([&] { EXPECT_VALUES(f(f32({1, 2})), 3, 5); });
    std::thread following([&] {
      wait_until([] { return stage == 1; });
      follower = true;
      EXPECT_VALUES(f(f32({3, 4})), 7, 9);
    });
    compiling.join();
    following.join();
    set_log_sink(nullptr);
    set_logs("");
    const Stats s = f.stats();
    EXPECT_EQ(s.hits, 1u) << "the call that waited";
    EXPECT_EQ(s.recompiles, 1u);
    EXPECT_EQ(s.eager.all(), 0u);
  }
}

// Bodies that wait for threads which call what is just being recorded, by itself or by way of another function: those calls do not wait.
TEST(Waiting, NotForABodyThatWaitsForThisCall) {
  Compiled<Tensor(Tensor)> f, g;
  const auto halves = [](const Compiled<Tensor(Tensor)>& other) {
    return [&other](Tensor x) {
      const int64_t n = x.size(0);
      if (n == 1) return x * 2;
      Tensor second;
      std::thread thread([&] { second = other(x.narrow(0, n / 2, n - n / 2)); });
      thread.join();
      return cat({x.narrow(0, 0, n / 2) * 2, second});
    };
  };
  f = compile(halves(f), {.wait_for_compile = true});
  EXPECT_VALUES(f(f32({1, 2, 3})), 2, 4, 6);
  EXPECT_VALUES(f(f32({1, 2, 3})), 2, 4, 6);
  EXPECT_GT(f.stats().eager.while_compiling, 0u);
  f = compile(halves(g), {.wait_for_compile = true});
  g = compile(halves(f), {.wait_for_compile = true});
  EXPECT_VALUES(f(f32({1, 2, 3, 4})), 2, 4, 6, 8);
  EXPECT_VALUES(g(f32({1, 2, 3, 4, 5})), 2, 4, 6, 8, 10);
}

// Inputs that share memory which is written run op by op; there is no other code that would help.
TEST(Waiting, SharedMemoryCompilesNothing) {
  const auto f = compile([](Tensor x, Tensor y) { return x.mul_(2) + y; });
  f(ones({4}), ones({4}));
  const Tensor base = ones({8});
  for (int i = 0; i < 6; ++i) f(base.narrow(0, 0, 4), base.narrow(0, 2, 4));
  EXPECT_EQ(f.stats().op_by_op, 6u);
  EXPECT_EQ(f.stats().recompiles, 0u);
}

// ---- numbers that are lifted while another thread compiles -----------------------------------------------------------------

// The numbers of a call are noted; another call shows that one of them varies; only then is the program made. What it takes for an
// argument and what it takes for constant is of one moment: else the first call's number would be served to everybody.
TEST(Lifting, WhileAnotherThreadPutsASegmentTogether) {
  for (const bool view : {true, false}) {
    SCOPED_TRACE(view ? "the place of a view" : "a number");
    follow::TraceTree tree;
    Host host;
    const Tensor x = arange(8, kFloat32);
    const auto call = [&](int64_t number) {
      Invocation invocation(tree, host);
      TensorHead* const arguments[] = {x.head()};
      invocation.begin(arguments);
      current_interceptor() = &invocation;
      Tensor y = view ? x.narrow(0, number, 2) + 1 : x * number;
      current_interceptor() = nullptr;
      invocation.finish();
      const bool hit = invocation.hit_return() != nullptr;
      invocation.end();
      EXPECT_EQ(y[1].item<float>(), view ? static_cast<float>(number + 2) : static_cast<float>(number)) << number;
      return hit;
    };
    bool stepped = false;
    host.between = [&] {
      if (std::exchange(stepped, true)) return;
      std::thread([&] { EXPECT_FALSE(call(3)); }).join();
    };
    EXPECT_FALSE(call(2));
    ASSERT_TRUE(stepped);
    for (const int64_t number : {4, 5, 2, 1}) call(number);
    EXPECT_TRUE(call(6));
    EXPECT_EQ(host.compiled, 2);
  }
}

/// Whether a thread of this process sleeps: waits for a lock.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
}

// A number that varies is marked and counted at once for whoever holds the tree: a thread that found it marked and not yet counted would
// take code with the recorded number baked in for its own.
TEST(Lifting, IsMarkedAndCountedAtOnce) {
  follow::TraceTree tree;
  Host host;
  const Tensor x = ones({4});
  std::atomic<pid_t> lifting{0};
  std::atomic<bool> go{false}, passed{false};
  const auto call = [&](int64_t number, bool stepped) {
    Invocation invocation(tree, host);
    TensorHead* const arguments[] = {x.head()};
    invocation.begin(arguments);
    if (stepped) {
      lifting = static_cast<pid_t>(syscall(SYS_gettid));
      wait_until([&] { return go.load(); });
    }
    current_interceptor() = &invocation;
    const Tensor y = x * number;
    current_interceptor() = nullptr;
    if (stepped) passed = true;
    invocation.finish();
    invocation.end();
    EXPECT_EQ(y[0].item<float>(), static_cast<float>(number));
  };
  call(1, false);
  const follow::Step& mul = *tree.root()->first_child.load();
  std::thread other([&] { call(2, true); });
  wait_until([&] { return lifting != 0; });
  {
    const std::lock_guard holding(tree.mutex());
    go = true;
    wait_until([&] { return passed || sleeps(lifting); });
    EXPECT_EQ(mul.lifted.load(), 0u);
    EXPECT_EQ(tree.lifts.load(), 0u);
  }
  other.join();
  EXPECT_EQ(mul.lifted.load(), 1u);
  EXPECT_EQ(tree.lifts.load(), 1u);
  call(3, false);
}

// ---- paths that another thread records meanwhile -----------------------------------------------------------------------------

// A call has left the recorded paths; before it records, another one records the very op it is at. What was a tensor of its own there has a
// number already here: it is no instance of that step, which would number one tensor more than this call has.
TEST(Recording, WhatAnotherThreadHasJustRecordedWithMoreTensors) {
  follow::TraceTree tree;
  Host host;
  const Tensor x = arange(4, kFloat32).view({2, 2}), other = ones({2, 3});
  using Op = Tensor (*)(const Tensor&);
  const Op ways[] = {[](const Tensor& t) { return relu(t); }, [](const Tensor& t) { return exp(t); },
                     [](const Tensor& t) { return neg(t); },  [](const Tensor& t) { return abs(t); },
                     [](const Tensor& t) { return sqrt(t); }, [](const Tensor& t) { return sin(t); },
                     [](const Tensor& t) { return cos(t); },  [](const Tensor& t) { return tanh(t); }};
  const auto call = [&](Op way, const Tensor& factor) {
    Invocation invocation(tree, host);
    TensorHead* const arguments[] = {x.head()};
    invocation.begin(arguments);
    current_interceptor() = &invocation;
    Tensor y = x + 1;
    y = way != nullptr ? way(y) : mm(y, factor);
    current_interceptor() = nullptr;
    invocation.finish();
    invocation.end();
    EXPECT_TRUE(equal(y, way != nullptr ? way(x + 1) : mm(x + 1, factor)));
  };
  for (const Op way : ways) call(way, {});  // so many that what they begin with becomes a part
  bool stepped = false;
  host.at_difference = [&] {
    if (!std::exchange(stepped, true)) std::thread([&] { call(nullptr, other); }).join();
  };
  call(nullptr, x);
  ASSERT_TRUE(stepped);
  for (int round = 0; round < 3; ++round)
    for (const Tensor& factor : {other, x, ones({2, 5})}) call(nullptr, factor);
}

// A way that another thread is adding can be met before it counts as the one taken last.
TEST(Recording, AWayThatIsJustBeingAdded) {
  const ir::OpDef& relu = *ir::find_op("relu");
  const OpCall call{relu, {}, {}, false, {}};
  follow::Step root, step;
  step.kind = follow::StepKind::Op;
  step.op = &relu;
  follow::Instance here, child;
  here.step = &root;
  child.step = &step;
  EXPECT_EQ(follow::most_like(here, &call).step, nullptr);
  root.first_child = &step;
  EXPECT_EQ(follow::most_like(here, &call).step, &step);
  EXPECT_EQ(follow::most_like(here, &call).in_these_sizes, nullptr);
  here.first_child = &child;
  EXPECT_EQ(follow::most_like(here, &call).in_these_sizes, &child);
  EXPECT_EQ(follow::most_like(here, nullptr).in_these_sizes, nullptr);
  here.hot = &child;
  EXPECT_EQ(follow::most_like(here, nullptr).in_these_sizes, &child);
}

}  // namespace
}  // namespace tailor
