#pragma once
// Rounding, classification, selection, clamping and casts.

#include "ir/ops/formulas.h"

namespace tailor::ir {

// ---- rounding: integers are left as they are ----------------------------------------------------------------------

struct Floor : Pointwise<"floor", 1, DTypeRule::Promote, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return is_floating_point(a.type()) ? a.floor(x) : x;
  }
};

struct Ceil : Pointwise<"ceil", 1, DTypeRule::Promote, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return is_floating_point(a.type()) ? a.ceil(x) : x;
  }
};

struct Trunc : Pointwise<"trunc", 1, DTypeRule::Promote, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return is_floating_point(a.type()) ? a.trunc(x) : x;
  }
};

/// To nearest, halves to even.
struct Round : Pointwise<"round", 1, DTypeRule::Promote, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return is_floating_point(a.type()) ? a.rint(x) : x;
  }
};

/// round(x, decimals): rint(x * up / down) * down / up, where one of `up` and `down` is 10^|decimals| and the other is 1
/// (up for decimals >= 0).
struct RoundDecimals : Pointwise<"round_decimals", 3, DTypeRule::Promote, kFloatDtypes> {
  static constexpr uint8_t promotes = 0b001;
  static constexpr std::string_view operands[] = {"self", "up", "down"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value up, typename A::Value down) {
    return a.div(a.mul(a.rint(a.div(a.mul(x, up), down)), down), up);
  }
};

struct Frac : Pointwise<"frac", 1, DTypeRule::Promote, kFloatDtypes> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.sub(x, a.trunc(x));
  }
};

// ---- classification -----------------------------------------------------------------------------------------------

struct IsNan : Pointwise<"isnan", 1, DTypeRule::FloatCompare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.ne(x, x);
  }
};

struct IsInf : Pointwise<"isinf", 1, DTypeRule::FloatCompare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    if (!is_floating_point(a.type())) return a.mask_lit(false);
    return a.eq(a.abs(x), a.lit(std::numeric_limits<double>::infinity()));
  }
};

struct IsFinite : Pointwise<"isfinite", 1, DTypeRule::FloatCompare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    if (!is_floating_point(a.type())) return a.mask_lit(true);
    return a.lt(a.abs(x), a.lit(std::numeric_limits<double>::infinity()));
  }
};

struct Signbit : Pointwise<"signbit", 1, DTypeRule::FloatCompare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    if (!is_floating_point(a.type())) return a.lt(x, a.lit(0));
    return a.lt(a.bits(x), a.lit_int(0));
  }
};

// ---- selection and clamping ---------------------------------------------------------------------------------------

/// where(condition, self, other)
struct Where : Pointwise<"where", 3, DTypeRule::Promote> {
  static constexpr bool first_is_mask = true;
  static constexpr std::string_view operands[] = {"condition", "self", "other"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Mask condition, typename A::Value x, typename A::Value y) {
    return a.select(condition, x, y);
  }
};

/// min(max(x, min), max); NaN anywhere wins. With one bound only: clamp_min, clamp_max.
struct Clamp : Pointwise<"clamp", 3, DTypeRule::Promote> {
  static constexpr std::string_view operands[] = {"self", "min", "max"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value low, typename A::Value high) {
    return formula::at_most(a, formula::at_least(a, x, low), high);
  }
};

struct ClampMin : Pointwise<"clamp_min", 2, DTypeRule::Promote> {
  static constexpr std::string_view operands[] = {"self", "min"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value low) {
    return formula::at_least(a, x, low);
  }
};

struct ClampMax : Pointwise<"clamp_max", 2, DTypeRule::Promote> {
  static constexpr std::string_view operands[] = {"self", "max"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value high) {
    return formula::at_most(a, x, high);
  }
};

/// x where x > threshold, else value; NaN stays. The scalars take the dtype of self.
struct Threshold : Pointwise<"threshold", 3, DTypeRule::Promote, kNoBool> {
  static constexpr uint8_t promotes = 0b001;
  static constexpr std::string_view operands[] = {"self", "threshold", "value"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value threshold, typename A::Value value) {
    return a.select(a.le(x, threshold), value, x);
  }
};

/// The three replacements are always given: by default 0, and the largest and the lowest finite number of the dtype of self.
struct NanToNum : Pointwise<"nan_to_num", 4, DTypeRule::Promote> {
  static constexpr uint8_t promotes = 0b0001;
  static constexpr std::string_view operands[] = {"self", "nan", "posinf", "neginf"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value nan, typename A::Value posinf, typename A::Value neginf) {
    if (!is_floating_point(a.type())) return x;
    const double infinity = std::numeric_limits<double>::infinity();
    const auto finite = a.select(a.eq(x, a.lit(infinity)), posinf, a.select(a.eq(x, a.lit(-infinity)), neginf, x));
    return a.select(a.ne(x, x), nan, finite);
  }
};

// ---- casts --------------------------------------------------------------------------------------------------------

/// The value in another dtype (attribute `dtype`). Floats to integers truncate as Scalar::to does; floats to bool are "not zero".
struct To : Pointwise<"to", 1, DTypeRule::Cast> {
  static constexpr std::string_view attributes[] = {"dtype"};
  template <ScalarAlgebra A>
  static auto eval(A&, typename A::Value x) {
    return x;
  }
};

using RoundingOps = OpList<Floor, Ceil, Trunc, Round, RoundDecimals, Frac, IsNan, IsInf, IsFinite, Signbit>;
using SelectionOps = OpList<Where, Clamp, ClampMin, ClampMax, Threshold, NanToNum>;
using CastOps = OpList<To>;

}  // namespace tailor::ir
