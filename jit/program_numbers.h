#pragma once
// Everything that a lowered program says, as words and numbers in a fixed order: two programs say the same but for numbers when their
// words are equal. Words are structure (which op, which buffer, how many dims); numbers may follow from sizes.

#include <memory>
#include <span>
#include <vector>

#include "jit/program.h"

namespace tailor::jit {

struct ProgramText {
  std::vector<int64_t> words, numbers;
  std::vector<char> real;                                          // numbers that are doubles (their bits)
  std::vector<std::shared_ptr<const ir::ConstantData>> constants;  // compared by content
  std::vector<size_t> nests;                                       // where each nest's numbers begin; first are those of the launches
  size_t graph = 0;                                                // where the graph's numbers begin

  bool same_structure(const ProgramText& other) const;
};
ProgramText read_program(const Program& program);

/// A number that is to get the value numbered `value`.
struct NumberPatch {
  size_t number;
  int value;
};
/// `patches`: those of launches (by number), and those of the graph. Scalars of calls keep their kind.
void write_launches(std::vector<Launch>& launches, std::vector<OutputPlan>& outputs, std::vector<Block>& blocks,
                    std::span<const NumberPatch> patches, std::span<const int64_t> values);
void write_graph(ir::Graph& graph, size_t first, std::span<const NumberPatch> patches, std::span<const int64_t> values);

/// What a nest takes at run time.
struct NestParameters {
  std::vector<int> sizes;  // values, behind those sizes that it had before
};
/// Makes the nest's numbers parameters where `value_of` (by number, from the nest's first) is no -1. `scalars`: values that are run-time
/// scalars, from `first_scalar` on; literals that vary are added to it. False when a number varies that no kernel takes at run time.
bool parameterise(LoopNest& nest, std::span<const int> value_of, int first_scalar, std::vector<int>& scalars, NestParameters& parameters);

}  // namespace tailor::jit
