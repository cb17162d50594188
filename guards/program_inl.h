#pragma once
// The check itself: one switch, inlined into GuardSet::check.

#include <cstddef>
#include <cstring>

#include "guards/program.h"
#include "ir/layout.h"

namespace tailor::guards {

// dtype, device and requires_grad are the first four bytes of a description, and compared at once.
static_assert(offsetof(ir::TensorSpec, dtype) == 0 && sizeof(ScalarType) == 1);
static_assert(offsetof(ir::TensorSpec, device) == 1 && sizeof(Device) == 2);
static_assert(offsetof(ir::TensorSpec, requires_grad) == 3 && sizeof(bool) == 1);

inline uint32_t spec_header(const ir::TensorSpec& spec) {
  uint32_t header;
  std::memcpy(&header, static_cast<const void*>(&spec), sizeof(header));
  return header;
}

/// Sizes and strides of a tensor of `Rank` dimensions against operands that hold both.
template <size_t Rank>
inline bool dims_are(const ir::TensorSpec& spec, const int64_t* expected) {
  return spec.sizes.size() == Rank && std::memcmp(spec.sizes.begin(), expected, Rank * sizeof(int64_t)) == 0 &&
         std::memcmp(spec.strides.begin(), expected + Rank, Rank * sizeof(int64_t)) == 0;
}

/// Operands: smallest sizes, largest sizes, then the order of dimensions (innermost first) or the strides.
inline bool dynamic_dims_are(const ir::TensorSpec& spec, const int64_t* expected, size_t rank, bool dense) {
  if (spec.sizes.size() != rank) return false;
  for (size_t d = 0; d < rank; ++d) {
    if (spec.sizes[d] < expected[d] || spec.sizes[d] > expected[rank + d]) return false;
  }
  const int64_t* strides = expected + 2 * rank;
  if (!dense) return std::equal(strides, strides + rank, spec.strides.begin());
  int64_t next = 1;
  for (size_t i = 0; i < rank; ++i) {
    const auto dim = static_cast<size_t>(strides[i]);
    if (spec.strides[dim] != next) return false;
    next *= std::max<int64_t>(spec.sizes[dim], 1);
  }
  return true;
}

inline bool Program::holds(const Instruction& i, const CallDescriptor& call, uint64_t module_epoch) const {
  using Opcode = Instruction::Opcode;
  const int64_t* const expected = operands.data() + i.first;
  const auto spec = [&]() -> const ir::TensorSpec* {
    const auto index = static_cast<size_t>(i.index);
    if (index >= call.tensors.size()) [[unlikely]]
      return nullptr;
    const ir::TensorSpec* s = call.tensors[index].spec;
    return s != nullptr && spec_header(*s) == i.header ? s : nullptr;
  };
  switch (i.op) {
    case Opcode::State: return static_cast<int64_t>(call.ambient) == i.expected && call.module_epoch == module_epoch;
    case Opcode::Structure:
      return call.structure.size() >= i.count && std::memcmp(call.structure.data(), expected, i.count * sizeof(int64_t)) == 0;
    case Opcode::Undefined: return static_cast<size_t>(i.index) < call.tensors.size() && !call.tensors[static_cast<size_t>(i.index)].spec;
    case Opcode::Spec1:
      if (const ir::TensorSpec* s = spec()) return dims_are<1>(*s, expected);
      return false;
    case Opcode::Spec2:
      if (const ir::TensorSpec* s = spec()) return dims_are<2>(*s, expected);
      return false;
    case Opcode::Spec3:
      if (const ir::TensorSpec* s = spec()) return dims_are<3>(*s, expected);
      return false;
    case Opcode::Spec4:
      if (const ir::TensorSpec* s = spec()) return dims_are<4>(*s, expected);
      return false;
    case Opcode::Spec:
      if (const ir::TensorSpec* s = spec()) {
        return s->sizes.size() == i.count && std::equal(expected, expected + i.count, s->sizes.begin()) &&
               std::equal(expected + i.count, expected + 2 * i.count, s->strides.begin());
      }
      return false;
    case Opcode::DynamicSpec:
      if (const ir::TensorSpec* s = spec()) return dynamic_dims_are(*s, expected, i.count, i.dense);
      return false;
    case Opcode::Number: {
      if (static_cast<size_t>(i.index) >= call.scalars.size()) return false;
      const Scalar& s = call.scalars[static_cast<size_t>(i.index)];
      return s.bits() == i.expected && static_cast<uint8_t>(s.kind()) == i.kind;
    }
    case Opcode::Cell:
      return static_cast<size_t>(i.index) < call.cells.size() &&
             static_cast<int64_t>(call.cells[static_cast<size_t>(i.index)]->word.load(std::memory_order_acquire)) == i.expected;
    case Opcode::Any: return i.guard->holds(call);
  }
  return false;
}

}  // namespace tailor::guards
