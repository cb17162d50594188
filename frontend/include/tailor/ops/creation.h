#pragma once
// Tensors from sizes, numbers, memory and the random generator. Options give dtype, device and requires_grad; the dtype is the
// default floating-point one unless said otherwise. Error for a negative size or one that memory is not there for.
//
//   Tensor x = zeros({2, 3}, kFloat64), y = arange(6).view({2, 3}), z = tensor({{1.0, 2.0}, {3.0, 4.0}});

#include <functional>
#include <memory>

#include "runtime/philox.h"
#include "tailor/tensor.h"

namespace tailor {

/// Not initialised.
Tensor empty(SymIntArrayRef size, TensorOptions options = {}, Where where = Where::current());
/// Not initialised, with these strides (in elements); memory as far as they reach.
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, TensorOptions options = {}, Where where = Where::current());
Tensor zeros(SymIntArrayRef size, TensorOptions options = {}, Where where = Where::current());
Tensor ones(SymIntArrayRef size, TensorOptions options = {}, Where where = Where::current());
/// The dtype follows the value: int64, bool or the default one.
Tensor full(SymIntArrayRef size, const ScalarOperand& value, TensorOptions options = {}, Where where = Where::current());
// As another tensor: its sizes, dtype, device and order of dimensions, unless the options say otherwise.
Tensor empty_like(const Tensor& self, TensorOptions options = {}, Where where = Where::current());
Tensor zeros_like(const Tensor& self, TensorOptions options = {}, Where where = Where::current());
Tensor ones_like(const Tensor& self, TensorOptions options = {}, Where where = Where::current());
Tensor full_like(const Tensor& self, const Scalar& value, TensorOptions options = {}, Where where = Where::current());
Tensor rand_like(const Tensor& self, TensorOptions options = {}, Where where = Where::current());
Tensor randn_like(const Tensor& self, TensorOptions options = {}, Where where = Where::current());
Tensor randint_like(const Tensor& self, int64_t high, TensorOptions options = {}, Where where = Where::current());
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, TensorOptions options = {}, Where where = Where::current());

/// start, start + step, ... below end. int64 when all are integers.
Tensor arange(const Scalar& end, TensorOptions options = {}, Where where = Where::current());
Tensor arange(const Scalar& start, const Scalar& end, TensorOptions options = {}, Where where = Where::current());
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, TensorOptions options = {}, Where where = Where::current());
/// The same for SymInts, with a step that is a plain number.
Tensor arange_symint(const SymInt& start, const SymInt& end, int64_t step, TensorOptions options, Where where);
template <std::same_as<SymInt> T>
Tensor arange(const T& end, TensorOptions options = {}, Where where = Where::current()) {
  return arange_symint(0, end, 1, options, where);
}
template <class S, class E>
requires((std::same_as<S, SymInt> ||
          std::same_as<E, SymInt>)&&std::convertible_to<const S&, SymInt>&& std::convertible_to<const E&, SymInt>) Tensor
    arange(const S& start, const E& end, TensorOptions options = {}, Where where = Where::current()) {
  return arange_symint(start, end, 1, options, where);
}
template <class S, class E>
requires((std::same_as<S, SymInt> ||
          std::same_as<E, SymInt>)&&std::convertible_to<const S&, SymInt>&& std::convertible_to<const E&, SymInt>) Tensor
    arange(const S& start, const E& end, int64_t step, TensorOptions options = {}, Where where = Where::current()) {
  return arange_symint(start, end, step, options, where);
}
/// `steps` numbers from start to end, both included.
Tensor linspace(const TensorOrScalar& start, const TensorOrScalar& end, const SymInt& steps, TensorOptions options = {},
                Where where = Where::current());
/// Ones on the diagonal.
Tensor eye(const SymInt& n, TensorOptions options = {}, Where where = Where::current());
Tensor eye(const SymInt& n, const SymInt& m, TensorOptions options = {}, Where where = Where::current());
/// Row and column numbers of the lower (upper) triangle: [2, count], int64.
Tensor tril_indices(const SymInt& row, const SymInt& col, const SymInt& offset = 0, TensorOptions options = {},
                    Where where = Where::current());
Tensor triu_indices(const SymInt& row, const SymInt& col, const SymInt& offset = 0, TensorOptions options = {},
                    Where where = Where::current());
/// Grids from vectors. indexing: "ij" or "xy".
std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing = "ij", Where where = Where::current());
/// int64: a new last dimension with a 1 where the class is. num_classes -1: the largest class + 1, which reads the data.
Tensor one_hot(const Tensor& self, int64_t num_classes = -1, Where where = Where::current());

// Random numbers: functions of the generator's seed and offset, the same eager and compiled.
/// Uniform in [0, 1).
Tensor rand(SymIntArrayRef size, TensorOptions options = {}, Where where = Where::current());
/// Normal with mean 0 and variance 1.
Tensor randn(SymIntArrayRef size, TensorOptions options = {}, Where where = Where::current());
/// Integers in [low, high), int64.
Tensor randint(int64_t high, IntArrayRef size, TensorOptions options = {}, Where where = Where::current());
Tensor randint(int64_t low, int64_t high, IntArrayRef size, TensorOptions options = {}, Where where = Where::current());
/// A permutation of 0 .. n-1, int64.
Tensor randperm(int64_t n, TensorOptions options = {}, Where where = Where::current());
/// 1 with the probability that each element gives, else 0.
Tensor bernoulli(const Tensor& self, Where where = Where::current());
/// Normal with this mean and standard deviation, or each element with its own.
Tensor normal(double mean, double std, IntArrayRef size, TensorOptions options = {}, Where where = Where::current());
Tensor normal(const TensorOrScalar& mean, const TensorOrScalar& std = 1.0, Where where = Where::current());
/// Indices drawn with the given weights, of a vector or per row of a matrix.
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement = false, Where where = Where::current());

// ---- from host data -----------------------------------------------------------------------------------------------

/// What `tensor()` accepts: a number, or (nested) lists or vectors of them.
class TensorData {
 public:
  template <class T>
  requires(scalar_type_of<T> != ScalarType::Undefined || std::integral<T>) TensorData(T value) : scalar_(value), dtype_(dtype_of<T>()) {}
  TensorData(std::initializer_list<TensorData> list);
  template <class T>
  TensorData(const std::vector<T>& values) : TensorData(values.begin(), values.end(), dtype_of<T>()) {}
  template <class T, size_t N>
  TensorData(const std::array<T, N>& values) : TensorData(values.begin(), values.end(), dtype_of<T>()) {}
  template <class T>
  TensorData(ArrayRef<T> values) : TensorData(values.begin(), values.end(), dtype_of<T>()) {}
  TensorData(IntArrayRef values) : TensorData(values.begin(), values.end(), kInt64) {}

  bool is_scalar() const { return is_scalar_; }
  const Scalar& scalar() const { return scalar_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  /// The elements, row by row.
  const std::vector<Scalar>& elements() const { return elements_; }
  /// int64 for integers, the default dtype for float and double, else the type itself.
  ScalarType dtype() const;

 private:
  template <class It>
  TensorData(It first, It last, ScalarType type) : dtype_(type), is_scalar_(false) {
    for (; first != last; ++first) elements_.emplace_back(static_cast<typename std::iterator_traits<It>::value_type>(*first));
    sizes_.push_back(static_cast<int64_t>(elements_.size()));
  }
  template <class T>
  static constexpr ScalarType dtype_of() {
    return scalar_type_of<T> != ScalarType::Undefined ? scalar_type_of<T> : kInt64;
  }
  Scalar scalar_;
  std::vector<Scalar> elements_;
  std::vector<int64_t> sizes_;
  ScalarType dtype_ = ScalarType::Undefined;
  bool is_scalar_ = true;
};

/// A tensor of the given numbers. Throws Error for ragged lists.
///
///   tensor({1.0, 2.0});   tensor({{1, 2}, {3, 4}}, kFloat32);   tensor(3.5);   tensor(std::vector<int64_t>{1, 2})
Tensor tensor(const TensorData& data, TensorOptions options = {}, Where where = Where::current());
/// A tensor without dimensions.
Tensor scalar_tensor(const Scalar& value, TensorOptions options = {}, Where where = Where::current());

/// A tensor over memory that is not ours, which must outlive it; `deleter` is called at its end. The dtype is the options' one.
Tensor from_blob(void* data, IntArrayRef sizes, TensorOptions options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, TensorOptions options = {});
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, TensorOptions options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter, TensorOptions options = {});

}  // namespace tailor
