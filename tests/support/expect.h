#pragma once
// Shared checks on tensors.

#include <gtest/gtest.h>
#include <tailor/tailor.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace tailor::testing {

template <class T = float>
std::vector<T> values(const Tensor& t) {
  const Tensor c = t.contiguous();
  const T* p = c.data_ptr<T>();
  return std::vector<T>(p, p + c.numel());
}

inline Tensor f32(std::initializer_list<double> list) {
  std::vector<float> v(list.begin(), list.end());
  return from_blob(v.data(), {static_cast<int64_t>(v.size())}, kFloat32).clone();
}

/// Same dtype, sizes and bits, but any NaN equals any NaN.
inline void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.scalar_type(), b.scalar_type());
  ASSERT_EQ(a.sizes().vec(), b.sizes().vec());
  const Tensor x = a.contiguous(), y = b.contiguous();
  const auto* p = static_cast<const unsigned char*>(x.data_ptr());
  const auto* q = static_cast<const unsigned char*>(y.data_ptr());
  const auto size = static_cast<size_t>(x.element_size());
  for (int64_t i = 0; i < x.numel(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(p + at, q + at, size) == 0) continue;
    const bool nan = x.is_floating_point() && std::isnan(x.flatten()[i].item<double>()) && std::isnan(y.flatten()[i].item<double>());
    EXPECT_TRUE(nan) << "element " << i << ": " << x.flatten()[i].item<double>() << " and " << y.flatten()[i].item<double>();
    if (!nan) return;
  }
}

}  // namespace tailor::testing

#define EXPECT_VALUES(tensor, ...) EXPECT_EQ(tailor::testing::values(tensor), (std::vector<float>{__VA_ARGS__}))
