#include "jit/polynomial.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "runtime/error.h"

namespace tailor::jit {
namespace {

constexpr int kMostFactors = 3, kMostOfOne = 2;
/// Of more symbols than this, products of two are all that is looked for: each monomial costs a lowering.
constexpr size_t kFewSymbols = 4;

// Coefficients are found modulo a prime, where every division is exact, and are small numbers or fractions of small numbers; what was
// found is then checked in whole numbers.
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
constexpr int64_t kMostNumerator = int64_t{1} << 44, kMostDenominator = int64_t{1} << 14;
using Wide = __int128;

uint64_t residue(int64_t v) {
  const auto r = static_cast<int64_t>(static_cast<Wide>(v) % static_cast<Wide>(kPrime));
  return r < 0 ? static_cast<uint64_t>(r) + kPrime : static_cast<uint64_t>(r);
}
uint64_t reduced(uint64_t a) { return a >= kPrime ? a - kPrime : a; }  // of less than two primes
uint64_t times(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;  // 2^61 leaves 1
  return reduced((static_cast<uint64_t>(product) & kPrime) + static_cast<uint64_t>(product >> 61));
}
uint64_t plus(uint64_t a, uint64_t b) { return reduced(a + b); }
uint64_t minus(uint64_t a, uint64_t b) { return reduced(a + kPrime - b); }
uint64_t inverse(uint64_t a) {
  uint64_t result = 1;
  for (uint64_t e = kPrime - 2; e != 0; e >>= 1, a = times(a, a))
    if (e & 1) result = times(result, a);
  return result;
}

/// The fraction of small numbers that a residue stands for.
std::optional<std::pair<int64_t, int64_t>> fraction(uint64_t r) {
  auto a = static_cast<int64_t>(kPrime), b = static_cast<int64_t>(r);
  int64_t x = 0, y = 1;
  while (b > kMostNumerator) {
    const int64_t q = a / b;
    a = std::exchange(b, a - q * b);
    x = std::exchange(y, x - q * y);
    if (std::abs(y) > kMostDenominator) break;
  }
  if (b > kMostNumerator || std::abs(y) > kMostDenominator || y == 0) {
    const auto negative = static_cast<int64_t>(kPrime - r);
    if (negative <= kMostNumerator) return std::pair(-negative, int64_t{1});
    return std::nullopt;
  }
  return y < 0 ? std::pair(-b, -y) : std::pair(b, y);
}

}  // namespace

Monomials::Monomials(size_t symbols) : steps_(symbols, 1) {
  const int most = symbols <= kFewSymbols ? kMostFactors : 2;
  std::vector<int> e(symbols, 0);
  for (;;) {
    if (std::accumulate(e.begin(), e.end(), 0) <= most) exponents_.push_back(e);
    size_t i = 0;
    while (i < symbols && ++e[i] > kMostOfOne) e[i++] = 0;
    if (i == symbols) return;
  }
}

Monomials Monomials::closure(const std::vector<bool>& used) const {
  Monomials result = *this;
  std::erase_if(result.exponents_, [&](const std::vector<int>& e) {
    const auto divides = [&](const std::vector<int>& other) {
      return std::equal(e.begin(), e.end(), other.begin(), [](int a, int b) { return a <= b; });
    };
    for (size_t m = 0; m < exponents_.size(); ++m)
      if (used[m] && divides(exponents_[m])) return false;
    return std::any_of(e.begin(), e.end(), [](int power) { return power != 0; });
  });
  return result;
}

Monomials Monomials::with_rests(std::span<const int64_t> steps) const {
  Monomials result = *this;
  result.steps_.assign(steps.begin(), steps.end());
  result.exponents_.clear();
  // A power stands for all that is no higher: so many of them.
  const auto below = [&](const std::vector<int>& all, const std::vector<int>& e) {
    for (size_t i = 0; i < e.size(); ++i)
      if (all[i] > e[i] * static_cast<int>(steps[i])) return false;
    return true;
  };
  const size_t symbols = steps_.size();
  std::vector<int> e(symbols, 0);
  for (;;) {
    if (std::any_of(exponents_.begin(), exponents_.end(), [&](const auto& of) { return below(e, of); })) result.exponents_.push_back(e);
    size_t i = 0;
    while (i < symbols && ++e[i] > kMostOfOne * steps[i]) e[i++] = 0;
    if (i == symbols) return result;
  }
}

std::vector<int64_t> Monomials::rests_of_nodes(size_t symbol) const {
  const int64_t step = steps_[symbol];
  int most = 0;
  for (const std::vector<int>& e : exponents_) most = std::max(most, e[symbol]);
  std::vector<int64_t> rests;
  for (int64_t power = 0; power <= most; ++power) rests.push_back(power <= 1 ? 0 : (power - 1) % step);
  return rests;
}

template <class T>
T Monomials::factor(size_t symbol, int power, int64_t value) const {
  const auto step = static_cast<int>(steps_[symbol]);
  const T v = static_cast<T>(value);
  if (power == 0) return T(1);
  const bool square = power > step;
  if (square) power -= step;  // those beside the symbol itself
  const T one = power == 1 ? v : T(value % step == power - 1);
  return square ? one * v : one;
}

std::vector<int64_t> Monomials::at(std::span<const int64_t> values) const {
  std::vector<int64_t> result;
  result.reserve(exponents_.size());
  for (const std::vector<int>& e : exponents_) {
    uint64_t product = 1;  // those that no polynomial uses may overflow
    for (size_t i = 0; i < e.size(); ++i)
      if (e[i] != 0) product *= factor<uint64_t>(i, e[i], values[i]);
    result.push_back(static_cast<int64_t>(product));
  }
  return result;
}

std::vector<double> Monomials::near(std::span<const int64_t> values) const {
  std::vector<double> result;
  for (const std::vector<int>& e : exponents_) {
    double product = 1;
    for (size_t i = 0; i < e.size(); ++i) product *= factor<double>(i, e[i], values[i]);
    result.push_back(product);
  }
  return result;
}

std::vector<std::vector<int64_t>> Monomials::points(std::span<const std::vector<int64_t>> nodes) const {
  std::vector<std::vector<int64_t>> result;
  for (const std::vector<int>& e : exponents_) {
    std::vector<int64_t>& point = result.emplace_back();
    for (size_t i = 0; i < e.size(); ++i) point.push_back(nodes[i][static_cast<size_t>(e[i])]);
  }
  return result;
}

double Polynomial::magnitude(std::span<const double> monomials) const {
  double sum = 0;
  for (const auto& [m, c] : terms) sum += std::abs(static_cast<double>(c)) * monomials[static_cast<size_t>(m)];
  return sum;
}

bool Polynomial::is_whole(std::span<const int64_t> monomials) const {
  Wide sum = 0;
  for (const auto& [m, c] : terms) sum += static_cast<Wide>(c) * monomials[static_cast<size_t>(m)];
  return sum % denominator == 0;
}

bool Polynomial::is_constant() const { return terms.empty() || (terms.size() == 1 && terms[0].first == 0); }

PolynomialFit::PolynomialFit(const Monomials& monomials, std::span<const std::vector<int64_t>> points) {
  const size_t n = points.size();
  std::vector<std::vector<uint64_t>> rows;
  for (size_t i = 0; i < n; ++i) {
    monomials_.push_back(monomials.at(points[i]));
    std::vector<uint64_t>& row = rows.emplace_back();
    for (int64_t m : monomials_.back()) row.push_back(residue(m));
    row.resize(2 * n, 0);
    row[n + i] = 1;
  }
  for (size_t c = 0; c < n; ++c) {
    size_t pivot = c;
    while (pivot < n && rows[pivot][c] == 0) ++pivot;
    internal_check(pivot < n, "points do not tell polynomials apart");
    std::swap(rows[c], rows[pivot]);
    const uint64_t scale = inverse(rows[c][c]);
    for (uint64_t& v : rows[c]) v = times(v, scale);
    for (size_t r = 0; r < n; ++r) {
      if (r == c || rows[r][c] == 0) continue;
      const uint64_t factor = rows[r][c];
      for (size_t k = c; k < 2 * n; ++k) rows[r][k] = minus(rows[r][k], times(factor, rows[c][k]));
    }
  }
  for (const std::vector<uint64_t>& row : rows) inverse_.emplace_back(row.begin() + static_cast<int64_t>(n), row.end());
}

std::optional<Polynomial> PolynomialFit::operator()(std::span<const int64_t> values) const {
  std::vector<std::pair<int64_t, int64_t>> coefficients;
  Polynomial p;
  for (const std::vector<uint64_t>& row : inverse_) {
    uint64_t sum = 0;
    for (size_t i = 0; i < row.size(); ++i) sum = plus(sum, times(row[i], residue(values[i])));
    const auto f = fraction(sum);
    if (!f) return std::nullopt;
    coefficients.push_back(*f);
    p.denominator = std::lcm(p.denominator, f->second);
    if (p.denominator > kMostDenominator) return std::nullopt;
  }
  for (size_t i = 0; i < coefficients.size(); ++i)
    if (const auto [above, below] = coefficients[i]; above != 0) p.terms.emplace_back(static_cast<int>(i), above * (p.denominator / below));
  for (size_t i = 0; i < monomials_.size(); ++i) {
    Wide sum = 0;
    for (const auto& [m, c] : p.terms) sum += static_cast<Wide>(c) * monomials_[i][static_cast<size_t>(m)];
    if (sum != static_cast<Wide>(values[i]) * p.denominator) return std::nullopt;
  }
  return p;
}

namespace {

constexpr double kMostExact = 9007199254740992.0;  // 2^53

double apply(SizeFormula::Kind kind, double x) {
  switch (kind) {
    case SizeFormula::Kind::Whole:
    case SizeFormula::Kind::Real: return x;
    case SizeFormula::Kind::Reciprocal: return 1.0 / x;
    case SizeFormula::Kind::Root: return std::sqrt(x);
    case SizeFormula::Kind::ReciprocalRoot: return 1.0 / std::sqrt(x);
  }
  return x;
}

/// The whole number whose image under `kind` is near.
double undo(SizeFormula::Kind kind, double y) {
  switch (kind) {
    case SizeFormula::Kind::Whole:
    case SizeFormula::Kind::Real: return y;
    case SizeFormula::Kind::Reciprocal: return 1.0 / y;
    case SizeFormula::Kind::Root: return y * y;
    case SizeFormula::Kind::ReciprocalRoot: return 1.0 / (y * y);
  }
  return y;
}

}  // namespace

int64_t SizeFormula::at(std::span<const int64_t> monomials) const {
  const int64_t n = value.at(monomials);
  return kind == Kind::Whole ? n : std::bit_cast<int64_t>(apply(kind, static_cast<double>(n)));
}

std::optional<SizeFormula> fit_formula(const PolynomialFit& fit, std::span<const int64_t> values, bool real) {
  if (!real) {
    std::optional<Polynomial> p = fit(values);
    if (!p) return std::nullopt;
    return SizeFormula{SizeFormula::Kind::Whole, std::move(*p)};
  }
  using Kind = SizeFormula::Kind;
  for (const Kind kind : {Kind::Real, Kind::Reciprocal, Kind::Root, Kind::ReciprocalRoot}) {
    std::vector<int64_t> whole;
    for (const int64_t bits : values) {
      const double n = std::round(undo(kind, std::bit_cast<double>(bits)));
      if (!(std::abs(n) < kMostExact) || std::bit_cast<int64_t>(apply(kind, n)) != bits) break;
      whole.push_back(static_cast<int64_t>(n));
    }
    if (whole.size() != values.size()) continue;
    if (std::optional<Polynomial> p = fit(whole)) return SizeFormula{kind, std::move(*p)};
  }
  return std::nullopt;
}

}  // namespace tailor::jit
