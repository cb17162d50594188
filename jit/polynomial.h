#pragma once
// Numbers that follow from sizes: polynomials in the symbols, found from their values at a few points.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tailor::jit {

/// The products of symbols that sizes are made of: each symbol at most squared, three factors at most (two where symbols are many).
class Monomials {
 public:
  explicit Monomials(size_t symbols);
  /// These, and those with the rest of a symbol in place of the symbol, where its step is larger than 1: in sums of them what is beside the
  /// leading term may differ from rest to rest. A rest is told by numbers that are 1 where `symbol % step` is it, and 0 elsewhere.
  Monomials with_rests(std::span<const int64_t> steps) const;
  /// Those of these that divide a used one, and 1. `used`: by number.
  Monomials closure(const std::vector<bool>& used) const;
  size_t size() const { return exponents_.size(); }
  /// Their values where the symbols have `values`.
  std::vector<int64_t> at(std::span<const int64_t> values) const;
  std::vector<double> near(std::span<const int64_t> values) const;
  /// As many points as there are monomials, which tell polynomials apart. `nodes`: three different values for each symbol; with rests as
  /// many as `rests_of_nodes` says, each of its rest.
  std::vector<std::vector<int64_t>> points(std::span<const std::vector<int64_t>> nodes) const;
  std::vector<int64_t> rests_of_nodes(size_t symbol) const;

 private:
  template <class T>
  T factor(size_t symbol, int power, int64_t value) const;

  // The power of each symbol; where its step is larger than 1: nothing, it, one of its rests but 0, its square, it and one of its rests.
  std::vector<std::vector<int>> exponents_;
  std::vector<int64_t> steps_;
};

/// sum(coefficient * monomial) / denominator, without rest.
struct Polynomial {
  std::vector<std::pair<int, int64_t>> terms;  // monomial, coefficient
  int64_t denominator = 1;

  int64_t at(std::span<const int64_t> monomials) const {
    uint64_t sum = 0;
    for (const auto& [m, c] : terms) sum += static_cast<uint64_t>(c) * static_cast<uint64_t>(monomials[static_cast<size_t>(m)]);
    return denominator == 1 ? static_cast<int64_t>(sum) : static_cast<int64_t>(sum) / denominator;
  }
  /// Whether the division leaves no rest here.
  bool is_whole(std::span<const int64_t> monomials) const;
  /// No number on the way to the value is larger.
  double magnitude(std::span<const double> monomials) const;
  bool is_constant() const;
  friend bool operator==(const Polynomial&, const Polynomial&) = default;
};

/// Finds polynomials from their values at Monomials::points.
class PolynomialFit {
 public:
  PolynomialFit(const Monomials& monomials, std::span<const std::vector<int64_t>> points);
  /// None when no polynomial with small coefficients takes just these values.
  std::optional<Polynomial> operator()(std::span<const int64_t> values) const;

 private:
  std::vector<std::vector<int64_t>> monomials_;  // by point
  std::vector<std::vector<uint64_t>> inverse_;   // of that matrix, modulo a prime
};

/// A number that follows from sizes: an integer, or a double that is a polynomial's value, its reciprocal, its root, or that of both.
struct SizeFormula {
  enum class Kind : uint8_t { Whole, Real, Reciprocal, Root, ReciprocalRoot } kind = Kind::Whole;
  Polynomial value;

  /// An integer, or the bits of a double.
  int64_t at(std::span<const int64_t> monomials) const;
};

/// The formula for integers, or for the bits of doubles (`real`), as for PolynomialFit.
std::optional<SizeFormula> fit_formula(const PolynomialFit& fit, std::span<const int64_t> values, bool real);

}  // namespace tailor::jit
