#pragma once
// A host number that takes part in tensor arithmetic: libtorch's Scalar. Compared by kind and bits.

#include <bit>
#include <concepts>
#include <cstdint>
#include <ostream>

#include "runtime/dtype.h"

namespace tailor {

class Scalar {
 public:
  enum class Kind : uint8_t { Bool, Int, Double };
  constexpr Scalar() = default;
  template <std::integral T>
  constexpr Scalar(T v) : bits_(static_cast<int64_t>(v)), kind_(std::same_as<T, bool> ? Kind::Bool : Kind::Int) {}
  template <std::floating_point T>
  constexpr Scalar(T v) : bits_(std::bit_cast<int64_t>(static_cast<double>(v))), kind_(Kind::Double) {}
  constexpr Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  constexpr Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}
  static constexpr Scalar from_bits(Kind kind, int64_t bits) {
    Scalar s;
    s.kind_ = kind;
    s.bits_ = bits;
    return s;
  }

  constexpr Kind kind() const { return kind_; }
  constexpr int64_t bits() const { return bits_; }
  constexpr bool is_floating_point() const { return kind_ == Kind::Double; }
  constexpr bool is_boolean() const { return kind_ == Kind::Bool; }
  constexpr bool is_integral() const { return kind_ == Kind::Int; }
  /// The dtype the scalar has in type promotion: bool, int64, or (for doubles) float64, standing for the default dtype.
  constexpr ScalarType type() const { return kind_ == Kind::Bool ? kBool : kind_ == Kind::Int ? kInt64 : kFloat64; }

  constexpr double to_double() const { return is_floating_point() ? std::bit_cast<double>(bits_) : static_cast<double>(bits_); }
  /// Truncates; NaN and values out of range give INT64_MIN.
  constexpr int64_t to_int() const {
    if (!is_floating_point()) return bits_;
    const double d = std::bit_cast<double>(bits_);
    return d >= -9223372036854775808.0 && d < 9223372036854775808.0 ? static_cast<int64_t>(d) : INT64_MIN;
  }
  constexpr bool to_bool() const { return is_floating_point() ? std::bit_cast<double>(bits_) != 0 : bits_ != 0; }
  template <class T>
  constexpr T to() const {
    if constexpr (std::same_as<T, bool>)
      return to_bool();
    else if constexpr (std::integral<T>)
      return static_cast<T>(to_int());
    else if constexpr (std::floating_point<T>)
      return is_floating_point() ? static_cast<T>(std::bit_cast<double>(bits_)) : static_cast<T>(bits_);
    else
      return T(to<float>());  // integers are rounded to float first, as PyTorch does
  }
  /// Same kind and same bits: -0.0 differs from 0.0, NaN equals itself.
  friend constexpr bool operator==(const Scalar& a, const Scalar& b) { return a.bits_ == b.bits_ && a.kind_ == b.kind_; }

 private:
  int64_t bits_ = 0;
  Kind kind_ = Kind::Int;
};

std::ostream& operator<<(std::ostream& out, const Scalar& scalar);

}  // namespace tailor
