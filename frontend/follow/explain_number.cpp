// Which expression over the symbols a number is.

#include <algorithm>

#include "frontend/follow/symbolic.h"

namespace tailor::follow {
namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

using Calls = std::span<const std::vector<int64_t>>;

bool fits(const SizeExpr& e, std::span<const int64_t> values, Calls symbols) {
  for (size_t k = 0; k < values.size(); ++k) {
    if (e(symbols[k]) != values[k]) return false;
  }
  return true;
}

using Term = SizeExpr::Term;

std::vector<int64_t> column(const Term& term, Calls symbols) {
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& call : symbols) all.push_back(term(call));
  return all;
}

// slope * term + own * symbol + constant
std::optional<SizeExpr> line(std::span<const int64_t> values, Calls symbols, const Term& term, int64_t own = 0) {
  const auto value = [&](size_t k) { return values[k] - own * symbols[k][static_cast<size_t>(term.symbol)]; };
  const std::vector<int64_t> t = column(term, symbols);
  for (size_t k = 1; k < values.size(); ++k) {
    const int64_t step = t[k] - t[0];
    if (step == 0) continue;
    if ((value(k) - value(0)) % step != 0) return std::nullopt;
    const int64_t slope = (value(k) - value(0)) / step;
    if (slope == 0) return std::nullopt;
    SizeExpr e;
    e.constant = value(0) - slope * t[0];
    e.linear = {{term, slope}};
    if (own != 0) e.linear.push_back({Term{term.symbol}, own});
    return fits(e, values, symbols) ? std::optional(e) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<SizeExpr> scaled_product(std::span<const int64_t> values, Calls symbols, std::vector<Term> terms) {
  int64_t product = 1;
  for (const Term& term : terms) product *= term(symbols[0]);
  if (product == 0 || values[0] % product != 0) return std::nullopt;
  SizeExpr e;
  e.factor = values[0] / product;
  e.product = std::move(terms);
  return e.factor != 0 && fits(e, values, symbols) ? std::optional(e) : std::nullopt;
}

std::optional<SizeExpr> sum(std::span<const int64_t> values, Calls symbols, int i, int j) {
  for (const int64_t sign : {1, -1}) {
    SizeExpr e;
    e.linear = {{Term{i}, 1}, {Term{j}, sign}};
    e.constant = values[0] - e(symbols[0]);
    if (fits(e, values, symbols)) return e;
  }
  return std::nullopt;
}

constexpr int64_t kLargestDivisor = 64;

// What is added before a division: nothing, what rounds up, what strides and windows add, then anything.
std::vector<int64_t> added_before(int64_t divisor) {
  std::vector<int64_t> all{0, divisor - 1, 1, -1, divisor / 2};
  for (int64_t a = -divisor; a <= divisor; ++a)
    if (std::find(all.begin(), all.end(), a) == all.end()) all.push_back(a);
  return all;
}

// quotient(term): the first expression that a rounded quotient of symbol `i` makes, simple ones before others.
template <class F>
std::optional<SizeExpr> first_quotient(int i, F&& quotient) {
  for (int64_t d = 2; d <= kLargestDivisor; ++d)
    for (const int64_t added : added_before(d))
      if (const auto e = quotient(Term{i, added, d})) return e;
  return std::nullopt;
}

// (s + 1) / 2, then s / 2 * 3 + 1, then s - s / 2 (the rest of a division, what pads to a multiple), then quotients times other sizes.
std::optional<SizeExpr> quotient(std::span<const int64_t> values, Calls symbols, int count) {
  for (int i = 0; i < count; ++i) {
    const auto alone = [&](const Term& term) {
      SizeExpr e;
      e.linear = {{term, 1}};
      return fits(e, values, symbols) ? std::optional(e) : std::nullopt;
    };
    if (const auto e = first_quotient(i, alone)) return e;
  }
  for (const int64_t own : {0, 1, -1})
    for (int i = 0; i < count; ++i)
      if (const auto e = first_quotient(i, [&](const Term& term) { return line(values, symbols, term, own); })) return e;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) {
      const auto times = [&](const Term& term) -> std::optional<SizeExpr> {
        if (const auto e = scaled_product(values, symbols, {term, Term{j}})) return e;
        return j < i ? std::nullopt : scaled_product(values, symbols, {term, Term{j, term.added, term.divisor}});
      };
      if (const auto e = first_quotient(i, times)) return e;
    }
  return std::nullopt;
}

}  // namespace

int64_t SizeExpr::Term::operator()(std::span<const int64_t> symbols) const {
  const int64_t s = symbols[static_cast<size_t>(symbol)] + added;
  return divisor == 1 ? s : floor_div(s, divisor);
}

int64_t SizeExpr::operator()(std::span<const int64_t> symbols) const {
  int64_t value = constant;
  for (const auto& [term, coefficient] : linear) value += coefficient * term(symbols);
  if (factor != 0) {
    int64_t all = factor;
    for (const Term& term : product) all *= term(symbols);
    value += all;
  }
  return value;
}

std::optional<SizeExpr> explain_number(std::span<const int64_t> values, Calls symbols) {
  const int count = symbols.empty() ? 0 : static_cast<int>(symbols[0].size());
  for (int i = 0; i < count; ++i) {
    if (fits(SizeExpr::symbol(i), values, symbols)) return SizeExpr::symbol(i);
  }
  if (std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; })) return SizeExpr::number(values[0]);
  for (int i = 0; i < count; ++i) {
    if (const auto e = line(values, symbols, Term{i})) return e;
  }
  for (int i = 0; i < count; ++i) {
    for (int j = i; j < count; ++j) {
      if (const auto e = scaled_product(values, symbols, {Term{i}, Term{j}})) return e;
    }
  }
  for (int i = 0; i < count; ++i) {
    for (int j = i + 1; j < count; ++j) {
      if (const auto e = sum(values, symbols, i, j)) return e;
    }
  }
  return quotient(values, symbols, count);
}

}  // namespace tailor::follow
