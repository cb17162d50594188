#pragma once
// Sizes, strides and index lists: a small vector that never allocates for a tensor's rank.

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <vector>

#include "runtime/error.h"

namespace tailor {

/// A non-owning list of integers; libtorch's IntArrayRef (constructible from braces, vectors and Dims).
class IntArrayRef {
 public:
  constexpr IntArrayRef() = default;
  constexpr IntArrayRef(const int64_t* data, size_t size) : data_(data), size_(size) {}
  constexpr IntArrayRef(std::initializer_list<int64_t> list) : data_(std::data(list)), size_(list.size()) {}
  IntArrayRef(const std::vector<int64_t>& v) : data_(v.data()), size_(v.size()) {}
  constexpr IntArrayRef(std::span<const int64_t> v) : data_(v.data()), size_(v.size()) {}
  constexpr IntArrayRef(const int64_t& one) : data_(&one), size_(1) {}
  template <size_t N>
  constexpr IntArrayRef(const std::array<int64_t, N>& v) : data_(v.data()), size_(N) {}
  constexpr const int64_t* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const int64_t* begin() const { return data_; }
  constexpr const int64_t* end() const { return data_ + size_; }
  constexpr int64_t operator[](size_t i) const { return data_[i]; }
  constexpr int64_t front() const { return data_[0]; }
  constexpr int64_t back() const { return data_[size_ - 1]; }
  std::vector<int64_t> vec() const { return {begin(), end()}; }
  operator std::vector<int64_t>() const { return vec(); }
  constexpr operator std::span<const int64_t>() const { return {data_, size_}; }
  friend bool operator==(IntArrayRef a, IntArrayRef b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  const int64_t* data_ = nullptr;
  size_t size_ = 0;
};

std::ostream& operator<<(std::ostream& out, IntArrayRef list);

/// Sizes or strides of one tensor. At most kMaxDims dimensions.
class Dims {
 public:
  static constexpr size_t kMaxDims = 16;
  constexpr Dims() = default;
  Dims(std::initializer_list<int64_t> list) : Dims(IntArrayRef(list)) {}
  Dims(IntArrayRef list) {
    check(list.size() <= kMaxDims, "a tensor may have at most ", kMaxDims, " dimensions, got ", list.size());
    size_ = list.size();
    std::copy(list.begin(), list.end(), data_);
  }
  Dims(size_t n, int64_t value) {
    check(n <= kMaxDims, "a tensor may have at most ", kMaxDims, " dimensions, got ", n);
    size_ = n;
    std::fill_n(data_, n, value);
  }
  Dims(const Dims& other) : size_(other.size_) { std::copy_n(other.data_, size_, data_); }
  Dims& operator=(const Dims& other) {
    size_ = other.size_;
    std::copy_n(other.data_, other.size_, data_);
    return *this;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t& operator[](size_t i) { return data_[i]; }
  int64_t operator[](size_t i) const { return data_[i]; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t back() const { return data_[size_ - 1]; }
  void push_back(int64_t v) {
    check(size_ < kMaxDims, "a tensor may have at most ", kMaxDims, " dimensions");
    data_[size_++] = v;
  }
  void insert(size_t at, int64_t v) {
    push_back(v);
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
  }
  void erase(size_t at) {
    std::copy(data_ + at + 1, data_ + size_, data_ + at);
    --size_;
  }
  void resize(size_t n, int64_t value = 0) {
    check(n <= kMaxDims, "a tensor may have at most ", kMaxDims, " dimensions, got ", n);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = n;
  }
  operator IntArrayRef() const { return {data_, size_}; }
  friend bool operator==(const Dims& a, const Dims& b) { return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin()); }

 private:
  size_t size_ = 0;
  int64_t data_[kMaxDims];
};

inline std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << IntArrayRef(dims); }

/// Number of elements: the product of the sizes (1 for no dimension). Wraps where it does not fit; whoever makes memory checks first.
inline int64_t product(IntArrayRef sizes) {
  uint64_t n = 1;
  for (int64_t s : sizes) n *= static_cast<uint64_t>(s);
  return static_cast<int64_t>(n);
}

/// Row-major strides, in elements; wrap as product() does.
inline Dims contiguous_strides(IntArrayRef sizes) {
  Dims strides(sizes.size(), 1);
  uint64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1));
  }
  return strides;
}

/// Resolves a negative dimension; throws IndexError when out of range (torch's text).
inline int64_t wrap_dim(int64_t dim, int64_t rank) {
  const int64_t n = std::max<int64_t>(rank, 1);
  check<IndexError>(dim >= -n && dim < n, "Dimension out of range (expected to be in range of [", -n, ", ", n - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + n : dim;
}

}  // namespace tailor
