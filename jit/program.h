#pragma once
// A graph after lowering: loop nests, launches and what memory they need. What is left is to compile the nests and to place the memory
// (jit/launch_list.h).

#include <optional>
#include <variant>
#include <vector>

#include "jit/contraction.h"
#include "jit/executable.h"
#include "jit/launch.h"
#include "jit/memory_plan.h"

namespace tailor::jit {

using Launch = std::variant<NestLaunch, LibraryLaunch, ContractionLaunch>;

/// The bases of a run: the inputs, the outputs, the arena, nothing.
struct Program {
  ir::Graph graph;  // after passes
  std::vector<Group> groups;
  std::vector<LoweredNest> nests;
  std::vector<OutputPlan> outputs;
  std::vector<Block> blocks;     // of the arena
  std::vector<Launch> launches;  // in order; their pointers wait for place_pointers
  std::vector<bool> ahead;       // by launch: it computes what nodes_ahead() (jit/ahead.h) names
  int inputs = 0, scalars = 0;
  CompileReport report;

  int arena_base() const { return inputs + static_cast<int>(outputs.size()); }
};

/// Throws InternalError when it cannot.
Program lower_program(const ir::Graph& graph, const CompileOptions& options);

/// Tells TAILOR_LOGS what became of the graph.
void log_program(const Program& program);

/// Calls `f` with every pointer of a launch.
template <class L, class F>
void each_pointer(L& launch, F&& f) {
  using T = std::remove_const_t<L>;
  if constexpr (std::same_as<T, NestLaunch>) {
    for (auto& p : launch.buffers) f(p);
  } else if constexpr (std::same_as<T, LibraryLaunch>) {
    for (auto& a : launch.operands)
      if (a.kind == LibraryLaunch::Argument::Kind::Tensor) f(a.pointer);
    for (auto& a : launch.outputs) f(a.pointer);
  } else {
    each_pointer(launch.call, f);
    each_pointer(launch.tail, f);
  }
}

}  // namespace tailor::jit
