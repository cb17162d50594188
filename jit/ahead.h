#pragma once
// What a program computes from weights alone: scaled weights, folded biases. It is the same from call to call as long as they are, and is
// then computed once (jit/prepared.h). Where they do not last, every run computes it.

#include <span>
#include <string>
#include <vector>

#include "jit/fusion.h"
#include "jit/program.h"

namespace tailor::jit {

/// The nodes to keep out of nests that do other things: what weights and biases of contractions are computed from, all of it steady.
std::set<int> nodes_ahead(const ir::Graph& graph, const std::vector<bool>& steady);

/// Launches that need nothing but weights and each other, and the memory in which they leave what others read.
struct AheadUnit {
  std::vector<int> launches;  // in order
  std::vector<int> inputs;    // ascending
  std::vector<int> blocks;    // of the arena: its results
};

/// The units of a program's launches; no two share memory. `steady`: by input.
std::vector<AheadUnit> ahead_units(const Program& program, std::span<const Launch> launches, const std::vector<bool>& steady);

/// Names what a unit computes, among the units of all executables of its program: equal weights and equal names give equal results.
/// `more_scalars`: what nests take as run-time scalars from `first_scalar` on.
std::string unit_name(const AheadUnit& unit, std::span<const Launch> launches, std::span<const Block> blocks, int first_scalar,
                      std::span<const int64_t> more_scalars);

}  // namespace tailor::jit
