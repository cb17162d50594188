#pragma once
// Typed element access from host code.
//
//   auto a = x.accessor<float, 2>();
//   for (int64_t i = 0; i < a.size(0); ++i) total += a[i][i];

#include <cstddef>
#include <cstdint>

#include "runtime/dims.h"

namespace tailor {

/// N dimensions of `T` in memory of a tensor that must outlive it.
template <class T, size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data), sizes_(sizes), strides_(strides) {}
  TensorAccessor<T, N - 1> operator[](int64_t i) const { return {data_ + i * strides_[0], sizes_ + 1, strides_ + 1}; }
  int64_t size(int64_t dim) const { return sizes_[dim]; }
  int64_t stride(int64_t dim) const { return strides_[dim]; }
  IntArrayRef sizes() const { return {sizes_, N}; }
  IntArrayRef strides() const { return {strides_, N}; }
  T* data() const { return data_; }

 private:
  T* data_;
  const int64_t *sizes_, *strides_;
};

template <class T>
class TensorAccessor<T, 1> {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data), sizes_(sizes), strides_(strides) {}
  T& operator[](int64_t i) const { return data_[i * strides_[0]]; }
  int64_t size(int64_t dim) const { return sizes_[dim]; }
  int64_t stride(int64_t dim) const { return strides_[dim]; }
  IntArrayRef sizes() const { return {sizes_, 1}; }
  IntArrayRef strides() const { return {strides_, 1}; }
  T* data() const { return data_; }

 private:
  T* data_;
  const int64_t *sizes_, *strides_;
};

}  // namespace tailor
