#pragma once
// A segment for all sizes.
//
// Numbers of a segment that depend on sizes (the sizes of its inputs, integer attributes of its steps) are *explained*: by comparing the
// calls seen so far, each becomes an expression over a few sizes, the symbols. An explanation is only a proposal. A call of new sizes is
// served by a symbolic form when every number of the call is what the form's expressions give for it, so that an incomplete explanation
// costs another compile and never a wrong result.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frontend/follow/segment.h"
#include "jit/family.h"
#include "runtime/error.h"

namespace tailor::follow {

/// constant + sum(coefficient * term) + factor * product of terms, where a term is a symbol or a rounded quotient of one.
struct SizeExpr {
  /// floor((symbol + added) / divisor)
  struct Term {
    int symbol = 0;
    int64_t added = 0, divisor = 1;
    int64_t operator()(std::span<const int64_t> symbols) const;
    friend bool operator==(const Term&, const Term&) = default;
  };
  int64_t constant = 0;
  std::vector<std::pair<Term, int64_t>> linear;  // with its coefficient
  int64_t factor = 0;
  std::vector<Term> product;  // repeated for powers

  static SizeExpr number(int64_t value) {
    SizeExpr e;
    e.constant = value;
    return e;
  }
  static SizeExpr symbol(int index) {
    SizeExpr e;
    e.linear = {{Term{index}, 1}};
    return e;
  }
  bool varies() const { return !linear.empty() || factor != 0; }
  friend bool operator==(const SizeExpr&, const SizeExpr&) = default;
  int64_t operator()(std::span<const int64_t> symbols) const;
};

/// The simplest expression over the symbols that gives `values[k]` where the symbols are `symbols[k]`; nothing when there is none.
std::optional<SizeExpr> explain_number(std::span<const int64_t> values, std::span<const std::vector<int64_t>> symbols);

/// A size that the user has marked: symbolic from the first compile on, within a range.
struct SizeMark {
  InputRef input;
  int dim = 0;
  int64_t min = 2, max = INT64_MAX;
  bool required = false;  // that it cannot be symbolic is an error
};

/// A required mark cannot be kept: an error of the user's, not a failure to compile.
class MarkError : public Error {
 public:
  using Error::Error;
};

/// One compiled form of a segment for all sizes.
struct SymbolicForm {
  std::unique_ptr<Variant> form;   // what the variants for single sizes have in common
  std::vector<size_t> symbols;     // which numbers of the segment are symbols
  std::vector<std::string> names;  // of the symbols: args[0].size(1)
  std::vector<SizeExpr> numbers;   // each number of the segment
  std::shared_ptr<const jit::Family> family;
  mutable std::shared_ptr<const Weights> weights;  // of the variant bound last; under the tree's mutex

  bool has_steps() const {
    return std::any_of(family->ranges().begin(), family->ranges().end(), [](const jit::SymbolRange& r) { return r.step != 1; });
  }
  /// What the symbols must be for it, one text each: `2 <= args[0].size(1)`, `args[0].size(1) % 4 == 3`.
  std::vector<std::string> predicates() const;
  /// The variant for a call whose facts have these numbers; null when it is none of this form's.
  std::unique_ptr<Variant> bind(std::span<const int64_t> numbers_of_call) const;
};

struct Instance;
class Binding;

/// Kept by the step that ends a segment.
struct SymbolicSegment {
  struct Seen {
    std::vector<std::shared_ptr<Binding>> bindings;  // keeps the instances alive
    const Instance* end = nullptr;
  };
  std::vector<Seen> seen;                            // calls of different sizes; under the tree's mutex
  std::vector<std::unique_ptr<SymbolicForm>> forms;  // never removed; under the tree's mutex
  int attempts = 0;                                  // to compile a form; under the compiler's mutex
  /// How many may be made: more where forms are for the sizes of one rest.
  int attempts_allowed() const;
  std::atomic<int> single_sizes{0};  // variants compiled for one size
};

/// Every number of the segment in a fixed order; layouts that follow from sizes have none.
std::vector<int64_t> numbers_of(const SegmentFacts& facts);

/// Explains the numbers of several calls (the last is the one under way) and compiles a form. Null when the numbers cannot be explained or
/// the jit has no program for all sizes. Throws MarkError where a required mark cannot be kept. `before`: an earlier form of the segment,
/// which serves the sizes of another rest, or null. `bindings`: keep the instances.
std::unique_ptr<SymbolicForm> compile_symbolic(std::span<Instance* const> segment, int first_slot, std::vector<int> outputs,
                                               std::span<const SegmentFacts> calls, std::span<const SizeMark> marks,
                                               std::span<const std::string> external_names, const std::string& name,
                                               const jit::CompileOptions& options, const SymbolicForm* before,
                                               std::span<const std::shared_ptr<Binding>> bindings);

}  // namespace tailor::follow
