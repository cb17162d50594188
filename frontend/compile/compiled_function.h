#pragma once
// A compiled function without its types: its entries, the look-up among them, and what happens on hits and misses.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "frontend/compile/entry.h"
#include "tailor/compile.h"
#include "tailor/report.h"

namespace tailor::detail {

/// How one call is made.
struct CallState {
  int slot = 0;                         // thread_slot()
  bool timed = false;                   // a sample: its parts are measured
  bool first = false;                   // it makes its entry
  bool widened = false;                 // its entry has just taken a size to be symbolic
  const EntryGuards* guards = nullptr;  // of its entry, which hold for the call; null for the first
};

class CompiledFunction {
 public:
  using Entries = std::vector<std::shared_ptr<Entry>>;

  CompiledFunction(CompileOptions options, std::source_location where);
  ~CompiledFunction();
  CompiledFunction(const CompiledFunction&) = delete;
  CompiledFunction& operator=(const CompiledFunction&) = delete;
  void call(const CallOps& ops, FlatValue& arguments);
  Stats stats() const;
  void reset();
  Explanation explain(const std::function<void()>& call);
  FunctionReport report() const;

  // For the limit over all functions.
  std::shared_ptr<Entry> least_recently_used(const Entry* keep) const;
  bool evict(const Entry& entry, std::string_view why);
  /// Begins anew; returns what was there, for the caller to let go of.
  std::shared_ptr<const Entries> drop_entries();

 private:
  /// This thread's copy of the entries of a function that it called lately: look-ups take no lock and write nothing that threads share.
  struct ThreadView {
    uint64_t function = 0, generation = 0;
    std::shared_ptr<const Entries> entries;
    size_t last_hit = 0;  // tried first
  };
  ThreadView& thread_view();
  void publish(Entries entries);
  void run(const std::shared_ptr<Entry>& entry, const CallOps& ops, const FlatValue& arguments, const guards::CallDescriptor& call,
           const CallState& state);
  void add(const std::shared_ptr<Entry>& entry, const Invocation& invocation, const FlatValue& arguments);
  std::shared_ptr<Entry> make_entry(const CallOps& ops);

  // miss.cpp
  void miss(const CallOps& ops, const FlatValue& arguments, const guards::CallDescriptor& call, CallState state);
  void record(const std::shared_ptr<Entry>& entry, const CallOps& ops, const FlatValue& arguments, const guards::CallDescriptor& call,
              const CallState& state);
  void wait_for_recording(std::unique_lock<std::timed_mutex>& recording) const;
  std::vector<MissRecord> first_failures(const Entries& entries, const guards::CallDescriptor& call) const;
  std::shared_ptr<Entry> widened(const Entries& all, const FlatValue& arguments, const guards::CallDescriptor& call,
                                 const ArgumentNames& names);
  std::optional<EagerReason> why_eager(const Entries& entries, const guards::CallDescriptor& call);
  bool pays(uint64_t pattern) const;
  void note_misses(const std::vector<MissRecord>& misses, std::optional<EagerReason> eager, int entry);
  void note_storm(const MissRecord& miss);
  void run_eagerly(const CallOps& ops, EagerReason reason, const guards::CallDescriptor* call);

  void note_skipped_time(double us, double run_us);
  bool skip(const SkipPlan& plan, const CallOps& ops, const FlatValue& arguments);
  // new_size.cpp
  bool serve_new_size(Entry& entry, const CallOps& ops, const FlatValue& arguments, const guards::CallDescriptor& call,
                      const CallState& state);
  void note_other_sizes(Entry& entry, const Invocation& invocation, const CallOps& ops, const PureArguments& given,
                        const guards::CallDescriptor& call, uint64_t module_epoch, const SizeReads& reads);
  enum class Bound : uint8_t { No, Yes, Compiled };
  Bound bind_size(Entry& entry, const SymbolicPlan& plan, const CallOps& ops, const FlatValue& arguments,
                  const guards::CallDescriptor& call, const CallState& state, std::vector<MissRecord>& misses);
  bool skip_last_hit(const Entry& entry, const guards::CallDescriptor& call, const CallOps& ops, const FlatValue& arguments, int slot);
  bool assigns(const Entry& entry, const CallOps& ops, const FlatValue& before);
  void review_promise(Entry& entry, const Invocation& invocation, const CallOps& ops, const FlatValue& arguments,
                      const PureArguments& given, const SkipPlan* plan, uint64_t module_epoch);

  const std::shared_ptr<FunctionRecord> shared_record_;
  FunctionRecord& record_ = *shared_record_;
  const CompileOptions& options_ = record_.options;
  const uint64_t id_;
  std::atomic<uint64_t> generation_{1};
  std::timed_mutex recording_;  // held by the thread that makes a new entry
  mutable std::mutex mutex_;    // guards what follows; look-ups go through a thread-local copy
  std::shared_ptr<const Entries> entries_;
  std::shared_ptr<Entry> recorded_;  // the new entry while its first call runs
  int next_entry_ = 0;
};

}  // namespace tailor::detail
