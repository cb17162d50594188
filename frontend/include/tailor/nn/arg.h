#pragma once
// The small pieces of option structs: fields with chained setters, arrays that one number fills, and keywords.
//
//   struct LinearOptions {
//     LinearOptions(int64_t in, int64_t out) : in_features_(in), out_features_(out) {}
//     TAILOR_ARG(int64_t, in_features);
//     TAILOR_ARG(int64_t, out_features);
//     TAILOR_ARG(bool, bias) = true;
//   };
//   auto o = LinearOptions(3, 4).bias(false);     o.in_features() == 3

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/dims.h"

/// A private field `name_` with a setter that returns the object, and a getter. libtorch's TORCH_ARG.
#define TAILOR_ARG(T, name)                                \
 public:                                                   \
  auto name(const T& value)->decltype(*this) {             \
    this->name##_ = value;                                 \
    return *this;                                          \
  }                                                        \
  const T& name() const noexcept { return this->name##_; } \
  T& name() noexcept { return this->name##_; }             \
                                                           \
 private:                                                  \
  T name##_

namespace tailor {

/// A word with a meaning for an option: kMean, kReLU, kBilinear ... Also given as text.
class Keyword {
 public:
  constexpr Keyword(const char* text) : text_(text) {}
  constexpr Keyword(std::string_view text) : text_(text) {}
  constexpr std::string_view text() const { return text_; }
  friend constexpr bool operator==(Keyword a, Keyword b) { return a.text_ == b.text_; }

 private:
  std::string_view text_;
};
inline constexpr Keyword kNone("none"), kMean("mean"), kSum("sum"), kBatchMean("batchmean"), kMax("max");
inline constexpr Keyword kLinear("linear"), kConv1D("conv1d"), kConv2D("conv2d"), kConv3D("conv3d"), kConvTranspose1D("conv_transpose1d"),
    kConvTranspose2D("conv_transpose2d"), kConvTranspose3D("conv_transpose3d"), kSigmoid("sigmoid"), kTanh("tanh"), kReLU("relu"),
    kGELU("gelu"), kSiLU("silu"), kMish("mish"), kLeakyReLU("leaky_relu");
inline constexpr Keyword kFanIn("fan_in"), kFanOut("fan_out");
inline constexpr Keyword kConstant("constant"), kReflect("reflect"), kReplicate("replicate"), kCircular("circular"), kZeros("zeros"),
    kBorder("border"), kReflection("reflection"), kValid("valid"), kSame("same");
inline constexpr Keyword kNearest("nearest"), kBilinear("bilinear"), kBicubic("bicubic"), kTrilinear("trilinear"), kArea("area");

/// N numbers, of which one may be given for all. libtorch's ExpandingArray.
template <size_t N, class T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(std::initializer_list<T> list) : ExpandingArray(list.begin(), list.size()) {}
  ExpandingArray(const std::vector<T>& list) : ExpandingArray(list.data(), list.size()) {}
  ExpandingArray(const std::array<T, N>& list) : values_(list) {}
  ExpandingArray(T one) { values_.fill(one); }
  const T& operator[](size_t i) const { return values_[i]; }
  T& operator[](size_t i) { return values_[i]; }
  const std::array<T, N>& operator*() const { return values_; }
  const std::array<T, N>* operator->() const { return &values_; }
  const T* data() const { return values_.data(); }
  size_t size() const { return N; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + N; }
  operator IntArrayRef() const requires std::same_as<T, int64_t> { return {values_.data(), N}; }

 private:
  ExpandingArray(const T* data, size_t size) {
    check(size == N || size == 1, "Expected ", N, " values, but instead got ", size);
    if (size == N)
      std::copy_n(data, N, values_.begin());
    else
      values_.fill(*data);
  }
  std::array<T, N> values_{};
};

}  // namespace tailor
