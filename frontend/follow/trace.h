#pragma once
// The recorded steps of one entry, as a tree: each path from the root is one way the user's code has gone.
//
// Steps are immutable once they can be reached but for the two atomic flags below; children are only ever added. So any number
// of threads may follow while one records.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "frontend/follow/segment.h"
#include "ir/op.h"

namespace tailor::follow {

struct RecordedOperand {
  enum class Kind : uint8_t { None, Slot, External, Scalar };
  Kind kind = Kind::None;
  int index = -1;  // Slot: number along the path. External: number in order of first touch. Scalar: number along the path.
  Scalar scalar;   // the value seen when recorded
};

/// A tensor that the path did not make: an argument, a captured tensor, a parameter, something host code created.
struct ExternalFact {
  ir::TensorSpec spec;
  int argument = -1;  // its number among the call's tensor arguments, or -1
};

enum class StepKind : uint8_t { Root, Op, Escape, Return };

struct Step {
  StepKind kind = StepKind::Root;
  Step* parent = nullptr;

  // Op
  const ir::OpDef* op = nullptr;
  bool inplace = false;
  uint64_t ambient = 0;
  uint64_t ambient_mask = ~uint64_t{0};  // the modes that its result depends on
  std::vector<RecordedOperand> operands;
  std::vector<ir::Attr> attrs;
  std::vector<ir::TensorSpec> outputs;      // specs of the slots it makes (none when in-place)
  std::vector<ExternalFact> new_externals;  // touched here for the first time
  std::optional<ir::ViewResult> view;       // View ops: what the view was
  int written_external = -1;                // in-place: the external whose storage is written, if any
  uint32_t leaf_flags = 0;                  // in-place ops and views of an external that requires gradients: what kind of leaf it was
  bool reads_leaf = false;                  // that is so
  bool spreads_grad = false;                // in-place: what is written requires gradients from then on
  std::vector<uint32_t> output_flags;       // TensorHead flags that say how gradients flow to each output
  std::source_location where;

  // Numbers along the path before this step.
  int depth = 0, first_slot = 0, first_external = 0, first_scalar = 0;
  int slot_count() const { return first_slot + static_cast<int>(outputs.size()); }
  int external_count() const { return first_external + static_cast<int>(new_externals.size()); }
  int scalar_count() const { return first_scalar + scalars + (view ? 1 : 0); }
  int scalars = 0;  // scalar operands; a view has one number more, its offset

  /// Scalars (one bit each) and the view's offset that have been seen with another value: run-time arguments from then on.
  std::atomic<uint64_t> lifted{0};
  static constexpr int kViewOffsetBit = 63;

  // Escape, Return: the compiled forms of the segment that ends here.
  VariantList variants;

  // Children.
  std::atomic<Step*> first_child{nullptr}, next_sibling{nullptr};
  std::atomic<Step*> hot{nullptr};  // the child taken last
};

class TraceTree {
 public:
  TraceTree() { steps_.push_back(std::make_unique<Step>()); }
  Step* root() { return steps_.front().get(); }
  /// Adds a child of `parent`, or returns the equal one that another thread has added meanwhile.
  Step* add(Step* parent, std::unique_ptr<Step> step);
  std::mutex& mutex() { return mutex_; }
  /// Lets go of the weights that compiled forms have laid out; they run without from now on.
  void release_weights();
  /// Held by the thread that compiles one of the tree's segments.
  std::mutex& compiling() { return compiling_; }
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  /// How often a number has turned out to vary: compiled forms older than that have to look which.
  std::atomic<uint64_t> lifts{0};
  size_t paths() const { return paths_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_, compiling_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::atomic<size_t> size_{1}, paths_{0};
};

}  // namespace tailor::follow
