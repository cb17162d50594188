#include "ir/host_tensor.h"

namespace tailor::ir {

double HostTensor::get(int64_t i) const {
  return visit_dtype(spec.dtype, [&]<class T>() -> double { return static_cast<double>(data<T>()[i]); });
}

int64_t HostTensor::get_int(int64_t i) const {
  return visit_dtype(spec.dtype, [&]<class T>() -> int64_t {
    if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(data<T>()[i]);
    else
      return tailor::Scalar(data<T>()[i]).to_int();
  });
}

void HostTensor::set(int64_t i, double value) {
  visit_dtype(spec.dtype, [&]<class T>() { data<T>()[i] = tailor::Scalar(value).to<T>(); });
}

void HostTensor::set_int(int64_t i, int64_t value) {
  visit_dtype(spec.dtype, [&]<class T>() { data<T>()[i] = tailor::Scalar(value).to<T>(); });
}

namespace {
// Copies between strided and contiguous memory, element by element in row-major order.
template <bool ToStrided>
void copy_elements(std::byte* contiguous, std::byte* strided, const TensorSpec& spec) {
  const auto width = static_cast<size_t>(element_size(spec.dtype));
  for_each_offset(spec.sizes, spec.strides, [&](int64_t offset) {
    std::byte* element = strided + offset * static_cast<int64_t>(width);
    if constexpr (ToStrided)
      std::memcpy(element, contiguous, width);
    else
      std::memcpy(contiguous, element, width);
    contiguous += width;
  });
}
}  // namespace

HostTensor gather(const void* data, const TensorSpec& spec) {
  HostTensor result(spec);
  copy_elements<false>(result.bytes.data(), static_cast<std::byte*>(const_cast<void*>(data)), spec);
  return result;
}

void scatter(const HostTensor& from, void* data, const TensorSpec& spec) {
  internal_check(from.spec.sizes == spec.sizes, "scatter of ", from.spec, " to ", spec);
  const HostTensor& values = from.spec.dtype == spec.dtype ? from : cast(from, spec.dtype);
  copy_elements<true>(const_cast<std::byte*>(values.bytes.data()), static_cast<std::byte*>(data), spec);
}

HostTensor cast(const HostTensor& from, ScalarType dtype) {
  if (from.spec.dtype == dtype) return from;
  TensorSpec spec(dtype, from.spec.sizes, from.spec.device);
  HostTensor result(spec);
  const int64_t n = spec.numel();
  const bool exact_integers = !is_floating_point(from.spec.dtype);
  for (int64_t i = 0; i < n; ++i) {
    if (exact_integers)
      result.set_int(i, from.get_int(i));
    else
      result.set(i, from.get(i));
  }
  return result;
}

}  // namespace tailor::ir
