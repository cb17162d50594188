#include "frontend/eager.h"

#include "frontend/decomposition.h"
#include "ir/graph.h"
#include "ir/located_error.h"
#include "ir/promotion.h"
#include "runtime/ambient.h"

namespace tailor {
namespace eager {
namespace {

using SpecOperands = boost::container::small_vector<ir::SpecOperand, 8>;

SpecOperands spec_operands(std::span<const Operand> operands) {
  SpecOperands specs;
  specs.reserve(operands.size());
  for (const Operand& o : operands) {
    if (o.is_tensor())
      specs.push_back(&o.tensor->spec);
    else if (o.is_scalar())
      specs.push_back(o.scalar);
    else
      specs.push_back(std::nullopt);
  }
  return specs;
}

/// The op as the calls it consists of. Results have the layout and the memory of their own that the op's rule promises, as compiled
/// code gives them.
std::vector<Tensor> decompose(const OpCall& call, std::span<const ir::TensorSpec> promised) {
  std::vector<Tensor> results = Decomposition<run_eager_many>(call.where).run(call.op, call.operands, call.attrs);
  for (size_t i = 0; i < results.size(); ++i) {
    const TensorImpl& result = impl_of(results[i]);
    bool as_promised = result.spec.strides == promised[i].strides;
    for (const Operand& o : call.operands) as_promised &= !o.is_tensor() || o.tensor->storage.get() != result.storage.get();
    if (as_promised) continue;
    ir::TensorSpec spec = promised[i];
    spec.requires_grad = result.spec.requires_grad;
    auto head = make_tensor(spec);
    if (spec.requires_grad) head->flags.fetch_or(TensorHead::kNonLeaf, std::memory_order_relaxed);
    const Operand operands[] = {&impl_of(*head), &impl_of(results[i])};
    const kernels::TensorArg output{impl_of(*head).data(), &spec};
    run_kernel(OpCall{op<"copy_">(), operands, {}, true, call.where}, {&output, 1});
    results[i] = Tensor(std::move(head));
  }
  return results;
}

}  // namespace

kernels::Kernel kernel_of(const ir::OpDef& op) {
  // Kernels are registered before main; an op's identity is its address, and ops are few: a table that never needs a lock.
  struct Entry {
    std::atomic<const ir::OpDef*> op{nullptr};
    std::atomic<kernels::Kernel> kernel{nullptr};
  };
  static constexpr size_t kEntries = 2048;
  static Entry table[kEntries];
  size_t at = (reinterpret_cast<uintptr_t>(&op) >> 4) * 0x9E3779B97F4A7C15u >> 53;
  for (size_t tries = 0; tries < kEntries; ++tries, at = (at + 1) % kEntries) {
    const ir::OpDef* held = table[at].op.load(std::memory_order_acquire);
    if (held == &op) {
      if (kernels::Kernel kernel = table[at].kernel.load(std::memory_order_acquire)) return kernel;
      break;  // none when last asked: ask again, it is the slow path anyway
    }
    if (held == nullptr) {
      kernels::Kernel kernel = kernels::find_kernel(op);
      const ir::OpDef* expected = nullptr;
      if (kernel != nullptr && table[at].op.compare_exchange_strong(expected, &op))
        table[at].kernel.store(kernel, std::memory_order_release);
      return kernel;
    }
  }
  return kernels::find_kernel(op);
}

bool needs_grad(const OpCall& call, ScalarType result) {
  if (!GradMode::is_enabled() || !is_floating_point(result)) return false;
  return std::any_of(call.operands.begin(), call.operands.end(),
                     [](const Operand& o) { return o.is_tensor() && o.tensor->spec.requires_grad; });
}

void await_operands(const OpCall& call) {
  for (const Operand& o : call.operands)
    if (o.is_tensor()) await_pending(*o.tensor, false, call.where);
}

void run_kernel(const OpCall& call, std::span<const kernels::TensorArg> outputs) {
  boost::container::small_vector<kernels::Operand, 8> operands;
  operands.reserve(call.operands.size());
  for (const Operand& o : call.operands) {
    if (o.is_tensor())
      operands.push_back(kernels::TensorArg{o.tensor->data(), &o.tensor->spec});
    else if (o.is_scalar())
      operands.push_back(o.scalar);
    else
      operands.push_back(std::nullopt);
  }
  const kernels::Call kernel_call{call.op, operands, call.attrs, outputs};
  if (kernels::Kernel kernel = kernel_of(call.op))
    kernel(kernel_call);
  else
    kernels::run(kernel_call);
}

std::vector<Tensor> compute(const OpCall& call) {
  await_operands(call);
  const SpecOperands operands = spec_operands(call.operands);
  std::vector<ir::TensorSpec> specs = call.op.infer(call.op, {operands, call.attrs});
  if (call.op.decompose != nullptr && kernel_of(call.op) == nullptr) return decompose(call, specs);
  std::vector<Tensor> results;
  results.reserve(specs.size());
  boost::container::small_vector<kernels::TensorArg, 3> outputs;
  for (ir::TensorSpec& spec : specs) {
    spec.requires_grad = needs_grad(call, spec.dtype);
    auto head = make_tensor(spec);
    if (spec.requires_grad) head->flags.fetch_or(TensorHead::kNonLeaf, std::memory_order_relaxed);
    TensorImpl& impl = impl_of(*head);
    outputs.push_back({impl.storage->data(), &impl.spec});
    results.emplace_back(std::move(head));
  }
  run_kernel(call, outputs);
  return results;
}

Tensor run_view(const OpCall& call) {
  TensorImpl& input = *call.operands[0].tensor;
  await_pending(input, false, call.where);
  const ir::ViewResult view = call.op.view(input.spec, call.attrs);
  const bool grad = input.spec.requires_grad && GradMode::is_enabled();
  auto head = make_view(input, view, grad);
  if (grad) {
    const uint32_t flags = input.flags.load(std::memory_order_relaxed);
    const bool of_leaf = (flags & TensorHead::kNonLeaf) == 0 || (flags & TensorHead::kLeafView) != 0;
    head->flags.fetch_or(TensorHead::kNonLeaf | (of_leaf ? TensorHead::kLeafView : 0u), std::memory_order_relaxed);
  }
  return Tensor(std::move(head));
}

Tensor run_same_shape(const OpCall& call) {
  const ir::PointwiseTraits& traits = call.op.pointwise;
  const TensorImpl* first = nullptr;
  bool grad = false;
  if (traits.first_is_mask || traits.rule == ir::DTypeRule::Cast || call.operands.size() > 4) return {};
  kernels::Operand operands[4];
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Operand& o = call.operands[i];
    if (o.is_none()) return {};
    if (o.is_scalar()) continue;
    if (!o.tensor->storage || o.tensor->storage->pending.load(std::memory_order_acquire) != nullptr) return {};
    const ir::TensorSpec& spec = o.tensor->spec;
    if (first == nullptr)
      first = o.tensor;
    else if (spec.dtype != first->spec.dtype || spec.sizes != first->spec.sizes || spec.strides != first->spec.strides)
      return {};
    grad |= spec.requires_grad;
    operands[i] = kernels::TensorArg{o.tensor->data(), &spec};
  }
  if (first == nullptr) return {};
  const ScalarType dtype = first->spec.dtype;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Operand& o = call.operands[i];
    if (!o.is_scalar()) continue;
    if (!is_floating_point(dtype) && (o.scalar.is_floating_point() || dtype == kBool)) return {};
    operands[i] = o.scalar;
  }
  ScalarType result = dtype;
  switch (traits.rule) {
    case ir::DTypeRule::Promote:
      if (traits.bool_as_int && dtype == kBool) return {};
      break;
    case ir::DTypeRule::Float:
      if (!is_floating_point(dtype)) return {};
      break;
    case ir::DTypeRule::Compare:
    case ir::DTypeRule::FloatCompare:
    case ir::DTypeRule::Logical: result = kBool; break;
    case ir::DTypeRule::Integral:
      if (!is_integral(dtype, true)) return {};
      break;
    case ir::DTypeRule::Cast: return {};
  }
  if ((traits.dtypes & ir::dtype_bit(dtype)) == 0 || !first->spec.is_contiguous()) return {};
  const kernels::Kernel kernel = kernel_of(call.op);
  if (kernel == nullptr) return {};
  auto head =
      make_tensor(first->spec, Storage::allocate(static_cast<size_t>(first->spec.numel() * element_size(result)), first->spec.device), 0);
  TensorImpl& impl = impl_of(*head);
  impl.spec.dtype = result;
  // Dims of at most one element may have any stride in a contiguous tensor; a result's is the plain one.
  if (std::any_of(impl.spec.sizes.begin(), impl.spec.sizes.end(), [](int64_t size) { return size < 2; }))
    impl.spec.strides = contiguous_strides(impl.spec.sizes);
  impl.spec.requires_grad = grad && GradMode::is_enabled() && is_floating_point(result);
  if (impl.spec.requires_grad) head->flags.store(TensorHead::kNonLeaf, std::memory_order_relaxed);
  const kernels::TensorArg output{impl.storage->data(), &impl.spec};
  kernel({call.op, {operands, call.operands.size()}, call.attrs, {&output, 1}});
  return Tensor(std::move(head));
}

void rethrow_with_line(std::source_location where) {
  ir::rethrow_at(where.line() == 0 ? "" : ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str());
}

}  // namespace eager

Tensor run_eager(const OpCall& call) {
  try {
    if (call.inplace) return eager::run_inplace(call);
    if (call.op.kind == ir::OpKind::View) return eager::run_view(call);
    if (call.op.kind == ir::OpKind::Pointwise)
      if (Tensor result = eager::run_same_shape(call); result.defined()) return result;
    return eager::compute(call).at(0);
  } catch (const Error&) { eager::rethrow_with_line(call.where); }
}

std::vector<Tensor> run_eager_many(const OpCall& call) {
  try {
    if (call.inplace) return {eager::run_inplace(call)};
    if (call.op.kind == ir::OpKind::View) return {eager::run_view(call)};
    if (call.op.kind == ir::OpKind::Pointwise)
      if (Tensor result = eager::run_same_shape(call); result.defined()) return {result};
    return eager::compute(call);
  } catch (const Error&) { eager::rethrow_with_line(call.where); }
}

}  // namespace tailor
