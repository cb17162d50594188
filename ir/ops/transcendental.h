#pragma once
// Transcendental functions of one operand; the formulas are in ir/math.

#include "ir/math/math.h"
#include "ir/ops/formulas.h"

namespace tailor::ir {

struct Exp : Pointwise<"exp", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::exp(a, x);
  }
  static constexpr Domain domain{-20, 20};
};
struct Exp2 : Pointwise<"exp2", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::exp2(a, x);
  }
  static constexpr Domain domain{-20, 20};
};
struct Expm1 : Pointwise<"expm1", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::expm1(a, x);
  }
  static constexpr Domain domain{-8, 8};
};
struct Log : Pointwise<"log", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::log(a, x);
  }
  static constexpr Domain domain{0.01, 20};
};
struct Log2 : Pointwise<"log2", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::log2(a, x);
  }
  static constexpr Domain domain{0.01, 20};
};
struct Log10 : Pointwise<"log10", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::log10(a, x);
  }
  static constexpr Domain domain{0.01, 20};
};
struct Log1p : Pointwise<"log1p", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::log1p(a, x);
  }
  static constexpr Domain domain{-0.9, 20};
};
struct Sin : Pointwise<"sin", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::sin(a, x);
  }
  static constexpr Domain domain{-10, 10};
};
struct Cos : Pointwise<"cos", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::cos(a, x);
  }
  static constexpr Domain domain{-10, 10};
};
struct Tan : Pointwise<"tan", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::tan(a, x);
  }
  static constexpr Domain domain{-1.5, 1.5};
};
struct Asin : Pointwise<"asin", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::asin(a, x);
  }
  static constexpr Domain domain{-0.99, 0.99};
};
struct Acos : Pointwise<"acos", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::acos(a, x);
  }
  static constexpr Domain domain{-0.99, 0.99};
};
struct Atan : Pointwise<"atan", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::atan(a, x);
  }
  static constexpr Domain domain{-10, 10};
};
struct Sinh : Pointwise<"sinh", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::sinh(a, x);
  }
  static constexpr Domain domain{-5, 5};
};
struct Cosh : Pointwise<"cosh", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::cosh(a, x);
  }
  static constexpr Domain domain{-5, 5};
};
struct Tanh : Pointwise<"tanh", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::tanh(a, x);
  }
  static constexpr Domain domain{-5, 5};
};
struct Asinh : Pointwise<"asinh", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::asinh(a, x);
  }
  static constexpr Domain domain{-10, 10};
};
struct Acosh : Pointwise<"acosh", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::acosh(a, x);
  }
  static constexpr Domain domain{1.01, 10};
};
struct Atanh : Pointwise<"atanh", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::atanh(a, x);
  }
  static constexpr Domain domain{-0.99, 0.99};
};
struct Erf : Pointwise<"erf", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::erf(a, x);
  }
  static constexpr Domain domain{-3, 3};
};
struct Erfc : Pointwise<"erfc", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::erfc(a, x);
  }
  static constexpr Domain domain{-3, 3};
};
struct Erfinv : Pointwise<"erfinv", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::erfinv(a, x);
  }
  static constexpr Domain domain{-0.99, 0.99};
};
struct Lgamma : Pointwise<"lgamma", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::lgamma(a, x);
  }
  static constexpr Domain domain{0.1, 10};
};
struct Sigmoid : Pointwise<"sigmoid", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::sigmoid(a, x);
  }
  static constexpr Domain domain{-20, 20};
};

/// log(x / (1 - x))
struct Logit : Pointwise<"logit", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return math::log(a, a.div(x, a.sub(a.lit(1), x)));
  }
  static constexpr Domain domain{0.01, 0.99};
};

/// logit(self, eps): x is first clamped to [eps, 1 - eps], unless eps is negative.
struct LogitEps : Pointwise<"logit_eps", 2, DTypeRule::Float> {
  static constexpr uint8_t promotes = 0b01;
  static constexpr std::string_view operands[] = {"self", "eps"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value eps) {
    const auto clamped = a.select(a.lt(eps, a.lit(0)), x, formula::clamp_to(a, x, eps, a.sub(a.lit(1), eps)));
    return Logit::eval(a, clamped);
  }
  static constexpr Domain domain{0.01, 0.49};
};

using ExponentialOps = OpList<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sigmoid, Logit, LogitEps>;
using TrigonometricOps = OpList<Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh>;
using SpecialOps = OpList<Erf, Erfc, Erfinv, Lgamma>;

}  // namespace tailor::ir
