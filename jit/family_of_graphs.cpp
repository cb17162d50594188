// Families of the back ends that generate no code: a graph at its sizes is all that they need.

#include "ir/choices.h"
#include "jit/family_program.h"

namespace tailor::jit {
namespace {

class FamilyOfGraphs final : public Family {
 public:
  FamilyOfGraphs(const GraphAt& graph_at, std::span<const SymbolRange> symbols, const CompileOptions& options)
      : graph_at_(graph_at), ranges_(symbols.begin(), symbols.end()), options_(options) {
    std::vector<int64_t> hints;
    for (const SymbolRange& r : ranges_) hints.push_back(r.hint);
    report_ = compile(graph_at_(hints), options_)->report();
  }

  std::shared_ptr<const Executable> bind(std::span<const int64_t> values) const override {
    if (values.size() != ranges_.size()) return nullptr;
    for (size_t i = 0; i < values.size(); ++i)
      if (!ranges_[i].contains(values[i])) return nullptr;
    try {
      return compile(graph_at_(values), options_);
    } catch (const Error&) { return nullptr; } catch (const ir::ChoiceError&) {
      return nullptr;
    }
  }
  std::span<const SymbolRange> ranges() const override { return ranges_; }
  const CompileReport& report() const override { return report_; }
  Monomials monomials() const override { return Monomials(ranges_.size()); }
  std::vector<int64_t> steps() const override { return std::vector<int64_t>(ranges_.size(), 1); }

 private:
  const GraphAt graph_at_;
  const std::vector<SymbolRange> ranges_;
  const CompileOptions options_;
  CompileReport report_;
};

}  // namespace

std::shared_ptr<const Family> make_family_of_graphs(const GraphAt& graph_at, std::span<const SymbolRange> symbols,
                                                    const CompileOptions& options) {
  return std::make_shared<FamilyOfGraphs>(graph_at, symbols, options);
}

}  // namespace tailor::jit
