#pragma once
// Comparisons, logical and bitwise ops.

#include "ir/ops/formulas.h"

namespace tailor::ir {

struct Eq : Pointwise<"eq", 2, DTypeRule::Compare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.eq(x, y);
  }
};
struct Ne : Pointwise<"ne", 2, DTypeRule::Compare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.ne(x, y);
  }
};
struct Lt : Pointwise<"lt", 2, DTypeRule::Compare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.lt(x, y);
  }
};
struct Le : Pointwise<"le", 2, DTypeRule::Compare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.le(x, y);
  }
};
struct Gt : Pointwise<"gt", 2, DTypeRule::Compare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.gt(x, y);
  }
};
struct Ge : Pointwise<"ge", 2, DTypeRule::Compare> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.ge(x, y);
  }
};

struct LogicalNot : Pointwise<"logical_not", 1, DTypeRule::Logical> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Mask x) {
    return a.mask_not(x);
  }
};
struct LogicalAnd : Pointwise<"logical_and", 2, DTypeRule::Logical> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Mask x, typename A::Mask y) {
    return a.mask_and(x, y);
  }
};
struct LogicalOr : Pointwise<"logical_or", 2, DTypeRule::Logical> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Mask x, typename A::Mask y) {
    return a.mask_or(x, y);
  }
};
struct LogicalXor : Pointwise<"logical_xor", 2, DTypeRule::Logical> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Mask x, typename A::Mask y) {
    return a.mask_xor(x, y);
  }
};

struct BitwiseNot : Pointwise<"bitwise_not", 1, DTypeRule::Integral> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    if (a.type() == kBool) return a.select(a.eq(x, a.lit(0)), a.lit(1), a.lit(0));
    return a.bit_not(x);
  }
};
struct BitwiseAnd : Pointwise<"bitwise_and", 2, DTypeRule::Integral> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.bit_and(x, y);
  }
};
struct BitwiseOr : Pointwise<"bitwise_or", 2, DTypeRule::Integral> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.bit_or(x, y);
  }
};
struct BitwiseXor : Pointwise<"bitwise_xor", 2, DTypeRule::Integral> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.bit_xor(x, y);
  }
};

/// A count below 0 or past the width gives 0.
struct BitwiseLeftShift : Pointwise<"bitwise_left_shift", 2, DTypeRule::Integral, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.shl_var(x, y);
  }
};
/// Arithmetic; a count below 0 or past the width gives what is left of the sign: 0 or -1.
struct BitwiseRightShift : Pointwise<"bitwise_right_shift", 2, DTypeRule::Integral, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value y) {
    return a.shr_var(x, y);
  }
};

using CompareOps = OpList<Eq, Ne, Lt, Le, Gt, Ge>;
using LogicalOps = OpList<LogicalNot, LogicalAnd, LogicalOr, LogicalXor>;
using BitwiseOps = OpList<BitwiseNot, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseLeftShift, BitwiseRightShift>;

}  // namespace tailor::ir
