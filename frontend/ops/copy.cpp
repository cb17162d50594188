// Casts and copies.

#include <cstring>

#include "frontend/call.h"
#include "tailor/ops/view.h"

namespace tailor {
namespace {

Tensor cast_or_copy(const Tensor& self, ScalarType dtype, Device device, bool copy, Where where) {
  check_at<NotImplementedError>(where, device.type() == self.device().type(), "to: cannot copy from ", self.device(), " to ", device,
                                ": no CUDA device is available to this build of Tailor");
  if (dtype != self.scalar_type()) return call<"to">(where, operands(where, self), dtype);
  return copy ? self.clone(std::nullopt, where) : self;
}

}  // namespace

Tensor Tensor::to(ScalarType dtype, bool, bool copy, Where where) const { return cast_or_copy(*this, dtype, device(), copy, where); }
Tensor Tensor::to(Device device, ScalarType dtype, bool, bool copy, Where where) const {
  return cast_or_copy(*this, dtype, device, copy, where);
}
Tensor Tensor::to(Device device, Where where) const { return cast_or_copy(*this, scalar_type(), device, false, where); }
Tensor Tensor::to(const TensorOptions& options, bool, bool copy, Where where) const {
  return cast_or_copy(*this, options.dtype_opt().value_or(scalar_type()), options.device_opt().value_or(device()), copy, where);
}
Tensor Tensor::to(const Tensor& other, bool, bool copy, Where where) const {
  return cast_or_copy(*this, other.scalar_type(), other.device(), copy, where);
}
Tensor Tensor::type_as(const Tensor& other, Where where) const { return to(other.scalar_type(), false, false, where); }

Tensor Tensor::clone(std::optional<MemoryFormat> format, Where where) const {
  return call<"clone">(where, operands(where, *this), format == MemoryFormat::Contiguous);
}
Tensor clone(const Tensor& self, std::optional<MemoryFormat> format, Where where) { return self.clone(format, where); }
Tensor Tensor::contiguous(Where where) const { return is_contiguous() ? *this : clone(MemoryFormat::Contiguous, where); }

Tensor& Tensor::copy_(const Tensor& source, bool, Where where) const {
  if (is_same(source)) return const_cast<Tensor&>(*this);
  return call_inplace<"copy_">(where, *this, operands(where, *this, source));
}
Tensor& Tensor::fill_(const TensorOrScalar& value, Where where) const {
  return call_inplace<"fill_">(where, *this, operands(where, *this, value));
}
Tensor& Tensor::zero_(Where where) const { return call_inplace<"zero_">(where, *this, operands(where, *this)); }

// In place the sizes of a tensor change only where the memory suffices or may be replaced by larger memory, as in libtorch.
Tensor& Tensor::resize_(IntArrayRef sizes, Where where) const {
  TensorImpl& impl = impl_of(*this);
  prepare_host_access(impl, true, where);
  check_at(where, !impl.spec.requires_grad, "resize_: cannot resize variables that require grad");
  const ir::TensorSpec spec(impl.spec.dtype, sizes, impl.spec.device);
  const auto needed = static_cast<size_t>((impl.offset + spec.numel()) * tailor::element_size(spec.dtype));
  if (needed > impl.storage->bytes()) {
    auto larger = Storage::allocate(needed, spec.device);
    std::memcpy(larger->data(), impl.storage->data(), impl.storage->bytes());
    impl.storage = std::move(larger);
  }
  impl.spec = spec;
  impl.description_changed();
  return const_cast<Tensor&>(*this);
}

}  // namespace tailor
