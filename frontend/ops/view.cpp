// Views. Attributes as listed in ir/ops/view.h.

#include "tailor/ops/view.h"

#include "frontend/call.h"
#include "ir/ops/view.h"

namespace tailor {
namespace {

/// In-place views change what the handle's tensor describes: a compiled call first computes what goes by the old description.
Tensor& become(const Tensor& self, const Tensor& view) {
  TensorImpl &to = impl_of(self), &from = impl_of(view);
  auto& handle = const_cast<Tensor&>(self);
  prepare_host_access(to, false);
  prepare_host_access(from, false);
  const bool grad = to.spec.requires_grad;
  to.spec = from.spec;
  to.spec.requires_grad = grad;
  to.offset = from.offset;
  to.description_changed();
  return handle;
}

}  // namespace

Tensor Tensor::view(SymIntArrayRef size, Where where) const {
  // The list that is none of SymInts, as eager code has it, needs nothing of what notes expressions.
  if (!size.of_symbols()) [[likely]]
    return call<"view">(where, operands(where, *this), IntArrayRef(size.ints(), size.size()));
  return call<"view">(where, operands(where, *this), size);
}
Tensor Tensor::view_as(const Tensor& other, Where where) const { return view(other.sym_sizes(), where); }

namespace {

/// Whether `shape` is another view of what `self` describes; Error where it has another number of elements.
bool is_viewable(const Tensor& self, SymIntArrayRef shape, Where where) {
  const ir::TensorSpec& spec = operand_impl(self).spec;
  const UnnotedReads asked_below;
  Dims sizes;
  for (size_t i = 0; i < shape.size(); ++i) sizes.push_back(shape[i].unguarded());
  sizes = ir::infer_view_sizes(sizes, spec.numel());
  const bool viewable = ir::compute_view_strides(spec.sizes, spec.strides, sizes).has_value();
  if (current_size_reads != nullptr) [[unlikely]]
    current_size_reads->viewability_read(operand_impl(self), shape, viewable, where);
  return viewable;
}

}  // namespace

Tensor reshape(const Tensor& self, SymIntArrayRef shape, Where where) {
  return (is_viewable(self, shape, where) ? self : self.clone(MemoryFormat::Contiguous, where)).view(shape, where);
}
Tensor Tensor::reshape(SymIntArrayRef shape, Where where) const { return tailor::reshape(*this, shape, where); }
Tensor Tensor::reshape_as(const Tensor& other, Where where) const { return tailor::reshape(*this, other.sym_sizes(), where); }
Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim, Where where) {
  const int64_t rank = self.dim(), start = wrap_dim(start_dim, rank), end = wrap_dim(end_dim, rank);
  check_at(where, start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (rank > 0 && start == end) return self;
  SymSizes sizes;
  for (int64_t d = 0; d < rank; ++d) {
    if (d > start && d <= end)
      sizes[static_cast<size_t>(start)] *= self.sym_size(d);
    else
      sizes.push_back(self.sym_size(d));
  }
  if (rank == 0) sizes.push_back(1);
  return reshape(self, sizes, where);
}
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim, Where where) const { return tailor::flatten(*this, start_dim, end_dim, where); }
Tensor ravel(const Tensor& self, Where where) { return reshape(self, -1, where); }
Tensor Tensor::ravel(Where where) const { return tailor::ravel(*this, where); }
Tensor unflatten(const Tensor& self, int64_t dim, SymIntArrayRef sizes, Where where) {
  Dims given;
  for (size_t i = 0; i < sizes.size(); ++i) given.push_back(sizes[i].unguarded());
  {
    const UnnotedReads checked;
    ir::unflatten_sizes(operand_impl(self).spec.sizes, dim, given);
  }
  const auto at = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const SymSizes old = self.sym_sizes();
  SymInt known = 1, inferred = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (given[i] != -1) known *= sizes[i];
  }
  const bool infers = std::find(given.begin(), given.end(), -1) != given.end();
  // What the check has just found, for other sizes.
  internal_check(infers ? known == 0 || old[at] % known == 0 : old[at] == known, "unflatten: the sizes fit and do not");
  if (infers && known != 0) inferred = old[at] / known;
  SymSizes all;
  for (size_t d = 0; d < at; ++d) all.push_back(old[d]);
  for (size_t i = 0; i < sizes.size(); ++i) all.push_back(given[i] == -1 ? inferred : sizes[i]);
  for (size_t d = at + 1; d < old.size(); ++d) all.push_back(old[d]);
  return self.view(all, where);
}
Tensor Tensor::unflatten(int64_t dim, SymIntArrayRef sizes, Where where) const { return tailor::unflatten(*this, dim, sizes, where); }

Tensor permute(const Tensor& self, IntArrayRef dims, Where where) { return call<"permute">(where, operands(where, self), dims); }
Tensor Tensor::permute(IntArrayRef dims, Where where) const { return tailor::permute(*this, dims, where); }
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1, Where where) {
  return call<"transpose">(where, operands(where, self), dim0, dim1);
}
Tensor swapaxes(const Tensor& self, int64_t dim0, int64_t dim1, Where where) { return transpose(self, dim0, dim1, where); }
Tensor Tensor::transpose(int64_t dim0, int64_t dim1, Where where) const { return tailor::transpose(*this, dim0, dim1, where); }
Tensor& Tensor::transpose_(int64_t dim0, int64_t dim1, Where where) const { return become(*this, transpose(dim0, dim1, where)); }
Tensor t(const Tensor& self, Where where) { return call<"t">(where, operands(where, self)); }
Tensor Tensor::t(Where where) const { return tailor::t(*this, where); }
Tensor& Tensor::t_(Where where) const { return become(*this, t(where)); }
Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination, Where where) {
  return call<"movedim">(where, operands(where, self), source, destination);
}
Tensor Tensor::movedim(IntArrayRef source, IntArrayRef destination, Where where) const {
  return tailor::movedim(*this, source, destination, where);
}

Tensor Tensor::expand(SymIntArrayRef size, bool, Where where) const {
  if (!size.of_symbols()) [[likely]]
    return call<"expand">(where, operands(where, *this), IntArrayRef(size.ints(), size.size()));
  return call<"expand">(where, operands(where, *this), size);
}
Tensor Tensor::expand_as(const Tensor& other, Where where) const { return expand(other.sym_sizes(), false, where); }
Tensor broadcast_to(const Tensor& self, SymIntArrayRef size, Where where) { return self.expand(size, false, where); }
std::vector<Tensor> broadcast_tensors(TensorList tensors, Where where) {
  SymSizes sizes;
  for (const Tensor& t : tensors) sizes = broadcast_sizes(sizes, t.sym_sizes());
  std::vector<Tensor> result;
  for (const Tensor& t : tensors) result.push_back(t.expand(sizes, false, where));
  return result;
}

Tensor squeeze(const Tensor& self, Where where) { return call<"squeeze">(where, operands(where, self), std::nullopt); }
Tensor squeeze(const Tensor& self, IntArrayRef dim, Where where) { return call<"squeeze">(where, operands(where, self), dim); }
Tensor Tensor::squeeze(Where where) const { return tailor::squeeze(*this, where); }
Tensor Tensor::squeeze(IntArrayRef dim, Where where) const { return tailor::squeeze(*this, dim, where); }
Tensor& Tensor::squeeze_(Where where) const { return become(*this, squeeze(where)); }
Tensor& Tensor::squeeze_(int64_t dim, Where where) const { return become(*this, squeeze(IntArrayRef(dim), where)); }
Tensor unsqueeze(const Tensor& self, int64_t dim, Where where) { return call<"unsqueeze">(where, operands(where, self), dim); }
Tensor Tensor::unsqueeze(int64_t dim, Where where) const { return tailor::unsqueeze(*this, dim, where); }
Tensor& Tensor::unsqueeze_(int64_t dim, Where where) const { return become(*this, unsqueeze(dim, where)); }

Tensor narrow(const Tensor& self, int64_t dim, const SymInt& start, const SymInt& length, Where where) {
  return call<"narrow">(where, operands(where, self), dim, start, length);
}
Tensor narrow(const Tensor& self, int64_t dim, const Tensor& start, const SymInt& length, Where where) {
  check_at(where, start.dim() == 0 && is_integral(start.scalar_type()), "narrow: start must be an 0-dim integral Tensor.");
  return narrow(self, dim, start.item<int64_t>(where), length, where);
}
Tensor Tensor::narrow(int64_t dim, const SymInt& start, const SymInt& length, Where where) const {
  return tailor::narrow(*this, dim, start, length, where);
}
Tensor Tensor::narrow(int64_t dim, const Tensor& start, const SymInt& length, Where where) const {
  return tailor::narrow(*this, dim, start, length, where);
}
Tensor slice(const Tensor& self, int64_t dim, const std::optional<SymInt>& start, const std::optional<SymInt>& end, const SymInt& step,
             Where where) {
  return call<"slice">(where, operands(where, self), dim, start, end, step);
}
Tensor Tensor::slice(int64_t dim, const std::optional<SymInt>& start, const std::optional<SymInt>& end, const SymInt& step,
                     Where where) const {
  return tailor::slice(*this, dim, start, end, step, where);
}
Tensor select(const Tensor& self, int64_t dim, const SymInt& index, Where where) {
  return call<"select">(where, operands(where, self), dim, index);
}
Tensor Tensor::select(int64_t dim, const SymInt& index, Where where) const { return tailor::select(*this, dim, index, where); }
Tensor Tensor::operator[](const IndexOperand& i) const {
  return call<"select">(i.where(), operands(i.where(), *this), int64_t{0}, i.index());
}

std::vector<Tensor> split(const Tensor& self, const SymInt& split_size, int64_t dim, Where where) {
  check_at(where, self.dim() > 0, "split: expects at least a 1-dimensional tensor");
  check_at(where, split_size >= 0, "split: expects split_size be non-negative, but got split_size=", split_size.unguarded());
  const SymInt total = self.sym_size(dim);
  check_at(where, split_size > 0 || total == 0, "split: split_size can only be 0 if dimension size is 0, but got dimension size of ",
           total.unguarded());
  std::vector<Tensor> pieces;
  SymInt start = 0;
  // One comparison for each piece: how many there are is a fact.
  while (start + split_size < total) {
    pieces.push_back(narrow(self, dim, start, split_size, where));
    start += split_size;
  }
  pieces.push_back(narrow(self, dim, start, total - start, where));
  return pieces;
}
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim, Where where) {
  return split(self, SymInt(split_size), dim, where);
}
std::vector<Tensor> split(const Tensor& self, SymIntArrayRef split_sizes, int64_t dim, Where where) {
  check_at(where, self.dim() > 0, "split: expects at least a 1-dimensional tensor");
  const SymInt total = self.sym_size(dim);
  std::vector<Tensor> pieces;
  SymInt start = 0;
  for (size_t i = 0; i < split_sizes.size(); ++i) {
    const SymInt length = split_sizes[i];
    check_at(where, length >= 0, "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", split_sizes);
    check_at(where, start + length <= total, "split_with_sizes expects split_sizes to sum exactly to ", total.unguarded(),
             " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
    pieces.push_back(narrow(self, dim, start, length, where));
    start += length;
  }
  check_at(where, start == total, "split_with_sizes expects split_sizes to sum exactly to ", total.unguarded(),
           " (input tensor's size at dimension ", dim, "), but got split_sizes=", split_sizes);
  return pieces;
}
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim, Where where) {
  check_at(where, self.dim() > 0, "chunk: expects at least a 1-dimensional tensor");
  check_at(where, chunks > 0, "chunk: expects `chunks` to be greater than 0, got: ", chunks);
  const SymInt total = self.sym_size(dim), size = (total + chunks - 1) / chunks;
  if (total == 0) return split(self, Dims(static_cast<size_t>(chunks), 0), dim, where);
  return split(self, size, dim, where);
}
std::vector<Tensor> unbind(const Tensor& self, int64_t dim, Where where) {
  check_at<IndexError>(where, self.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  std::vector<Tensor> pieces;
  const int64_t count = self.size(dim, where);
  for (int64_t i = 0; i < count; ++i) pieces.push_back(select(self, dim, i, where));
  return pieces;
}
std::vector<Tensor> Tensor::split(int64_t split_size, int64_t dim, Where where) const {
  return tailor::split(*this, SymInt(split_size), dim, where);
}
std::vector<Tensor> Tensor::split(const SymInt& split_size, int64_t dim, Where where) const {
  return tailor::split(*this, split_size, dim, where);
}
std::vector<Tensor> Tensor::split(SymIntArrayRef split_sizes, int64_t dim, Where where) const {
  return tailor::split(*this, split_sizes, dim, where);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim, Where where) const { return tailor::chunk(*this, chunks, dim, where); }
std::vector<Tensor> Tensor::unbind(int64_t dim, Where where) const { return tailor::unbind(*this, dim, where); }

Tensor diagonal(const Tensor& self, const SymInt& offset, int64_t dim1, int64_t dim2, Where where) {
  return call<"diagonal">(where, operands(where, self), offset, dim1, dim2);
}
Tensor Tensor::diagonal(const SymInt& offset, int64_t dim1, int64_t dim2, Where where) const {
  return tailor::diagonal(*this, offset, dim1, dim2, where);
}
Tensor Tensor::unfold(int64_t dimension, const SymInt& size, const SymInt& step, Where where) const {
  return call<"unfold">(where, operands(where, *this), dimension, size, step);
}

Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset, Where where) {
  TensorImpl& impl = impl_of(self);
  prepare_place(impl, where);
  const int64_t start = storage_offset.value_or(impl.offset);
  check_at(where, size.size() == stride.size(), "as_strided: mismatch in length of strides and shape");
  check_at(where, start >= 0, "as_strided: Tensor: invalid storage offset ", start);
  int64_t last = start;
  bool empty = false;
  for (size_t i = 0; i < size.size(); ++i) {
    check_at(where, size[i] >= 0 && stride[i] >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", stride,
             " for sizes ", size);
    empty |= size[i] == 0;
    last += (size[i] - 1) * stride[i];
  }
  if (!empty) {
    const int64_t needed = (last + 1) * element_size(impl.spec.dtype);
    check_at(where, needed <= static_cast<int64_t>(impl.storage->bytes()), "as_strided: setStorage: sizes ", size, ", strides ", stride,
             ", storage offset ", start, ", and itemsize ", element_size(impl.spec.dtype), " requiring a storage size of ", needed,
             " are out of bounds for storage of size ", impl.storage->bytes());
  }
  if (OpInterceptor* compiled_call = current_interceptor()) {
    if (storage_offset) compiled_call->host_read({.what = HostRead::What::StorageOffset, .tensor = &impl});
    const int64_t width = element_size(impl.spec.dtype);
    HostRead reach{.what = HostRead::What::StorageReach, .tensor = &impl};
    reach.after = empty ? 0 : std::max<int64_t>(last + 1 - impl.offset, 0) * width;
    reach.before = empty ? 0 : std::max<int64_t>(impl.offset - start, 0) * width;
    if (reach.after + reach.before > 0) compiled_call->host_read(std::move(reach));
  }
  return call<"as_strided">(where, operands(where, self), size, stride, start - impl.offset);
}
Tensor Tensor::as_strided(IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset, Where where) const {
  return tailor::as_strided(*this, size, stride, storage_offset, where);
}
Tensor& Tensor::as_strided_(IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset, Where where) const {
  return become(*this, as_strided(size, stride, storage_offset, where));
}

Tensor detach(const Tensor& self, Where where) { return self.detach(where); }
Tensor Tensor::detach(Where where) const {
  NoGradGuard no_grad;
  return call<"detach">(where, operands(where, *this));
}

}  // namespace tailor
