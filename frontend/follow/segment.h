#pragma once
// A segment: the steps of one path between two ends, compiled as a whole.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frontend/follow/variant_list.h"
#include "frontend/follow/weights.h"
#include "ir/graph.h"
#include "ir/op.h"
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
  std::shared_ptr<Weights> weights;  // null: it has none that could be laid out ahead
  double compile_ms = 0;
  const Variant* next = nullptr;
};

struct Instance;

/// What a segment's graph is made of besides its steps: everything in it that may depend on sizes.
struct SegmentFacts {
  std::vector<InputRef> inputs;                             // in order of first use
  std::vector<ir::TensorSpec> input_specs;                  // of each
  std::vector<std::vector<ir::Attr>> attrs;                 // by step
  std::vector<uint64_t> lifted;                             // by step: which numbers are arguments; all that is built agrees on it
  std::vector<std::optional<ir::ViewResult>> lifted_views;  // by step: a view whose offset is an argument, its sizes and strides
};
/// `external_specs`, `slot_specs`: by number along the path. The tree's mutex is held: no number is lifted meanwhile.
SegmentFacts facts_of(std::span<Instance* const> segment, int first_slot, std::span<const ir::TensorSpec* const> external_specs,
                      std::span<const ir::TensorSpec* const> slot_specs);

/// Builds the graph of a segment with `outputs` (slots). Everything but `executable`, `output_bytes` and `output_specs` of the variant is
/// filled. Throws Error naming the user's line where the facts do not fit together.
std::unique_ptr<Variant> build_segment(std::span<Instance* const> segment, int first_slot, std::vector<int> outputs,
                                       const SegmentFacts& facts, std::span<const std::string> external_names, std::string name);

}  // namespace tailor::follow
