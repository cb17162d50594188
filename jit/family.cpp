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
//
// Once the program of one rest is known and another rest comes, one program for all rests is tried. What quotients and rests of sizes are
// added up to is a size times a number that is the same for all rests, and a number for each rest; products of such sums are what
// Monomials::with_rests says. It is fitted at sizes of every rest, and checked again where sizes of each are largest, and where some are
// smallest.

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

/// What is known from a family for the sizes of another rest, and what is wanted.
struct Before {
  const Family* family = nullptr;
  bool all_rests = false;  // one family for all of them
};

Monomials monomials_after(const Before& before, size_t symbols) {
  if (before.family == nullptr) return Monomials(symbols);
  return before.all_rests ? before.family->monomials().with_rests(before.family->steps()) : before.family->monomials();
}

class FamilyCompiler {
 public:
  /// `as_hint`: choices are those of the hint's program, not of one of typical sizes.
  FamilyCompiler(const GraphAt& graph_at, std::span<const SymbolRange> symbols, const CompileOptions& options, bool splits,
                 const Before& before = {}, bool as_hint = false)
      : recipe_{graph_at, options, ir::Choices(splits)},
        monomials_(monomials_after(before, symbols.size())),
        ranges_(symbols.begin(), symbols.end()),
        before_(before.family),
        all_rests_(before.all_rests),
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
    if (all_rests_ ? !choose_points_of_rests() : !choose_points()) return refused("too few sizes to tell how numbers depend on them");
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
  /// Gives up, before anything is lowered, where numbers of the graph are no polynomials.
  void look_at_graphs() { looks_at_graphs_ = true; }
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
      const SymbolRange& known = before_->first_ranges()[i];
      const int64_t step = before_->steps()[i], beside = all_rests_ ? 0 : step - 1;
      steps_.push_back(r.step = all_rests_ ? 1 : step);
      r.min = in_step(i, std::max(r.min, known.min - beside), r.hint);
      r.max = in_step(i, std::min(r.max, known.max + beside), r.hint);
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

  /// The step among whose sizes this symbol's numbers are polynomials.
  int64_t rests(size_t i) const { return all_rests_ ? before_->steps()[i] : 1; }
  // The nearest value from `v` on in this direction that leaves the rest.
  int64_t of_rest(size_t i, int64_t v, int64_t rest, int64_t direction) const {
    while (v % rests(i) != rest) v += direction;
    return v;
  }

  // The same for sizes of every rest, as Monomials wants them.
  bool choose_points_of_rests() {
    std::set<int64_t> avoided;
    for (const ir::ValueInfo& v : first_.values) avoided.insert(v.spec.sizes.begin(), v.spec.sizes.end());
    std::vector<Values> nodes(ranges_.size());
    for (size_t i = 0; i < ranges_.size(); ++i) {
      const SymbolRange& r = ranges_[i];
      const int64_t step = rests(i), start = std::clamp(std::max(r.hint, kTypical), r.min, r.max), reach = 64 * step;
      for (const int64_t rest : monomials_.rests_of_nodes(i)) {
        const int64_t unit = std::gcd(rest == 0 ? step : rest, step);
        std::optional<int64_t> found;
        const auto take = [&](int64_t v, bool strict) {
          if (found || v < r.min || v > r.max || std::find(nodes[i].begin(), nodes[i].end(), v) != nodes[i].end()) return;
          if (strict && (!is_prime(v / unit) || avoided.contains(v))) return;
          found = v;
        };
        for (const bool strict : {true, false}) {
          for (int64_t v = of_rest(i, start, rest, 1); v <= start + reach; v += step) take(v, strict);
          for (int64_t v = of_rest(i, start, rest, -1); v >= start - reach && v > 0; v -= step) take(v, strict);
        }
        if (!found) return false;
        nodes[i].push_back(*found);
        avoided.insert(*found);
      }
      typical_.push_back(nodes[i][0]);
    }
    points_ = monomials_.points(nodes);
    return true;  // what user code refuses of them shows when it is lowered
  }

  // ---- numbers ----

  std::optional<ProgramText> read_at(const Values& values) {
    try {
      ProgramText text = read_program(recipe_.lower_at(values));
      if (text.same_structure(text_)) return text;
    } catch (const std::exception&) {}  // what goes wrong at another size alone is no reason to fail at this one
    return std::nullopt;
  }

  // Quotients that the graph has show before anything is lowered.
  bool graphs_fit() const {
    const PolynomialFit polynomials(monomials_, points_);
    std::vector<ProgramText> texts;
    try {
      for (const Values& point : points_) {
        Program program;
        program.graph = recipe_.graph_at(point);
        texts.push_back(read_program(program));
        if (!texts.back().same_structure(texts[0])) return true;  // it may be the same when lowered
      }
    } catch (const std::exception&) { return false; }
    std::set<Values> known;
    Values values(points_.size());
    for (size_t n = 0; n < texts[0].numbers.size(); ++n) {
      for (size_t p = 0; p < points_.size(); ++p) values[p] = texts[p].numbers[n];
      if (texts[0].real[n] == 0 && known.insert(values).second && !polynomials(values)) return false;
    }
    return true;
  }

  bool read_points() {
    if (!is_legal(typical_)) return false;  // each size is, but not all together
    if (looks_at_graphs_ && !graphs_fit()) return false;
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
  bool is_whole(const Polynomial& p) {
    if (p.denominator == 1) return true;
    if (in_a_row_.empty()) {  // three of each rest
      std::vector<Values> points{{}};
      for (size_t i = 0; i < hint_.size(); ++i) {
        std::vector<Values> longer;
        for (const Values& v : points)
          for (int64_t k = 0; k < 3 * rests(i); ++k) longer.emplace_back(v).push_back(hint_[i] + k * steps_[i]);
        points = std::move(longer);
      }
      for (const Values& v : points) in_a_row_.push_back(monomials_.at(v));
    }
    return std::all_of(in_a_row_.begin(), in_a_row_.end(), [&](const Values& m) { return p.is_whole(m); });
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
    if (all_rests_) return ends_of_rests_hold();
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

  // Every rest of every symbol beside every one of the others where they are largest: the sizes that were fitted leave each of these once,
  // so that what grows at another rate shows. Where they are smallest, each rest once.
  bool ends_of_rests_hold() {
    const auto at_end = [&](bool high, std::span<const int64_t> left) {
      Values values;
      for (size_t i = 0; i < ranges_.size(); ++i)
        values.push_back(of_rest(i, high ? ranges_[i].max : ranges_[i].min, left[i] % rests(i), high ? -1 : 1));
      return values;
    };
    const auto smallest_hold = [&] {
      int64_t most = 1;
      for (size_t i = 0; i < ranges_.size(); ++i) most = std::max(most, rests(i));
      for (int64_t turn = 0; turn < most; ++turn) {
        Values left;
        for (size_t i = 0; i < ranges_.size(); ++i) left.push_back(turn + static_cast<int64_t>(i));
        if (!holds_at(at_end(false, left))) return false;
      }
      return true;
    };
    constexpr int kTries = 3;
    for (int tries = 0; !smallest_hold(); ++tries) {
      if (tries == kTries) return false;
      for (size_t i = 0; i < ranges_.size(); ++i) {
        ranges_[i].min += rests(i);
        if (ranges_[i].min > hint_[i]) return false;
      }
    }
    Values left(ranges_.size(), 0);
    for (;;) {
      if (!holds_at(at_end(true, left))) return false;
      size_t i = 0;
      while (i < left.size() && ++left[i] == rests(i)) left[i++] = 0;
      if (i == left.size()) break;
    }
    for (size_t i = 0; ranges_.size() > 1 && i < ranges_.size(); ++i) {
      Values corner;
      for (size_t j = 0; j < ranges_.size(); ++j) corner.push_back(of_rest(j, ranges_[j].min, static_cast<int64_t>(j) % rests(j), 1));
      corner[i] = ranges_[i].max;
      if (!holds_where_legal(corner)) return false;
    }
    return true;
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
    const std::span<const SymbolRange> first = before_ != nullptr ? before_->first_ranges() : ranges_;
    family.first_ranges.assign(first.begin(), first.end());
    family.monomials = monomials_;
    for (size_t i = 0; i < ranges_.size(); ++i) family.steps.push_back(std::max(rests(i), ranges_[i].step));
    if (all_rests_) family.of_one_rest = before_->monomials();
    family.may_serve_all_rests = before_ == nullptr;
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
  bool may_have_rests_ = false, looks_at_graphs_ = false;
  const Family* const before_;
  const bool all_rests_, as_hint_;
  bool hint_differs_ = false;
  ir::Graph first_;
  std::vector<Values> points_, numbers_;  // `numbers_`: by point
  std::vector<Values> in_a_row_;          // monomials where polynomials have to be whole
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
                                                 const CompileOptions& options, bool* may_have_rests = nullptr, const Before& before = {}) {
  for (const bool splits : {true, false}) {
    FamilyCompiler compiler(graph_at, symbols, options, splits, before);
    if (may_have_rests != nullptr) compiler.look_at_graphs();
    if (auto family = compiler.run()) return family;
    if (compiler.hint_differs())  // a batch of few images, say
      if (auto family = FamilyCompiler(graph_at, symbols, options, splits, before, true).run()) return family;
    if (may_have_rests != nullptr) *may_have_rests |= compiler.may_have_rests();
    if (!compiler.has_split()) break;
  }
  return nullptr;
}

/// The graph where all symbols but one stay as they are.
GraphAt alone_at(const GraphAt& graph_at, std::span<const SymbolRange> symbols, size_t i) {
  std::vector<int64_t> values;
  for (const SymbolRange& r : symbols) values.push_back(r.hint);
  return [&graph_at, values, i](std::span<const int64_t> value) {
    std::vector<int64_t> all = values;
    all[i] = value[0];
    return graph_at(all);
  };
}

DivisorSearch search_of(const GraphAt& alone, const SymbolRange& r) {
  return {[&alone](int64_t size) { return alone({&size, 1}); }, r.hint, r.step, r.min, r.max};
}

/// The least step among whose sizes this symbol's numbers are polynomials while the others stay as they are; 0 when there is none.
int64_t least_step(const GraphAt& graph_at, std::span<const SymbolRange> symbols, size_t i, const CompileOptions& options) {
  const GraphAt alone = alone_at(graph_at, symbols, i);
  const auto fits = [&](int64_t divisor) {
    SymbolRange range = symbols[i];
    range.step *= divisor;
    return FamilyCompiler(alone, {&range, 1}, options, false).fits();
  };
  const SymbolRange& r = symbols[i];
  const DivisorSearch search = search_of(alone, r);
  const int64_t usual = least_divisor(search, kUsualDivisor, kUsualTries, fits);
  return r.step * (usual != 0 ? usual : least_divisor(search, kMostDivisor, kMostTries, fits));
}

std::shared_ptr<const Family> compile_for_rests(const GraphAt& graph_at, std::span<const SymbolRange> symbols,
                                                const CompileOptions& options) {
  std::vector<SymbolRange> ranges(symbols.begin(), symbols.end());
  // Mostly the program has the quotients of its graph and no others.
  for (size_t i = 0; i < ranges.size(); ++i) {
    const GraphAt alone = alone_at(graph_at, symbols, i);
    const int64_t divisor = least_divisor(search_of(alone, symbols[i]), kUsualDivisor, 1, [](int64_t) { return true; });
    ranges[i].step *= std::max<int64_t>(divisor, 1);
  }
  if (!std::equal(ranges.begin(), ranges.end(), symbols.begin(), [](const auto& a, const auto& b) { return a.step == b.step; }))
    if (auto family = compile_with_steps(graph_at, ranges, options)) return family;
  ranges.assign(symbols.begin(), symbols.end());
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

/// Whether one for all rests takes less than one for each: it looks at a size for each monomial and at both ends of each rest, they at a
/// size for each monomial of one rest and at three more. Only the rests that come are paid for, perhaps half of them; and no call waits for
/// more looks than some compile would take.
bool is_for_all_rests_worthwhile(const Family& before, std::span<const int64_t> steps) {
  constexpr size_t kMostLooks = 60;
  size_t rests = 1, most = 1;
  for (const int64_t step : steps) {
    rests *= static_cast<size_t>(step);
    most = std::max(most, static_cast<size_t>(step));
    if (rests > kMostLooks) return false;
  }
  if (!before.may_serve_all_rests()) return false;
  const Monomials one = before.monomials();
  const size_t looks = one.with_rests(steps).size() + rests + most;
  return looks <= kMostLooks && looks < (rests - 1) * (one.size() + 3) / 2;
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
  const std::vector<int64_t> steps = before == nullptr ? std::vector<int64_t>() : before->steps();
  if (steps.size() == ranges.size() && std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step > 1; })) {
    if (is_for_all_rests_worthwhile(*before, steps))
      if (auto family = compile_with_steps(graph_at, ranges, options, nullptr, {before, true})) return family;
    if (auto family = compile_with_steps(graph_at, ranges, options, nullptr, {before})) return family;
    for (size_t i = 0; i < ranges.size(); ++i) ranges[i].step = steps[i];
    if (auto family = compile_with_steps(graph_at, ranges, options)) return family;
    for (SymbolRange& r : ranges) r.step = 1;
  }
  bool may_have_rests = false;
  if (auto family = compile_with_steps(graph_at, ranges, options, &may_have_rests)) return family;
  if (!may_have_rests) return nullptr;
  if (auto family = compile_for_rests(graph_at, ranges, options)) return family;
  return compile_with_steps(graph_at, ranges, options);  // what is no polynomial may be of no consequence
}

}  // namespace tailor::jit
