#pragma once
// The program of a family: one set of kernels, launches as they are at one size, and formulas for the numbers that vary.

#include "ir/choices.h"
#include "jit/family.h"
#include "jit/launch_list.h"
#include "jit/polynomial.h"
#include "jit/program_numbers.h"

namespace tailor::jit {

/// What it takes to lower the graph at another size in the way of the family.
struct FamilyRecipe {
  GraphAt graph_at;
  CompileOptions options;
  ir::Choices choices;
  Program lower_at(std::span<const int64_t> values);
};

/// Shows of a binding that it is the program lowered at its size, where that has the same structure.
struct FamilyCheck {
  FamilyRecipe recipe;
  ProgramText model;
  std::vector<int> formula_of;  // by number; -1 for those that do not vary
};

struct FamilyProgram {
  std::vector<SymbolRange> ranges, first_ranges;
  Monomials monomials{0};
  std::vector<int64_t> steps;
  std::optional<Monomials> of_one_rest;  // when it serves all rests: the monomials of one
  bool may_serve_all_rests = false;
  std::vector<SizeFormula> formulas;
  std::shared_ptr<CompiledProgram> compiled;  // its launches are the model of those of every size
  std::vector<NumberPatch> launch_patches, graph_patches;
  size_t graph_numbers = 0;           // where the graph's begin
  std::vector<int> scalars;           // formulas that are run-time scalars of kernels
  std::vector<NestParameters> nests;  // formulas of each nest's sizes
  std::vector<bool> steady;           // inputs whose values may last
  std::optional<FamilyCheck> check;
  std::vector<int64_t> values_at(std::span<const int64_t> symbols) const;
};

/// The family of a finished program.
std::shared_ptr<const Family> make_family(FamilyProgram program);

/// For back ends that generate no code: bind() asks for the graph at its sizes, and gives none where there is none.
std::shared_ptr<const Family> make_family_of_graphs(const GraphAt& graph_at, std::span<const SymbolRange> symbols,
                                                    const CompileOptions& options);

}  // namespace tailor::jit
