#pragma once
// The compiled form of one segment: a memory plan and a straight list of launches.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "jit/artifact_counts.h"
#include "jit/prepared.h"

namespace tailor::jit {

enum class Backend : uint8_t { Eager, Interpreter, LoopInterpreter, Llvm };

struct CompileOptions {
  Backend backend = Backend::Llvm;
  bool fast_math = false;
  /// Placeholders (by position) whose values may stay the same from call to call: parameters, captured tensors.
  std::vector<int> lasting = {};
  /// Scales and shifts of channels become part of lasting weights, and what is computed from those alone is computed once.
  bool fold_weights = true;
  /// Families keep what gives them the graph, and compare every binding with the program lowered at its size.
  bool check_bindings = false;
};

/// Where an output's memory comes from.
struct OutputPlan {
  enum class Kind : uint8_t { Fresh, AliasInput, AliasOutput } kind = Kind::Fresh;
  int index = -1;             // which input or output
  int64_t offset = 0;         // elements from that one's first element; Fresh: from the start of its memory
  int64_t memory_bytes = -1;  // Fresh: of its memory when the output shows only a part of it (as in eager); -1: what `spec` spans
  int offset_scalar = -1;     // when >= 0: further elements, given by this scalar of the call (a view whose position varies)
  ir::TensorSpec spec;

  /// Bytes of a Fresh output's memory.
  int64_t storage_bytes() const {
    if (memory_bytes >= 0) return memory_bytes;
    int64_t last = 0;
    for (size_t d = 0; d < spec.sizes.size(); ++d) {
      if (spec.sizes[d] == 0) return 0;
      last += (spec.sizes[d] - 1) * spec.strides[d];
    }
    return (last + 1) * element_size(spec.dtype);
  }
  int64_t offset_value(std::span<const int64_t> scalars) const {
    return offset + (offset_scalar < 0 ? 0 : scalars[static_cast<size_t>(offset_scalar)]);
  }
};

/// Milliseconds of each phase of compiling, and what came out.
struct CompileReport {
  double passes_ms = 0, lower_ms = 0, llvm_ms = 0, link_ms = 0;
  int ops = 0, kernels = 0;
  int64_t code_bytes = 0, arena_bytes = 0;
  ArtifactCounts artifacts;
};

class Executable {
 public:
  virtual ~Executable() = default;
  /// Thread-safe. `inputs`: first element of each placeholder, in order. `scalars`: bits of each Scalar node's value in the
  /// kind it was recorded with. `outputs`: one entry per output: the start of its memory where the plan is Fresh; others are ignored.
  /// Throws Error for an error that depends on data.
  /// `prepared`: what prepare() made of the very values that the inputs have now, or null.
  virtual void run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs,
                   const Prepared* prepared) const = 0;
  void run(std::span<void* const> inputs, std::span<const int64_t> scalars, std::span<void* const> outputs) const {
    run(inputs, scalars, outputs, nullptr);
  }
  /// The lasting inputs from which something can be computed ahead; ascending.
  virtual std::span<const int> weights() const { return {}; }
  /// Computes it. `identities`: one for each of weights(); those not known are left alone.
  virtual std::shared_ptr<const Prepared> prepare(std::span<void* const> inputs, std::span<const ValueIdentity> identities) const;
  virtual std::span<const OutputPlan> outputs() const = 0;
  virtual const CompileReport& report() const = 0;
  /// `what`: graph (after passes), loops, llvm, asm.
  virtual std::string dump(std::string_view what) const = 0;
};

/// Prepares the compiler on a thread of its own, once per process, so that the first compile does not pay for its initialisation.
/// Does nothing where this build has kept kernels on disk: they will do.
void warm_up_in_background();

/// Compiles a graph. Throws InternalError when it cannot; the caller falls back to running op by op.
std::shared_ptr<const Executable> compile(const ir::Graph& graph, const CompileOptions& options);

}  // namespace tailor::jit
