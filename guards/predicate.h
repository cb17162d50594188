#pragma once
// Comparisons of expressions over the sizes of arguments, as lists of numbers: `args[0].size(0) % 4 == 0`.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "guards/descriptor.h"

namespace tailor::guards {

enum class Comparison : int8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

/// An integer computed from sizes. Division and remainder round as Python's (floor); by zero the predicate does not hold.
class SizeExpr {
 public:
  SizeExpr(int64_t constant) : words_{kConstant, constant} {}
  /// Size of dimension `dim` of tensor argument `tensor`.
  static SizeExpr size(int tensor, int dim) {
    SizeExpr e(0);
    e.words_ = {kSize, tensor, dim};
    return e;
  }
  friend SizeExpr operator+(const SizeExpr& a, const SizeExpr& b) { return {a, b, kAdd}; }
  friend SizeExpr operator-(const SizeExpr& a, const SizeExpr& b) { return {a, b, kSubtract}; }
  friend SizeExpr operator*(const SizeExpr& a, const SizeExpr& b) { return {a, b, kMultiply}; }
  friend SizeExpr operator/(const SizeExpr& a, const SizeExpr& b) { return {a, b, kFloorDivide}; }
  friend SizeExpr operator%(const SizeExpr& a, const SizeExpr& b) { return {a, b, kModulo}; }
  friend SizeExpr max(const SizeExpr& a, const SizeExpr& b) { return {a, b, kMax}; }
  friend SizeExpr min(const SizeExpr& a, const SizeExpr& b) { return {a, b, kMin}; }
  /// Postfix: what Guard::words of a Predicate holds, left side before right side.
  const std::vector<int64_t>& words() const { return words_; }

  enum Code : int64_t { kConstant, kSize, kAdd, kSubtract, kMultiply, kFloorDivide, kModulo, kMax, kMin };

 private:
  SizeExpr(const SizeExpr& a, const SizeExpr& b, Code code) : words_(a.words_) {
    words_.insert(words_.end(), b.words_.begin(), b.words_.end());
    words_.push_back(code);
  }
  std::vector<int64_t> words_;
};

bool holds_over_sizes(Comparison comparison, std::span<const int64_t> words, const CallDescriptor& call);
/// What Guard::path of a Predicate holds: "args" where the tensors are args[0], args[1] ..., otherwise a line for each name.
std::string predicate_path(std::span<const std::string> names);
/// `args[0].size(0) % 4 == 0`; tensors are named as `path` says.
std::string predicate_text(Comparison comparison, std::span<const int64_t> words, const std::string& path);
/// Both sides as this call has them: `3 == 0`.
std::string predicate_values(Comparison comparison, std::span<const int64_t> words, const CallDescriptor& call);

}  // namespace tailor::guards
