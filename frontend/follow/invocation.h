#pragma once
// One call of a compiled function: what runs while user code runs.
//
// A following invocation compares each op with the next recorded step and hands out lazy tensors; nothing is computed before the
// segment ends. A recording one runs each op at once and adds it to the tree. An invocation begins following and turns to
// recording when user code does something new: then what was followed since the last end is run op by op, exactly once.

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/captured.h"
#include "frontend/dispatch.h"
#include "frontend/follow/difference.h"
#include "frontend/follow/run_variant.h"
#include "frontend/follow/trace.h"
#include "frontend/size_reads.h"
#include "runtime/own_mutex.h"
#include "runtime/own_vector.h"

namespace tailor::follow {

/// What the invocations of one entry share besides the tree; implemented by the compiled function.
class EntryHost {
 public:
  virtual ~EntryHost() = default;
  virtual std::string function_name() const = 0;
  virtual jit::CompileOptions compile_options() const = 0;
  virtual bool fullgraph() const = 0;
  virtual bool suppress_errors() const = 0;
  /// Asked before a segment is compiled; false: it runs op by op. Throws Error where compiling is forbidden.
  virtual bool may_compile() = 0;
  /// Takes what gives a variant its code, to be done later on another thread; false: it is done now.
  virtual bool compile_later(std::function<void()> finish) = 0;
  /// Whether a call whose segment another thread compiles waits for it; else it runs op by op.
  virtual bool wait_for_compile() const = 0;
  /// Whether sizes that differ may be other values of the same thing.
  virtual bool dynamic() const = 0;
  /// Whether all sizes of arguments are symbolic from the first compile on.
  virtual bool all_dynamic() const = 0;
  /// Counters and the log.
  virtual void on_variant_compiled(const Variant& variant, bool first_of_segment) = 0;
  virtual void on_op_by_op(std::string_view why) = 0;
  /// A path is seen for the first time to go through a place where a segment ends before the call does.
  virtual void on_escape(std::source_location where, std::string_view why) = 0;
  /// Something differs from what was recorded, so that a segment will be compiled again.
  virtual void on_difference(const Difference& difference) = 0;
  virtual void on_compile_failure(std::string_view what) = 0;
  virtual void on_symbolic_compiled(const follow::SymbolicForm& form) = 0;
  virtual void on_symbolic_given_up(std::string_view why) = 0;
  /// Whether many paths may be made of parts that they share, which is no path that a call could be skipped on.
  virtual bool shares_parts() const { return true; }
  virtual void on_parts(std::string_view, std::source_location) {}
  /// Names externals: the path of argument `n`.
  virtual std::string argument_path(int argument) const = 0;
};

}  // namespace tailor::follow

namespace tailor {
namespace follow {
struct SymbolicPath;
}

class alignas(64) Invocation final : public OpInterceptor, public TensorDirectory {
 public:
  Invocation(follow::TraceTree& tree, follow::EntryHost& host);
  ~Invocation() override;

  /// Begins a call; `arguments` are its tensors (null for undefined ones), valid until the end. `sizes`: of those dims that vary.
  void begin(std::span<TensorHead* const> arguments, std::span<const int64_t> sizes = {});
  /// What the ops of this call take from SymInts is noted in `reads`, until null is given.
  void note_sizes(SizeReads* reads) {
    size_reads_ = reads;
    aim();
  }
  /// Instead of user code, right after begin(): follows `path` with the externals that are `captured` (null for arguments). False where it
  /// cannot be followed in these sizes, or where the sizes would have led elsewhere: unfollow() then. finish() as after user code.
  bool follow_path(const follow::SymbolicPath& path, std::span<TensorImpl* const> captured, std::string* why_not,
                   std::optional<SizeValues::Difference>* difference, const std::vector<std::string>& names);
  /// Nothing of what was followed is done; begin() may be called again.
  void unfollow() noexcept;
  /// Values of this call by number; undefined for negative ones.
  std::vector<Tensor> slots_by_number(std::span<const int> numbers);
  std::optional<SizedTensor> find(const TensorImpl& tensor) const override;
  /// User code returned and its result is held by the caller: computes what is still pending.
  void finish();
  /// Which value of this call a tensor is; ask between finish() and end().
  follow::InputRef describe(const TensorImpl& tensor) const;
  /// Lets go of what this call touched; the next call may begin.
  void end() noexcept;
  /// User code threw: what eager would have done by then is done. Never throws; returns the error that eager would have met before
  /// user code came to its own, if there is one.
  std::exception_ptr abandon() noexcept;

  Tensor op(const OpCall& call) override;
  std::vector<Tensor> op_many(const OpCall& call) override;
  void host_access(TensorImpl& tensor, bool write, std::source_location where) override;
  void host_read(HostRead read) override { reads_.push_back(std::move(read)); }
  void lends(const IntrusivePtr<Storage>& storage) override;
  bool computes(const TensorImpl& tensor) const override { return is_own_slot(tensor); }

  /// A mode of the process is about to change: what was followed under the old one is computed under it.
  void mode_change();
  void fence(std::source_location where);

  /// Another thread needs the value of a lazy tensor or of memory with pending writes.
  void compute_for_other_thread(const TensorImpl& wanted);

  /// The Return of a call that has finished and did nothing but hit compiled segments; null otherwise.
  const follow::Instance* hit_return() const { return hit_return_; }
  bool recorded() const { return recorded_; }
  /// The first step of this call that was not there before; null when there is none.
  const follow::Step* first_new_step() const { return first_new_step_; }
  const follow::Path& path() const { return path_; }
  /// The compiled form that the last segment ran as, or would run as in an equal call; null when there is none.
  const follow::Variant* last_variant() const { return last_variant_; }
  /// The values of its scalars in this call.
  std::vector<int64_t> scalars_of(const follow::Variant& variant) const;
  int external_count() const { return numbered_.externals; }
  TensorImpl& external(int i) const { return *values_.external(i).tensor; }
  /// Whether anybody but this call has a handle to an external.
  bool is_held_elsewhere(const TensorImpl& external) const;
  /// After the last segment: whether user code keeps no other values of this call than those of these slots.
  bool keeps_only(std::span<const int> slots) const;
  /// What keeps the instances of its path.
  const std::vector<std::shared_ptr<follow::Binding>>& bindings() const { return bindings_; }
  /// The numbers that its ops have taken, by number along the path.
  std::vector<int64_t> numbers() const { return {scalars_.begin(), scalars_.end()}; }
  /// What user code has read in this call, in order.
  std::span<const HostRead> reads() const { return reads_; }
  uint64_t ops_followed() const { return path_.size(); }

 private:
  enum class Mode : uint8_t { Following, Recording, Eager };
  static constexpr std::string_view kMayFailAfterWrite = "an op that can fail on its data comes after a write";

  enum class Match : uint8_t { No, Yes, OtherScalars };

  follow::Instance* match(const OpCall& call, Match* how);
  Match matches(const follow::Instance& instance, const OpCall& call);
  void make_room(const follow::Room& room);
  void make_room_for_known_steps();
  void fresh_slot(const follow::Instance& instance, int output) override;
  void let_go(int slot) noexcept;
  void publish(int number, bool for_good);
  void end_slot(int slot) noexcept;
  void hold(TensorImpl& external, bool again);
  bool bind_external(TensorImpl& tensor, const follow::Instance& instance, int index, std::source_location where);
  bool looks_elsewhere(const follow::Instance& instance, const OpCall& call) const;
  follow::Instance* instantiate(const OpCall& call);
  bool is_instance_of(const follow::Step& step, const OpCall& call, bool exactly) const;
  std::unique_ptr<follow::Instance> infer_instance(follow::Step& step, const OpCall& call) const;
  follow::Step* step_in_other_sizes(const OpCall& call, bool* fork) const;
  follow::Instance* add_instance(std::unique_ptr<follow::Instance> fresh, bool fork);
  void leave_forks() noexcept;
  bool is_own_slot(const TensorImpl& tensor) const {
    if (tensor.invocation.load(std::memory_order_relaxed) != this || tensor.slot < 0 || tensor.slot >= numbered_.slots) return false;
    const follow::Value& known = values_.slot(tensor.slot);
    return known.tensor == &tensor && known.id == tensor.id;
  }
  bool is_in_other_sizes(const follow::Step& step, const follow::Instance& seen, const OpCall& call) const;
  bool is_in_other_numbers(follow::Step& step, const follow::Instance& seen, const OpCall& call) const;
  follow::Instance* instance_of(follow::Step& step, const OpCall& call, Match* how);
  template <class Dispatch>
  auto noting_uses(const OpCall& call, Dispatch&& dispatch);
  Tensor op_noting_uses(const OpCall& call);
  std::vector<Tensor> op_many_noting_uses(const OpCall& call);
  void step_to(follow::Instance& instance, const OpCall& call, Match how);
  void advance(follow::Instance& instance, const OpCall& call, Match how);
  void go_on_to(follow::Instance& instance);
  /// Ops are compared without detours while nothing but following is asked for.
  void aim() noexcept {
    if (mode_ == Mode::Following && size_reads_ == nullptr && lent_.empty())
      follow_from_here();
    else
      follow_nothing();
  }
  void take_scalars(follow::Step& step, const OpCall& call);
  void take_offset(follow::Instance& instance, const OpCall& call);
  void lift(follow::Step& step, int bit, const Scalar& recorded, const Scalar& got);
  void make_lazy(const follow::Instance& instance);
  void redescribed(const follow::Step& step);
  follow::Binding& binding() { return *bindings_.back(); }
  follow::Binding& binding_to_join();
  follow::Step& step_at(size_t i) const { return *path_[i]->step; }
  std::vector<Tensor> record(const OpCall& call);
  void diverge(const OpCall* call, follow::StepKind kind, std::source_location where);
  void note_new_path(const follow::Step* expected, const OpCall* call);
  bool has_come_by(const ir::OpDef& op, const std::source_location& where, size_t since) const;
  bool goes_round(const OpCall& call) const;
  bool part_ends_here();
  bool only_part_ends_here() const;
  void end_part(std::source_location where);
  void begin_in_parts();
  bool must_begin_segment(const OpCall& call) const;
  bool is_on_lent(const OpCall& call) const;
  std::vector<Tensor> run_at_once(const OpCall& call);
  void end_segment(follow::StepKind kind, std::source_location where, std::string_view why);
  bool serves(const follow::Variant& variant) const;
  bool has_its_numbers(const follow::Variant& variant) const;
  bool run_compiled(follow::Instance& end);
  bool is_served(follow::Instance& end);
  bool other_thread_has_compiled();
  const follow::Variant* bind_symbolic(follow::Instance& end);
  follow::Instance* find_end(follow::StepKind kind);
  void run_op_by_op(size_t until);
  void run_what_was_followed();
  void drop_unexecuted() noexcept;
  void execute(follow::Instance& instance);
  void give_value(TensorImpl& lazy, TensorImpl& value);
  std::span<follow::Instance* const> segment() const;
  follow::SegmentFacts segment_facts() const;
  std::vector<follow::SegmentFacts> facts_of_earlier_calls(const follow::Instance& end) const;
  std::vector<follow::SizeMark> size_marks(const follow::SegmentFacts& facts) const;
  std::vector<std::string> external_names() const;
  std::vector<int> wanted_outputs(const follow::Instance& end);
  std::vector<ir::TensorSpec> output_specs(std::span<const int> outputs) const;
  bool sizes_vary(follow::Instance& end, std::vector<follow::SegmentFacts>& calls, std::span<const follow::SizeMark> marks);
  std::vector<int> lasting_inputs(const follow::Variant& variant) const;
  void check_numbers(const follow::Variant& variant) const;
  void compile_variant(follow::Instance& end);
  void note_variant(const follow::Instance& end);
  std::vector<int> alive_slots() const;
  int root_external(follow::RecordedOperand tensor) const;
  int root_slot(int slot) const;
  const follow::Step& maker(int slot) const;
  Storage* written_storage(const follow::Step& step) const;
  int external_number(TensorImpl& tensor, follow::Step& step, follow::Instance& instance);
  void start_next_segment();
  void drop_dead_slots();
  TensorImpl& slot(int i) const { return *values_.slot(i).tensor; }
  bool is_held(int slot) const { return has_handles(this->slot(slot)); }
  TensorImpl& tensor_of(const follow::RecordedOperand& operand) const {
    return operand.kind == follow::RecordedOperand::Kind::Slot ? slot(operand.index) : external(operand.index);
  }

  follow::TraceTree& tree_;
  follow::EntryHost& host_;
  OwnMutex mutex_;
  Mode mode_ = Mode::Following;
  bool recorded_ = false;
  SizeReads* size_reads_ = nullptr;
  std::vector<std::shared_ptr<follow::Binding>> bindings_;  // of the arguments, and of each fork since
  size_t executed_ = 0;                                     // steps of path_ whose effects have happened
  size_t segment_begin_ = 0;                                // first step of the current segment
  int segment_first_slot_ = 0;
  bool borrows_ = false;  // a call has: the next ones are likely to
  std::vector<IntrusivePtr<TensorHead>> held_;
  OwnVector<int> live_slots_;  // recording: slots that user code may still hold
  OwnVector<int> outputs_of_segments_;
  std::span<TensorHead* const> arguments_;
  OwnVector<int64_t> sizes_;  // that bindings_ begins with
  std::vector<HostRead> reads_;
  std::vector<IntrusivePtr<Storage>> lent_;  // by tensors that user code has made in this call on memory of its own
  OwnVector<TensorImpl*> inputs_, outputs_;  // of the segment under way
  OwnVector<int64_t> run_scalars_;
  follow::RunScratch scratch_;
  const follow::Instance* hit_return_ = nullptr;
  const follow::Variant* last_variant_ = nullptr;
  const follow::Step* first_new_step_ = nullptr;
  bool all_compiled_ = true;  // since begin(): nothing was recorded or run op by op
};

}  // namespace tailor
