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

/// Two words of a list, to be compared at once.
using WordPair = int64_t __attribute__((vector_size(16)));
inline WordPair word_pair(const int64_t* words) {
  WordPair pair;
  std::memcpy(&pair, words, sizeof(pair));
  return pair;
}

/// Sizes and strides of a tensor of `Rank` dimensions against operands that hold both: one branch for all.
template <size_t Rank>
[[gnu::always_inline]] inline bool spec_is(const ir::TensorSpec& spec, uint32_t header, const int64_t* expected) {
  const int64_t *const sizes = spec.sizes.begin(), *const strides = spec.strides.begin();
  uint64_t difference = (spec_header(spec) ^ header) | (spec.sizes.size() ^ Rank);
  WordPair pairs = {};
  for (size_t d = 0; d + 2 <= Rank; d += 2) {
    pairs |= word_pair(sizes + d) ^ word_pair(expected + d);
    pairs |= word_pair(strides + d) ^ word_pair(expected + Rank + d);
  }
  if constexpr (Rank % 2 != 0) {
    difference |= static_cast<uint64_t>((sizes[Rank - 1] ^ expected[Rank - 1]) | (strides[Rank - 1] ^ expected[2 * Rank - 1]));
  }
  return (difference | static_cast<uint64_t>(pairs[0] | pairs[1])) == 0;
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

/// Whether no two of the first `count` tensors are one; undefined ones are nobody.
inline bool distinct(const TensorFact* tensors, size_t count) {
  for (size_t a = 1; a < count; ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (tensors[a].id == tensors[b].id && tensors[a].spec != nullptr && tensors[b].spec != nullptr) return false;
    }
  }
  return true;
}

inline bool Program::fits(const CallDescriptor& call, Cells cells) const {
  return call.tensors.size() >= tensors && call.scalars.size() >= scalars && call.structure.size() >= structure &&
         cells.size() >= this->cells;
}

[[gnu::always_inline]] inline bool Program::holds(const Instruction& i, const CallDescriptor& call, Cells cells,
                                                  uint64_t module_epoch) const {
  using Opcode = Instruction::Opcode;
  const TensorFact* const tensors = call.tensors.data();
  const ir::TensorSpec* s = nullptr;
  switch (i.op) {
    case Opcode::State: return static_cast<int64_t>(call.ambient) == i.expected && call.module_epoch == module_epoch;
    case Opcode::Ambient: return static_cast<int64_t>(call.ambient) == i.expected;
    case Opcode::Distinct: return distinct(tensors, i.count);
    case Opcode::Structure: return std::memcmp(call.structure.data(), i.operands, i.count * sizeof(int64_t)) == 0;
    case Opcode::Undefined: return tensors[i.index].spec == nullptr;
    case Opcode::Spec1: s = tensors[i.index].spec; return s != nullptr && spec_is<1>(*s, i.header, i.operands);
    case Opcode::Spec2: s = tensors[i.index].spec; return s != nullptr && spec_is<2>(*s, i.header, i.operands);
    case Opcode::Spec3: s = tensors[i.index].spec; return s != nullptr && spec_is<3>(*s, i.header, i.operands);
    case Opcode::Spec4: s = tensors[i.index].spec; return s != nullptr && spec_is<4>(*s, i.header, i.operands);
    case Opcode::Spec:
      s = tensors[i.index].spec;
      return s != nullptr && spec_header(*s) == i.header && s->sizes.size() == i.count &&
             std::equal(i.operands, i.operands + i.count, s->sizes.begin()) &&
             std::equal(i.operands + i.count, i.operands + 2 * i.count, s->strides.begin());
    case Opcode::DynamicSpec:
      s = tensors[i.index].spec;
      return s != nullptr && spec_header(*s) == i.header && dynamic_dims_are(*s, i.operands, i.count, i.dense);
    case Opcode::Number: {
      const Scalar& number = call.scalars.data()[i.index];
      return number.bits() == i.expected && static_cast<uint8_t>(number.kind()) == i.kind;
    }
    case Opcode::Cell: return static_cast<int64_t>(cells.data()[i.index]->word.load(std::memory_order_acquire)) == i.expected;
    case Opcode::Any: return any(i, call, cells);
  }
  __builtin_unreachable();
}

}  // namespace tailor::guards
