// Matrix products against the definition: every instruction set, shape, layout and dtype; epilogues; thread counts.
#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/thread_pool.h"

namespace tailor::kernels::gemm {
namespace {

std::vector<Isa> available() {
  std::vector<Isa> isas;
  const Isa before = isa();
  for (const Isa i : {Isa::Sse2, Isa::Avx2, Isa::Avx512}) {
    try {
      set_isa(i);
      isas.push_back(i);
    } catch (const Error&) {}
  }
  set_isa(before);
  return isas;
}

class Gemm : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { before_ = set_isa(GetParam()); }
  void TearDown() override { set_isa(before_); }
  Isa before_ = isa();
};
INSTANTIATE_TEST_SUITE_P(Isas, Gemm, testing::ValuesIn(available()), [](const auto& info) {
  return std::string(info.param == Isa::Sse2 ? "sse2" : info.param == Isa::Avx2 ? "avx2" : "avx512");
});

// A matrix in a padded buffer: rows along memory or columns, with a gap; what lies outside must stay as it is.
template <class T>
struct Buffer {
  int64_t rows, columns, row, column, batch;
  std::vector<T> data;
  Buffer(int64_t batches, int64_t m, int64_t n, int layout, std::mt19937& random, bool small_integers = false) : rows(m), columns(n) {
    const int64_t gap = layout & 2 ? 3 : 0;
    row = layout & 1 ? 1 : n + gap;
    column = layout & 1 ? m + gap : 1;
    batch = layout & 1 ? n * column : m * row;
    data.resize(static_cast<size_t>(batches * batch + 1));
    std::uniform_real_distribution<float> real(-1, 1);
    std::uniform_int_distribution<int> integer(-20, 20);
    for (T& x : data) x = small_integers ? T(static_cast<float>(integer(random))) : T(real(random));
  }
  double at(int64_t b, int64_t i, int64_t j) const {
    return static_cast<double>(data[static_cast<size_t>(b * batch + i * row + j * column)]);
  }
  Matrix matrix() const { return Matrix(data.data(), row, column, batch); }
};

struct Shape {
  int64_t m, n, k, batches = 1;
  int a = 0, b = 0, c = 0;
  double alpha = 1, beta = 0;
};

template <class T>
void expect_product(const Shape& s, double epsilon, bool packed = false) {
  std::mt19937 random(static_cast<unsigned>(s.m * 31 + s.n * 7 + s.k));
  const bool integers = std::is_integral_v<T>;
  const Buffer<T> a(s.batches, s.m, s.k, s.a, random, integers), b(packed ? 1 : s.batches, s.k, s.n, s.b, random, integers);
  Buffer<T> c(s.batches, s.m, s.n, s.c, random, integers);
  const Buffer<T> before = c;
  Problem p;
  p.dtype = scalar_type_of<T>;
  p.batches = s.batches;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = a.matrix();
  p.c = c.matrix();
  p.alpha = s.alpha;
  p.beta = s.beta;
  std::shared_ptr<const PackedB> pack;
  if (packed) {
    pack = pack_b(p.dtype, s.k, s.n, b.matrix());
    p.packed = pack.get();
  } else {
    p.b = b.matrix();
  }
  run(p);
  Buffer<T> expected = before;
  for (int64_t batch = 0; batch < s.batches; ++batch)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = 0, size = 0;
        for (int64_t q = 0; q < s.k; ++q) {
          const double term = a.at(batch, i, q) * b.at(packed ? 0 : batch, q, j);
          sum += term;
          size += std::abs(term);
        }
        const double want = s.alpha * sum + (s.beta == 0 ? 0 : s.beta * before.at(batch, i, j)), got = c.at(batch, i, j);
        if (integers) {
          ASSERT_EQ(got, static_cast<double>(static_cast<T>(static_cast<int64_t>(want))));
        } else {
          const double bound =
              epsilon * ((4 + 2 * std::sqrt(static_cast<double>(s.k))) * 0.5 * std::abs(s.alpha) * size / 4 + std::abs(want) + 1e-3);
          ASSERT_NEAR(got, want, bound) << "at " << batch << ", " << i << ", " << j << " of m=" << s.m << " n=" << s.n << " k=" << s.k
                                        << " layouts " << s.a << s.b << s.c;
        }
        expected.data[static_cast<size_t>(batch * c.batch + i * c.row + j * c.column)] =
            c.data[static_cast<size_t>(batch * c.batch + i * c.row + j * c.column)];
      }
  ASSERT_EQ(std::memcmp(expected.data.data(), c.data.data(), c.data.size() * sizeof(T)), 0) << "wrote outside of C";
}

TEST_P(Gemm, OddSizes) {
  for (const int64_t m : {1, 2, 3, 4, 5, 7, 13, 14, 15, 29, 43, 70})
    for (const int64_t n : {1, 3, 8, 15, 16, 17, 31, 33, 64, 70})
      for (const int64_t k : {1, 2, 15, 16, 17, 33, 70})
        expect_product<float>({m, n, k, 1, static_cast<int>(m + k) & 1, static_cast<int>(n + k) & 1}, 0x1p-23);
}

TEST_P(Gemm, EveryLayout) {
  for (int layouts = 0; layouts < 64; ++layouts)
    for (const auto& [m, n, k] : {std::tuple{1, 40, 37}, {40, 1, 37}, {3, 50, 20}, {6, 40, 33}, {37, 45, 29}, {20, 90, 70}}) {
      const Shape s{m, n, k, 1, layouts & 3, layouts >> 2 & 3, layouts >> 4};
      expect_product<float>(s, 0x1p-23);
      expect_product<double>(s, 0x1p-52);
    }
}

TEST_P(Gemm, Batches) {
  for (const int64_t batches : {0, 1, 2, 7})
    for (int layouts = 0; layouts < 8; ++layouts)
      expect_product<float>({9, 21, 13, batches, layouts & 1, layouts >> 1 & 1, layouts >> 2}, 0x1p-23);
}

TEST_P(Gemm, HalfTypesRoundOnce) {
  for (int layouts = 0; layouts < 8; ++layouts)
    for (const auto& [m, n, k] : {std::tuple{1, 20, 40}, {5, 1, 16}, {17, 35, 50}}) {
      const Shape s{m, n, k, 2, layouts & 1, layouts >> 1 & 1, layouts >> 2};
      expect_product<Half>(s, 0x1p-10);
      expect_product<BFloat16>(s, 0x1p-7);
    }
}

TEST_P(Gemm, IntegersWrap) {
  for (int layouts = 0; layouts < 8; ++layouts) {
    const Shape s{7, 19, 33, 2, layouts & 1, layouts >> 1 & 1, layouts >> 2};
    expect_product<int8_t>(s, 0);
    expect_product<uint8_t>({7, 19, 33, 2, 0, 0, 0, 2, 3}, 0);
    expect_product<int16_t>(s, 0);
    expect_product<int32_t>(s, 0);
    expect_product<int64_t>(s, 0);
  }
}

TEST_P(Gemm, Factors) {
  for (const double beta : {0.0, 1.0, 0.5})
    for (const double alpha : {1.0, 2.0, -0.25})
      for (const int c : {0, 1, 2}) {
        expect_product<float>({21, 37, 19, 2, 0, 0, c, alpha, beta}, 0x1p-22);
        expect_product<double>({2, 37, 19, 1, 0, 1, c, alpha, beta}, 0x1p-51);
        expect_product<BFloat16>({9, 20, 19, 1, 0, 1, c, alpha, beta}, 0x1p-7);
      }
}

TEST_P(Gemm, PackedWeights) {
  for (int layouts = 0; layouts < 8; ++layouts)
    for (const int64_t m : {1, 4, 17, 60}) {
      const Shape s{m, 75, 41, 2, layouts & 1, layouts >> 1 & 1, layouts >> 2};
      expect_product<float>(s, 0x1p-23, true);
      expect_product<double>(s, 0x1p-52, true);
      expect_product<BFloat16>(s, 0x1p-7, true);
    }
}

TEST_P(Gemm, LongK) { expect_product<float>({30, 70, 3000, 1, 0, 1, 0}, 0x1p-23); }

TEST_P(Gemm, NothingToAdd) {
  float c[6] = {1, 2, 3, 4, 5, 6};
  Problem p;
  p.m = 2;
  p.n = 3;
  p.c = Matrix(c, 3, 1);
  p.a = Matrix(c, 0, 1);
  p.b = Matrix(c, 3, 1);
  p.beta = 0.5;
  run(p);
  EXPECT_EQ(c[5], 3.0f);
  p.beta = 0;
  run(p);
  for (const float x : c) EXPECT_EQ(x, 0.0f);
}

TEST_P(Gemm, NanAndInfinityPassThrough) {
  for (const int64_t m : {1, 3, 20})
    for (const int layout : {0, 1}) {
      std::mt19937 random(1);
      Buffer<float> a(1, m, 20, 0, random), b(1, 20, 40, layout, random), c(1, m, 40, 0, random);
      a.data[7] = NAN;
      b.data[static_cast<size_t>(3 * b.row + 39 * b.column)] = INFINITY;
      Problem p;
      p.m = m;
      p.n = 40;
      p.k = 20;
      p.a = a.matrix();
      p.b = b.matrix();
      p.c = c.matrix();
      run(p);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < 40; ++j) {
          if (i == 0)
            EXPECT_TRUE(std::isnan(c.at(0, i, j)));
          else if (j == 39)
            EXPECT_TRUE(std::isinf(c.at(0, i, j)));
          else
            EXPECT_TRUE(std::isfinite(c.at(0, i, j)));
        }
    }
}

TEST_P(Gemm, EpilogueSeesEveryElementOnce) {
  for (const int layout : {0, 1})
    for (const auto& [m, n, k] : {std::tuple{1, 300, 20}, {3, 200, 17}, {200, 3, 17}, {50, 333, 64}, {300, 100, 700}, {40, 40, 0}}) {
      std::mt19937 random(1);
      Buffer<float> a(2, m, k, 0, random), b(2, k, n, layout, random), plain(2, m, n, 0, random), hooked = plain;
      Problem p;
      p.batches = 2;
      p.m = m;
      p.n = n;
      p.k = k;
      p.a = a.matrix();
      p.b = b.matrix();
      p.c = plain.matrix();
      run(p);
      p.c = hooked.matrix();
      p.epilogue.fn = [](void*, const Region& r) {
        for (int64_t i = 0; i < r.rows; ++i)
          for (int64_t j = 0; j < r.columns; ++j)
            static_cast<float*>(r.data)[i * r.row_stride + j * r.column_stride] +=
                static_cast<float>(r.batch * 1000000 + (r.row + i) * 1000 + r.column + j);
      };
      run(p);
      for (int64_t z = 0; z < 2; ++z)
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j)
            ASSERT_EQ(static_cast<float>(hooked.at(z, i, j)),
                      static_cast<float>(plain.at(z, i, j)) + static_cast<float>(z * 1000000 + i * 1000 + j));
    }
}

TEST_P(Gemm, ResultsDoNotDependOnTheThreadCount) {
  const int threads = get_num_threads();
  for (const auto& [m, n, k] : {std::tuple{1, 700, 300}, {150, 170, 90}, {64, 500, 128}, {500, 20, 128}})
    for (const int layout : {0, 1}) {
      std::mt19937 random(1);
      Buffer<float> a(3, m, k, 0, random), b(3, k, n, layout, random), c(3, m, n, 0, random);
      Problem p;
      p.batches = 3;
      p.m = m;
      p.n = n;
      p.k = k;
      p.a = a.matrix();
      p.b = b.matrix();
      std::vector<float> first;
      for (const int count : {1, 2, 5}) {
        set_num_threads(count);
        Buffer<float> out = c;
        p.c = out.matrix();
        run(p);
        if (first.empty()) first = out.data;
        EXPECT_EQ(std::memcmp(first.data(), out.data.data(), first.size() * sizeof(float)), 0);
      }
    }
  set_num_threads(threads);
}

TEST(GemmErrors, BoolHasNoProduct) {
  Problem p;
  p.dtype = kBool;
  p.m = p.n = p.k = 1;
  try {
    run(p);
    FAIL();
  } catch (const NotImplementedError& e) { EXPECT_STREQ(e.what(), "matrix product: not implemented for 'Bool'"); }
}

}  // namespace
}  // namespace tailor::kernels::gemm
