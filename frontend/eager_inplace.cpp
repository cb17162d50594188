// In-place ops: the result of the ordinary op, written over operand 0.

#include <boost/container/small_vector.hpp>

#include "frontend/call.h"
#include "frontend/eager.h"
#include "ir/promotion.h"
#include "runtime/ambient.h"

namespace tailor::eager {
namespace {

/// The bytes from the first to past the last element.
std::pair<const std::byte*, const std::byte*> extent(const TensorImpl& t) {
  int64_t low = 0, high = 1;
  for (size_t i = 0; i < t.spec.sizes.size(); ++i) {
    const int64_t reach = (t.spec.sizes[i] - 1) * t.spec.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t size = element_size(t.spec.dtype);
  return {t.data() + low * size, t.data() + high * size};
}

enum class Overlap { None, Same, Partial };

/// How the memory of an operand lies to that of the tensor being written: elsewhere, element by element the same, or otherwise.
Overlap overlap(const TensorImpl& self, const TensorImpl& other) {
  if (self.storage != other.storage || self.spec.numel() == 0 || other.spec.numel() == 0) return Overlap::None;
  if (self.data() == other.data() && self.spec.dtype == other.spec.dtype && self.spec.sizes == other.spec.sizes &&
      self.spec.strides == other.spec.strides)
    return Overlap::Same;
  const auto [a, a_end] = extent(self);
  const auto [b, b_end] = extent(other);
  return a_end <= b || b_end <= a ? Overlap::None : Overlap::Partial;
}

/// Writes the elements of `from`, converted, over those of `to`.
void write_over(TensorImpl& to, TensorImpl& from) {
  const Operand operands[] = {&to, &from};
  const kernels::TensorArg output{to.data(), &to.spec};
  run_kernel(OpCall{op<"copy_">(), operands, {}, true}, {&output, 1});
}

void check_writable(const OpCall& call, const TensorImpl& self) {
  if (self.spec.requires_grad && GradMode::is_enabled()) {
    const uint32_t flags = self.flags.load(std::memory_order_relaxed);
    check((flags & TensorHead::kLeafView) == 0, call.op.name,
          ": a view of a leaf Variable that requires grad is being used in an in-place operation.");
    check((flags & TensorHead::kNonLeaf) != 0, call.op.name,
          ": a leaf Variable that requires grad is being used in an in-place operation.");
  }
  for (size_t i = 0; i < self.spec.sizes.size(); ++i)
    check(self.spec.strides[i] != 0 || self.spec.sizes[i] <= 1, call.op.name,
          ": unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
          "Please clone() the tensor before performing the operation.");
}

}  // namespace

Tensor run_inplace(const OpCall& call) {
  TensorImpl& self = *call.operands[0].tensor;
  await_pending(self, true, call.where);
  await_operands(call);
  check_writable(call, self);

  boost::container::small_vector<ir::SpecOperand, 8> specs;
  bool lone = true;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Operand& o = call.operands[i];
    if (o.is_tensor())
      specs.push_back(&o.tensor->spec);
    else if (o.is_scalar())
      specs.push_back(o.scalar);
    else
      specs.push_back(std::nullopt);
    if (i > 0 && o.is_tensor() && overlap(self, *o.tensor) == Overlap::Partial) lone = false;
  }
  const ir::TensorSpec result = ir::infer_one(call.op, {specs, call.attrs});
  check(result.sizes == self.spec.sizes, call.op.name, ": output with shape ", IntArrayRef(self.spec.sizes),
        " doesn't match the broadcast shape ", IntArrayRef(result.sizes));
  const bool effect = call.op.kind == ir::OpKind::Effect;
  check(effect || ir::can_cast(result.dtype, self.spec.dtype), call.op.name, ": result type ", result.dtype,
        " can't be cast to the desired output type ", self.spec.dtype);

  const bool elementwise =
      effect || call.op.kind == ir::OpKind::Pointwise || call.op.kind == ir::OpKind::Random || call.op.kind == ir::OpKind::Creation;
  if (lone && elementwise && result.dtype == self.spec.dtype && call.op.decompose == nullptr) {
    const kernels::TensorArg output{self.data(), &self.spec};
    run_kernel(call, {&output, 1});
  } else if (effect) {
    // A source that partly overlaps: from a copy.
    boost::container::small_vector<Operand, 8> operands(call.operands.begin(), call.operands.end());
    std::vector<Tensor> copies;
    for (size_t i = 1; i < operands.size(); ++i) {
      if (!operands[i].is_tensor()) continue;
      TensorImpl& source = *operands[i].tensor;
      copies.emplace_back(make_tensor(ir::TensorSpec(source.spec.dtype, source.spec.sizes, source.spec.device)));
      TensorImpl& copy = impl_of(*copies.back().head());
      write_over(copy, source);
      copy.spec.requires_grad = source.spec.requires_grad;
      operands[i] = &copy;
    }
    const kernels::TensorArg output{self.data(), &self.spec};
    run_kernel(OpCall{call.op, operands, call.attrs, true, call.where}, {&output, 1});
  } else {
    const Tensor value = compute(OpCall{call.op, call.operands, call.attrs, false, call.where}).at(0);
    write_over(self, impl_of(value));
  }
  self.storage->bump_version();
  if (!self.spec.requires_grad && needs_grad(call, self.spec.dtype)) {
    self.spec.requires_grad = true;
    self.flags.fetch_or(TensorHead::kNonLeaf, std::memory_order_relaxed);
    self.description_changed();
  }
  return {};  // the caller has it
}

}  // namespace tailor::eager
