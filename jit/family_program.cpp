#include "jit/family_program.h"

namespace tailor::jit {

Program FamilyRecipe::lower_at(std::span<const int64_t> values) {
  const ir::Graph graph = graph_at(values);
  const ir::Choices::Scope scope(choices);
  return lower_program(graph, options);
}

std::vector<int64_t> FamilyProgram::values_at(std::span<const int64_t> symbols) const {
  const std::vector<int64_t> m = monomials.at(symbols);
  std::vector<int64_t> values;
  values.reserve(formulas.size());
  for (const SizeFormula& f : formulas) values.push_back(f.at(m));
  return values;
}

namespace {

class Bound final : public LaunchList {
 public:
  Bound(std::shared_ptr<const FamilyProgram> family, std::vector<int64_t> values, std::vector<Launch> launches,
        std::vector<OutputPlan> outputs, std::vector<Block> blocks)
      : LaunchList(family->compiled, std::move(launches), std::move(outputs), std::move(blocks), family->steady),
        family_(std::move(family)),
        values_(std::move(values)) {
    for (const int f : family_->scalars) more_scalars_.push_back(values_[static_cast<size_t>(f)]);
    size_t count = 0;
    for (const NestParameters& n : family_->nests) count += n.sizes.size();
    sizes_.reserve(count);
    std::vector<const int64_t*> first;
    first.reserve(family_->nests.size());
    for (const NestParameters& n : family_->nests) {
      first.push_back(sizes_.data() + sizes_.size());
      for (const int f : n.sizes) sizes_.push_back(values_[static_cast<size_t>(f)]);
    }
    for (Launch& launch : this->launches()) {
      NestLaunch* nest = std::get_if<NestLaunch>(&launch);
      if (auto* contraction = std::get_if<ContractionLaunch>(&launch)) nest = &contraction->tail;
      if (nest != nullptr) nest->sizes = first[static_cast<size_t>(nest->index)];
    }
    find_weights();
  }

  std::string dump(std::string_view what) const override {
    if (what != "graph") return LaunchList::dump(what);
    ir::Graph graph = family_->compiled->program.graph;
    write_graph(graph, family_->graph_numbers, family_->graph_patches, values_);
    return ir::print(graph);
  }

 private:
  std::shared_ptr<const FamilyProgram> family_;
  std::vector<int64_t> values_, sizes_;
};

class FamilyOfSizes final : public Family {
 public:
  explicit FamilyOfSizes(FamilyProgram program) : program_(std::make_shared<FamilyProgram>(std::move(program))) {}

  std::shared_ptr<const Executable> bind(std::span<const int64_t> symbols) const override {
    const FamilyProgram& p = *program_;
    if (symbols.size() != p.ranges.size()) return nullptr;
    for (size_t i = 0; i < symbols.size(); ++i)
      if (!p.ranges[i].contains(symbols[i])) return nullptr;
    std::vector<int64_t> values = p.values_at(symbols);
    const Program& model = p.compiled->program;
    std::vector<Launch> launches = model.launches;
    std::vector<OutputPlan> outputs = model.outputs;
    std::vector<Block> blocks = model.blocks;
    write_launches(launches, outputs, blocks, p.launch_patches, values);
    if (p.check) check_binding(symbols, launches, outputs, blocks, values);
    return std::make_shared<Bound>(program_, std::move(values), std::move(launches), std::move(outputs), std::move(blocks));
  }
  std::span<const SymbolRange> ranges() const override { return program_->ranges; }
  std::span<const SymbolRange> first_ranges() const override { return program_->first_ranges; }
  const CompileReport& report() const override { return program_->compiled->program.report; }
  std::vector<int64_t> steps() const override { return program_->steps; }
  bool may_serve_all_rests() const override { return program_->may_serve_all_rests; }
  Monomials monomials() const override {
    if (program_->of_one_rest) return *program_->of_one_rest;
    std::vector<bool> used(program_->monomials.size(), false);
    for (const SizeFormula& f : program_->formulas)
      for (const auto& [m, coefficient] : f.value.terms) used[static_cast<size_t>(m)] = true;
    return program_->monomials.closure(used);
  }

 private:
  // Every number against the program that is lowered at this size.
  void check_binding(std::span<const int64_t> symbols, const std::vector<Launch>& launches, const std::vector<OutputPlan>& outputs,
                     const std::vector<Block>& blocks, std::span<const int64_t> values) const {
    const FamilyCheck& check = *program_->check;
    FamilyRecipe recipe = check.recipe;
    Program lowered;
    try {
      lowered = recipe.lower_at(symbols);
    } catch (const ir::ChoiceError&) { return; }
    const ProgramText expected = read_program(lowered);
    // Where sizes are equal by accident, the program of just these sizes may be a simpler one.
    if (!expected.same_structure(check.model)) return;
    for (size_t i = 0; i < expected.numbers.size(); ++i) {
      const int f = check.formula_of[i];
      const int64_t number = f < 0 ? check.model.numbers[i] : values[static_cast<size_t>(f)];
      internal_check(number == expected.numbers[i], "number ", i, " of a binding is ", number, ", expected ", expected.numbers[i]);
    }
    Program mine;
    mine.launches = launches, mine.outputs = outputs, mine.blocks = blocks;
    mine.graph = program_->compiled->program.graph;
    write_graph(mine.graph, program_->graph_numbers, program_->graph_patches, values);
    lowered.nests.clear();
    internal_check(read_program(mine).numbers == read_program(lowered).numbers, "a binding was filled in wrongly");
  }

  std::shared_ptr<const FamilyProgram> program_;
};

}  // namespace

std::shared_ptr<const Family> make_family(FamilyProgram program) { return std::make_shared<FamilyOfSizes>(std::move(program)); }

}  // namespace tailor::jit
