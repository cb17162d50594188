// Creation. Operands and attributes as listed in ir/ops/creation.h.

#include "tailor/ops/creation.h"

#include <cmath>
#include <limits>

#include "frontend/call.h"
#include "ir/ops/creation.h"
#include "ir/ops/movement.h"
#include "ir/promotion.h"
#include "tailor/ops/indexing.h"
#include "tailor/ops/view.h"

namespace tailor {
namespace {

using Options = TensorOptions;

/// Ops make tensors on the CPU; memory elsewhere is asked for, so that its absence is reported.
Tensor finish(Tensor made, const Options& options) {
  if (!options.device().is_cpu()) Storage::allocate(static_cast<size_t>(made.nbytes()), options.device());
  if (options.requires_grad()) made.set_requires_grad(true);
  return made;
}

ScalarType integer_or_default(const Options& options, std::initializer_list<Scalar> numbers) {
  if (options.has_dtype()) return *options.dtype_opt();
  bool integers = true;
  for (const Scalar& n : numbers) integers &= !n.is_floating_point();
  return integers ? kInt64 : get_default_dtype();
}

ScalarType dtype_of_value(const Options& options, const Scalar& value) {
  if (options.has_dtype()) return *options.dtype_opt();
  return value.is_boolean() ? kBool : value.is_integral() ? kInt64 : get_default_dtype();
}

/// What `self` has, where the options say nothing.
Options like(const Tensor& self, const Options& options) {
  return options.dtype(options.dtype_opt().value_or(self.scalar_type())).device(options.device_opt().value_or(self.device()));
}

Tensor filled(SymIntArrayRef size, const ScalarOperand& value, ScalarType dtype, std::optional<IntArrayRef> stride, const Options& options,
              Where where) {
  return finish(call<"full">(where, operands(where, value), size, dtype, stride), options);
}

Tensor filled_like(const Tensor& self, const Scalar& value, const Options& options, Where where) {
  const Options o = like(self, options);
  // The strides of a dense tensor in plain order follow from its sizes.
  if (self.is_contiguous()) return filled(self.sym_sizes(), value, *o.dtype_opt(), std::nullopt, o, where);
  const Dims stride = ir::preserved_strides(impl_of(self).spec);
  return filled(self.sizes(), value, *o.dtype_opt(), IntArrayRef(stride), o, where);
}

}  // namespace

Tensor empty(SymIntArrayRef size, Options options, Where where) {
  return finish(call<"empty">(where, operands(where), size, options.dtype(), std::nullopt), options);
}
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, Options options, Where where) {
  return finish(call<"empty">(where, operands(where), size, options.dtype(), stride), options);
}
Tensor zeros(SymIntArrayRef size, Options options, Where where) { return filled(size, 0, options.dtype(), std::nullopt, options, where); }
Tensor ones(SymIntArrayRef size, Options options, Where where) { return filled(size, 1, options.dtype(), std::nullopt, options, where); }
Tensor full(SymIntArrayRef size, const ScalarOperand& value, Options options, Where where) {
  const ScalarType dtype =
      value.number().is_symbolic() ? options.dtype_opt().value_or(kInt64) : dtype_of_value(options, value.number().scalar());
  return filled(size, value, dtype, std::nullopt, options, where);
}
Tensor empty_like(const Tensor& self, Options options, Where where) {
  if (self.is_contiguous()) return empty(self.sym_sizes(), like(self, options), where);
  return empty_strided(self.sizes(), ir::preserved_strides(impl_of(self).spec), like(self, options), where);
}
Tensor zeros_like(const Tensor& self, Options options, Where where) { return filled_like(self, 0, options, where); }
Tensor ones_like(const Tensor& self, Options options, Where where) { return filled_like(self, 1, options, where); }
Tensor full_like(const Tensor& self, const Scalar& value, Options options, Where where) { return filled_like(self, value, options, where); }

Tensor Tensor::new_empty(SymIntArrayRef sizes, Options options, Where where) const { return empty(sizes, like(*this, options), where); }
Tensor Tensor::new_zeros(SymIntArrayRef sizes, Options options, Where where) const { return zeros(sizes, like(*this, options), where); }
Tensor Tensor::new_ones(SymIntArrayRef sizes, Options options, Where where) const { return ones(sizes, like(*this, options), where); }
Tensor Tensor::new_full(SymIntArrayRef sizes, const ScalarOperand& value, Options options, Where where) const {
  return full(sizes, value, like(*this, options), where);
}

Tensor arange(const Scalar& end, Options options, Where where) { return arange(0, end, 1, options, where); }
Tensor arange(const Scalar& start, const Scalar& end, Options options, Where where) { return arange(start, end, 1, options, where); }
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, Options options, Where where) {
  const ScalarType dtype = integer_or_default(options, {start, end, step});
  const int64_t size = ir::arange_size(start, end, step, dtype);
  return finish(call<"arange">(where, operands(where, start, step), size, dtype), options);
}
Tensor arange_symint(const SymInt& start, const SymInt& end, int64_t step, Options options, Where where) {
  const ScalarType dtype = options.dtype_opt().value_or(kInt64);
  if (dtype != kInt64 || !(start.is_symbolic() || end.is_symbolic()))  // other types count in other ways
    return arange(Scalar(start.expect_int(where)), Scalar(end.expect_int(where)), Scalar(step), options, where);
  check_at(where, step != 0, "step must be nonzero");
  check_at(where, step > 0 ? end >= start : end <= start, "upper bound and lower bound inconsistent with step sign");
  const SymInt size = step > 0 ? (end - start + (step - 1)) / step : (start - end + (-step - 1)) / -step;
  return finish(call<"arange">(where, operands(where, TensorOrScalar(start, where), Scalar(step)), size, dtype), options);
}
Tensor linspace(const TensorOrScalar& start, const TensorOrScalar& end, const SymInt& steps, Options options, Where where) {
  const auto number = [&](const TensorOrScalar& x) {
    if (x.tensor() == nullptr) return x.scalar();
    check_at(where, x.tensor()->dim() == 0, "linspace: only supports 0-dimensional start and end tensors");
    return x.tensor()->item(where);
  };
  check_at(where, steps >= 0, "linspace: number of steps must be non-negative");
  return finish(call<"linspace">(where, operands(where, number(start), number(end)), steps, options.dtype()), options);
}
Tensor eye(const SymInt& n, Options options, Where where) { return eye(n, n, options, where); }
Tensor eye(const SymInt& n, const SymInt& m, Options options, Where where) {
  return finish(call<"eye">(where, operands(where), n, m, options.dtype()), options);
}
Tensor tril_indices(const SymInt& row, const SymInt& col, const SymInt& offset, Options options, Where where) {
  return finish(call<"tril_indices">(where, operands(where), row, col, offset, options.dtype_opt().value_or(kInt64)), options);
}
Tensor triu_indices(const SymInt& row, const SymInt& col, const SymInt& offset, Options options, Where where) {
  return finish(call<"triu_indices">(where, operands(where), row, col, offset, options.dtype_opt().value_or(kInt64)), options);
}

std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing, Where where) {
  check_at(where, !tensors.empty(), "meshgrid expects a non-empty TensorList");
  check_at(where, indexing == "ij" || indexing == "xy", "meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  const bool swapped = indexing == "xy" && tensors.size() >= 2;
  std::vector<const Tensor*> order;
  for (const Tensor& t : tensors) {
    check_at(where, t.dim() <= 1, "meshgrid: Expected 0D or 1D tensor in the tensor list but got: ", t.dim(), "D");
    check_at(where, t.scalar_type() == tensors[0].scalar_type(), "meshgrid expects all tensors to have the same dtype");
    order.push_back(&t);
  }
  if (swapped) std::swap(order[0], order[1]);
  SymSizes sizes;
  for (const Tensor* t : order) sizes.push_back(t->sym_numel());
  std::vector<Tensor> grids;
  for (size_t i = 0; i < order.size(); ++i) {
    SymSizes shape;
    for (size_t d = 0; d < order.size(); ++d) shape.push_back(d == i ? sizes[i] : SymInt(1));
    grids.push_back(order[i]->view(shape, where).expand(sizes, false, where));
  }
  if (swapped) std::swap(grids[0], grids[1]);
  return grids;
}

Tensor one_hot(const Tensor& self, int64_t num_classes, Where where) {
  check_at(where, self.scalar_type() == kInt64, "one_hot is only applicable to index tensor of type LongTensor.");
  if (num_classes == -1) {
    check_at(where, self.numel() > 0, "one_hot: Can not infer total number of classes from empty tensor.");
    num_classes = self.max(where).item<int64_t>(where) + 1;
  }
  return call<"one_hot">(where, operands(where, self), num_classes);
}

// ---- from host data -------------------------------------------------------------------------------------------------

TensorData::TensorData(std::initializer_list<TensorData> list) : is_scalar_(false) {
  sizes_.push_back(static_cast<int64_t>(list.size()));
  if (list.size() == 0) {
    dtype_ = get_default_dtype();
    return;
  }
  const TensorData& first = *list.begin();
  dtype_ = first.dtype_;
  sizes_.insert(sizes_.end(), first.sizes_.begin(), first.sizes_.end());
  for (const TensorData& part : list) {
    check(part.sizes_ == first.sizes_, "tensor: Expected all sub-lists to have sizes: ", IntArrayRef(first.sizes_),
          " (e.g. the first one), but got a sub-list with sizes: ", IntArrayRef(part.sizes_));
    check(part.dtype_ == first.dtype_, "tensor: Expected all elements of the tensor to have the same scalar type: ", first.dtype_,
          ", but got element of scalar type: ", part.dtype_);
    if (part.is_scalar_)
      elements_.push_back(part.scalar_);
    else
      elements_.insert(elements_.end(), part.elements_.begin(), part.elements_.end());
  }
}

ScalarType TensorData::dtype() const {
  if (dtype_ == kInt32 || dtype_ == kInt64) return kInt64;
  if (dtype_ == kFloat32 || dtype_ == kFloat64) return get_default_dtype();
  return dtype_;
}

namespace {

/// The number in another type; Error where it does not fit (infinities and NaN do).
template <class T>
T representable(const Scalar& number, ScalarType dtype, Where where) {
  bool fits = true;
  if constexpr (std::same_as<T, bool>) {
  } else if constexpr (std::integral<T>) {
    const double d = number.to_double();
    const double low = static_cast<double>(std::numeric_limits<T>::lowest()), high = static_cast<double>(std::numeric_limits<T>::max());
    fits = d >= low && (std::numeric_limits<T>::digits > 53 && number.is_floating_point() ? d < high : d <= high);
  } else {
    const double d = number.to_double();
    fits = !std::isfinite(d) || std::isfinite(static_cast<float>(number.to<T>())) || std::same_as<T, double>;
  }
  check_at(where, fits, "tensor: value cannot be converted to type ", short_name(dtype), " without overflow");
  return number.to<T>();
}

}  // namespace

Tensor tensor(const TensorData& data, Options options, Where where) {
  const ScalarType dtype = options.dtype_opt().value_or(data.dtype());
  Tensor result(make_tensor(ir::TensorSpec(dtype, data.sizes(), options.device())));
  visit_dtype(dtype, [&]<class T>() {
    T* to = reinterpret_cast<T*>(operand_impl(result).data());
    if (data.is_scalar()) *to = representable<T>(data.scalar(), dtype, where);
    for (const Scalar& element : data.elements()) *to++ = representable<T>(element, dtype, where);
  });
  return finish(std::move(result), options);
}
Tensor scalar_tensor(const Scalar& value, Options options, Where where) { return full({}, value, options.dtype(options.dtype()), where); }

Tensor from_blob(void* data, IntArrayRef sizes, Options options) {
  return from_blob(data, sizes, contiguous_strides(sizes), nullptr, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, Options options) {
  return from_blob(data, sizes, strides, nullptr, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, Options options) {
  return from_blob(data, sizes, contiguous_strides(sizes), std::move(deleter), options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter, Options options) {
  ir::check_sizes(sizes);
  check(sizes.size() == strides.size(), "from_blob: ", sizes.size(), " sizes but ", strides.size(), " strides");
  int64_t elements = product(sizes) == 0 ? 0 : 1;
  for (size_t i = 0; i < sizes.size() && elements > 0; ++i) {
    check(strides[i] >= 0, "from_blob: negative strides are not supported, got ", strides);
    elements += (sizes[i] - 1) * strides[i];
  }
  check(data != nullptr || elements == 0, "from_blob: the pointer is null, but the sizes ", sizes, " need memory");
  const ir::TensorSpec spec(options.dtype(), sizes, strides, options.device());
  const bool owned = deleter != nullptr;
  auto storage = Storage::wrap(data, static_cast<size_t>(elements * element_size(spec.dtype)), spec.device, std::move(deleter));
  if (OpInterceptor* call = owned ? nullptr : current_interceptor()) call->lends(storage);
  Tensor result(make_tensor(spec, std::move(storage), 0));
  if (options.requires_grad()) result.set_requires_grad(true);
  return result;
}

}  // namespace tailor
