#pragma once
// Non-owning lists for arguments, as in c10: ArrayRef, TensorList, and an optional list of integers.

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "runtime/dims.h"

namespace tailor {

class Tensor;

/// A view of consecutive `T`s that somebody else owns; valid for the call it is an argument of. torch: c10::ArrayRef.
template <class T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const std::initializer_list<T>& list) : data_(list.begin()), size_(list.size()) {}
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& v) : data_(v.data()), size_(N) {}
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  std::vector<T> vec() const { return {begin(), end()}; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <>
class ArrayRef<int64_t> : public IntArrayRef {
 public:
  using IntArrayRef::IntArrayRef;
  constexpr ArrayRef(IntArrayRef list) : IntArrayRef(list) {}
};

using TensorList = ArrayRef<Tensor>;

/// Nothing, or a list of integers; one integer counts as a list of one. torch: OptionalIntArrayRef.
class OptionalIntArrayRef {
 public:
  constexpr OptionalIntArrayRef() = default;
  constexpr OptionalIntArrayRef(std::nullopt_t) {}
  constexpr OptionalIntArrayRef(IntArrayRef list) : list_(list), present_(true) {}
  constexpr OptionalIntArrayRef(std::initializer_list<int64_t> list) : list_(list), present_(true) {}
  OptionalIntArrayRef(const std::vector<int64_t>& list) : list_(list), present_(true) {}
  OptionalIntArrayRef(const Dims& list) : list_(list), present_(true) {}
  template <size_t N>
  constexpr OptionalIntArrayRef(const std::array<int64_t, N>& list) : list_(list), present_(true) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr OptionalIntArrayRef(T one) : one_(static_cast<int64_t>(one)), present_(true), single_(true) {}
  OptionalIntArrayRef(const std::optional<IntArrayRef>& list) : list_(list.value_or(IntArrayRef{})), present_(list.has_value()) {}
  OptionalIntArrayRef(const std::optional<int64_t>& one) : one_(one.value_or(0)), present_(one.has_value()), single_(present_) {}
  constexpr bool has_value() const { return present_; }
  constexpr explicit operator bool() const { return present_; }
  constexpr IntArrayRef value() const { return single_ ? IntArrayRef(&one_, 1) : list_; }
  constexpr IntArrayRef operator*() const { return value(); }
  constexpr std::optional<IntArrayRef> optional() const { return present_ ? std::optional(value()) : std::nullopt; }

 private:
  IntArrayRef list_;
  int64_t one_ = 0;
  bool present_ = false, single_ = false;
};

using std::nullopt;
using std::optional;

}  // namespace tailor
