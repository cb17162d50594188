#pragma once
// Tensor: a handle to a TensorImpl, with libtorch's methods. Copying a Tensor copies the handle; tensors share their data until
// cloned. Methods that end in `_` write in place and return the tensor itself. The methods that are also free functions are
// documented with those, in tailor/ops/*.h; semantics are PyTorch's.
//
// Every method notes the line it was called from (`where`), for error messages and guards; callers leave it out.
//
//   Tensor x = randn({2, 3});
//   Tensor y = (x * 2 + 1).relu().sum(1);
//   y[0] = 7;                                // writes into y

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "runtime/scalar.h"
#include "tailor/accessor.h"
#include "tailor/array_ref.h"
#include "tailor/sym_int.h"
#include "tailor/tensor_handle.h"
#include "tailor/tensor_options.h"

namespace tailor {

/// The user's source line.
using Where = std::source_location;

class Tensor;
namespace indexing {
class TensorIndex;
}

/// An argument that is a tensor, a number, or (where documented) nothing. Refers to the tensor; valid for the call it is part of.
class TensorOrScalar {
 public:
  TensorOrScalar(std::nullopt_t = std::nullopt, Where where = Where::current()) : where_(where) {}
  TensorOrScalar(const Tensor& tensor, Where where = Where::current()) : tensor_(&tensor), where_(where) {}
  template <std::same_as<std::optional<Tensor>> T>
  TensorOrScalar(const T& tensor, Where where = Where::current()) : tensor_(tensor ? &*tensor : nullptr), where_(where) {}
  template <class T>
  requires std::convertible_to<const T&, Scalar> TensorOrScalar(const T& value, Where where = Where::current())
      : scalar_(value), is_scalar_(true), where_(where) {}
  TensorOrScalar(const std::optional<Scalar>& value, Where where = Where::current())
      : scalar_(value.value_or(Scalar())), is_scalar_(value.has_value()), where_(where) {}
  TensorOrScalar(const SymInt& value, Where where = Where::current())
      : scalar_(value.unguarded()), is_scalar_(true), symbol_(value.symbol()), where_(where) {}
  const Tensor* tensor() const { return tensor_; }
  bool is_scalar() const { return is_scalar_; }
  bool is_none() const { return tensor_ == nullptr && !is_scalar_; }
  /// Of a SymInt: the value becomes a fact, as with SymInt::guard_int.
  const Scalar& scalar() const {
    if (symbol_ != 0) [[unlikely]]
      (void)sym_int().expect_int(where_);
    return scalar_;
  }
  /// The number itself; where it is no SymInt, a plain one.
  SymInt sym_int() const { return SymInt::of(scalar_.bits(), symbol_); }
  bool is_symbolic() const { return symbol_ != 0; }
  Where where() const { return where_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar scalar_;
  bool is_scalar_ = false;
  uint64_t symbol_ = 0;
  Where where_;
};

/// A number, plain or a SymInt.
class ScalarOperand {
 public:
  template <class T>
  requires std::convertible_to<const T&, Scalar> ScalarOperand(const T& value, Where where = Where::current()) : number_(value, where) {}
  ScalarOperand(const SymInt& value, Where where = Where::current()) : number_(value, where) {}
  const TensorOrScalar& number() const { return number_; }
  Where where() const { return number_.where(); }

 private:
  TensorOrScalar number_;
};

/// An integer in x[i].
class IndexOperand {
 public:
  template <std::integral T>
  IndexOperand(T index, Where where = Where::current()) : index_(static_cast<int64_t>(index)), where_(where) {}
  IndexOperand(const SymInt& index, Where where = Where::current()) : index_(index), where_(where) {}
  const SymInt& index() const { return index_; }
  Where where() const { return where_; }

 private:
  SymInt index_;
  Where where_;
};

class Tensor {
 public:
  // ---- the handle -------------------------------------------------------------------------------------------------
  constexpr Tensor() = default;
  explicit Tensor(IntrusivePtr<TensorHead> head) noexcept : head_(std::move(head)) {}
  Tensor(const Tensor& o) noexcept = default;
  Tensor(Tensor&& o) noexcept : head_(std::move(o.head_)) { changed(head_.get()); }
  Tensor& operator=(const Tensor& o) & noexcept {
    if (head_ == o.head_) return *this;
    changed(head_.get());
    head_ = o.head_;
    return *this;
  }
  Tensor& operator=(Tensor&& o) & noexcept {
    if (this == &o) return *this;
    changed(head_.get());
    changed(o.head_.get());
    head_ = std::move(o.head_);
    return *this;
  }
  /// Assigning to a temporary writes into its memory: `x[0] = y`, `x.index({mask}) = 1`.
  Tensor& operator=(const TensorOrScalar& value) &&;
  ~Tensor() {
    if (head_ && (head_->flags.load(std::memory_order_relaxed) & TensorHead::kLoose) != 0) [[unlikely]]
      detail::loose_handle_gone();
  }

  bool defined() const { return static_cast<bool>(head_); }
  void reset() { *this = Tensor(); }
  bool is_same(const Tensor& o) const {
    if (head_ == o.head_) return true;
    const auto stands_in = [](const IntrusivePtr<TensorHead>& h) {
      return h && (h->flags.load(std::memory_order_relaxed) & TensorHead::kStandIn) != 0;
    };
    return (stands_in(head_) || stands_in(o.head_)) && detail::same_but_for_stand_ins(head_.get(), o.head_.get());
  }
  size_t use_count() const { return head_ ? head_->use_count() : 0; }
  /// For the library: what the handle points to.
  TensorHead* head() const { return head_.get(); }
  const IntrusivePtr<TensorHead>& pointer() const { return head_; }
  /// For the library: of a handle that user code does not know, which may change without anybody being told.
  void point_at(IntrusivePtr<TensorHead> head) noexcept { head_ = std::move(head); }

  // ---- description ------------------------------------------------------------------------------------------------
  /// Valid as long as the tensor is what it is. An undefined tensor has no description: Error.
  IntArrayRef sizes(Where where = Where::current()) const;
  /// Negative dimensions count from the end; IndexError for one out of range.
  int64_t size(int64_t dim, Where where = Where::current()) const;
  IntArrayRef strides() const;
  int64_t stride(int64_t dim, Where where = Where::current()) const;
  int64_t dim() const;
  int64_t ndimension() const { return dim(); }
  int64_t numel(Where where = Where::current()) const;
  /// As size(), sizes() and numel(), but what is computed from them holds for other sizes too (tailor/sym_int.h).
  SymInt sym_size(int64_t dim, Where where = Where::current()) const;
  SymSizes sym_sizes() const;
  SymInt sym_numel() const;
  /// In elements.
  int64_t storage_offset() const;
  ScalarType scalar_type() const;
  ScalarType dtype() const { return scalar_type(); }
  Device device() const;
  Layout layout() const { return kStrided; }
  TensorOptions options() const;
  int64_t element_size() const;
  int64_t itemsize() const { return element_size(); }
  size_t nbytes() const;
  bool is_contiguous() const;
  bool is_floating_point() const;
  bool is_complex() const { return false; }
  bool is_signed() const;
  bool is_cpu() const;
  bool is_cuda() const;
  int64_t get_device() const;
  /// Shares its storage with `other`.
  bool is_alias_of(const Tensor& other) const;
  /// Counts the writes to the storage.
  int64_t _version() const;
  /// "CPUFloatType".
  std::string toString() const;
  /// Prints to std::cout, as operator<<.
  void print() const;

  // ---- host access ------------------------------------------------------------------------------------------------
  /// The value of a tensor of one element. Throws Error for any other number.
  Scalar item(Where where = Where::current()) const;
  template <class T>
  T item(Where where = Where::current()) const {
    return item(where).template to<T>();
  }
  /// Pointer to the first element. Throws Error when T is not the dtype. The storage counts as exposed afterwards.
  template <class T>
  T* data_ptr(Where where = Where::current()) const {
    return static_cast<T*>(typed_data(scalar_type_of<std::remove_const_t<T>>, !std::is_const_v<T>, where));
  }
  template <class T>
  const T* const_data_ptr(Where where = Where::current()) const {
    return static_cast<const T*>(typed_data(scalar_type_of<std::remove_const_t<T>>, false, where));
  }
  template <class T>
  T* mutable_data_ptr(Where where = Where::current()) const {
    return data_ptr<T>(where);
  }
  void* data_ptr(Where where = Where::current()) const { return typed_data(ScalarType::Undefined, true, where); }
  const void* const_data_ptr(Where where = Where::current()) const { return typed_data(ScalarType::Undefined, false, where); }
  void* mutable_data_ptr(Where where = Where::current()) const { return data_ptr(where); }
  /// Elements by index, a[i][j]. Throws Error when T is not the dtype or N not the rank. The storage counts as exposed afterwards.
  template <class T, size_t N>
  TensorAccessor<T, N> accessor(Where where = Where::current()) const {
    static_assert(N > 0, "accessor needs at least one dimension; use item() for a scalar tensor");
    check(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
    return {data_ptr<T>(where), sizes().data(), strides().data()};
  }

  // ---- gradients --------------------------------------------------------------------------------------------------
  bool requires_grad() const;
  /// Throws Error for integers, and when a non-leaf is to stop requiring gradients.
  const Tensor& set_requires_grad(bool on) const;
  Tensor& requires_grad_(bool on = true) const;
  bool is_leaf() const;
  /// True where an op made this tensor and gradients flow through it.
  bool grad_fn() const { return requires_grad() && !is_leaf(); }
  /// Undefined until a gradient was accumulated.
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                Where where = Where::current()) const;
  void retain_grad() const;
  /// Shares the data, outside of gradient computation.
  Tensor detach(Where where = Where::current()) const;
  Tensor& detach_() const;
  Tensor data(Where where = Where::current()) const { return detach(where); }
  template <class T>
  T* data(Where where = Where::current()) const {
    return data_ptr<T>(where);
  }
  Tensor tensor_data(Where where = Where::current()) const { return detach(where); }
  Tensor variable_data(Where where = Where::current()) const { return detach(where); }
  /// Makes this handle's tensor be `data` (same dtype).
  void set_data(const Tensor& data) const;

  // ---- cast and copy ----------------------------------------------------------------------------------------------
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false, Where where = Where::current()) const;
  Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false, Where where = Where::current()) const;
  Tensor to(Device device, Where where = Where::current()) const;
  Tensor to(DeviceType device, Where where = Where::current()) const { return to(Device(device), where); }
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false, Where where = Where::current()) const;
  Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false, Where where = Where::current()) const;
  Tensor toType(ScalarType dtype, Where where = Where::current()) const { return to(dtype, false, false, where); }
  Tensor type_as(const Tensor& other, Where where = Where::current()) const;
  Tensor cpu(Where where = Where::current()) const { return to(Device(kCPU), where); }
  Tensor cuda(Where where = Where::current()) const { return to(Device(kCUDA), where); }
  Tensor clone(std::optional<MemoryFormat> format = std::nullopt, Where where = Where::current()) const;
  Tensor contiguous(Where where = Where::current()) const;
  Tensor pin_memory() const { return *this; }
  Tensor& copy_(const Tensor& source, bool non_blocking = false, Where where = Where::current()) const;
  Tensor& fill_(const TensorOrScalar& value, Where where = Where::current()) const;
  Tensor& zero_(Where where = Where::current()) const;
  /// Other sizes, contiguous; elements keep their order as far as they go, new ones are not initialised.
  Tensor& resize_(IntArrayRef sizes, Where where = Where::current()) const;

  // ---- creation ---------------------------------------------------------------------------------------------------
  Tensor new_empty(SymIntArrayRef sizes, TensorOptions options = {}, Where where = Where::current()) const;
  Tensor new_zeros(SymIntArrayRef sizes, TensorOptions options = {}, Where where = Where::current()) const;
  Tensor new_ones(SymIntArrayRef sizes, TensorOptions options = {}, Where where = Where::current()) const;
  Tensor new_full(SymIntArrayRef sizes, const ScalarOperand& value, TensorOptions options = {}, Where where = Where::current()) const;

  // ---- pointwise of one operand: `name` and, in place, `name_` ----------------------------------------------------
#define TAILOR_UNARY(name)                           \
  Tensor name(Where where = Where::current()) const; \
  Tensor& name##_(Where where = Where::current()) const;
  // clang-format off
  TAILOR_UNARY(abs) TAILOR_UNARY(acos) TAILOR_UNARY(acosh) TAILOR_UNARY(asin) TAILOR_UNARY(asinh) TAILOR_UNARY(atan) TAILOR_UNARY(atanh)
  TAILOR_UNARY(bitwise_not) TAILOR_UNARY(ceil) TAILOR_UNARY(cos) TAILOR_UNARY(cosh) TAILOR_UNARY(erf) TAILOR_UNARY(erfc)
  TAILOR_UNARY(erfinv) TAILOR_UNARY(exp) TAILOR_UNARY(exp2) TAILOR_UNARY(expm1) TAILOR_UNARY(floor) TAILOR_UNARY(frac)
  TAILOR_UNARY(lgamma) TAILOR_UNARY(log) TAILOR_UNARY(log10) TAILOR_UNARY(log1p) TAILOR_UNARY(log2) TAILOR_UNARY(logical_not)
  TAILOR_UNARY(neg) TAILOR_UNARY(negative) TAILOR_UNARY(reciprocal) TAILOR_UNARY(relu) TAILOR_UNARY(rsqrt) TAILOR_UNARY(sigmoid)
  TAILOR_UNARY(sign) TAILOR_UNARY(sin) TAILOR_UNARY(sinh) TAILOR_UNARY(sqrt) TAILOR_UNARY(square) TAILOR_UNARY(tan) TAILOR_UNARY(tanh)
  TAILOR_UNARY(trunc) TAILOR_UNARY(absolute)
#undef TAILOR_UNARY

  Tensor round(int64_t decimals = 0, Where where = Where::current()) const;
  // clang-format on
  Tensor& round_(int64_t decimals = 0, Where where = Where::current()) const;
  Tensor positive(Where where = Where::current()) const;
  Tensor isnan(Where where = Where::current()) const;
  Tensor isinf(Where where = Where::current()) const;
  Tensor isfinite(Where where = Where::current()) const;
  Tensor signbit(Where where = Where::current()) const;
  Tensor logit(std::optional<double> eps = std::nullopt, Where where = Where::current()) const;
  Tensor& logit_(std::optional<double> eps = std::nullopt, Where where = Where::current()) const;
  Tensor nan_to_num(std::optional<double> nan = std::nullopt, std::optional<double> posinf = std::nullopt,
                    std::optional<double> neginf = std::nullopt, Where where = Where::current()) const;
  Tensor& nan_to_num_(std::optional<double> nan = std::nullopt, std::optional<double> posinf = std::nullopt,
                      std::optional<double> neginf = std::nullopt, Where where = Where::current()) const;
  Tensor clamp(const TensorOrScalar& min = std::nullopt, const TensorOrScalar& max = std::nullopt, Where where = Where::current()) const;
  Tensor& clamp_(const TensorOrScalar& min = std::nullopt, const TensorOrScalar& max = std::nullopt, Where where = Where::current()) const;
  Tensor clip(const TensorOrScalar& min = std::nullopt, const TensorOrScalar& max = std::nullopt, Where where = Where::current()) const {
    return clamp(min, max, where);
  }

  // ---- pointwise of two operands: `name` and, in place, `name_` ---------------------------------------------------
#define TAILOR_BINARY(name)                                                       \
  Tensor name(const TensorOrScalar& other, Where where = Where::current()) const; \
  Tensor& name##_(const TensorOrScalar& other, Where where = Where::current()) const;
  // clang-format off
  TAILOR_BINARY(mul) TAILOR_BINARY(multiply) TAILOR_BINARY(floor_divide) TAILOR_BINARY(remainder) TAILOR_BINARY(fmod) TAILOR_BINARY(pow)
  TAILOR_BINARY(atan2) TAILOR_BINARY(hypot) TAILOR_BINARY(copysign) TAILOR_BINARY(xlogy) TAILOR_BINARY(eq) TAILOR_BINARY(ne)
  TAILOR_BINARY(lt) TAILOR_BINARY(le) TAILOR_BINARY(gt) TAILOR_BINARY(ge) TAILOR_BINARY(logical_and) TAILOR_BINARY(logical_or)
  TAILOR_BINARY(logical_xor) TAILOR_BINARY(bitwise_and) TAILOR_BINARY(bitwise_or) TAILOR_BINARY(bitwise_xor)
  TAILOR_BINARY(bitwise_left_shift) TAILOR_BINARY(bitwise_right_shift) TAILOR_BINARY(clamp_min) TAILOR_BINARY(clamp_max)
  // clang-format on
#undef TAILOR_BINARY
                      Tensor maximum(const Tensor& other, Where where = Where::current()) const;
  Tensor minimum(const Tensor& other, Where where = Where::current()) const;
  Tensor fmax(const Tensor& other, Where where = Where::current()) const;
  Tensor fmin(const Tensor& other, Where where = Where::current()) const;
  Tensor add(const TensorOrScalar& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  Tensor& add_(const TensorOrScalar& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  Tensor sub(const TensorOrScalar& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  Tensor& sub_(const TensorOrScalar& other, const Scalar& alpha = 1, Where where = Where::current()) const;
  Tensor div(const TensorOrScalar& other, Where where = Where::current()) const;
  Tensor div(const TensorOrScalar& other, std::optional<std::string_view> rounding_mode, Where where = Where::current()) const;
  Tensor& div_(const TensorOrScalar& other, Where where = Where::current()) const;
  Tensor& div_(const TensorOrScalar& other, std::optional<std::string_view> rounding_mode, Where where = Where::current()) const;
  Tensor divide(const TensorOrScalar& other, Where where = Where::current()) const { return div(other, where); }
  Tensor& divide_(const TensorOrScalar& other, Where where = Where::current()) const { return div_(other, where); }
  Tensor where(const Tensor& condition, const TensorOrScalar& other, Where at = Where::current()) const;
  Tensor lerp(const Tensor& end, const TensorOrScalar& weight, Where where = Where::current()) const;
  Tensor& lerp_(const Tensor& end, const TensorOrScalar& weight, Where where = Where::current()) const;
  Tensor addcmul(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1, Where where = Where::current()) const;
  Tensor& addcmul_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1, Where where = Where::current()) const;
  Tensor addcdiv(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1, Where where = Where::current()) const;
  Tensor& addcdiv_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1, Where where = Where::current()) const;
  Tensor masked_fill(const Tensor& mask, const TensorOrScalar& value, Where where = Where::current()) const;
  Tensor& masked_fill_(const Tensor& mask, const TensorOrScalar& value, Where where = Where::current()) const;
  Tensor prelu(const Tensor& weight, Where where = Where::current()) const;
  Tensor isclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false, Where where = Where::current()) const;
  bool equal(const Tensor& other, Where where = Where::current()) const;
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false, Where where = Where::current()) const;

  Tensor& operator+=(const TensorOrScalar& other) { return add_(other, 1, other.where()); }
  Tensor& operator-=(const TensorOrScalar& other) { return sub_(other, 1, other.where()); }
  Tensor& operator*=(const TensorOrScalar& other) { return mul_(other, other.where()); }
  Tensor& operator/=(const TensorOrScalar& other) { return div_(other, other.where()); }
  Tensor& operator%=(const TensorOrScalar& other) { return remainder_(other, other.where()); }
  Tensor& operator&=(const TensorOrScalar& other) { return bitwise_and_(other, other.where()); }
  Tensor& operator|=(const TensorOrScalar& other) { return bitwise_or_(other, other.where()); }
  Tensor& operator^=(const TensorOrScalar& other) { return bitwise_xor_(other, other.where()); }
  Tensor& operator<<=(const TensorOrScalar& other) { return bitwise_left_shift_(other, other.where()); }
  Tensor& operator>>=(const TensorOrScalar& other) { return bitwise_right_shift_(other, other.where()); }

  // ---- reductions -------------------------------------------------------------------------------------------------
  Tensor sum(std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  Tensor sum(OptionalIntArrayRef dim, bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt,
             Where where = Where::current()) const;
  Tensor mean(std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  Tensor mean(OptionalIntArrayRef dim, bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt,
              Where where = Where::current()) const;
  Tensor prod(std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  Tensor prod(int64_t dim, bool keepdim = false, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  Tensor amax(IntArrayRef dim = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor amin(IntArrayRef dim = {}, bool keepdim = false, Where where = Where::current()) const;
  Tensor max(Where where = Where::current()) const;
  Tensor max(const Tensor& other, Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> max(int64_t dim, bool keepdim = false, Where where = Where::current()) const;
  Tensor min(Where where = Where::current()) const;
  Tensor min(const Tensor& other, Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> min(int64_t dim, bool keepdim = false, Where where = Where::current()) const;
  Tensor argmax(std::optional<int64_t> dim = std::nullopt, bool keepdim = false, Where where = Where::current()) const;
  Tensor argmin(std::optional<int64_t> dim = std::nullopt, bool keepdim = false, Where where = Where::current()) const;
  Tensor any(Where where = Where::current()) const;
  Tensor any(OptionalIntArrayRef dim, bool keepdim = false, Where where = Where::current()) const;
  Tensor all(Where where = Where::current()) const;
  Tensor all(OptionalIntArrayRef dim, bool keepdim = false, Where where = Where::current()) const;
  Tensor var(Where where = Where::current()) const { return var(std::nullopt, std::nullopt, false, where); }
  template <std::same_as<bool> B>
  Tensor var(B unbiased, Where where = Where::current()) const {
    return var(std::nullopt, Scalar(unbiased), false, where);
  }
  Tensor var(OptionalIntArrayRef dim, std::optional<Scalar> correction = std::nullopt, bool keepdim = false,
             Where where = Where::current()) const;
  Tensor std(Where where = Where::current()) const { return std(std::nullopt, std::nullopt, false, where); }
  template <std::same_as<bool> B>
  Tensor std(B unbiased, Where where = Where::current()) const {
    return std(std::nullopt, Scalar(unbiased), false, where);
  }
  Tensor std(OptionalIntArrayRef dim, std::optional<Scalar> correction = std::nullopt, bool keepdim = false,
             Where where = Where::current()) const;
  Tensor logsumexp(IntArrayRef dim, bool keepdim = false, Where where = Where::current()) const;
  Tensor norm(const Scalar& p = 2, Where where = Where::current()) const;
  Tensor norm(const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim = false, Where where = Where::current()) const;
  Tensor count_nonzero(OptionalIntArrayRef dim = {}, Where where = Where::current()) const;
  Tensor median(Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> median(int64_t dim, bool keepdim = false, Where where = Where::current()) const;

  // ---- scans, sorting, normalising --------------------------------------------------------------------------------
  Tensor cumsum(int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  Tensor& cumsum_(int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  Tensor cumprod(int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  Tensor& cumprod_(int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> cummax(int64_t dim, Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> cummin(int64_t dim, Where where = Where::current()) const;
  Tensor logcumsumexp(int64_t dim, Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false, Where where = Where::current()) const;
  std::tuple<Tensor, Tensor> sort(std::optional<bool> stable, int64_t dim = -1, bool descending = false,
                                  Where where = Where::current()) const;
  Tensor argsort(int64_t dim = -1, bool descending = false, Where where = Where::current()) const;
  template <std::same_as<bool> B>
  Tensor argsort(B stable, int64_t dim = -1, bool descending = false, Where where = Where::current()) const {
    return std::get<1>(sort(std::optional<bool>(stable), dim, descending, where));
  }
  std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true,
                                  Where where = Where::current()) const;
  Tensor softmax(int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;
  Tensor log_softmax(int64_t dim, std::optional<ScalarType> dtype = std::nullopt, Where where = Where::current()) const;

  // ---- views and movement -----------------------------------------------------------------------------------------
  Tensor view(SymIntArrayRef size, Where where = Where::current()) const;
  Tensor view_as(const Tensor& other, Where where = Where::current()) const;
  Tensor reshape(SymIntArrayRef shape, Where where = Where::current()) const;
  Tensor reshape_as(const Tensor& other, Where where = Where::current()) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1, Where where = Where::current()) const;
  Tensor ravel(Where where = Where::current()) const;
  Tensor unflatten(int64_t dim, SymIntArrayRef sizes, Where where = Where::current()) const;
  Tensor permute(IntArrayRef dims, Where where = Where::current()) const;
  Tensor transpose(int64_t dim0, int64_t dim1, Where where = Where::current()) const;
  Tensor swapaxes(int64_t dim0, int64_t dim1, Where where = Where::current()) const { return transpose(dim0, dim1, where); }
  Tensor& transpose_(int64_t dim0, int64_t dim1, Where where = Where::current()) const;
  Tensor t(Where where = Where::current()) const;
  Tensor& t_(Where where = Where::current()) const;
  Tensor mT(Where where = Where::current()) const { return transpose(-2, -1, where); }
  Tensor movedim(IntArrayRef source, IntArrayRef destination, Where where = Where::current()) const;
  Tensor expand(SymIntArrayRef size, bool implicit = false, Where where = Where::current()) const;
  Tensor expand_as(const Tensor& other, Where where = Where::current()) const;
  Tensor squeeze(Where where = Where::current()) const;
  Tensor squeeze(IntArrayRef dim, Where where = Where::current()) const;
  Tensor& squeeze_(Where where = Where::current()) const;
  Tensor& squeeze_(int64_t dim, Where where = Where::current()) const;
  Tensor unsqueeze(int64_t dim, Where where = Where::current()) const;
  Tensor& unsqueeze_(int64_t dim, Where where = Where::current()) const;
  Tensor narrow(int64_t dim, const SymInt& start, const SymInt& length, Where where = Where::current()) const;
  Tensor narrow(int64_t dim, const Tensor& start, const SymInt& length, Where where = Where::current()) const;
  Tensor slice(int64_t dim = 0, const std::optional<SymInt>& start = std::nullopt, const std::optional<SymInt>& end = std::nullopt,
               const SymInt& step = 1, Where where = Where::current()) const;
  Tensor select(int64_t dim, const SymInt& index, Where where = Where::current()) const;
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0, Where where = Where::current()) const;
  std::vector<Tensor> split(const SymInt& split_size, int64_t dim = 0, Where where = Where::current()) const;
  std::vector<Tensor> split(SymIntArrayRef split_sizes, int64_t dim = 0, Where where = Where::current()) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0, Where where = Where::current()) const;
  std::vector<Tensor> unbind(int64_t dim = 0, Where where = Where::current()) const;
  Tensor diagonal(const SymInt& offset = 0, int64_t dim1 = 0, int64_t dim2 = 1, Where where = Where::current()) const;
  Tensor unfold(int64_t dimension, const SymInt& size, const SymInt& step, Where where = Where::current()) const;
  Tensor as_strided(IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset = std::nullopt,
                    Where where = Where::current()) const;
  Tensor& as_strided_(IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset = std::nullopt,
                      Where where = Where::current()) const;
  Tensor repeat(SymIntArrayRef repeats, Where where = Where::current()) const;
  Tensor repeat_interleave(int64_t repeats, std::optional<int64_t> dim = std::nullopt, std::optional<int64_t> output_size = std::nullopt,
                           Where where = Where::current()) const;
  Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim = std::nullopt,
                           std::optional<int64_t> output_size = std::nullopt, Where where = Where::current()) const;
  Tensor tile(SymIntArrayRef dims, Where where = Where::current()) const;
  Tensor flip(IntArrayRef dims, Where where = Where::current()) const;
  Tensor roll(SymIntArrayRef shifts, IntArrayRef dims = {}, Where where = Where::current()) const;
  Tensor tril(const SymInt& diagonal = 0, Where where = Where::current()) const;
  Tensor& tril_(const SymInt& diagonal = 0, Where where = Where::current()) const;
  Tensor triu(const SymInt& diagonal = 0, Where where = Where::current()) const;
  Tensor& triu_(const SymInt& diagonal = 0, Where where = Where::current()) const;
  Tensor diag(int64_t diagonal = 0, Where where = Where::current()) const;

  // ---- indexing ---------------------------------------------------------------------------------------------------
  Tensor operator[](const IndexOperand& index) const;
  Tensor operator[](const Tensor& index) const;
  Tensor index(ArrayRef<indexing::TensorIndex> indices, Where where = Where::current()) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices, Where where = Where::current()) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const TensorOrScalar& value, bool accumulate = false,
                     Where where = Where::current()) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const TensorOrScalar& value, bool accumulate = false,
                     Where where = Where::current()) const;
  Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const TensorOrScalar& value, bool accumulate = false,
                   Where where = Where::current()) const;
  Tensor index_select(int64_t dim, const Tensor& index, Where where = Where::current()) const;
  Tensor gather(int64_t dim, const Tensor& index, bool sparse_grad = false, Where where = Where::current()) const;
  Tensor scatter(int64_t dim, const Tensor& index, const TensorOrScalar& source, Where where = Where::current()) const;
  Tensor scatter(int64_t dim, const Tensor& index, const TensorOrScalar& source, std::string_view reduce,
                 Where where = Where::current()) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const TensorOrScalar& source, Where where = Where::current()) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const TensorOrScalar& source, std::string_view reduce,
                   Where where = Where::current()) const;
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& source, Where where = Where::current()) const;
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& source, Where where = Where::current()) const;
  Tensor scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self = true,
                        Where where = Where::current()) const;
  Tensor& scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce, bool include_self = true,
                          Where where = Where::current()) const;
  Tensor take(const Tensor& index, Where where = Where::current()) const;
  Tensor masked_select(const Tensor& mask, Where where = Where::current()) const;
  Tensor nonzero(Where where = Where::current()) const;

  // ---- contraction ------------------------------------------------------------------------------------------------
  Tensor matmul(const Tensor& other, Where where = Where::current()) const;
  Tensor mm(const Tensor& other, Where where = Where::current()) const;
  Tensor bmm(const Tensor& other, Where where = Where::current()) const;
  Tensor mv(const Tensor& vec, Where where = Where::current()) const;
  Tensor dot(const Tensor& other, Where where = Where::current()) const;
  Tensor outer(const Tensor& other, Where where = Where::current()) const;
  Tensor addmm(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1, const Scalar& alpha = 1,
               Where where = Where::current()) const;
  Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1, const Scalar& alpha = 1,
                 Where where = Where::current()) const;

  // ---- random -----------------------------------------------------------------------------------------------------
  Tensor& uniform_(double from = 0, double to = 1, Where where = Where::current()) const;
  Tensor& normal_(double mean = 0, double std = 1, Where where = Where::current()) const;
  Tensor& bernoulli_(double p = 0.5, Where where = Where::current()) const;
  Tensor bernoulli(Where where = Where::current()) const;
  Tensor multinomial(int64_t num_samples, bool replacement = false, Where where = Where::current()) const;

 private:
  static void changed(TensorHead* head) noexcept {
    if (head != nullptr && (head->flags.load(std::memory_order_relaxed) & TensorHead::kRegistered) != 0) [[unlikely]]
      detail::registered_handle_changed();
  }
  void* typed_data(ScalarType expected, bool write, Where where) const;

  IntrusivePtr<TensorHead> head_;
};

/// libtorch's text, character for character.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// The operand of a unary operator.
class UnaryOperand {
 public:
  UnaryOperand(const Tensor& tensor, Where where = Where::current()) : tensor_(tensor), where_(where) {}
  const Tensor& tensor() const { return tensor_; }
  Where where() const { return where_; }

 private:
  const Tensor& tensor_;
  Where where_;
};
inline Tensor operator-(const UnaryOperand& x) { return x.tensor().neg(x.where()); }
inline Tensor operator~(const UnaryOperand& x) { return x.tensor().bitwise_not(x.where()); }
inline Tensor operator!(const UnaryOperand& x) { return x.tensor().logical_not(x.where()); }

// Arithmetic, comparison, bitwise operators and shifts between tensors, and with numbers of any arithmetic type on either side.
#define TAILOR_OPERATOR(symbol)                                            \
  Tensor operator symbol(const Tensor& self, const TensorOrScalar& other); \
  Tensor operator symbol(const ScalarOperand& self, const Tensor& other);
TAILOR_OPERATOR(+)
TAILOR_OPERATOR(-)
TAILOR_OPERATOR(*)
TAILOR_OPERATOR(/)
TAILOR_OPERATOR(%)
TAILOR_OPERATOR(==)
TAILOR_OPERATOR(!=)
TAILOR_OPERATOR(<)
TAILOR_OPERATOR(<=)
TAILOR_OPERATOR(>)
TAILOR_OPERATOR(>=)
TAILOR_OPERATOR(&)
TAILOR_OPERATOR(|)
TAILOR_OPERATOR(^)
#undef TAILOR_OPERATOR
Tensor operator<<(const Tensor& self, const TensorOrScalar& count);
Tensor operator>>(const Tensor& self, const TensorOrScalar& count);

inline Tensor& Tensor::operator=(const TensorOrScalar& value) && {
  return value.tensor() != nullptr ? copy_(*value.tensor(), false, value.where()) : fill_(value, value.where());
}

}  // namespace tailor
