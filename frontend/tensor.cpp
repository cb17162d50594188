// Tensor: description, gradients, host access.

#include "tailor/tensor.h"

#include "frontend/call.h"
#include "frontend/captured.h"
#include "ir/graph.h"
#include "ir/located_error.h"

namespace tailor {

namespace {

/// A tensor's gradient, until autograd keeps more.
struct GradientSlot final : AutogradMeta {
  Tensor grad;
};

/// What is known only of a tensor that has been computed: a compiled call under way is asked for it.
TensorImpl& computed(const Tensor& t) {
  TensorImpl& impl = operand_impl(t);
  prepare_place(impl);
  return impl;
}

GradientSlot* slot_of(const TensorImpl& impl) { return static_cast<GradientSlot*>(impl.autograd.get()); }

/// What user code asks for is nothing that skipped calls compare.
void unseen_by_guards(const TensorImpl& impl) {
  if (OpInterceptor* const call = current_interceptor()) call->host_read({.what = HostRead::What::Unseen, .tensor = &impl});
}

}  // namespace

// ---- description ----------------------------------------------------------------------------------------------------

namespace {

/// For user code, which reads the description.
TensorImpl& described(const Tensor& tensor, Where where = {}) {
  TensorImpl& impl = operand_impl(tensor, where);
  if (detail::current_pure_body != nullptr) [[unlikely]]
    detail::note_described(impl);
  return impl;
}

size_t checked_dim(const ir::TensorSpec& spec, int64_t d, const Where& where) {
  check_at<IndexError>(where, !spec.sizes.empty(), "Dimension specified as ", d, " but tensor has no dimensions");
  try {
    return static_cast<size_t>(wrap_dim(d, spec.rank()));
  } catch (const Error&) { ir::rethrow_at(ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str()); }
}

}  // namespace

IntArrayRef Tensor::sizes(Where where) const {
  const TensorImpl& impl = described(*this, where);
  if (current_size_reads != nullptr) [[unlikely]]
    current_size_reads->sizes_read(impl, where);
  return impl.spec.sizes;
}
IntArrayRef Tensor::strides() const { return described(*this), impl_of(*this).spec.strides; }
int64_t Tensor::dim() const { return described(*this).spec.rank(); }
int64_t Tensor::numel(Where where) const {
  const TensorImpl& impl = described(*this, where);
  if (current_size_reads != nullptr) [[unlikely]]
    current_size_reads->count_read(impl, where);
  return impl.spec.numel();
}
int64_t Tensor::size(int64_t d, Where where) const {
  const TensorImpl& impl = described(*this, where);
  const size_t dim = checked_dim(impl.spec, d, where);
  if (current_size_reads != nullptr) [[unlikely]]
    current_size_reads->size_read(impl, dim, where);
  return impl.spec.sizes[dim];
}
SymInt Tensor::sym_size(int64_t d, Where where) const {
  const TensorImpl& impl = described(*this, where);
  const size_t dim = checked_dim(impl.spec, d, where);
  return current_size_reads != nullptr ? current_size_reads->size_of(impl, dim) : SymInt(impl.spec.sizes[dim]);
}
SymSizes Tensor::sym_sizes() const {
  const TensorImpl& impl = described(*this);
  SymSizes sizes;
  for (size_t d = 0; d < impl.spec.sizes.size(); ++d)
    sizes.push_back(current_size_reads != nullptr ? current_size_reads->size_of(impl, d) : SymInt(impl.spec.sizes[d]));
  return sizes;
}
SymInt Tensor::sym_numel() const {
  if (current_size_reads == nullptr) [[likely]]
    return described(*this).spec.numel();
  SymInt count = 1;
  for (const SymInt& size : sym_sizes()) count *= size;
  return count;
}
int64_t Tensor::stride(int64_t d, Where where) const {
  const ir::TensorSpec& spec = (described(*this, where), impl_of(*this).spec);
  return spec.strides[checked_dim(spec, d, where)];
}
int64_t Tensor::storage_offset() const {
  const TensorImpl& impl = computed(*this);
  if (OpInterceptor* call = current_interceptor()) call->host_read({.what = HostRead::What::StorageOffset, .tensor = &impl});
  return impl.offset;
}
ScalarType Tensor::scalar_type() const { return described(*this).spec.dtype; }
Device Tensor::device() const { return described(*this).spec.device; }
TensorOptions Tensor::options() const {
  const ir::TensorSpec& spec = described(*this).spec;
  return TensorOptions(spec.dtype).device(spec.device).requires_grad(spec.requires_grad);
}
int64_t Tensor::element_size() const { return tailor::element_size(scalar_type()); }
size_t Tensor::nbytes() const { return static_cast<size_t>(numel() * element_size()); }
bool Tensor::is_contiguous() const {
  const TensorImpl& impl = described(*this);
  if (current_size_reads != nullptr) [[unlikely]]
    current_size_reads->contiguity_read(impl);
  return impl.spec.is_contiguous();
}
bool Tensor::is_floating_point() const { return tailor::is_floating_point(scalar_type()); }
bool Tensor::is_signed() const { return tailor::is_signed(scalar_type()); }
bool Tensor::is_cpu() const { return device().is_cpu(); }
bool Tensor::is_cuda() const { return device().is_cuda(); }
int64_t Tensor::get_device() const { return device().is_cuda() ? std::max<int64_t>(device().index(), 0) : -1; }
bool Tensor::is_alias_of(const Tensor& other) const {
  const TensorImpl &a = computed(*this), &b = computed(other);
  const auto is_argument = [](const TensorImpl& t) { return (t.flags.load(std::memory_order_relaxed) & TensorHead::kStandIn) != 0; };
  if (OpInterceptor* call = current_interceptor())
    call->host_read({.what = is_argument(a) && is_argument(b) ? HostRead::What::Aliasing : HostRead::What::Identity});
  return a.storage && a.storage == b.storage;
}
int64_t Tensor::_version() const {
  TensorImpl& impl = operand_impl(*this);
  if (OpInterceptor* call = current_interceptor()) call->host_read({HostRead::What::Version});
  prepare_host_access(impl, false);
  return static_cast<int64_t>(impl.storage->version());
}
std::string Tensor::toString() const {
  return defined() ? std::string(is_cuda() ? "CUDA" : "CPU") + std::string(to_string(scalar_type())) + "Type" : "UndefinedType";
}

// ---- host access ----------------------------------------------------------------------------------------------------

Scalar Tensor::item(Where where) const {
  TensorImpl& impl = operand_impl(*this, where);
  if (current_size_reads != nullptr) [[unlikely]]
    current_size_reads->count_read(impl, where);
  check_at(where, impl.spec.numel() == 1, "a Tensor with ", impl.spec.numel(), " elements cannot be converted to Scalar");
  prepare_host_access(impl, false, where);
  return visit_dtype(impl.spec.dtype, [&]<class T>() { return Scalar(*reinterpret_cast<const T*>(impl.data())); });
}

void* Tensor::typed_data(ScalarType expected, bool write, Where where) const {
  TensorImpl& impl = operand_impl(*this, where);
  check_at(where, expected == ScalarType::Undefined || expected == impl.spec.dtype, "expected scalar type ", expected, " but found ",
           impl.spec.dtype);
  prepare_host_access(impl, write, where);
  if (write) {
    impl.storage->set_exposed();
    impl.storage->bump_version();
  }
  return impl.data();
}

// ---- gradients ------------------------------------------------------------------------------------------------------

bool Tensor::requires_grad() const { return described(*this).spec.requires_grad; }

const Tensor& Tensor::set_requires_grad(bool on) const {
  TensorImpl& impl = operand_impl(*this);
  if (on == impl.spec.requires_grad) return *this;
  check(!on || tailor::is_floating_point(impl.spec.dtype), "only Tensors of floating point dtype can require gradients");
  check(on || is_leaf(),
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
        "that doesn't require differentiation use var_no_grad = var.detach().");
  prepare_host_access(impl, false);  // what a compiled call has followed so far goes by the old description
  impl.spec.requires_grad = on;
  impl.description_changed();
  return *this;
}

Tensor& Tensor::requires_grad_(bool on) const { return const_cast<Tensor&>(set_requires_grad(on)); }

bool Tensor::is_leaf() const {
  const TensorImpl& impl = operand_impl(*this);
  if (impl.spec.requires_grad) unseen_by_guards(impl);
  return !impl.spec.requires_grad || (impl.flags.load(std::memory_order_relaxed) & TensorHead::kNonLeaf) == 0;
}

const Tensor& Tensor::grad() const {
  static const Tensor none;
  const TensorImpl& impl = operand_impl(*this);
  unseen_by_guards(impl);
  const GradientSlot* slot = slot_of(original_of(impl));
  return slot != nullptr ? slot->grad : none;
}

Tensor& Tensor::mutable_grad() const {
  unseen_by_guards(operand_impl(*this));
  TensorImpl& impl = original_of(operand_impl(*this));
  if (!impl.autograd) impl.autograd = std::make_unique<GradientSlot>();
  return slot_of(impl)->grad;
}

void Tensor::backward(const Tensor&, std::optional<bool>, bool, Where) const {
  check(requires_grad(), "element 0 of tensors does not require grad and does not have a grad_fn");
  detail::raise<NotImplementedError>("backward: this version of Tailor computes no gradients");
}

void Tensor::retain_grad() const { check(requires_grad(), "can't retain_grad on Tensor that has requires_grad=False"); }

Tensor& Tensor::detach_() const {
  TensorImpl& impl = operand_impl(*this);
  prepare_host_access(impl, false);
  impl.spec.requires_grad = false;
  impl.flags.fetch_and(~static_cast<uint32_t>(TensorHead::kNonLeaf | TensorHead::kLeafView), std::memory_order_relaxed);
  impl.description_changed();
  return const_cast<Tensor&>(*this);
}

void Tensor::set_data(const Tensor& data) const {
  TensorImpl &self = operand_impl(*this), &other = operand_impl(data);
  check(!self.spec.requires_grad || tailor::is_floating_point(other.spec.dtype),
        "set_data: only floating point data can stand in for a tensor that requires gradients, got ", other.spec.dtype);
  prepare_host_access(self, true);
  prepare_host_access(other, false);
  const bool grad = self.spec.requires_grad;
  self.spec = other.spec;
  self.spec.requires_grad = grad;
  self.storage = other.storage;
  self.offset = other.offset;
  self.description_changed();
}

}  // namespace tailor
