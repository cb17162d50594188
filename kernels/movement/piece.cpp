#include "kernels/movement/piece.h"

#include <utility>

#include "kernels/copy.h"

namespace tailor::kernels {
namespace {

/// First byte and the byte after the last.
std::pair<const std::byte*, const std::byte*> span_of(const TensorArg& t) {
  const auto* data = static_cast<const std::byte*>(t.data);
  const int64_t size = element_size(t.spec->dtype);
  if (t.spec->numel() == 0) return {data, data};
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < t.spec->sizes.size(); ++d) {
    const int64_t reach = (t.spec->sizes[d] - 1) * t.spec->strides[d];
    (reach < 0 ? low : high) += reach;
  }
  return {data + low * size, data + (high + 1) * size};
}

}  // namespace

bool may_overlap(const TensorArg& a, const TensorArg& b) {
  const auto [a_begin, a_end] = span_of(a);
  const auto [b_begin, b_end] = span_of(b);
  return a_begin < b_end && b_begin < a_end;
}

bool same_memory(const TensorArg& a, const TensorArg& b) {
  if (a.data != b.data || a.spec->dtype != b.spec->dtype || a.spec->sizes != b.spec->sizes) return false;
  for (size_t d = 0; d < a.spec->sizes.size(); ++d)
    if (a.spec->sizes[d] > 1 && a.spec->strides[d] != b.spec->strides[d]) return false;
  return true;
}

ReadOperand::ReadOperand(const TensorArg& operand, const TensorArg& out) : piece_(operand) {
  if (!may_overlap(operand, out)) return;
  const ir::TensorSpec dense(operand.spec->dtype, operand.spec->sizes, operand.spec->device);
  copy_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(dense.numel() * element_size(dense.dtype)));
  copy({copy_.get(), &dense}, operand);
  piece_.spec = dense;
  piece_.data = copy_.get();
}

void start_from(const TensorArg& out, const TensorArg& self) {
  if (!same_memory(out, self)) copy(out, self);
}

}  // namespace tailor::kernels
