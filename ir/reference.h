#pragma once
// The oracle: every op, computed in the slowest and most obvious way, over contiguous host memory. Backends are tested
// against it; it also serves ops that have no fast kernel. Pointwise ops evaluate their formula with the host algebra (so the
// result has the same bits as every other backend); reductions and contractions accumulate in float64.

#include <memory>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/op.h"

namespace tailor::ir {

/// A tensor in host memory, contiguous. Elements are read and written as double or int64 whatever the dtype.
struct HostTensor {
  TensorSpec spec;  // always contiguous
  std::vector<std::byte> bytes;
  HostTensor() = default;
  explicit HostTensor(const TensorSpec& like)
      : spec(like.dtype, like.sizes, like.device), bytes(static_cast<size_t>(spec.numel() * element_size(spec.dtype))) {}
  double get(int64_t i) const;
  int64_t get_int(int64_t i) const;
  void set(int64_t i, double value);  // rounds or converts to the dtype
  void set_int(int64_t i, int64_t value);
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(bytes.data());
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
};

/// Reads strided memory into contiguous host memory, and back.
HostTensor gather(const void* data, const TensorSpec& spec);
void scatter(const HostTensor& from, void* data, const TensorSpec& spec);

using HostOperand = OperandOf<const HostTensor*>;
struct ReferenceCall {
  const OpDef& op;
  std::span<const HostOperand> operands;
  std::span<const AttrRef> attrs;
  std::span<const TensorSpec> output_specs;
  const HostTensor& tensor(size_t i) const { return *operands[i].tensor; }
  bool has_tensor(size_t i) const { return i < operands.size() && operands[i].is_tensor(); }
};
using ReferenceFn = std::vector<HostTensor> (*)(const ReferenceCall&);
void register_reference(std::string_view op, ReferenceFn fn);
/// Runs one op; views give their values. Composite ops are decomposed. Throws Error for errors that depend on data.
std::vector<HostTensor> evaluate(const OpDef& op, std::span<const HostOperand> operands, std::span<const AttrRef> attrs);

/// Runs a graph node by node. `inputs` are the placeholders in order, overwritten by in-place effects; `scalars` the Scalar nodes.
std::vector<HostTensor> interpret(const Graph& graph, std::span<HostTensor> inputs, std::span<const tailor::Scalar> scalars = {});

}  // namespace tailor::ir
