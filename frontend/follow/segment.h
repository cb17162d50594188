#pragma once
// A segment: the steps of one path between two ends, compiled as a whole.

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "frontend/follow/weights.h"
#include "ir/graph.h"
#include "jit/executable.h"

namespace tailor::follow {

struct Step;

/// Where an input of a segment comes from.
struct InputRef {
  bool slot = false;  // a value of an earlier segment of the path; otherwise an external
  int index = -1;
};

/// One compiled form of a segment: for these outputs, this aliasing among its inputs, these scalars as arguments.
struct Variant {
  std::vector<int> outputs;       // slots, ascending
  std::vector<InputRef> inputs;   // the placeholders, in order
  std::vector<int> scalars;       // numbers along the path of the lifted scalars, in order of the Scalar nodes
  std::vector<int> written;       // inputs (positions) whose storage the segment writes
  std::vector<int> write_counts;  // how often, for each of these
  std::vector<bool> lifted;       // by number along the path, from the segment's first scalar
  int first_scalar = 0;
  std::vector<bool> is_output;               // by slot, from the segment's first
  std::vector<int64_t> output_bytes;         // memory of each output; 0 where it shares another's
  std::vector<ir::TensorSpec> output_specs;  // as eager describes them, requires_grad included
  std::vector<uint32_t> output_flags;        // Step::output_flags of each
  uint64_t lifts_seen = 0;                   // TraceTree::lifts when it was built
  ir::Graph graph;
  std::shared_ptr<const jit::Executable> executable;
  std::unique_ptr<Weights> weights;  // null: it has none that could be laid out ahead
  double compile_ms = 0;
  const Variant* next = nullptr;
};

/// Prepend-only; readers need no lock. Variants live as long as their step.
class VariantList {
 public:
  VariantList() = default;
  ~VariantList();
  const Variant* head() const { return head_.load(std::memory_order_acquire); }
  void push(std::unique_ptr<Variant> variant);  // one thread at a time
  int count() const { return count_.load(std::memory_order_relaxed); }
  std::atomic<bool> failed{false};   // compiling failed once: this segment runs op by op
  std::atomic<bool> waiting{false};  // a variant is being compiled in the background

 private:
  std::atomic<const Variant*> head_{nullptr};
  std::atomic<int> count_{0};
};

/// Builds the graph of `steps` with `outputs` (slots). `scalar_values`: the values of this call, by number along the path.
/// Everything but `executable` of the variant is filled.
std::unique_ptr<Variant> build_segment(std::span<Step* const> steps, int first_slot, std::vector<int> outputs,
                                       std::span<const ir::TensorSpec* const> external_specs, std::span<const std::string> external_names,
                                       std::span<const ir::TensorSpec* const> slot_specs, std::string name);

}  // namespace tailor::follow
