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
  void call(const CallOps& ops, FlatValue& arguments);
  Stats stats() const;
  void reset();
  Explanation explain(const std::function<void()>& call);

 private:
  using Entries = std::vector<std::shared_ptr<Entry>>;
  const Entries& entries();
  void publish(std::shared_ptr<const Entries> entries);
  void run(Entry& entry, const CallOps& ops, const FlatValue& arguments, bool first_call);
  std::shared_ptr<Entry> add_entry(const CallOps& ops, const guards::CallDescriptor& call);
  void record_misses(const Entries& entries, const guards::CallDescriptor& call);

  const CompileOptions options_;
  FunctionRecord record_;
  const uint64_t id_;
  std::atomic<uint64_t> generation_{1};
  mutable std::mutex mutex_;                // guards what follows; look-ups go through a thread-local copy
  std::shared_ptr<const Entries> entries_;
  std::atomic<Entry*> last_hit_{nullptr};
  int next_entry_ = 0;
  std::atomic<bool> explaining_{false};
  std::string last_outcome_;
  int last_entry_ = -1;
};

}  // namespace tailor::detail
