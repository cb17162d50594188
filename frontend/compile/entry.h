#pragma once
// One entry of a compiled function's cache: the guards that select it, the tree of what user code did, and the plan for skipping it.

#include <any>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frontend/follow/invocation.h"
#include "guards/guard_set.h"
#include "tailor/compile.h"

namespace tailor::detail {

/// Counters and names that all entries of a function share.
struct FunctionRecord {
  std::string name;  // for logs: "layer (model.cpp:12)"
  std::atomic<uint64_t> calls{0}, hits{0}, skipped{0}, misses{0}, recompiles{0}, divergences{0}, op_by_op{0}, lifts{0}, evictions{0},
      compile_failures{0};
  std::atomic<bool> pure_promise_broken{false};
  mutable std::mutex mutex;  // guards what follows
  int kernels = 0, ops = 0;
  double trace_ms = 0, passes_ms = 0, lower_ms = 0, llvm_ms = 0, link_ms = 0, compile_ms = 0, first_call_ms = 0;
  double eager_us = 0, compiled_us = 0;
  uint64_t eager_samples = 0, compiled_samples = 0;
  std::vector<MissRecord> recent_misses;

  /// As after compile(); the name stays.
  void clear() {
    for (auto* counter : {&calls, &hits, &skipped, &misses, &recompiles, &divergences, &op_by_op, &lifts, &evictions, &compile_failures})
      counter->store(0);
    pure_promise_broken = false;
    std::lock_guard lock(mutex);
    kernels = ops = 0;
    trace_ms = passes_ms = lower_ms = llvm_ms = link_ms = compile_ms = first_call_ms = eager_us = compiled_us = 0;
    eager_samples = compiled_samples = 0;
    recent_misses.clear();
  }
};

/// How a pure entry runs without user code.
struct SkipPlan {
  const follow::Step* end = nullptr;
  const follow::Variant* variant = nullptr;
  std::vector<int> arguments;                      // per input: the argument's number, or -1 for a captured tensor
  std::vector<IntrusivePtr<TensorHead>> captured;  // per input; null for arguments
  std::vector<uint64_t> captured_ids;
  struct ResultTensor {
    enum class From : uint8_t { Undefined, Output, Argument } from = From::Undefined;
    int index = -1;
    friend bool operator==(const ResultTensor&, const ResultTensor&) = default;
  };
  std::vector<ResultTensor> results;
  std::any prototype;       // the result with its tensors left out
  guards::GuardSet guards;  // everything that the call could have read, but for what modules hold
  /// The epoch in which modules were seen to hold what is captured here; a followed call that finds them so again moves it on.
  mutable std::atomic<uint64_t> module_epoch{0};
  bool holds_captured() const;
  bool captures_the_same(const SkipPlan& other) const;
  bool serves(const guards::CallDescriptor& call) const {
    return module_epoch.load(std::memory_order_acquire) == call.module_epoch && guards.check(call);
  }
};

class Entry final : public follow::EntryHost {
 public:
  Entry(int number, const CompileOptions& options, FunctionRecord& record) : number(number), options_(options), record_(record) {}
  ~Entry() override;

  const int number;
  guards::GuardSet guards;  // written before the entry is published
  ArgumentNames names;
  follow::TraceTree tree;
  std::atomic<uint64_t> last_used{0}, hits{0};

  /// An invocation for one call; returned by give_back.
  Invocation* take();
  void give_back(Invocation* invocation);

  /// The plan for skipping, or null. Plans live as long as their entry.
  const SkipPlan* skip_plan() const { return skip_.load(std::memory_order_acquire); }
  /// False when there have been too many.
  bool set_skip_plan(std::unique_ptr<const SkipPlan> plan);
  /// Builds it from a call that has just hit (or been compiled); null when the call cannot be skipped.
  std::unique_ptr<const SkipPlan> plan_skip(const Invocation& invocation, const CallOps& ops, const guards::CallDescriptor& call,
                                            std::span<TensorHead* const> arguments, std::string* why_not) const;

  std::vector<Explanation::Segment> segments() const;

  // EntryHost
  std::string function_name() const override { return record_.name; }
  jit::CompileOptions compile_options() const override;
  bool fullgraph() const override { return options_.fullgraph; }
  bool suppress_errors() const override { return options_.suppress_errors; }
  void on_variant_compiled(const follow::Variant& variant, bool first_of_segment) override;
  void on_op_by_op(std::string_view why) override;
  void on_lift(const follow::Step& step, std::string_view what) override;
  void on_divergence(const follow::Step* expected, const OpCall* got) override;
  void on_compile_failure(std::string_view what) override;
  std::string argument_path(int argument) const override;
  std::string tag() const;

  std::atomic<bool> compiling_first{true};  // the segments of the call that made the entry are no recompiles

 private:
  const CompileOptions& options_;
  FunctionRecord& record_;
  std::atomic<Invocation*> spare_{nullptr};
  mutable std::mutex mutex_;
  std::atomic<const SkipPlan*> skip_{nullptr};
  std::vector<std::unique_ptr<const SkipPlan>> plans_;
  std::vector<Explanation::Segment> segments_;
  std::atomic<bool> warned_{false};
};

}  // namespace tailor::detail
