#include "jit/family.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "jit/family_program.h"
#include "jit/fold_affine.h"
#include "jit/least_divisor.h"
#include "runtime/log.h"

// Why a family is right between the sizes at which it was looked at: every number of a lowered program is made of sizes by additions,
// multiplications and divisions, on a path that comparisons of such numbers choose. Those comparisons whose outcome is about speed alone
// are recorded (ir/choices.h) and play no part. The others compare numbers that grow with each symbol, or are constant: an outcome that
// is the same at both ends of a range is the same within it. What is equal at a few sizes by accident (two dims that happen to have the
// same size) is told from what is always equal by lowering at sizes that have no factor in common, with each other or with the graph.
//
// A quotient is rounded: (s + 1) / 2 is no polynomial of s, but one of k among the sizes s = 2 k, and another among s = 2 k + 1. Where the
// fit over all sizes fails, sizes of one rest are tried. A polynomial that has whole values at as many sizes in a row as it has
// coefficients has whole values at all of them, so that none stands for a quotient that was only seen where it had no rest.

namespace tailor::jit {
namespace {

using Values = std::vector<int64_t>;

/// Structure comes from sizes no smaller than this: of smaller ones some ops are written out.
constexpr int64_t kTypical = 31;
/// Sizes are tried up to here, or up to so many times the hint.
constexpr int64_t kFar = int64_t{1} << 24;
constexpr int64_t kFarFactor = 16;
/// Numbers stay below this at the far end, so that what is made of them does not overflow.
constexpr double kMostAtFarEnd = 4503599627370496.0;  // 2^52

bool is_prime(int64_t n) {
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return n > 1;
}

int64_t between(int64_t low, int64_t high) {  // geometric: ranges span orders of magnitude
  const auto m = static_cast<int64_t>(std::sqrt(static_cast<double>(low)) * std::sqrt(static_cast<double>(high)));
  return std::clamp(m, low + 1, high - 1);
}

/// The largest value between `good` and `bad` (exclusive) that is good; of large ones only nearly the largest, with `nearly`.
template <class F>
int64_t last_good(int64_t good, int64_t bad, bool nearly, F&& is_good) {
  constexpr int64_t kExact = 4096, kShare = 16;
  while (bad - good > 1 && !(nearly && good > kExact && bad - good < good / kShare)) {
    const int64_t middle = between(good, bad);
    (is_good(middle) ? good : bad) = middle;
  }
  return good;
}
template <class F>
int64_t first_good(int64_t bad, int64_t good, F&& is_good) {
  while (good - bad > 1) {
    const int64_t middle = bad + (good - bad) / 2;
    (is_good(middle) ? good : bad) = middle;
  }
  return good;
}

class FamilyCompiler {
 public:
  /// `as_hint`: choices are those of the hint's program, not of one of typical sizes.
  FamilyCompiler(const GraphAt& graph_at, std::span<const SymbolRange> symbols, const CompileOptions& options, bool splits,
                 const Family* before = nullptr, bool as_hint = false)
      : recipe_{graph_at, options, ir::Choices(splits)},
        monomials_(before != nullptr ? before->monomials() : Monomials(symbols.size())),
        ranges_(symbols.begin(), symbols.end()),
        before_(before),
        as_hint_(as_hint) {
    for (const SymbolRange& r : ranges_) hint_.push_back(r.hint);
  }

  std::shared_ptr<const Family> run() {
    if (!fits()) return nullptr;
    if (!find_ends()) return refuse("no other size has the same program");
    return finish();
  }

  /// Whether numbers are polynomials near the hint.
  bool fits() {
    if (before_ != nullptr ? !take_known_sizes() : !find_legal_sizes()) return refused("no other size is legal");
    if (!choose_points()) return refused("too few sizes to tell how numbers depend on them");
    may_have_rests_ = true;
    if (!read_points()) return refused("programs differ in structure");
    if (!fit()) return refused("a number is no polynomial of the sizes");
    bound_ranges();
    hint_differs_ = !holds_at(hint_);
    if (hint_differs_) return refused("the program of the hint differs");
    if (before_ != nullptr) return true;  // what holds between sizes has been seen of another rest
    Values beside = typical_;
    for (size_t i = 0; i < beside.size(); ++i) beside[i] += beside[i] + steps_[i] <= ranges_[i].max ? steps_[i] : -steps_[i];
    return holds_at(beside) || refused("a number is no polynomial of the sizes");
  }

  bool has_split() const { return recipe_.choices.has_split(); }
  bool hint_differs() const { return hint_differs_; }
  /// That it was refused may be for quotients with a rest.
  bool may_have_rests() const { return may_have_rests_; }

 private:
  bool refused(std::string_view why) const {
    refuse(why);
    return false;
  }
  std::nullptr_t refuse(std::string_view why) const {
    if (log_enabled(LogChannel::Recompiles))
      log(LogChannel::Recompiles, model_.graph.name, "no program for many sizes: " + std::string(why));
    return nullptr;
  }

  static Values with(Values values, size_t i, int64_t value) {
    values[i] = value;
    return values;
  }

  // ---- sizes ----

  bool is_legal(const Values& values) const {
    try {
      recipe_.graph_at(values);
      return true;
    } catch (const std::exception&) { return false; }
  }

  // This symbol's value, the others at their ends: the upper ones where it is larger than `from`.
  Values at_end(const Values& values, size_t i, int64_t value, int64_t from) const {
    Values all = values;
    for (size_t j = 0; j < all.size(); ++j) {
      const SymbolRange& r = ranges_[j];
      if (j != i) all[j] += ((value > from ? r.max : r.min) - all[j]) / r.step * r.step;
    }
    all[i] = value;
    return all;
  }
  // The same with the others where they are, if user code takes that.
  Values beside(const Values& values, size_t i, int64_t value) const {
    const Values all = with(values, i, value);
    return values.size() == 1 || is_legal(all) ? all : at_end(values, i, value, values[i]);
  }

  // Where user code does not throw: a range, and in it perhaps only sizes that are so many steps from the hint.
  bool find_legal_sizes() {
    first_ = recipe_.graph_at(hint_);
    for (size_t i = 0; i < ranges_.size(); ++i) {
      SymbolRange& r = ranges_[i];
      constexpr int64_t kMostStep = 64;
      int64_t& step = r.step;
      const auto legal = [&](int64_t v) { return v >= r.min && v <= r.max && is_legal(with(hint_, i, v)); };
      for (const int64_t least = step; step <= kMostStep && !legal(r.hint + step) && !legal(r.hint - step);) step += least;
      if (step > kMostStep) return false;
      steps_.push_back(step);
      // One size may bound another: what is selected of rows, and the rows.
      const auto legal_step = [&](int64_t k) { return legal(r.hint + k * step) || is_legal(at_end(hint_, i, r.hint + k * step, r.hint)); };
      int64_t up = (r.max - r.hint) / step, down = (r.hint - r.min) / step;
      if (up > 0 && !legal_step(up)) up = last_good(1, up + 1, false, [&](int64_t k) { return legal_step(k - 1); }) - 1;
      if (down > 0 && !legal_step(-down)) down = -first_good(-down, 0, legal_step);
      r.max = r.hint + up * step;
      r.min = r.hint - down * step;
    }
    return true;
  }

  // Those of the family for another rest, and its steps.
  bool take_known_sizes() {
    first_ = recipe_.graph_at(hint_);
    for (size_t i = 0; i < ranges_.size(); ++i) {
      SymbolRange& r = ranges_[i];
      const SymbolRange& known = before_->ranges()[i];
      steps_.push_back(r.step = known.step);
      r.min = in_step(i, std::max(r.min, known.min - known.step + 1), r.hint);
      r.max = in_step(i, std::min(r.max, known.max + known.step - 1), r.hint);
      if (r.hint < r.min || r.hint > r.max) return false;
    }
    return true;
  }

  bool is_in_step(size_t i, int64_t v) const { return (v - hint_[i]) % steps_[i] == 0; }
  // The legal size nearest to `v` towards `to`, which is one.
  int64_t in_step(size_t i, int64_t v, int64_t to) const { return to + (v - to) / steps_[i] * steps_[i]; }

  // Sizes near the hint that have no factor in common, and are no sizes of the graph.
  bool choose_points() {
    std::set<int64_t> known;
    for (const ir::ValueInfo& v : first_.values) known.insert(v.spec.sizes.begin(), v.spec.sizes.end());
    std::vector<int64_t> taken;
    std::vector<Values> nodes;
    for (size_t i = 0; i < ranges_.size(); ++i) {
      const SymbolRange& r = ranges_[i];
      const int64_t unit = std::gcd(hint_[i], steps_[i]);
      const int64_t start = std::clamp(std::max(r.hint, kTypical), r.min, r.max);
      const int64_t kReach = 400 * steps_[i];
      Values candidates;
      for (int64_t v = start; v <= std::min(r.max, start + kReach); ++v) candidates.push_back(v);
      for (int64_t v = start - 1; v >= std::max(r.min, start - kReach); --v) candidates.push_back(v);
      Values& chosen = nodes.emplace_back();
      for (const int strictness : {2, 1, 0})
        for (const int64_t v : candidates) {
          if (chosen.size() == 3) break;
          if (!is_in_step(i, v)) continue;
          const auto shares_factor = [&](int64_t other) { return std::gcd(v / unit, other) != 1; };
          if (std::find(taken.begin(), taken.end(), v) != taken.end()) continue;
          if (strictness >= 1 && (known.contains(v) || std::any_of(taken.begin(), taken.end(), shares_factor))) continue;
          if (strictness == 2 && !is_prime(v / unit)) continue;
          if (!is_legal(with(hint_, i, v))) continue;
          chosen.push_back(v);
          taken.push_back(v);
        }
      if (chosen.size() < 3 || r.max - r.min < 3 * steps_[i]) return false;
      typical_.push_back(chosen[0]);
    }
    points_ = monomials_.points(nodes);
    for (const Values& p : points_)
      for (const double m : monomials_.near(p))
        if (m > 0x1p62) return false;
    return true;
  }

  // ---- numbers ----

  std::optional<ProgramText> read_at(const Values& values) {
    try {
      ProgramText text = read_program(recipe_.lower_at(values));
      if (text.same_structure(text_)) return text;
    } catch (const std::exception&) {}  // what goes wrong at another size alone is no reason to fail at this one
    return std::nullopt;
  }

  bool read_points() {
    if (!is_legal(typical_)) return false;  // each size is, but not all together
    try {
      if (as_hint_) recipe_.lower_at(hint_);  // records its choices
      model_ = recipe_.lower_at(typical_);
    } catch (const std::exception&) { return false; }
    text_ = read_program(model_);
    numbers_.push_back(text_.numbers);
    for (size_t p = 1; p < points_.size(); ++p) {
      std::optional<ProgramText> text = read_at(points_[p]);
      if (!text) return false;
      numbers_.push_back(std::move(text->numbers));
    }
    return true;
  }

  // At all sizes between which are so many steps.
  bool is_whole(const Polynomial& p) const {
    if (p.denominator == 1) return true;
    std::vector<Values> nodes;
    for (size_t i = 0; i < hint_.size(); ++i) nodes.push_back({hint_[i], hint_[i] + steps_[i], hint_[i] + 2 * steps_[i]});
    const std::vector<Values> points = monomials_.points(nodes);
    return std::all_of(points.begin(), points.end(), [&](const Values& v) { return p.is_whole(monomials_.at(v)); });
  }

  bool fit() {
    const PolynomialFit polynomials(monomials_, points_);
    std::map<std::pair<Values, bool>, int> known;
    formula_of_.assign(text_.numbers.size(), -1);
    Values values(points_.size());
    for (size_t i = 0; i < text_.numbers.size(); ++i) {
      bool varies = false;
      for (size_t p = 0; p < points_.size(); ++p) {
        values[p] = numbers_[p][i];
        varies |= values[p] != values[0];
      }
      if (!varies) continue;
      const bool real = text_.real[i] != 0;
      const auto [it, fresh] = known.try_emplace({values, real}, static_cast<int>(formulas_.size()));
      if (fresh) {
        std::optional<SizeFormula> formula = fit_formula(polynomials, values, real);
        if (!formula || !is_whole(formula->value)) return false;
        formulas_.push_back(std::move(*formula));
      }
      formula_of_[i] = it->second;
    }
    numbers_.clear();
    return true;
  }

  // The program at these sizes is the family's.
  bool holds_at(const Values& values) {
    const std::optional<ProgramText> text = read_at(values);
    if (!text) return false;
    const Values m = monomials_.at(values);
    Values expected;
    for (const SizeFormula& f : formulas_) expected.push_back(f.at(m));
    for (size_t i = 0; i < formula_of_.size(); ++i)
      if (text->numbers[i] != (formula_of_[i] < 0 ? text_.numbers[i] : expected[static_cast<size_t>(formula_of_[i])])) return false;
    return true;
  }

  // Sizes that user code refuses together come in no call.
  bool holds_where_legal(const Values& values) { return holds_at(values) || !is_legal(values); }

  // ---- ranges ----

  // No further than numbers are exact.
  void bound_ranges() {
    for (;;) {
      Values far;
      for (const SymbolRange& r : ranges_) far.push_back(r.max);
      const std::vector<double> m = monomials_.near(far);
      const bool small =
          std::all_of(formulas_.begin(), formulas_.end(), [&](const SizeFormula& f) { return f.value.magnitude(m) < kMostAtFarEnd; });
      bool shrunk = false;
      for (size_t i = 0; !small && i < ranges_.size(); ++i) {
        const int64_t least = std::max(hint_[i], typical_[i]), half = in_step(i, std::max(least, ranges_[i].max / 2), least);
        shrunk |= half < ranges_[i].max;
        ranges_[i].max = half;
      }
      if (!shrunk) return;
    }
  }

  bool find_ends() {
    if (before_ != nullptr) return ends_hold();
    for (size_t i = 0; i < ranges_.size(); ++i) {
      SymbolRange& r = ranges_[i];
      const auto holds = [&](int64_t v) { return holds_at(beside(typical_, i, in_step(i, v, typical_[i]))); };
      const int64_t low = std::min(r.hint, typical_[i]), high = std::max(r.hint, typical_[i]), next = r.max - steps_[i];
      if (r.min < low && !holds(r.min)) r.min = in_step(i, first_good(r.min, low, holds), r.hint);
      if (r.max <= high || holds(r.max)) continue;
      const bool only_the_end = next > high && holds(next);  // where a slice is the whole, say
      r.max = only_the_end ? next : in_step(i, last_good(high, r.max, true, holds), r.hint);
    }
    if (ranges_.size() > 1 && !find_corners()) return false;
    return std::any_of(ranges_.begin(), ranges_.end(), [](const SymbolRange& r) { return r.min < r.max; });
  }

  // The ends of another rest are less than a step away from those that are known.
  bool ends_hold() {
    const auto ends = [&](int64_t SymbolRange::*end) {
      Values values;
      for (const SymbolRange& r : ranges_) values.push_back(r.*end);
      return values;
    };
    const auto settle = [&](int64_t SymbolRange::*end, int64_t steps) {
      if (holds_at(ends(end))) return true;
      for (size_t i = 0; i < ranges_.size(); ++i)
        if (ranges_[i].*end != hint_[i]) ranges_[i].*end += steps * steps_[i];
      return holds_at(ends(end));
    };
    return settle(&SymbolRange::min, 1) && settle(&SymbolRange::max, -1);
  }

  // Where all symbols are small, or all large.
  bool find_corners() {
    constexpr int kTries = 8;
    for (const bool high : {false, true})
      for (int tries = 0;; ++tries) {
        Values corner;
        for (const SymbolRange& r : ranges_) corner.push_back(high ? r.max : r.min);
        if (holds_at(corner)) break;
        if (tries == kTries) return false;
        for (size_t i = 0; i < ranges_.size(); ++i) {
          SymbolRange& r = ranges_[i];
          const int64_t good = high ? std::max(r.hint, typical_[i]) : std::min(r.hint, typical_[i]);
          int64_t& end = high ? r.max : r.min;
          if (tries + 1 == kTries || std::abs(end - good) <= 1)
            end = good;
          else
            end = in_step(i, between(std::min(end, good), std::max(end, good)), good);
        }
      }
    for (size_t i = 0; i < ranges_.size(); ++i) {
      Values corner;
      for (const SymbolRange& r : ranges_) corner.push_back(r.min);
      if (!holds_where_legal(with(corner, i, ranges_[i].max))) return false;
    }
    return true;
  }

  // ---- the program ----

  std::shared_ptr<const Family> finish() {
    FamilyProgram family;
    family.ranges = ranges_;
    family.monomials = monomials_;
    family.graph_numbers = text_.graph;
    if (recipe_.options.check_bindings) family.check = FamilyCheck{recipe_, text_, formula_of_};
    for (size_t i = 0; i < formula_of_.size(); ++i) {
      if (formula_of_[i] < 0) continue;
      if (i < first_nest_number()) family.launch_patches.push_back({i, formula_of_[i]});
      if (i >= text_.graph) family.graph_patches.push_back({i, formula_of_[i]});
    }
    for (size_t n = 0; n < model_.nests.size(); ++n) {
      const size_t first = text_.nests[n], end = n + 1 < text_.nests.size() ? text_.nests[n + 1] : text_.graph;
      LoopNest& nest = model_.nests[n].nest;
      NestParameters& parameters = family.nests.emplace_back();
      const std::span<const int> formulas(formula_of_.data() + first, end - first);
      if (!parameterise(nest, formulas, model_.scalars, family.scalars, parameters))
        return refuse("a kernel cannot take a number at run time");
      if (nest.size_params > kMostTailSizes) return refuse("a kernel has too many sizes");
    }
    family.formulas = std::move(formulas_);
    family.steady = steady_inputs(model_.graph, recipe_.options.lasting);
    family.compiled = std::make_shared<CompiledProgram>();
    family.compiled->program = std::move(model_);
    CompileReport& report = family.compiled->program.report;
    report.lower_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count() - report.passes_ms;
    compile_kernels(*family.compiled, recipe_.options);
    log_program(family.compiled->program);
    return make_family(std::move(family));
  }

  size_t first_nest_number() const { return text_.nests.empty() ? text_.graph : text_.nests[0]; }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  FamilyRecipe recipe_;
  const Monomials monomials_;
  std::vector<SymbolRange> ranges_;
  Values hint_, typical_;  // `typical_`: where structure comes from
  Values steps_;           // between sizes
  bool may_have_rests_ = false;
  const Family* const before_;
  const bool as_hint_;
  bool hint_differs_ = false;
  ir::Graph first_;
  std::vector<Values> points_, numbers_;  // `numbers_`: by point
  Program model_;
  ProgramText text_;
  std::vector<int> formula_of_;
  std::vector<SizeFormula> formulas_;
};

}  // namespace

namespace {

/// Sizes of one rest are tried for these divisors.
constexpr int64_t kMostDivisor = 64, kUsualDivisor = 16;
/// So many of those that the graph takes: programs may have quotients of their own.
constexpr int kMostTries = 7, kUsualTries = 3;

std::shared_ptr<const Family> compile_with_steps(const GraphAt& graph_at, std::span<const SymbolRange> symbols,
                                                 const CompileOptions& options, bool* may_have_rests = nullptr,
                                                 const Family* before = nullptr) {
  for (const bool splits : {true, false}) {
    FamilyCompiler compiler(graph_at, symbols, options, splits, before);
    if (auto family = compiler.run()) return family;
    if (compiler.hint_differs())  // a batch of few images, say
      if (auto family = FamilyCompiler(graph_at, symbols, options, splits, before, true).run()) return family;
    if (may_have_rests != nullptr) *may_have_rests |= compiler.may_have_rests();
    if (!compiler.has_split()) break;
  }
  return nullptr;
}

/// The least step among whose sizes this symbol's numbers are polynomials while the others stay as they are; 0 when there is none.
int64_t least_step(const GraphAt& graph_at, std::span<const SymbolRange> symbols, size_t i, const CompileOptions& options) {
  std::vector<int64_t> values;
  for (const SymbolRange& r : symbols) values.push_back(r.hint);
  const GraphAt alone = [&](std::span<const int64_t> value) {
    std::vector<int64_t> all = values;
    all[i] = value[0];
    return graph_at(all);
  };
  const auto fits = [&](int64_t divisor) {
    SymbolRange range = symbols[i];
    range.step *= divisor;
    return FamilyCompiler(alone, {&range, 1}, options, false).fits();
  };
  const SymbolRange& r = symbols[i];
  const DivisorSearch search{[&](int64_t size) { return alone({&size, 1}); }, r.hint, r.step, r.min, r.max};
  const int64_t usual = least_divisor(search, kUsualDivisor, kUsualTries, fits);
  return r.step * (usual != 0 ? usual : least_divisor(search, kMostDivisor, kMostTries, fits));
}

std::shared_ptr<const Family> compile_for_rests(const GraphAt& graph_at, std::span<const SymbolRange> symbols,
                                                const CompileOptions& options) {
  std::vector<SymbolRange> ranges(symbols.begin(), symbols.end());
  int64_t most = 2;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int64_t step = least_step(graph_at, symbols, i, options);
    if (step == 0) return nullptr;
    ranges[i].step = step;
    most = std::lcm(most, step);
  }
  const bool any = std::any_of(ranges.begin(), ranges.end(), [](const SymbolRange& r) { return r.step > 1; });
  if (any)
    if (auto family = compile_with_steps(graph_at, ranges, options)) return family;
  if (symbols.size() == 1 || most > kMostDivisor) return nullptr;
  // Quotients of products of sizes look like polynomials where only one of them varies.
  for (SymbolRange& r : ranges) r.step = most;
  return compile_with_steps(graph_at, ranges, options);
}

}  // namespace

std::shared_ptr<const Family> compile_family(const GraphAt& graph_at, std::span<const SymbolRange> symbols, const CompileOptions& options,
                                             const Family* before) {
  if (symbols.empty()) return nullptr;
  std::vector<SymbolRange> ranges(symbols.begin(), symbols.end());
  for (SymbolRange& r : ranges) {
    r.min = std::max<int64_t>(r.min, 2);
    r.max = std::min(r.max, std::max(kFar, r.hint > INT64_MAX / kFarFactor ? r.hint : r.hint * kFarFactor));
    if (r.hint < r.min || r.hint > r.max) return nullptr;
  }
  if (options.backend == Backend::Interpreter || options.backend == Backend::Eager) return make_family_of_graphs(graph_at, ranges, options);
  const auto is_rest = [](const SymbolRange& r) { return r.step > 1; };
  if (before != nullptr && before->ranges().size() == ranges.size() &&
      std::any_of(before->ranges().begin(), before->ranges().end(), is_rest)) {
    if (auto family = compile_with_steps(graph_at, ranges, options, nullptr, before)) return family;
    for (size_t i = 0; i < ranges.size(); ++i) ranges[i].step = before->ranges()[i].step;
    if (auto family = compile_with_steps(graph_at, ranges, options)) return family;
    for (SymbolRange& r : ranges) r.step = 1;
  }
  bool may_have_rests = false;
  if (auto family = compile_with_steps(graph_at, ranges, options, &may_have_rests)) return family;
  return may_have_rests ? compile_for_rests(graph_at, ranges, options) : nullptr;
}

}  // namespace tailor::jit
