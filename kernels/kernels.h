#pragma once
// The door to the eager kernels: one function per op, over raw memory. Shapes and dtypes have been checked by the op's own
// rules and outputs are allocated; a kernel only computes. Kernels read any strides and write any strides.

#include <span>

#include "ir/op.h"

namespace tailor::kernels {

/// Memory with its description. `data` is the first element (the storage offset is applied).
struct TensorArg {
  void* data = nullptr;
  const ir::TensorSpec* spec = nullptr;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};
using Operand = ir::OperandOf<TensorArg>;

class Prepacked;  // kernels/epilogue.h

struct Call {
  const ir::OpDef& op;
  std::span<const Operand> operands;
  std::span<const ir::AttrRef> attrs;
  std::span<const TensorArg> outputs;    // may be the memory of operand 0 (in-place), never overlap it otherwise
  const Prepacked* prepacked = nullptr;  // contractions: the weights as their kernel lays them out, when that was done before
  const TensorArg& tensor(size_t i) const { return operands[i].tensor; }
  bool has_tensor(size_t i) const { return i < operands.size() && operands[i].is_tensor(); }
};

using Kernel = void (*)(const Call&);

/// The fast kernel of an op, or null: then the op's decomposition or its reference implementation (ir/reference.h) serves.
Kernel find_kernel(const ir::OpDef& op);
void register_kernel(std::string_view op, Kernel kernel);

/// Runs the op by its fast kernel or, where it has none, its reference implementation. Composite ops without a kernel are
/// not accepted here: the dispatcher decomposes them.
void run(const Call& call);
/// Runs the op by its reference implementation.
void run_reference(const Call& call);

/// Instruction sets that kernels exist for; the highest that this machine has and TAILOR_ISA (avx512, avx2, sse2) allows.
enum class Isa : uint8_t { Sse2, Avx2, Avx512 };
Isa isa();
/// For tests: forces a lower level; returns the former one. Throws Error when the machine has not got it.
Isa set_isa(Isa isa);

}  // namespace tailor::kernels
