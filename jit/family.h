#pragma once
// One program for all sizes: what a graph with symbolic sizes is compiled to.
//
// The graph is lowered at several sizes by the same code that lowers static graphs. Where the resulting programs say the same but for
// numbers (extents, strides, offsets, the sizes in calls of kernels), those numbers are fitted as polynomials in the symbols and become
// run-time parameters of one set of kernels; where they differ in structure, the range of sizes that one family serves is narrowed. A
// polynomial that fits is checked at sizes that had no part in fitting it, both ends of the range among them.

#include <functional>
#include <memory>
#include <span>

#include "ir/graph.h"
#include "jit/executable.h"
#include "jit/polynomial.h"

namespace tailor::jit {

/// A symbol's value in the call that is compiled, and the values it may have at all: so many steps from the hint. A step other than 1 says
/// that sizes leave a rest: `s % step == rest()`.
struct SymbolRange {
  int64_t hint = 0, min = 2, max = INT64_MAX, step = 1;
  int64_t rest() const { return hint % step; }
  bool contains(int64_t value) const { return value >= min && value <= max && (value - hint) % step == 0; }
};

/// The graph at these values of the symbols. It says the same at all sizes but for sizes, strides and integer attributes. Throws Error
/// where user code would throw. Called while the family is compiled; kept, and called by bind, with CompileOptions::check_bindings and by
/// back ends that generate no code: it throws ir::ChoiceError once it has nothing to say any more.
using GraphAt = std::function<ir::Graph(std::span<const int64_t> values)>;

class Family {
 public:
  virtual ~Family() = default;
  /// The program at these values: memory planned, numbers filled in, nothing compiled. Null outside `ranges()`. Thread-safe.
  virtual std::shared_ptr<const Executable> bind(std::span<const int64_t> values) const = 0;
  /// Within these the family was shown to be right; no wider than what was asked for. Steps are larger than 1 where user code takes
  /// multiples only, and where numbers are no polynomials but among sizes of one rest: a stride or a quotient of 2 takes two families.
  virtual std::span<const SymbolRange> ranges() const = 0;
  virtual const CompileReport& report() const = 0;
  /// The products of symbols that its numbers are made of.
  virtual Monomials monomials() const = 0;
  /// Among the sizes of one rest modulo these its numbers are polynomials: the steps of its ranges, or larger ones where it serves all
  /// rests.
  virtual std::vector<int64_t> steps() const = 0;
  /// What the first family of the graph served: the next one for a rest tries no more, and may settle for less.
  virtual std::span<const SymbolRange> first_ranges() const { return ranges(); }
  /// Whether one for all rests may still be found, where it is for one.
  virtual bool may_serve_all_rests() const { return false; }
};

/// Null when no family serves the hint and another size (sizes that are no polynomials of the symbols even among those of one rest,
/// programs that differ at every size): the caller compiles for the one size. Throws as compile() does. `before`: a family of the same
/// graph for sizes of another rest, or null: its steps are tried, and what its numbers are made of.
std::shared_ptr<const Family> compile_family(const GraphAt& graph_at, std::span<const SymbolRange> symbols, const CompileOptions& options,
                                             const Family* before = nullptr);

}  // namespace tailor::jit
