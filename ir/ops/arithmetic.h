#pragma once
// Arithmetic of one, two and three operands.

#include "ir/math/math.h"
#include "ir/ops/formulas.h"

namespace tailor::ir {

// ---- one operand --------------------------------------------------------------------------------------------------

struct Neg : Pointwise<"neg", 1, DTypeRule::Promote, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.neg(x);
  }
};

struct Abs : Pointwise<"abs", 1, DTypeRule::Promote, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.abs(x);
  }
};

/// -1, 0 or 1; NaN gives 0.
struct Sign : Pointwise<"sign", 1, DTypeRule::Promote> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.select(a.gt(x, a.lit(0)), a.lit(1), a.select(a.lt(x, a.lit(0)), a.lit(-1), a.lit(0)));
  }
};

struct Square : Pointwise<"square", 1, DTypeRule::Promote> {
  static constexpr bool bool_as_int = true;
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.mul(x, x);
  }
};

struct Reciprocal : Pointwise<"reciprocal", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.div(a.lit(1), x);
  }
};

struct Sqrt : Pointwise<"sqrt", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.sqrt(x);
  }
  static constexpr Domain domain{0, 16};
};

/// 1 / sqrt(x), two roundings.
struct Rsqrt : Pointwise<"rsqrt", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.div(a.lit(1), a.sqrt(x));
  }
  static constexpr Domain domain{0.1, 16};
};

// ---- two operands -------------------------------------------------------------------------------------------------

/// self + alpha * other; alpha may be left out.
struct Add : Pointwise<"add", 3, DTypeRule::Promote> {
  static constexpr int min_arity = 2;
  static constexpr uint8_t promotes = 0b011;
  static constexpr std::string_view operands[] = {"self", "other", "alpha"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.add(x, y);
  }
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y, typename A::Value alpha) {
    return a.add(x, a.mul(alpha, y));
  }
};

/// self - alpha * other; alpha may be left out.
struct Sub : Pointwise<"sub", 3, DTypeRule::Promote, kNoBool> {
  static constexpr int min_arity = 2;
  static constexpr uint8_t promotes = 0b011;
  static constexpr std::string_view operands[] = {"self", "other", "alpha"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.sub(x, y);
  }
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y, typename A::Value alpha) {
    return a.sub(x, a.mul(alpha, y));
  }
};

/// other - alpha * self; alpha may be left out.
struct Rsub : Pointwise<"rsub", 3, DTypeRule::Promote, kNoBool> {
  static constexpr int min_arity = 2;
  static constexpr uint8_t promotes = 0b011;
  static constexpr std::string_view operands[] = {"self", "other", "alpha"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.sub(y, x);
  }
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y, typename A::Value alpha) {
    return a.sub(y, a.mul(alpha, x));
  }
};

struct Mul : Pointwise<"mul", 2, DTypeRule::Promote> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.mul(x, y);
  }
};

/// True division: div with rounding_mode None.
struct Div : Pointwise<"div", 2, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.div(x, y);
  }
};

/// div with rounding_mode "floor", and floor_divide.
struct DivFloor : Pointwise<"div_floor", 2, DTypeRule::Promote, kNoBool> {
  static constexpr bool can_fail = true;
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    if (is_floating_point(a.type())) return math::floor_div(a, x, y);
    return a.floor_div(x, y);
  }
};

/// div with rounding_mode "trunc".
struct DivTrunc : Pointwise<"div_trunc", 2, DTypeRule::Promote, kNoBool> {
  static constexpr bool can_fail = true;
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    if (is_floating_point(a.type())) return a.trunc(a.div(x, y));
    return a.trunc_div(x, y);
  }
};

/// The remainder of floor division: it has the sign of the divisor.
struct Remainder : Pointwise<"remainder", 2, DTypeRule::Promote, kNoBool> {
  static constexpr bool can_fail = true;
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    if (is_floating_point(a.type())) return math::remainder(a, x, y);
    return a.floor_rem(x, y);
  }
};

/// C's fmod: it has the sign of the dividend.
struct Fmod : Pointwise<"fmod", 2, DTypeRule::Promote, kNoBool> {
  static constexpr bool can_fail = true;
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    if (is_floating_point(a.type())) return math::fmod(a, x, y);
    return a.trunc_rem(x, y);
  }
};

/// Integer powers wrap; a negative exponent gives 0 but for the bases 1 and -1 (a negative *scalar* exponent is an error).
struct Pow : Pointwise<"pow", 2, DTypeRule::Promote> {
  static constexpr std::string_view operands[] = {"self", "exponent"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    if (is_floating_point(a.type())) return math::pow(a, x, y);
    auto result = a.lit(1);
    auto power = x;
    const int digits = static_cast<int>(element_size(a.type())) * 8 - 1 + (is_signed(a.type()) ? 0 : 1);
    for (int i = 0; i < digits; ++i) {
      const auto digit = a.bit_and(a.shr_logic(y, i), a.lit(1));
      result = a.select(a.ne(digit, a.lit(0)), a.mul(result, power), result);
      if (i + 1 < digits) power = a.mul(power, power);
    }
    const auto odd = a.ne(a.bit_and(y, a.lit(1)), a.lit(0));
    auto inverse = a.select(a.eq(x, a.lit(1)), a.lit(1), a.lit(0));
    inverse = a.select(a.eq(x, a.lit(-1)), a.select(odd, a.lit(-1), a.lit(1)), inverse);
    return is_signed(a.type()) ? a.select(a.lt(y, a.lit(0)), inverse, result) : result;
  }
  static constexpr Domain domain{0.1, 4};
};

struct Atan2 : Pointwise<"atan2", 2, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value y, typename A::Value x) {
    return math::atan2(a, y, x);
  }
};

struct Hypot : Pointwise<"hypot", 2, DTypeRule::Promote, kFloatDtypes> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return math::hypot(a, x, y);
  }
};

/// NaN on either side gives NaN.
struct Maximum : Pointwise<"maximum", 2, DTypeRule::Promote> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return formula::maximum(a, x, y);
  }
};

struct Minimum : Pointwise<"minimum", 2, DTypeRule::Promote> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return formula::minimum(a, x, y);
  }
};

/// A NaN on one side only gives the other side.
struct Fmax : Pointwise<"fmax", 2, DTypeRule::Promote> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.select(a.ne(y, y), x, a.select(a.ne(x, x), y, formula::maximum(a, x, y)));
  }
};

struct Fmin : Pointwise<"fmin", 2, DTypeRule::Promote> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.select(a.ne(y, y), x, a.select(a.ne(x, x), y, formula::minimum(a, x, y)));
  }
};

struct Copysign : Pointwise<"copysign", 2, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return math::copysign(a, x, y);
  }
};

/// x * log(y), and 0 where x is 0 (unless y is NaN).
struct Xlogy : Pointwise<"xlogy", 2, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    const auto value = a.select(a.eq(x, a.lit(0)), a.lit(0), a.mul(x, math::log(a, y)));
    return a.select(a.ne(y, y), y, value);
  }
  static constexpr Domain domain{0.1, 4};
};

// ---- three and more operands --------------------------------------------------------------------------------------

/// self + weight * (end - self), from the nearer end.
struct Lerp : Pointwise<"lerp", 3, DTypeRule::Promote, kFloatDtypes> {
  static constexpr uint8_t promotes = 0b011;
  static constexpr std::string_view operands[] = {"self", "end", "weight"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value start, typename A::Value end, typename A::Value weight) {
    const auto range = a.sub(end, start);
    const auto from_start = a.add(start, a.mul(weight, range));
    const auto from_end = a.sub(end, a.mul(range, a.sub(a.lit(1), weight)));
    return a.select(a.lt(a.abs(weight), a.lit(0.5)), from_start, from_end);
  }
};

/// self + value * tensor1 * tensor2
struct Addcmul : Pointwise<"addcmul", 4, DTypeRule::Promote> {
  static constexpr int min_arity = 3;
  static constexpr uint8_t promotes = 0b0111;
  static constexpr std::string_view operands[] = {"self", "tensor1", "tensor2", "value"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y, typename A::Value z) {
    return a.add(x, a.mul(y, z));
  }
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y, typename A::Value z, typename A::Value value) {
    return a.add(x, a.mul(a.mul(value, y), z));
  }
};

/// self + value * tensor1 / tensor2
struct Addcdiv : Pointwise<"addcdiv", 4, DTypeRule::Promote, kFloatDtypes> {
  static constexpr int min_arity = 3;
  static constexpr uint8_t promotes = 0b0111;
  static constexpr std::string_view operands[] = {"self", "tensor1", "tensor2", "value"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y, typename A::Value z) {
    return a.add(x, a.div(y, z));
  }
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y, typename A::Value z, typename A::Value value) {
    return a.add(x, a.div(a.mul(value, y), z));
  }
};

using ArithmeticUnaryOps = OpList<Neg, Abs, Sign, Square, Reciprocal, Sqrt, Rsqrt>;
using ArithmeticBinaryOps = OpList<Add, Sub, Rsub, Mul, Div, DivTrunc, Maximum, Minimum, Fmax, Fmin, Copysign>;
using DivisionOps = OpList<DivFloor, Remainder, Fmod>;
using PowerOps = OpList<Pow, Atan2, Hypot, Xlogy>;
using ArithmeticTernaryOps = OpList<Lerp, Addcmul, Addcdiv>;

}  // namespace tailor::ir
