// Ops that move data. Operands and attributes as listed in ir/ops/movement.h.

#include "ir/ops/movement.h"

#include "frontend/call.h"
#include "tailor/ops/creation.h"
#include "tailor/ops/reduction.h"
#include "tailor/ops/view.h"

namespace tailor {

Tensor cat(TensorList tensors, int64_t dim, Where where) {
  check_at(where, !tensors.empty(), "cat: expected a non-empty list of Tensors");
  const std::vector<Operand> list = operand_list(where, tensors);
  const ir::AttrRef attrs[] = {dim};
  return dispatch(OpCall{op<"cat">(), list, attrs, false, where});
}
Tensor concat(TensorList tensors, int64_t dim, Where where) { return cat(tensors, dim, where); }
Tensor stack(TensorList tensors, int64_t dim, Where where) {
  check_at(where, !tensors.empty(), "stack: expects a non-empty TensorList");
  const std::vector<Operand> list = operand_list(where, tensors);
  const ir::AttrRef attrs[] = {dim};
  return dispatch(OpCall{op<"stack">(), list, attrs, false, where});
}
Tensor hstack(TensorList tensors, Where where) {
  check_at(where, !tensors.empty(), "hstack: expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() == 0 ? reshape(t, SymIntArrayRef({1}), where) : t);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1, where);
}
Tensor vstack(TensorList tensors, Where where) {
  check_at(where, !tensors.empty(), "vstack: expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() < 2 ? reshape(t, {1, -1}, where) : t);
  return cat(parts, 0, where);
}

Tensor Tensor::repeat(SymIntArrayRef repeats, Where where) const { return call<"repeat">(where, operands(where, *this), repeats); }
Tensor tile(const Tensor& self, SymIntArrayRef dims, Where where) { return call<"tile">(where, operands(where, self), dims); }
Tensor Tensor::tile(SymIntArrayRef dims, Where where) const { return tailor::tile(*this, dims, where); }

Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim, std::optional<int64_t>, Where where) {
  if (!dim) return repeat_interleave(reshape(self, -1, where), repeats, 0, std::nullopt, where);
  return call<"repeat_interleave">(where, operands(where, self), repeats, *dim);
}
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size,
                         Where where) {
  if (!dim) return repeat_interleave(reshape(self, -1, where), repeats, 0, output_size, where);
  check_at(where, repeats.scalar_type() == kInt64 || repeats.scalar_type() == kInt32,
           "repeat_interleave: repeats has to be Long or Int tensor");
  if (!output_size) {
    const int64_t each = repeats.numel() == 1 ? self.size(*dim) : 1;
    output_size = each * repeats.sum(std::nullopt, where).item<int64_t>(where);
  }
  return call<"repeat_interleave_tensor">(where, operands(where, self, repeats), *dim, *output_size);
}
Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size, Where where) {
  return repeat_interleave(arange(repeats.size(0), repeats.scalar_type(), where), repeats, 0, output_size, where);
}
Tensor Tensor::repeat_interleave(int64_t repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size, Where where) const {
  return tailor::repeat_interleave(*this, repeats, dim, output_size, where);
}
Tensor Tensor::repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size, Where where) const {
  return tailor::repeat_interleave(*this, repeats, dim, output_size, where);
}

Tensor flip(const Tensor& self, IntArrayRef dims, Where where) { return call<"flip">(where, operands(where, self), dims); }
Tensor Tensor::flip(IntArrayRef dims, Where where) const { return tailor::flip(*this, dims, where); }
Tensor roll(const Tensor& self, SymIntArrayRef shifts, IntArrayRef dims, Where where) {
  return call<"roll">(where, operands(where, self), shifts, dims);
}
Tensor Tensor::roll(SymIntArrayRef shifts, IntArrayRef dims, Where where) const { return tailor::roll(*this, shifts, dims, where); }

Tensor tril(const Tensor& self, const SymInt& diagonal, Where where) { return call<"tril">(where, operands(where, self), diagonal); }
Tensor triu(const Tensor& self, const SymInt& diagonal, Where where) { return call<"triu">(where, operands(where, self), diagonal); }
Tensor Tensor::tril(const SymInt& diagonal, Where where) const { return tailor::tril(*this, diagonal, where); }
Tensor Tensor::triu(const SymInt& diagonal, Where where) const { return tailor::triu(*this, diagonal, where); }
Tensor& Tensor::tril_(const SymInt& diagonal, Where where) const {
  return call_inplace<"tril">(where, *this, operands(where, *this), diagonal);
}
Tensor& Tensor::triu_(const SymInt& diagonal, Where where) const {
  return call_inplace<"triu">(where, *this, operands(where, *this), diagonal);
}

Tensor diag(const Tensor& self, int64_t offset, Where where) {
  check_at(where, self.dim() == 1 || self.dim() == 2, "diag: Supports 1D or 2D tensors. Got ", self.dim(), "D");
  if (self.dim() == 2) return diagonal(self, offset, 0, 1, where).clone(std::nullopt, where);
  const SymInt n = self.sym_size(0) + std::abs(offset);
  Tensor result = zeros({n, n}, TensorOptions(self.scalar_type()).device(self.device()), where);
  diagonal(result, offset, 0, 1, where).copy_(self, false, where);
  return result;
}
Tensor Tensor::diag(int64_t offset, Where where) const { return tailor::diag(*this, offset, where); }

Tensor pad(const Tensor& self, SymIntArrayRef pad, std::string_view mode, std::optional<double> value, Where where) {
  ir::PadMode kind = ir::PadMode::Constant;
  if (mode == "reflect")
    kind = ir::PadMode::Reflect;
  else if (mode == "replicate")
    kind = ir::PadMode::Replicate;
  else if (mode == "circular")
    kind = ir::PadMode::Circular;
  else
    check_at<NotImplementedError>(where, mode == "constant", "pad: Unrecognised padding mode ", mode);
  check_at(where, kind == ir::PadMode::Constant || !value || *value == 0, "pad: Padding mode \"", mode,
           "\" doesn't take in value argument");
  const Operand fill = kind == ir::PadMode::Constant ? Operand(Scalar(value.value_or(0.0))) : Operand(std::nullopt);
  return call<"pad">(where, operands(where, self, fill), pad, static_cast<int64_t>(kind));
}
Tensor constant_pad_nd(const Tensor& self, SymIntArrayRef pad, const Scalar& value, Where where) {
  return call<"pad">(where, operands(where, self, value), pad, static_cast<int64_t>(ir::PadMode::Constant));
}
Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor, Where where) {
  return call<"pixel_shuffle">(where, operands(where, self), upscale_factor);
}

}  // namespace tailor
