#pragma once
// A compiled function without its types: its entries, the look-up among them, and what happens on hits and misses.

#include <any>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "frontend/compile/entry.h"
#include "tailor/compile.h"

namespace tailor::detail {

class CompiledFunction {
 public:
  CompiledFunction(CompileOptions options, std::source_location where);
  CompiledFunction(const CompiledFunction&) = delete;
  CompiledFunction& operator=(const CompiledFunction&) = delete;
  ~CompiledFunction();
  void call(const CallOps& ops, FlatValue& arguments);
  Stats stats() const;
  void reset();
  Explanation explain(const std::function<void()>& call);

 private:
  using Entries = std::vector<std::shared_ptr<Entry>>;
  const Entries& entries();
  void publish(std::shared_ptr<const Entries> entries);
  void record_misses(const Entries& entries, const guards::CallDescriptor& call);
  std::shared_ptr<Entry> make_entry(const CallOps& ops, const guards::CallDescriptor& call);
  void add(const std::shared_ptr<Entry>& entry, const Invocation& invocation);
  void run(const std::shared_ptr<Entry>& entry, const CallOps& ops, const FlatValue& arguments, bool first_call);
  bool skip(const SkipPlan& plan, const CallOps& ops, const FlatValue& arguments);
  bool skip_last_hit(const std::vector<std::shared_ptr<Entry>>& entries, const guards::CallDescriptor& call, const CallOps& ops,
                     const FlatValue& arguments);
  void review_promise(Entry& entry, const Invocation& invocation, const CallOps& ops, const FlatValue& arguments, const SkipPlan* plan,
                      uint64_t module_epoch);
  void add_time(double& sum, uint64_t& samples, double micros);
  static void note_outcome(const char* outcome, int entry);

  const CompileOptions options_;
  FunctionRecord record_;
  const uint64_t id_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<size_t> last_hit_{0};  // tried first
  std::mutex recording_;             // held by the thread that makes a new entry
  mutable std::mutex mutex_;         // guards what follows; look-ups go through a thread-local copy
  std::shared_ptr<const Entries> entries_;
  int next_entry_ = 0;
};

}  // namespace tailor::detail
