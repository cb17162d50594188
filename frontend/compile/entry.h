#pragma once
// One entry of a compiled function's cache: the guards that select it, the tree of what user code did, and the plan for skipping it.

#include <any>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/captured.h"
#include "frontend/compile/counts.h"
#include "frontend/compile/guard_options.h"
#include "frontend/compile/policy.h"
#include "frontend/compile/total_cache.h"
#include "frontend/follow/invocation.h"
#include "frontend/follow/replay.h"
#include "guards/guard_set.h"
#include "tailor/compile.h"

namespace tailor::detail {

/// Options, counters and names that a function shares with its entries. It outlives the function while a background job is at one of them.
struct FunctionRecord {
  FunctionRecord(CompileOptions chosen, const std::string& where);

  const CompileOptions options;
  const std::string place;  // "model.cpp:12"
  const std::string name;   // "layer (model.cpp:12)", or the place alone
  const std::string tag;    // "layer", or the place: the first part of log tags
  CallCounts counts;
  std::atomic<uint64_t> misses{0}, recompiles{0}, divergences{0}, op_by_op{0}, lifts{0}, evictions{0}, compile_failures{0},
      guards_dropped{0}, guards_relaxed{0}, plans_voided{0}, async_compiles{0}, symbolic_compiles{0}, symbolic_rests{0},
      symbolic_given_up{0}, bound{0}, parts{0};
  std::array<std::atomic<uint64_t>, kEagerReasons> eager{};
  std::atomic<bool> pure_promise_broken{false};
  CapturedTensors captured;
  StormDetector storms;
  StormDetector path_storms;  // attributes that make path after path; they stop nothing but are told
  PatternCounter patterns;
  mutable std::mutex mutex;  // guards what follows
  struct Times {
    int kernels = 0, ops = 0;
    double passes_ms = 0, lower_ms = 0, llvm_ms = 0, link_ms = 0, compile_ms = 0, first_call_ms = 0;
    jit::ArtifactCounts artifacts;
    struct Mean {
      double sum = 0;
      uint64_t samples = 0;
      void add(double value) { sum += value, ++samples; }
      double mean() const { return samples ? sum / static_cast<double>(samples) : 0; }
    } recorded_us, eager_us, compiled_us, guard_us, run_us, entry_compile_us;
  } times;
  std::vector<MissRecord> recent_misses;
  std::string not_skipped;  // Stats::not_skipped

  void count(EagerReason reason) { eager[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed); }
  /// What is known of the costs of a call that would be compiled.
  CallCosts costs() const;
  /// Guards and attributes that have failed again and again.
  std::vector<Storm> all_storms() const;
  /// As after compile(); options and names stay.
  void clear();
};

/// How a pure entry runs without user code.
struct SkipPlan {
  const follow::Instance* end = nullptr;
  const follow::Variant* variant = nullptr;
  std::vector<std::shared_ptr<follow::Binding>> bindings;  // whose these are
  std::vector<int> arguments;                              // per input: the argument's number, or -1 for a captured tensor
  std::vector<TensorImpl*> captured;      // per input, not owned: touched inside of a CapturedRegion only; null for arguments
  std::vector<uint64_t> captured_ids;     // per input; 0 for arguments
  std::vector<IntrusivePtr<Cell>> lives;  // of the captured ones
  struct ResultTensor {
    enum class From : uint8_t { Undefined, Output, Argument } from = From::Undefined;
    int index = -1;
    friend bool operator==(const ResultTensor&, const ResultTensor&) = default;
  };
  std::vector<int64_t> scalars;  // numbers that vary between plans: under this one's guards they are what they were
  std::vector<ResultTensor> results;
  std::any prototype;       // the result with its tensors left out
  guards::GuardSet guards;  // everything that the call could have read, but for what modules hold
  GuardChanges changes;     // by the user's options
  /// The epoch in which modules were seen to hold what is captured here; a followed call that finds them so again moves it on.
  mutable std::atomic<uint64_t> module_epoch{0};
  /// Whether what it captures is alive and described as it was; touches none of it.
  bool holds_captured() const;
  bool captures_the_same(const SkipPlan& other) const;
  bool serves(const guards::CallDescriptor& call) const {
    return module_epoch.load(std::memory_order_acquire) == call.module_epoch && guards.check(call);
  }
};

/// A finished call of a pure function, as plans are made of it.
struct PureCall {
  const follow::Instance* end = nullptr;
  std::vector<int> externals;                   // by number: the argument's, or -1
  std::vector<SkipPlan::ResultTensor> results;  // Output: which value of the call
  std::any prototype;
};

/// The tensors among the arguments of a call, as the caller knows them and as the body was given them.
struct PureArguments {
  std::span<TensorHead*const> by_caller, to_body;
  bool apart;  // what the body took as an argument is told from what it has from elsewhere
};

/// How a pure entry runs in sizes that its body was never run in.
struct SymbolicPlan {
  follow::SymbolicPath path;
  std::vector<TensorImpl*> captured;      // by external, not owned: touched inside of a CapturedRegion only; null for arguments
  std::vector<uint64_t> captured_ids;     // likewise; 0 for arguments
  std::vector<IntrusivePtr<Cell>> lives;  // likewise; null for arguments
  std::vector<SkipPlan::ResultTensor> results;
  std::any prototype;
  std::vector<HostRead> reads;
  std::vector<int> read_arguments;  // of which argument each of these is; -1 for none
  std::vector<std::string> names;   // of the arguments
  guards::GuardSet guards;          // everything but the sizes of values that the call computes
  GuardChanges changes;
  uint64_t module_epoch = 0;
  /// Both were made by calls like this one.
  bool says_the_same(const SymbolicPlan& other, const guards::CallDescriptor& call) const;
};

/// The range that a symbolic size may take; null for a size that is not to be symbolic.
std::optional<guards::DimRange> symbolic_range(const TensorHead* tensor, int dim, int64_t size, bool unmarked_too);

/// What selects an entry, and the sizes of a call that say which binding of its tree the call is: both change together when a size turns
/// out to vary.
struct EntryGuards {
  struct ArgumentFact {
    int argument;
    ir::TensorSpec spec;
    std::string path, source;
    std::vector<guards::DimRange> dynamic;
  };
  struct Dim {
    int argument, dim;
  };
  std::vector<ArgumentFact> arguments;
  std::vector<int64_t> structure;  // the words that select: those that decide which numbers the arguments above have
  std::vector<Dim> dynamic;        // in the order in which they became symbolic; argument -1: not there in this layout
  guards::GuardSet set;
  const EntryGuards* other = nullptr;  // the same facts where the arguments are put together in another way
  int layouts = 1;                     // with those

  GuardChanges changes;  // by the user's options

  /// Makes `set` from the rest; `structure` holds all words of the call. `all_words`: every one of them selects.
  void build(const ArgumentNames& names, const CompileOptions& options, bool all_words);
  /// The sizes of the dynamic dims.
  void sizes_of(const guards::CallDescriptor& call, std::vector<int64_t>& out) const;
};

class Entry final : public follow::EntryHost, public std::enable_shared_from_this<Entry> {
 public:
  Entry(int number, std::shared_ptr<FunctionRecord> record) : number(number), shared_record_(std::move(record)) {}
  ~Entry() override;

  const int number;
  ArgumentNames names;
  follow::TraceTree tree;

  /// Null until the entry is published; what it points to lives as long as the entry.
  const EntryGuards* guards() const { return guards_.load(std::memory_order_acquire); }
  /// Those that hold for the call, or null.
  const EntryGuards* guards_for(const guards::CallDescriptor& call) const {
    for (const EntryGuards* g = guards(); g != nullptr; g = g->other)
      if (g->set.check(call)) return g;
    return nullptr;
  }
  /// Those that say why the call does not match.
  const EntryGuards& closest_guards(const guards::CallDescriptor& call) const;
  void set_guards(std::unique_ptr<const EntryGuards> guards);
  /// The guards of an entry first made for a call; marked sizes are symbolic from the start.
  void make_guards(const Invocation& invocation, std::span<TensorHead* const> arguments, std::span<const int64_t> structure);
  /// Where the call differs only in lengths, presence or keys that this entry need not know, it serves the call from now on. One thread
  /// at a time, as for widen().
  bool adopt(const guards::CallDescriptor& call, const ArgumentNames& names);
  /// Where this entry would serve the call if some sizes were symbolic, makes them so.
  bool widen(const guards::CallDescriptor& call, std::span<TensorHead* const> arguments, const ArgumentNames& names);

  /// An invocation for one call; returned by give_back with the same slot.
  Invocation* take(int slot);
  void give_back(int slot, Invocation* invocation);

  /// A hit of this slot; returns how many it has counted.
  uint64_t hit(int slot) noexcept { return add_in_slot(cell(slot).hits, slot); }
  uint64_t hits_of(int slot) const noexcept { return cells_[static_cast<size_t>(slot)].hits.load(std::memory_order_relaxed); }
  uint64_t hits() const noexcept;
  void used(int slot) noexcept { cell(slot).last_used.store(use_stamp(), std::memory_order_relaxed); }
  /// Larger for entries that were used later.
  uint64_t last_used() const noexcept;

  /// Being listed counts towards the total of all functions; so does code compiled while it is.
  void list();
  void unlist();
  uint64_t code_bytes() const { return code_bytes_.load(std::memory_order_relaxed); }

  /// The plan for skipping, or null. Plans live as long as their entry.
  const SkipPlan* skip_plan() const { return skip_.load(std::memory_order_acquire); }
  /// The plan whose guards hold for this call, or null.
  const SkipPlan* skip_plan_for(const guards::CallDescriptor& call);
  /// `plan`, or an earlier one that says the same about `call`. False when there have been too many.
  bool set_skip_plan(std::unique_ptr<const SkipPlan> plan, const guards::CallDescriptor& call);
  /// Builds it from a call that has just hit (or been compiled); null when the call cannot be skipped. `bound_by`: the body did not run.
  std::unique_ptr<const SkipPlan> plan_skip(const Invocation& invocation, const CallOps& ops, const guards::CallDescriptor& call,
                                            const PureArguments& given, std::string* why_not, const SymbolicPlan* bound_by = nullptr);
  /// Keeps what a call that ran the body says of other sizes.
  void plan_other_sizes(const Invocation& invocation, const CallOps& ops, const guards::CallDescriptor& call, const PureArguments& given,
                        const SizeReads& reads);
  std::vector<std::shared_ptr<const SymbolicPlan>> symbolic_plans() const;
  /// False when calls have told nothing about other sizes for long.
  bool plans_other_sizes() const {
    constexpr int kMostInVain = 32;
    return plans_in_vain_.load(std::memory_order_relaxed) < kMostInVain;
  }

  /// Whether a call that is followed is to be looked at for what skipping needs: one in 32, where that has come to nothing for long.
  bool looks_at_call() noexcept {
    constexpr uint64_t kMostInVain = 32, kSeldom = 32;
    const uint64_t calls = looks_in_vain_.fetch_add(1, std::memory_order_relaxed);
    return calls < kMostInVain || calls % kSeldom == 0;
  }
  /// Why a call of a pure function is not skipped, or "" where it will be from now on. Told once.
  void note_not_skipped(const std::string& why);
  void look_again() noexcept { looks_in_vain_.store(0, std::memory_order_relaxed); }

  std::vector<Explanation::Segment> segments() const;

  // EntryHost
  std::string function_name() const override { return record_.name; }
  jit::CompileOptions compile_options() const override;
  bool fullgraph() const override { return options_.fullgraph; }
  bool suppress_errors() const override { return options_.suppress_errors; }
  bool wait_for_compile() const override { return options_.wait_for_compile; }
  bool dynamic() const override { return options_.dynamic != Dynamic::Never; }
  bool all_dynamic() const override { return options_.dynamic == Dynamic::Always; }
  bool may_compile() override;
  bool compile_later(std::function<void()> finish) override;
  void on_variant_compiled(const follow::Variant& variant, bool first_of_segment) override;
  void on_op_by_op(std::string_view why) override;
  void on_escape(std::source_location where, std::string_view why) override;
  void on_difference(const follow::Difference& difference) override;
  void on_compile_failure(std::string_view what) override;
  void on_symbolic_compiled(const follow::SymbolicForm& form) override;
  void on_symbolic_given_up(std::string_view why) override;
  bool shares_parts() const override { return !options_.pure || record_.pure_promise_broken.load(std::memory_order_relaxed); }
  void on_parts(std::string_view why, std::source_location where) override;
  std::string argument_path(int argument) const override;
  std::string tag() const;  // "layer/0/1": function, entry, attempt

  std::atomic<bool> compiling_first{true};  // the segments of the call that made the entry are no recompiles

 private:
  const EntryGuards& all_facts() const;
  std::unique_ptr<EntryGuards> in_layout_of(const guards::CallDescriptor& call, const ArgumentNames& names) const;
  std::string why_compiled() const;
  void note_compiled(const jit::CompileReport& report, double compile_ms, const ir::Graph& graph, bool first_of_segment,
                     std::span<const std::string> sizes = {});
  void tell(const GuardChanges& changes);

  struct alignas(kSlotAlignment) Cell {
    std::atomic<uint64_t> hits{0}, last_used{0};
    std::atomic<Invocation*> spare{nullptr};
  };
  Cell& cell(int slot) noexcept { return cells_[static_cast<size_t>(slot)]; }

  const std::shared_ptr<FunctionRecord> shared_record_;
  FunctionRecord& record_ = *shared_record_;
  const CompileOptions& options_ = record_.options;
  std::array<Cell, kThreadSlots> cells_;
  enum class Listed : uint8_t { NotYet, Yes, NoMore };
  std::atomic<Listed> listed_{Listed::NotYet};
  std::atomic<uint64_t> code_bytes_{0};
  std::atomic<int> attempts_{0};
  std::atomic<const EntryGuards*> guards_{nullptr};
  std::vector<std::unique_ptr<const EntryGuards>> all_guards_;  // older ones may be in use by other threads
  mutable std::mutex mutex_;
  std::string told_not_skipped_;
  std::string last_change_;  // why the next segment is compiled, for error_on_recompile
  std::atomic<const SkipPlan*> skip_{nullptr};
  std::vector<std::unique_ptr<const SkipPlan>> plans_;
  /// By the sizes that they are for; under 0 those that a user's options have loosened.
  std::unordered_map<uint64_t, std::vector<const SkipPlan*>> plans_by_size_;
  template <class Visit>
  void each_plan_for(const guards::CallDescriptor& call, const Visit& visit) const;
  std::optional<PureCall> look_at(const Invocation& invocation, const CallOps& ops, std::span<TensorHead* const> arguments,
                                  std::string* why_not) const;
  bool captures_an_argument(const Invocation& invocation, const PureCall& seen, const PureArguments& given);
  std::vector<std::shared_ptr<const SymbolicPlan>> symbolic_;
  std::atomic<int> plans_in_vain_{0};
  std::atomic<uint64_t> looks_in_vain_{0};
  std::vector<Explanation::Segment> segments_;
  std::atomic<bool> warned_{false};
};

/// For LogTag.
inline std::string tag_of_entry(const void* entry) { return static_cast<const Entry*>(entry)->tag(); }

}  // namespace tailor::detail
