// Numbers that other systems got wrong: rounding, signs of zero, NaN, wrap-around, promotion, vector against tail. Every case runs
// eager, recorded, followed, pure, and on every instruction set level, with the same bits.

#include <limits>

#include "traps/both_ways.h"

namespace tailor {
namespace {

using testing::both_ways;
using testing::f32;
using testing::repeated;
using testing::Tensors;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kIntMin = std::numeric_limits<int32_t>::min(), kIntMax = std::numeric_limits<int32_t>::max();

Tensor of(ScalarType dtype, const std::vector<double>& list) { return tensor(TensorData(list), kFloat64).to(dtype); }
Tensor of64(const std::vector<int64_t>& list) { return tensor(TensorData(list), kInt64); }

/// Same dtype and bits (any NaN is any other).
void expect(const Tensor& got, ScalarType dtype, const std::vector<double>& want) {
  ASSERT_TRUE(got.defined());
  testing::expect_same_bits(got.flatten(), of(dtype, want));
}
/// A one-operand case on the data and on longer repetitions of it: every element is what it is alone.
void expect_each(const Tensor& x, const std::function<Tensor(Tensor)>& f, ScalarType dtype, const std::vector<double>& want) {
  expect(both_ways(x, f), dtype, want);
  for (int64_t n : {19, 70}) testing::expect_same_bits(both_ways(repeated(x, n), f), repeated(of(dtype, want), n));
}
void expect_each(const Tensor& a, const Tensor& b, const std::function<Tensor(Tensor, Tensor)>& f, ScalarType dtype,
                 const std::vector<double>& want) {
  const std::function<Tensor(const Tensors&)> g = [&](const Tensors& in) { return f(in[0], in[1]); };
  expect(both_ways(Tensors{a, b}, g), dtype, want);
  for (int64_t n : {19, 70}) testing::expect_same_bits(both_ways(Tensors{repeated(a, n), repeated(b, n)}, g), repeated(of(dtype, want), n));
}

// A02
TEST(Numerical, HalfTypesRoundOncePerOp) {
  expect_each(of(kBFloat16, {1}), of(kBFloat16, {1.0 / 512}), [](Tensor a, Tensor b) { return (a + b) == a; }, kBool, {1});
  expect_each(of(kFloat32, {5000}),
              [](Tensor x) {
                Tensor y = x.to(kFloat16);
                return (y * y).to(kFloat32);
              },
              kFloat32, {kInf});
  const Tensor third = of(kFloat32, {1.0f / 3.0f});
  expect_each(third, [](Tensor x) { return x.to(kBFloat16).to(kFloat32); }, kFloat32, {0.333984375});
  expect_each(third, [](Tensor x) { return x.to(kFloat16).to(kFloat32); }, kFloat32, {0.333251953125});
  expect_each(of(kFloat16, {2048}), [](Tensor x) { return (x + 1) - 2048; }, kFloat16, {0});
  const Tensors both = both_ways(Tensors{arange(50).to(kFloat16) / 7}, testing::Function([](const Tensors& in) {
                                   Tensor y = in[0].sin() * in[0] + 0.1;
                                   return Tensors{y, y.to(kFloat32)};
                                 }));
  testing::expect_same_bits(both[0].to(kFloat32), both[1]);
  expect(both_ways(full({3, 4}, 1.0 / 3), [](Tensor x) { return x.to(kBFloat16).to(kFloat32).sum(1); }), kFloat32,
         {1.3359375, 1.3359375, 1.3359375});
}

// A05
TEST(Numerical, SignsOfZero) {
  expect_each(of(kFloat32, {-0.5}), [](Tensor x) { return 1 / (x.ceil() + 0.0); }, kFloat32, {kInf});
  expect_each(of(kFloat32, {-0.0}), [](Tensor x) { return 1 / (x * 1.0); }, kFloat32, {-kInf});
  expect_each(of(kFloat32, {0.0}), [](Tensor x) { return 1 / (0.0 - x); }, kFloat32, {kInf});
  expect_each(of(kFloat32, {0.0}), [](Tensor x) { return 1 / x.neg(); }, kFloat32, {-kInf});
  expect_each(of(kFloat32, {-0.0}), [](Tensor x) { return 1 / (x - 0.0); }, kFloat32, {-kInf});
  expect_each(of(kFloat32, {-0.0}), [](Tensor x) { return 1 / (x / 1.0); }, kFloat32, {-kInf});
  expect_each(of(kFloat32, {-0.0, 0.0}), [](Tensor x) { return x.sqrt().signbit() & x.expm1().signbit(); }, kBool, {1, 0});
  expect_each(of(kFloat32, {-0.0, -0.4, -0.5, -0.3}), [](Tensor x) { return x.round().signbit() & x.trunc().signbit(); }, kBool,
              {1, 1, 1, 1});
  for (const bool swap : {false, true}) {
    const Tensor a = of(kFloat32, {swap ? 0.0 : -0.0}), b = of(kFloat32, {swap ? -0.0 : 0.0});
    for (int64_t n : {1, 17}) {
      both_ways(Tensors{repeated(a, n), repeated(b, n)}, [](const Tensors& in) { return 1 / minimum(in[0], in[1]); });
      both_ways(Tensors{repeated(a, n), repeated(b, n)}, [](const Tensors& in) { return 1 / maximum(in[0], in[1]); });
    }
  }
  const Tensors zeros_of_both_signs = both_ways(Tensors{ones({1})}, testing::Function([](const Tensors& in) {
                                                  return Tensors{in[0] / full({1}, 0.0), in[0] / full({1}, -0.0)};
                                                }));
  expect(zeros_of_both_signs[0], kFloat32, {kInf});
  expect(zeros_of_both_signs[1], kFloat32, {-kInf});
}

// A06
TEST(Numerical, NoContraction) {
  const float a = 0.1f;
  const float squared = a * a;
  expect_each(of(kFloat32, {a}), of(kFloat32, {squared}), [](Tensor x, Tensor c) { return (x * x - c).sqrt(); }, kFloat32, {0});
  expect_each(of(kFloat32, {1 + 1.0 / 4096}), of(kFloat32, {-(1 + 1.0 / 2048)}), [](Tensor x, Tensor c) { return x * x + c; }, kFloat32,
              {0});
  expect_each(of(kFloat32, {a}), of(kFloat32, {squared}), [](Tensor x, Tensor c) { return addcmul(-c, x, x).sqrt(); }, kFloat32, {0});
}

// A07
TEST(Numerical, NarrowIntegersWrapAfterEachOp) {
  expect_each(of(kUInt8, {128}), [](Tensor x) { return (x + x).to(kInt16); }, kInt16, {0});
  expect_each(of(kUInt8, {6}), [](Tensor x) { return x.neg() < 4; }, kBool, {0});
  expect_each(of(kUInt8, {7}), [](Tensor x) { return x.neg() + 1.5; }, kFloat32, {250.5});
  expect_each(of(kUInt8, {4}), [](Tensor x) { return x.pow(5).to(kFloat32).cos(); }, kFloat32, {1});
  expect_each(of(kInt8, {100}), [](Tensor x) { return (x + x).to(kInt32); }, kInt32, {-56});
  expect_each(of(kUInt8, {200}), [](Tensor x) { return x + tensor(100, kInt64); }, kUInt8, {44});
  expect(both_ways(of(kUInt8, {200, 200}),
                   [](Tensor x) {
                     Tensor y = x.abs().neg();
                     return cat({y, y}).sum();
                   }),
         kInt64, {224});
}

// A10
TEST(Numerical, ScalarsBesideHalfTypes) {
  for (ScalarType dtype : {kBFloat16, kFloat16}) {
    const Tensor x = of(dtype, {0.1, 1.703125, -1.703125, 3.140625, 100});
    const auto all = [](const Tensor& t, const TensorOrScalar& v) {
      return Tensors{t + v, t.fmod(v), t.remainder(v), t == v, t * v, t.pow(v), v.is_scalar() ? t.add(t, v.scalar()) : t};
    };
    auto as_argument = compile([&](Tensor t, double v) { return all(t, v); });
    as_argument(x, 0.75);
    for (double s : {-0.1, 1.7, 3.14, 0.1}) {
      const Tensors literal = both_ways(Tensors{x}, testing::Function([&](const Tensors& in) { return all(in[0], s); }));
      for (int call = 0; call < 2; ++call) testing::expect_same(as_argument(x, s), literal);
      both_ways(Tensors{x, tensor(s, kFloat64)}, testing::Function([&](const Tensors& in) { return all(in[0], in[1]); }));
    }
  }
}

// A11
TEST(Numerical, ArgmaxOfTiesAndNaN) {
  const auto index = [](const Tensor& x, bool max) {
    return both_ways(x, [max](Tensor t) { return max ? t.argmax() : t.argmin(); }).item<int64_t>();
  };
  EXPECT_EQ(index(of(kFloat32, {3, kNaN, 1, 5}), true), 1);
  EXPECT_EQ(index(of(kFloat32, {3, kNaN, 1, 5}), false), 1);
  EXPECT_EQ(index(of(kFloat32, {kInf, kNaN, -kInf}), true), 1);
  EXPECT_EQ(index(of(kFloat32, {1, 2, kNaN}), true), 2);
  for (int64_t n : {4, 40}) {
    EXPECT_EQ(index(repeated(of(kFloat32, {7, 7, 1, 7}), n), true), 0);
    EXPECT_EQ(index(repeated(of(kFloat32, {4, 1, 1, 1}), n), false), 1);
  }
  EXPECT_EQ(index(full({1000000}, 2.0), true), 0);
  EXPECT_EQ(index(of(kBool, {0, 0, 0, 0, 1, 1, 1, 1}), true), 4);
  EXPECT_EQ(both_ways(of(kFloat32, {1, 2, 9, 9, 0, 0}).view({2, 3}), [](Tensor t) { return t.t().flatten().argmax(); }).item<int64_t>(), 1);
  const Tensors rows = both_ways(Tensors{arange(64).to(kFloat32).view({8, 8})}, testing::Function([](const Tensors& in) {
                                   auto [values, indices] = (in[0].t() + 1000 * eye(8)).max(1);
                                   return Tensors{values, indices};
                                 }));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(rows[0][i].item<float>(), static_cast<float>(1000 + 9 * i));
    EXPECT_EQ(rows[1][i].item<int64_t>(), i);
  }
}

// A12
TEST(Numerical, RemainderOfFloats) {
  const Tensor a = of(kFloat32, {5.5, -5.5, -5.5, 1e20, 2147483648.0, 1, -0.0, 1e10, -7, 7});
  const Tensor b = of(kFloat32, {kInf, -kInf, kInf, 3, 3, 0.1, 1, 1e-20, 3, -3});
  expect_each(a, b, [](Tensor x, Tensor y) { return x.remainder(y); }, kFloat32,
              {5.5, -5.5, kInf, 2, 2, 0.0999999866f, -0.0, 2.64180808e-21f, 2, -2});
  expect_each(of(kFloat32, {1, 0.5, 6}), of(kFloat32, {0.1, 0.1, 0.2}), [](Tensor x, Tensor y) { return x.floor_divide(y); }, kFloat32,
              {9, 4, 29});
}

// A13
TEST(Numerical, IntegerDivisionNeverTraps) {
  const Tensor low = of(kInt32, {static_cast<double>(kIntMin)}), minus = of(kInt32, {-1});
  expect_each(low, minus, [](Tensor x, Tensor y) { return x.floor_divide(y); }, kInt32, {static_cast<double>(kIntMin)});
  expect_each(low, minus, [](Tensor x, Tensor y) { return x.remainder(y); }, kInt32, {0});
  const Tensor low64 = of64({std::numeric_limits<int64_t>::min()});
  both_ways(Tensors{low64, of64({-1})}, testing::Function([](const Tensors& in) {
              return Tensors{in[0].floor_divide(in[1]), in[0].remainder(in[1]), in[0].fmod(in[1]), div(in[0], in[1], "trunc")};
            }));
  for (ScalarType dtype : {kInt32, kUInt8, kInt64}) {
    for (int64_t n : {3, 19}) {
      const Tensor x = repeated(of(dtype, {1, 2, 3}), n), zero = repeated(of(dtype, {1, 0, 1}), n), one = repeated(of(dtype, {1, 2, 1}), n);
      for (int op = 0; op < 3; ++op) {
        const testing::Function f = [op](const Tensors& in) {
          return Tensors{op == 0 ? in[0].floor_divide(in[1]) : op == 1 ? in[0].remainder(in[1]) : div(in[0], in[1], "trunc")};
        };
        EXPECT_TRUE(both_ways([&] { return Tensors{x, zero}; }, f).error.has_value());
        both_ways(Tensors{x, one}, f);
        auto fast = compile(f);
        for (int i = 0; i < 3; ++i) {
          EXPECT_NO_THROW(fast({x, one}));
          EXPECT_THROW(fast({x, zero}), Error);
        }
      }
    }
  }
  for (int64_t inner = 1; inner <= 8; ++inner) {
    const Tensor x = arange(2 * inner).view({2, inner});
    testing::expect_same_bits(both_ways(x, [inner](Tensor t) { return t % full({inner}, 16, kInt64); }), x);
  }
}

// A26
TEST(Numerical, IntegersWrapWithoutWidening) {
  const Tensor top = of(kInt32, {static_cast<double>(kIntMax)}), low = of(kInt32, {static_cast<double>(kIntMin)});
  expect_each(top, [](Tensor x) { return (x + x).to(kInt64); }, kInt64, {-2});
  expect_each(top, [](Tensor x) { return (x + 1) > x; }, kBool, {0});
  expect_each(low, [](Tensor x) { return x.abs(); }, kInt32, {static_cast<double>(kIntMin)});
  expect_each(low, [](Tensor x) { return -x; }, kInt32, {static_cast<double>(kIntMin)});
  expect_each(top, [](Tensor x) { return (x * x).to(kInt64); }, kInt64, {1});
  expect(both_ways(ones({5}), [](Tensor) { return arange(5) * 1500000000; }), kInt64, {0, 1.5e9, 3e9, 4.5e9, 6e9});
  const Tensor powers = both_ways(full({70}, 2, kInt64), [](Tensor x) { return x.cumprod(0); });
  EXPECT_EQ(powers[62].item<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(powers[63].item<int64_t>(), 0);
}

// A30
TEST(Numerical, NothingIsSimplifiedAcrossNaNAndInfinity) {
  const Tensor x = of(kFloat32, {kInf, kNaN, 2, -3});
  expect_each(x, [](Tensor t) { return t * 0; }, kFloat32, {kNaN, kNaN, 0, -0.0});
  expect_each(x, [](Tensor t) { return t - t; }, kFloat32, {kNaN, kNaN, 0, 0});
  expect_each(x, [](Tensor t) { return t / t; }, kFloat32, {kNaN, kNaN, 1, 1});
  expect_each(x, [](Tensor t) { return t.pow(0); }, kFloat32, {1, 1, 1, 1});
  expect_each(x, [](Tensor t) { return (t - t).isnan(); }, kBool, {1, 1, 0, 0});
  expect_each(x, [](Tensor t) { return t != t; }, kBool, {0, 1, 0, 0});
  expect_each(x, [](Tensor t) { return 0 / t; }, kFloat32, {0, kNaN, 0, -0.0});
  expect_each(x, [](Tensor t) { return where(t == t, zeros_like(t), t); }, kFloat32, {0, kNaN, 0, 0});
  const Tensor s = both_ways(x, [](Tensor t) { return t.atan().sin(); });
  EXPECT_TRUE(std::isnan(s[1].item<float>()));
  EXPECT_NEAR(s[2].item<float>(), 0.8944272f, 1e-6);
  EXPECT_NEAR(s[3].item<float>(), -0.9486833f, 1e-6);
}

// A33
TEST(Numerical, PromotionOfScalarsAndZeroDim) {
  const auto dtype_of_result = [](const Tensor& x, const std::function<Tensor(Tensor)>& f) { return both_ways(x, f).scalar_type(); };
  for (bool reverse : {false, true}) {
    auto f = compile([](Tensor x, Scalar c) { return x * c; });
    const Tensor x = of(kInt32, {1, 2});
    for (int round = 0; round < 2; ++round) {
      for (int k = 0; k < 3; ++k) {
        switch (reverse ? 2 - k : k) {
          case 0: expect(f(x, 1), kInt32, {1, 2}); break;
          case 1: expect(f(x, true), kInt32, {1, 2}); break;
          default: expect(f(x, 1.0), kFloat32, {1, 2});
        }
      }
    }
  }
  EXPECT_EQ(dtype_of_result(of(kFloat32, {1}), [](Tensor x) { return x * 2.0; }), kFloat32);
  EXPECT_EQ(dtype_of_result(of(kFloat16, {1}), [](Tensor x) { return x + tensor(1.0, kFloat32); }), kFloat16);
  EXPECT_EQ(dtype_of_result(of(kFloat32, {1}), [](Tensor x) { return x + tensor(1.0, kFloat64); }), kFloat32);
  EXPECT_EQ(dtype_of_result(of(kFloat32, {1, 2}), [](Tensor x) { return x + ones({1}, kFloat64); }), kFloat64);
  EXPECT_EQ(dtype_of_result(of(kInt32, {1}), [](Tensor x) { return x + 1.0; }), kFloat32);
  EXPECT_EQ(dtype_of_result(of(kInt32, {1}), [](Tensor x) { return x + tensor(1.0, kFloat64); }), kFloat64);
  EXPECT_EQ(dtype_of_result(of(kBool, {1}), [](Tensor x) { return x + 1; }), kInt64);
  EXPECT_EQ(dtype_of_result(of(kBool, {1}), [](Tensor x) { return x + true; }), kBool);
  expect_each(of(kInt32, {7}), of(kInt32, {2}), [](Tensor a, Tensor b) { return a / b; }, kFloat32, {3.5});
}

// A38
TEST(Numerical, SoftmaxAtTheEdges) {
  const auto soft = [](const Tensor& x) { return both_ways(x, [](Tensor t) { return t.softmax(-1); }); };
  expect(both_ways(of(kFloat32, {1, 2, 3}), [](Tensor t) { return (t * 1e14).softmax(-1); }), kFloat32, {0, 0, 1});
  expect(both_ways(of(kFloat32, {1, 2, 4}), [](Tensor t) { return (t * 1e38).softmax(-1); }), kFloat32, {kNaN, kNaN, kNaN});
  expect(soft(of(kFloat32, {-kInf, -kInf})), kFloat32, {kNaN, kNaN});
  expect(soft(of(kFloat32, {-kInf, 0})), kFloat32, {0, 1});
  for (int64_t n : {1, 3, 7, 33}) {
    auto fast = compile([](Tensor t) { return t.softmax(-1); });
    const Tensor x = (arange(n) * 0.3).to(kFloat32);
    for (int call = 0; call < 2; ++call) EXPECT_TRUE(allclose(fast(x), x.softmax(-1), 1e-6, 0));
    EXPECT_NEAR(fast(x).sum().item<float>(), 1, 1e-6);
  }
  expect(both_ways(of(kFloat32, {0, 200}), [](Tensor t) { return t.log_softmax(-1); }), kFloat32, {-200, 0});
  EXPECT_NEAR(both_ways(of(kFloat32, {1000, 1000}), [](Tensor t) { return t.logsumexp(0); }).item<float>(), 1000.69318, 1e-3);
  expect(both_ways(of(kFloat32, {-kInf, -kInf}), [](Tensor t) { return t.logsumexp(0); }), kFloat32, {-kInf});
  EXPECT_EQ(both_ways(zeros({2, 0}), [](Tensor t) { return t.softmax(-1); }).sizes().vec(), (std::vector<int64_t>{2, 0}));
}

// A42
TEST(Numerical, IndicesAreChecked) {
  const auto fails = [](const Tensors& in, const testing::Function& f) {
    EXPECT_TRUE(both_ways(
                    [&] {
                      Tensors fresh;
                      for (const Tensor& t : in) fresh.push_back(t.clone());
                      return fresh;
                    },
                    f)
                    .error.has_value());
    // Also when nothing is made of the result.
    EXPECT_TRUE(both_ways([&] { return in; },
                          [&](const Tensors& t) {
                            f(t);
                            return Tensors{t[0] + 1};
                          })
                    .error.has_value());
  };
  fails({zeros({2}), of64({2})}, [](const Tensors& in) { return Tensors{in[0].index({in[1]})}; });
  fails({zeros({2, 2}), of64({2})}, [](const Tensors& in) { return Tensors{in[0].index_select(0, in[1])}; });
  fails({of(kFloat32, {1, 2, 3, 4}), of64({0, 1, 0, 1, 2, -1}), of(kFloat32, {1, 2, 3, 4, 5, 6})},
        [](const Tensors& in) { return Tensors{in[0].scatter_add(0, in[1], in[2])}; });
  fails({zeros({5, 2}), of64({-2})}, [](const Tensors& in) { return Tensors{embedding(in[0], in[1])}; });
  fails({zeros({5, 2}), of64({5})}, [](const Tensors& in) { return Tensors{embedding(in[0], in[1])}; });
  expect(both_ways(of(kFloat32, {1, 2, 3, 4, 5}), [](Tensor x) { return x.index({of64({-1})}); }), kFloat32, {5});
}

// A43
TEST(Numerical, FloorDivisionOfIntegers) {
  const std::vector<double> a = {-7, 7, -7, 7, -1, 1, -5, 5}, b = {2, 2, -2, -2, 3, -3, 3, -3};
  for (ScalarType dtype : {kInt8, kInt32, kInt64}) {
    expect_each(of(dtype, a), of(dtype, b), [](Tensor x, Tensor y) { return x.floor_divide(y); }, dtype, {-4, 3, 3, -4, -1, -1, -2, -2});
    expect_each(of(dtype, a), of(dtype, b), [](Tensor x, Tensor y) { return x.remainder(y); }, dtype, {1, 1, -1, -1, 2, -2, 1, -1});
    expect_each(of(dtype, {-7, 7}), [](Tensor x) { return x.floor_divide(2); }, dtype, {-4, 3});
    expect_each(of(dtype, {-7, 7}), [dtype](Tensor x) { return x % tensor(-2, dtype); }, dtype, {-1, -1});
  }
  expect_each(of(kInt8, {120}), [](Tensor x) { return x.floor_divide(-27); }, kInt8, {-5});
  expect_each(of(kInt8, {120}), [](Tensor x) { return x.remainder(-27); }, kInt8, {-15});
  expect_each(of(kInt32, {2147483647.0}), [](Tensor x) { return x.floor_divide(3); }, kInt32, {715827882});
  expect_each(of(kInt32, {16777217}), [](Tensor x) { return x.floor_divide(1); }, kInt32, {16777217});
  EXPECT_EQ(both_ways(of64({9007199254740993}), [](Tensor x) { return x.floor_divide(1); }).item<int64_t>(), 9007199254740993);
  EXPECT_EQ(
      both_ways(Tensors{of64({9007199254740993}), of64({1})}, [](const Tensors& in) { return in[0].floor_divide(in[1]); }).item<int64_t>(),
      9007199254740993);
}

// A49
TEST(Numerical, NaNPassesThroughMinAndMax) {
  const Tensor a = of(kFloat32, {kNaN, 1, kNaN}), b = of(kFloat32, {1, kNaN, kNaN});
  expect_each(a, b, [](Tensor x, Tensor y) { return maximum(x, y); }, kFloat32, {kNaN, kNaN, kNaN});
  expect_each(a, b, [](Tensor x, Tensor y) { return minimum(x, y); }, kFloat32, {kNaN, kNaN, kNaN});
  expect_each(a, b, [](Tensor x, Tensor y) { return fmax(x, y); }, kFloat32, {1, 1, kNaN});
  expect_each(of(kFloat32, {kNaN, -1, 2}), [](Tensor x) { return x.relu(); }, kFloat32, {kNaN, 0, 2});
  expect_each(of(kFloat32, {kNaN, -1, 2}), [](Tensor x) { return x.clamp(0, 1); }, kFloat32, {kNaN, 0, 1});
  for (int at : {0, 8, 16}) {
    Tensor x = arange(17).to(kFloat32);
    x[at].fill_(kNaN);
    expect(both_ways(x, [](Tensor t) { return t.amax(); }), kFloat32, {kNaN});
    expect(both_ways(x, [](Tensor t) { return (t * 1).amin(); }), kFloat32, {kNaN});
  }
}

// A64
TEST(Numerical, EmptyAndZeroDimReductions) {
  const Tensor none = zeros({0}), two = zeros({2, 0}), three = zeros({0, 3}), five = tensor(5.0f);
  expect(both_ways(none, [](Tensor t) { return t.sum(); }), kFloat32, {0});
  expect(both_ways(none, [](Tensor t) { return t.prod(); }), kFloat32, {1});
  expect(both_ways(none, [](Tensor t) { return t.mean(); }), kFloat32, {kNaN});
  expect(both_ways(none, [](Tensor t) { return t.all(); }), kBool, {1});
  expect(both_ways(none, [](Tensor t) { return t.any(); }), kBool, {0});
  expect(both_ways(two, [](Tensor t) { return t.sum(1); }), kFloat32, {0, 0});
  expect(both_ways(three, [](Tensor t) { return t.sum(0); }), kFloat32, {0, 0, 0});
  EXPECT_EQ(both_ways(three, [](Tensor t) { return t.sum(1); }).numel(), 0);
  const auto fails = [](const Tensor& x, const std::function<Tensor(Tensor)>& f) {
    EXPECT_TRUE(both_ways([&] { return Tensors{x}; }, [&](const Tensors& in) { return Tensors{f(in[0])}; }).error.has_value());
  };
  fails(none, [](Tensor t) { return t.max(); });
  fails(none, [](Tensor t) { return t.argmax(); });
  fails(two, [](Tensor t) { return t.amax(1); });
  expect(both_ways(five, [](Tensor t) { return t.sum(0); }), kFloat32, {5});
  expect(both_ways(five, [](Tensor t) { return t.mean(-1); }), kFloat32, {5});
  expect(both_ways(five, [](Tensor t) { return t.cumsum(0); }), kFloat32, {5});
  expect(both_ways(five, [](Tensor t) { return t.argmax(); }), kInt64, {0});
  expect(both_ways(ones({1}), [](Tensor t) { return t.var(); }), kFloat32, {kNaN});
}

// A65
TEST(Numerical, IntegersBesideFloatScalarsAndWidenedReductions) {
  expect_each(of(kInt64, {2, 3, 4}), [](Tensor x) { return x >= 3.5; }, kBool, {0, 0, 1});
  expect_each(of(kInt64, {3}), [](Tensor x) { return x == 3.9; }, kBool, {0});
  expect(both_ways(of(kUInt8, {200, 200}), [](Tensor x) { return x.sum(); }), kInt64, {400});
  expect(both_ways(of(kBool, {1, 1, 1}), [](Tensor x) { return x.sum(); }), kInt64, {3});
  expect(both_ways(of(kInt8, {120, 120}), [](Tensor x) { return x.cumsum(0); }), kInt64, {120, 240});
  expect(both_ways(of(kInt8, {100, 100}), [](Tensor x) { return x.prod(); }), kInt64, {10000});
  EXPECT_TRUE(both_ways(
                  [] {
                    return Tensors{of(kInt32, {1, 2})};
                  },
                  [](const Tensors& in) { return Tensors{in[0].mean()}; })
                  .error.has_value());
  expect(both_ways(ones({4}, kBool), [](Tensor x) { return x.cumsum(0, kBFloat16); }), kBFloat16, {1, 2, 3, 4});
}

// A71
TEST(Numerical, LargeElementCounts) {
  auto total = compile([](Tensor x) { return x.expand({70000, 70000}).sum(); });
  EXPECT_EQ(total(ones({1, 1}, kInt64)).item<int64_t>(), 4900000000);
  EXPECT_EQ(ones({1, 1}, kInt64).expand({70000, 70000}).numel(), 4900000000);
}

// A74
TEST(Numerical, FloatRanges) {
  const Tensor x = ones({1});
  EXPECT_EQ(both_ways(x, [](Tensor) { return arange(0.1, 0.5, 0.05); }).numel(), 8);
  EXPECT_EQ(both_ways(x, [](Tensor) { return arange(0.6, 0.9, 0.1); }).numel(), 4);
  EXPECT_EQ(both_ways(x, [](Tensor) { return arange(512, -512, -1.0); }).scalar_type(), kFloat32);
  expect(both_ways(x, [](Tensor) { return linspace(0, 1, 1); }), kFloat32, {0});
  EXPECT_EQ(both_ways(x, [](Tensor) { return linspace(0, 1, 11); })[10].item<float>(), 1.0f);
  EXPECT_EQ(arange(0, 1e7)[9999999].item<float>(), 9999999.0f);
}

}  // namespace
}  // namespace tailor
