#pragma once
// The recorded steps of one entry, as a tree: each path from the root is one way the user's code has gone.
//
// A step says what is the same whatever the sizes are: op, operands, modes. What it was in a call of certain sizes is an *instance*:
// specs, integer attributes, where a view lies. The instances of calls whose tensors have the same sizes form a *binding*, a tree beside
// the tree of steps. Calls are followed along instances; a call of new sizes gets its binding while it is followed, by the ops' own
// shape rules, and nothing is run for it.
//
// Steps and instances are immutable once they can be reached but for the atomic members below; children are only ever added. So any
// number of threads may follow while one records.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "frontend/follow/instance.h"
#include "frontend/follow/symbolic.h"
#include "ir/op.h"

namespace tailor::follow {

struct RecordedOperand {
  enum class Kind : uint8_t { None, Slot, External, Scalar };
  Kind kind = Kind::None;
  int index = -1;  // Slot: number along the path. External: number in order of first touch. Scalar: number along the path.
  Scalar scalar;   // the value seen when recorded
};

enum class StepKind : uint8_t { Root, Op, Escape, Return };

struct Step {
  // What comparing reads, in as few cache lines as it fits.
  const ir::OpDef* op = nullptr;  // null: no op
  uint64_t ambient = 0;
  uint64_t ambient_mask = ~uint64_t{0};  // the modes that its result depends on
  std::vector<RecordedOperand> operands;
  // Set when it joins the tree: lengths of lists, and the numbers along the path after this step.
  uint32_t operand_count = 0, attr_count = 0, slots_after = 0, externals_after = 0, scalars_after = 0;
  uint32_t number = 0;  // in order of joining
  int first_slot = 0;
  bool inplace = false;
  bool is_view = false;
  bool reads_leaf = false;    // leaf_flags matter
  bool spreads_grad = false;  // in-place: what is written requires gradients from then on
  StepKind kind = StepKind::Root;

  Step* parent = nullptr;
  std::vector<int> external_arguments;  // externals touched here for the first time: their numbers among the arguments, or -1
  int written_external = -1;            // in-place: the external whose storage is written, if any
  int written_slot = -1;                // in-place, otherwise: the value whose storage is written, as far as its segment can tell
  uint32_t leaf_flags = 0;              // in-place ops and views of an external that requires gradients: what kind of leaf it was
  std::vector<uint32_t> output_flags;   // TensorHead flags that say how gradients flow to each output
  std::source_location where;
  /// Whether integers that shape its results, and that sizes do not explain, are other values of one thing (a length) or make other paths.
  enum class Numbers : uint8_t { Unknown, Vary, Choose };
  std::atomic<Numbers> numbers{Numbers::Unknown};
  std::atomic<bool> is_part{false};  // Escape: many paths go on from here, the host asks for nothing

  // Numbers along the path before this step.
  int depth = 0, first_external = 0, first_scalar = 0;
  int outputs = 0;  // slots it makes (none when in-place)
  int scalars = 0;  // scalar operands; a view has one number more, its offset
  int slot_count() const { return first_slot + outputs; }
  int external_count() const { return first_external + static_cast<int>(external_arguments.size()); }
  int scalar_count() const { return first_scalar + scalars + (is_view ? 1 : 0); }

  /// Scalars (one bit each) and the view's offset that have been seen with another value: run-time arguments from then on.
  std::atomic<uint64_t> lifted{0};
  static constexpr int kViewOffsetBit = 63;

  /// What it was when it was first recorded.
  std::vector<ir::Attr> attrs;
  std::vector<ir::TensorSpec> output_specs, external_specs;
  /// Escape, Return: the segment that ends here for all sizes.
  SymbolicSegment symbolic;

  std::atomic<Step*> first_child{nullptr}, next_sibling{nullptr};
};

/// Whether two steps have the same numbers for operands, and scalars of the same kinds.
bool same_operands(const Step& a, const Step& b);

/// Numbers that a call needs room for.
struct Room {
  size_t slots = 0, externals = 0, scalars = 0;
};

/// Whether an integer attribute of a step is no expression over sizes, but by chance: the data decides it (how many elements a mask
/// selects), or it was seen to vary while sizes stayed.
bool is_no_size(const Step& step, size_t attribute);
/// Whether two ends of one path were reached with the same numbers where numbers vary.
bool in_same_numbers(const Instance* a, const Instance* b);
/// What a segment's steps were thought to vary in could not be compiled for all values: each makes a path from now on.
void numbers_choose(std::span<Instance* const> segment);

/// The instances of calls whose arguments (and, past a fork, captured tensors) have the same sizes.
class Binding {
 public:
  explicit Binding(std::unique_ptr<Instance> first) : first_(first.get()) { instances.push_back(std::move(first)); }
  Instance* first() const { return first_; }
  void release_weights() const;
  std::vector<std::unique_ptr<Instance>> instances;  // under the tree's mutex
  std::atomic<uint64_t> last_used{0};

 private:
  Instance* const first_;  // read without the mutex, under which the list grows
};

/// Numbers that a tree does not grow beyond; past them calls run eagerly, or the binding used longest ago is dropped.
struct TraceLimits {
  size_t paths = 64, steps = 200'000;
  size_t whole_paths = 8;  // past so many, paths are made of parts that they share
  size_t part = 8;         // steps: where a loop goes round, a part is no shorter
  size_t bindings = 512, forks = 512;
  int variants = 8;      // of one segment in one size
  int single_sizes = 8;  // a segment that cannot be compiled for all sizes is compiled for so many
  int attempts = 3;      // to compile a segment for all sizes
  int rests = 64;        // further ones, where a program serves the sizes of one rest
};

class TraceTree {
 public:
  TraceTree() { steps_.push_back(std::make_unique<Step>()); }
  Step* root() { return steps_.front().get(); }
  /// Adds a child of `parent`'s step and its instance below `parent`, or returns the equal one that another thread has added meanwhile.
  Instance* add(Binding& binding, Instance* parent, std::unique_ptr<Step> step, std::unique_ptr<Instance> instance);
  /// Adds an instance of a known step.
  Instance* add(Binding& binding, Instance* parent, std::unique_ptr<Instance> instance);
  /// The binding for these sizes of arguments: found, or new with the root's instance only.
  std::shared_ptr<Binding> binding(std::span<const int64_t> sizes);
  /// Further dims of arguments vary from now on; so far they had these sizes.
  void sizes_vary(std::span<const int64_t> sizes);
  /// A binding below `parent` that begins with `instance`, or the one that begins so already.
  std::shared_ptr<Binding> fork(Instance* parent, std::unique_ptr<Instance> instance);
  std::mutex& mutex() { return mutex_; }
  /// Lets go of the weights that compiled forms have laid out; they run without from now on.
  void release_weights();
  /// Held by the thread that compiles one of the tree's segments.
  std::mutex& compiling() { return compiling_; }
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  /// Steps that have joined, the root included: their numbers are below it. What following any of them takes is in `room`.
  uint32_t steps() const { return step_count_.load(std::memory_order_acquire); }
  uint32_t steps(Room* room);
  size_t bindings() const { return binding_count_.load(std::memory_order_relaxed); }
  /// How often a number has turned out to vary: compiled forms older than that have to look which.
  std::atomic<uint64_t> lifts{0};
  size_t paths() const { return paths_.load(std::memory_order_relaxed); }
  bool is_full() const { return paths() >= TraceLimits().paths || size() >= TraceLimits().steps; }
  /// A path has left the others where a loop goes round once more, or not once more. True when that was once too often: from now on calls
  /// are recorded in parts, in a tree beside this one.
  bool note_other_count();
  bool is_in_parts() const { return in_parts_.load(std::memory_order_relaxed); }
  /// Counts the parts that are made where paths leave others; false when there are too many.
  bool may_begin_part() { return parts_.fetch_add(1, std::memory_order_relaxed) < TraceLimits().paths; }
  bool has_parts() const { return is_in_parts() || parts_.load(std::memory_order_relaxed) != 0; }

 private:
  std::mutex mutex_, compiling_;
  std::vector<std::unique_ptr<Step>> steps_;
  Room room_;
  std::atomic<uint32_t> step_count_{1};
  std::map<std::vector<int64_t>, std::shared_ptr<Binding>> bindings_;  // by the sizes of the arguments' dims that vary
  uint64_t clock_ = 0;
  std::atomic<size_t> size_{1}, paths_{0}, binding_count_{0}, parts_{0}, other_counts_{0};
  std::atomic<bool> in_parts_{false};
};

}  // namespace tailor::follow
