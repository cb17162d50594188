#pragma once
// Activations (torch::nn::functional). Slopes, bounds and the like are operands that do not take part in promotion.

#include "ir/math/math.h"
#include "ir/ops/formulas.h"

namespace tailor::ir {

/// max(x, 0); NaN stays.
struct Relu : Pointwise<"relu", 1, DTypeRule::Promote, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.select(a.le(x, a.lit(0)), a.lit(0), x);
  }
};

struct Relu6 : Pointwise<"relu6", 1, DTypeRule::Promote, kNoBool> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return formula::clamp_to(a, x, a.lit(0), a.lit(6));
  }
  static constexpr Domain domain{-4, 10};
};

struct LeakyRelu : Pointwise<"leaky_relu", 2, DTypeRule::Promote, kFloatDtypes> {
  static constexpr uint8_t promotes = 0b01;
  static constexpr std::string_view operands[] = {"self", "negative_slope"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value slope) {
    return a.select(a.gt(x, a.lit(0)), x, a.mul(x, slope));
  }
};

/// The weight broadcasts like any operand; nn::functional::prelu gives it the shape [C, 1, ...].
struct Prelu : Pointwise<"prelu", 2, DTypeRule::Promote, kFloatDtypes> {
  static constexpr std::string_view operands[] = {"self", "weight"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value weight) {
    return a.select(a.gt(x, a.lit(0)), x, a.mul(weight, x));
  }
};

/// scale * x for x >= 0, else scale * alpha * expm1(input_scale * x)
struct Elu : Pointwise<"elu", 4, DTypeRule::Promote, kFloatDtypes> {
  static constexpr uint8_t promotes = 0b0001;
  static constexpr std::string_view operands[] = {"self", "alpha", "scale", "input_scale"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value alpha, typename A::Value scale, typename A::Value input_scale) {
    const auto negative = a.mul(math::expm1(a, a.mul(x, input_scale)), a.mul(alpha, scale));
    return a.select(a.lt(x, a.lit(0)), negative, a.mul(x, scale));
  }
};

/// x for x >= 0, else alpha * expm1(x / alpha). A scalar alpha of 0 is an error.
struct Celu : Pointwise<"celu", 2, DTypeRule::Promote, kFloatDtypes> {
  static constexpr uint8_t promotes = 0b01;
  static constexpr std::string_view operands[] = {"self", "alpha"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value alpha) {
    const auto negative = a.mul(math::expm1(a, a.div(x, alpha)), alpha);
    return a.select(a.lt(x, a.lit(0)), negative, x);
  }
  static constexpr Domain domain{0.1, 4};
};

struct Selu : Pointwise<"selu", 1, DTypeRule::Promote, kFloatDtypes> {
  static constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    const auto negative = a.mul(math::expm1(a, x), a.lit(kAlpha * kScale));
    return a.select(a.lt(x, a.lit(0)), negative, a.mul(x, a.lit(kScale)));
  }
};

/// x / (1 + exp(-x))
struct Silu : Pointwise<"silu", 1, DTypeRule::Promote, kFloatDtypes> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.div(x, a.add(a.lit(1), math::exp(a, a.neg(x))));
  }
  static constexpr Domain domain{-20, 20};
};

/// 0.5 x (1 + erf(x / sqrt 2))
struct Gelu : Pointwise<"gelu", 1, DTypeRule::Promote, kFloatDtypes> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    const auto phi = a.add(a.lit(1), math::erf(a, a.mul(x, a.lit(0.70710678118654752440))));
    return a.mul(a.mul(x, a.lit(0.5)), phi);
  }
};

/// gelu with approximate = "tanh"
struct GeluTanh : Pointwise<"gelu_tanh", 1, DTypeRule::Promote, kFloatDtypes> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    const auto cube = a.mul(a.mul(x, x), x);
    const auto inner = a.mul(a.lit(0.79788456080286535588), a.add(x, a.mul(a.lit(0.044715), cube)));
    return a.mul(a.mul(a.lit(0.5), x), a.add(a.lit(1), math::tanh(a, inner)));
  }
};

/// x tanh(log(1 + exp x))
struct Mish : Pointwise<"mish", 1, DTypeRule::Promote, kFloatDtypes> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.mul(x, math::tanh(a, math::log1p(a, math::exp(a, x))));
  }
};

/// log(1 + exp(beta x)) / beta, and x where beta x > threshold
struct Softplus : Pointwise<"softplus", 3, DTypeRule::Promote, kFloatDtypes> {
  static constexpr uint8_t promotes = 0b001;
  static constexpr std::string_view operands[] = {"self", "beta", "threshold"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value beta, typename A::Value threshold) {
    const auto scaled = a.mul(x, beta);
    return a.select(a.gt(scaled, threshold), x, a.div(math::log1p(a, math::exp(a, scaled)), beta));
  }
};

/// x / (1 + |x|)
struct Softsign : Pointwise<"softsign", 1, DTypeRule::Float> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.div(x, a.add(a.abs(x), a.lit(1)));
  }
};

/// clamp with bounds that take the dtype of self
struct Hardtanh : Pointwise<"hardtanh", 3, DTypeRule::Promote, kNoBool> {
  static constexpr uint8_t promotes = 0b001;
  static constexpr std::string_view operands[] = {"self", "min_val", "max_val"};
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x, typename A::Value low, typename A::Value high) {
    return formula::clamp_to(a, x, low, high);
  }
};

struct Hardsigmoid : Pointwise<"hardsigmoid", 1, DTypeRule::Promote, kFloatDtypes> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.div(formula::clamp_to(a, a.add(x, a.lit(3)), a.lit(0), a.lit(6)), a.lit(6));
  }
};

struct Hardswish : Pointwise<"hardswish", 1, DTypeRule::Promote, kFloatDtypes> {
  template <ScalarAlgebra A>
  static auto eval(A& a, typename A::Value x) {
    return a.div(a.mul(x, formula::clamp_to(a, a.add(x, a.lit(3)), a.lit(0), a.lit(6))), a.lit(6));
  }
};

using RectifierOps = OpList<Relu, Relu6, LeakyRelu, Prelu, Softsign, Hardtanh, Hardsigmoid, Hardswish>;
using SmoothActivationOps = OpList<Elu, Celu, Selu, Silu, Gelu, GeluTanh, Mish, Softplus>;

}  // namespace tailor::ir
