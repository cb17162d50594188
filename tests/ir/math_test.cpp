// Accuracy of ir/math against libm one precision wider (float64 for float32, long double for float64): a bound in units of the last place
// for every function over dense samples of its whole domain, and C99's special values.

#include "ir/math/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "ir/host_algebra.h"

namespace tailor::ir {
namespace {

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// The distance of `got` from the reference in units of the last place of T at the reference; denormal results count in the smallest unit.
template <class T, class R>
double ulps(T got, R want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(got) && std::isnan(want)) return 0;
  if (got == rounded) return (got != 0 || std::signbit(got) == std::signbit(want)) ? 0 : 1e9;
  if (std::isnan(got) || std::isnan(want) || std::isinf(want)) return 1e9;
  if (std::isinf(got)) return std::abs(want) > R(std::numeric_limits<T>::max()) * (1 - R(std::numeric_limits<T>::epsilon())) ? 1 : 1e9;
  int exponent;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::abs(R(got) - want) / std::ldexp(R(1), exponent - std::numeric_limits<T>::digits));
}

/// Values of either sign: uniform in the domain, and uniform in the exponent over everything that T can represent.
template <class T>
std::vector<T> samples(double low, double high, int count) {
  std::mt19937_64 random(7);
  std::vector<T> values;
  std::uniform_real_distribution<double> inside(low, high), fraction(1, 2);
  std::uniform_int_distribution<int> exponent(std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits,
                                              std::numeric_limits<T>::max_exponent - 1);
  for (int i = 0; i < count; ++i) values.push_back(static_cast<T>(inside(random)));
  for (int i = 0; i < count / 2; ++i) {
    const T value = static_cast<T>(std::ldexp(fraction(random), exponent(random)));
    values.push_back(value);
    values.push_back(-value);
  }
  for (const double near : {1.0, -1.0, 0.5, 2.0, 3.0, 1.5, 1.5707963267948966, 3.141592653589793, 0.6, 0.9375, 8.0, 2.5, -0.5}) {
    T up = static_cast<T>(near), down = up;
    for (int i = 0; i < 40; ++i) {
      values.push_back(up);
      values.push_back(down);
      up = std::nextafter(up, std::numeric_limits<T>::infinity());
      down = std::nextafter(down, -std::numeric_limits<T>::infinity());
    }
  }
  return values;
}

template <class T>
std::vector<T> specials() {
  using L = std::numeric_limits<T>;
  std::vector<T> values{0,      1,      2,      3, T(0.5), T(1.5), T(2.5), L::infinity(), L::max(), L::min(), L::denorm_min(), L::min() / 2,
                        T(1e5), T(3e9), T(1e30)};
  for (size_t i = 0, n = values.size(); i < n; ++i) values.push_back(-values[i]);
  values.push_back(L::quiet_NaN());
  return values;
}

struct Worst {
  double ulps = 0;
  std::string where;
  void add(double error, auto... at) {
    if (error <= ulps) return;
    ulps = error;
    std::ostringstream text;
    text.precision(17);
    ((text << at << ' '), ...);
    where = text.str();
  }
};

template <class T, class F, class R>
void unary(const std::string& name, F f, R reference, double low, double high, double bound) {
  HostAlgebra<T> a;
  Worst worst;
  const auto compare = [&](T x) {
    const T got = f(a, x);
    worst.add(ulps(got, reference(static_cast<Wider<T>>(x))), x, got);
  };
  for (const T x : samples<T>(low, high, 60000)) compare(x);
  for (const T x : specials<T>()) compare(x);
  EXPECT_LE(worst.ulps, bound) << name << " in " << scalar_type_of<T> << " at " << worst.where;
  if (std::getenv("TAILOR_PRINT_ULPS"))
    std::printf("%-10s f%zu %.3f at %s\n", name.c_str(), 8 * sizeof(T), worst.ulps, worst.where.c_str());
}

template <class T, class F, class R>
void binary(const std::string& name, F f, R reference, double low, double high, double bound) {
  HostAlgebra<T> a;
  Worst worst;
  const auto compare = [&](T x, T y) {
    const T got = f(a, x, y);
    worst.add(ulps(got, reference(static_cast<Wider<T>>(x), static_cast<Wider<T>>(y))), x, y, got);
  };
  const auto xs = samples<T>(low, high, 60000);
  std::mt19937_64 random(11);
  for (const T x : xs) compare(x, xs[random() % xs.size()]);
  for (const T x : specials<T>()) {
    for (const T y : specials<T>()) compare(x, y);
  }
  EXPECT_LE(worst.ulps, bound) << name << " in " << scalar_type_of<T> << " at " << worst.where;
  if (std::getenv("TAILOR_PRINT_ULPS"))
    std::printf("%-10s f%zu %.3f at %s\n", name.c_str(), 8 * sizeof(T), worst.ulps, worst.where.c_str());
}

/// Newton's iteration on erfc in long double, from a start that is good to float64.
long double erfinv_reference(long double y) {
  if (!(std::abs(y) < 1))
    return std::abs(y) == 1 ? std::copysign(std::numeric_limits<long double>::infinity(), y)
                            : std::numeric_limits<long double>::quiet_NaN();
  HostAlgebra<double> a;
  const long double t = std::abs(y);
  long double x = math::erfinv(a, static_cast<double>(t));
  if (std::isinf(x)) x = 5;
  for (int i = 0; i < 4; ++i) {
    const long double slope = 2 / std::sqrt(std::acos(-1.0L)) * std::exp(-x * x);
    const long double error = t < 0.5L ? std::erf(x) - t : (1 - t) - std::erfc(x);
    x -= error / slope;
  }
  return std::copysign(x, y);
}

/// One line a function: domain of the dense sample, bounds in ulp for float32 and float64.
#define TAILOR_UNARY(name, low, high, bound32, bound64, reference)   \
  TEST(Math, name) {                                                 \
    const auto f = [](auto& a, auto x) { return math::name(a, x); }; \
    const auto r = [](auto x) { return reference; };                 \
    unary<float>(#name, f, r, low, high, bound32);                   \
    unary<double>(#name, f, r, low, high, bound64);                  \
  }
#define TAILOR_BINARY(name, low, high, bound32, bound64, reference)             \
  TEST(Math, name) {                                                            \
    const auto f = [](auto& a, auto x, auto y) { return math::name(a, x, y); }; \
    const auto r = [](auto x, auto y) { return reference; };                    \
    binary<float>(#name, f, r, low, high, bound32);                             \
    binary<double>(#name, f, r, low, high, bound64);                            \
  }

TAILOR_UNARY(exp, -104, 89, 1, 1, std::exp(x))
TAILOR_UNARY(exp2, -150, 128, 1, 1, std::exp2(x))
TAILOR_UNARY(expm1, -20, 20, 1.5, 2, std::expm1(x))
TAILOR_UNARY(sigmoid, -104, 20, 2.25, 2.25, (x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x))))
TAILOR_UNARY(log, 0, 8, 1, 2, std::log(x))
TAILOR_UNARY(log2, 0, 8, 2, 2, std::log2(x))
TAILOR_UNARY(log10, 0, 8, 2, 2, std::log10(x))
TAILOR_UNARY(log1p, -1, 8, 2, 2, std::log1p(x))
TAILOR_UNARY(sin, -20, 20, 1.5, 2, std::sin(x))
TAILOR_UNARY(cos, -20, 20, 1.5, 2, std::cos(x))
TAILOR_UNARY(tan, -20, 20, 2.5, 4, std::tan(x))
TAILOR_UNARY(asin, -1, 1, 2, 2.5, std::asin(x))
TAILOR_UNARY(acos, -1, 1, 2, 2, std::acos(x))
TAILOR_UNARY(atan, -8, 8, 2, 2, std::atan(x))
TAILOR_UNARY(sinh, -20, 20, 2, 2, std::sinh(x))
TAILOR_UNARY(cosh, -20, 20, 2, 2, std::cosh(x))
TAILOR_UNARY(tanh, -10, 10, 1, 1.5, std::tanh(x))
TAILOR_UNARY(asinh, -20, 20, 1, 4, std::asinh(x))
TAILOR_UNARY(acosh, 1, 20, 1, 4, std::acosh(x))
TAILOR_UNARY(atanh, -1, 1, 1, 4, std::atanh(x))
TAILOR_UNARY(erf, -5, 5, 1.25, 2, std::erf(x))
TAILOR_UNARY(erfc, -4, 28, 1, 6, std::erfc(x))
TAILOR_UNARY(erfinv, -1, 1, 1, 6, erfinv_reference(x))
TAILOR_UNARY(rsqrt, 0, 8, 1.5, 1.5, 1 / std::sqrt(x))
TAILOR_BINARY(atan2, -5, 5, 2, 2, std::atan2(x, y))
TAILOR_BINARY(pow, -10, 10, 1, 1, std::pow(x, y))
TAILOR_BINARY(hypot, -10, 10, 1, 1.5, std::hypot(x, y))
TAILOR_BINARY(fmod, -10, 10, 0, 0, std::fmod(x, y))

/// Near its zeros at negative arguments lgamma is a difference of larger terms: an absolute bound of so many ulp of 1 is added.
template <class T>
double lgamma_error(T x) {
  HostAlgebra<T> a;
  const T got = math::lgamma(a, x);
  const auto want = std::lgamma(static_cast<Wider<T>>(x));
  const double error = ulps(got, want);
  const bool cancels = x < 0 && std::abs(want) < 4;
  return cancels ? std::min(error, static_cast<double>(std::abs(got - want) / std::numeric_limits<T>::epsilon())) : error;
}

template <class T>
void check_lgamma(double bound) {
  Worst worst;
  for (const auto& values : {samples<T>(0, 12, 40000), samples<T>(-30, 30, 40000), specials<T>()}) {
    for (const T x : values) {
      const double error = lgamma_error(x);
      worst.add(error, x);
    }
  }
  EXPECT_LE(worst.ulps, bound) << "lgamma in " << scalar_type_of<T> << " at " << worst.where;
  if (std::getenv("TAILOR_PRINT_ULPS")) std::printf("lgamma %g at %s\n", worst.ulps, worst.where.c_str());
}
TEST(Math, lgamma) {
  check_lgamma<float>(1);
  check_lgamma<double>(8);
}

/// CPython's and torch's rule: fmod, then moved to the side of the divisor; the division is the one that fits the remainder.
template <class T>
void check_floor_division() {
  HostAlgebra<T> a;
  const auto same = [](T x, T y) { return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y)); };
  auto values = samples<T>(-10, 10, 400);
  for (const T x : specials<T>()) values.push_back(x);
  for (const T x : values) {
    for (const T y : specials<T>()) {
      T rest = std::fmod(x, y), quotient = (x - rest) / y;
      if (rest != 0 && (y < 0) != (rest < 0)) rest += y, quotient -= 1;
      T floor = std::floor(quotient);
      if (quotient - floor > T(0.5)) floor += 1;
      if (quotient == 0) floor = std::copysign(T(0), x / y);
      if (y == 0) floor = x / y;
      ASSERT_TRUE(same(math::remainder(a, x, y), rest)) << x << " % " << y << " = " << math::remainder(a, x, y) << ", not " << rest;
      ASSERT_TRUE(same(math::floor_div(a, x, y), floor)) << x << " // " << y << " = " << math::floor_div(a, x, y) << ", not " << floor;
    }
  }
}
TEST(Math, FloorDivisionFollowsTorch) {
  check_floor_division<float>();
  check_floor_division<double>();
}

TEST(Math, RemainderOfDistantOperands) {
  HostAlgebra<float> a;
  const float inf = std::numeric_limits<float>::infinity();
  const float cases[][3] = {{5.5f, inf, 5.5f},
                            {-5.5f, -inf, -5.5f},
                            {-5.5f, inf, inf},
                            {1e20f, 3, 2},
                            {2147483648.f, 3, 2},
                            {1, 0.1f, 0.0999999866f},
                            {1e10f, 1e-20f, 2.64180808e-21f},
                            {-7, 3, 2},
                            {7, -3, -2}};
  for (const auto& [x, y, want] : cases) EXPECT_EQ(math::remainder(a, x, y), want) << x << " % " << y;
  EXPECT_TRUE(std::signbit(math::remainder(a, -0.f, 1.f)));
  EXPECT_EQ(math::floor_div(a, 1.f, 0.1f), 9);
  EXPECT_EQ(math::floor_div(a, 0.5f, 0.1f), 4);
  EXPECT_EQ(math::floor_div(a, 6.f, 0.2f), 29);
}

TEST(Math, ErfAndTanhRiseToOne) {
  HostAlgebra<float> a;
  for (float x = 0; x < 12; x += 1e-4f) {
    ASSERT_LE(math::erf(a, x), 1.f) << x;
    ASSERT_LE(math::tanh(a, x), 1.f) << x;
    ASSERT_EQ(math::erf(a, -x), -math::erf(a, x)) << x;
    ASSERT_EQ(math::tanh(a, -x), -math::tanh(a, x)) << x;
  }
  for (const float x : {4.f, 10.f, 1e30f, std::numeric_limits<float>::infinity()}) EXPECT_EQ(math::erf(a, x), 1.f) << x;
  for (const float x : {9.1f, 10.f, 1e30f, std::numeric_limits<float>::infinity()}) EXPECT_EQ(math::tanh(a, x), 1.f) << x;
}

TEST(Math, CosineIsNeverAboveOne) {
  HostAlgebra<float> a;
  EXPECT_EQ(math::cos(a, 0.f), 1);
  for (float x = 0; x < 0.01f; x += 1e-6f) ASSERT_LE(math::cos(a, x), 1.f) << x;
}

TEST(Math, PowersThatAreExact) {
  HostAlgebra<double> a;
  HostAlgebra<float> b;
  for (int base = -12; base <= 12; ++base) {
    double want = 1;
    for (int exponent = 0; exponent <= 12; ++exponent, want *= base) {
      EXPECT_EQ(math::pow(a, double(base), double(exponent)), want) << base << '^' << exponent;
      EXPECT_EQ(math::pow(b, float(base), float(exponent)), float(want)) << base << '^' << exponent;
    }
  }
}

}  // namespace
}  // namespace tailor::ir
