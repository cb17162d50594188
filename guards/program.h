#pragma once
// A conjunction of guards as a flat list of instructions over the call descriptor. The guards of one tensor, and those of the structure
// of the arguments, become one instruction each; anything without an instruction of its own is checked by its definition.

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "guards/guard.h"

namespace tailor::guards {

struct Instruction {
  enum class Opcode : uint8_t {
    State,
    Ambient,
    Distinct,
    Structure,
    Undefined,
    Spec,
    Spec1,
    Spec2,
    Spec3,
    Spec4,
    DynamicSpec,
    Number,
    Cell,
    Any
  };
  Opcode op = Opcode::Any;
  uint8_t kind = 0;                   // Number: of the scalar
  bool dense = false;                 // DynamicSpec: strides by an order of dimensions
  uint32_t header = 0;                // specs: dtype, device, requires_grad
  int32_t index = 0;                  // tensor, scalar or cell
  uint32_t unit = 0;                  // number of the part of the conjunction, whatever the order
  uint32_t count = 0;                 // of words or dimensions
  int64_t expected = 0;               // Number, Cell: the value; State: the ambient word
  const int64_t* operands = nullptr;  // into Program::operands
  const Guard* guard = nullptr;       // Any
};

/// What is compiled from one list of guards; `guards` outlives it.
struct Program {
  std::vector<Instruction> code;  // in checking order
  std::shared_ptr<const std::vector<int64_t>> operands;
  std::vector<double> costs;               // by unit: typical, in nanoseconds
  std::vector<std::vector<size_t>> parts;  // by unit: which guards it checks

  // How many of each the instructions read: a shorter call does not match.
  size_t tensors = 0, scalars = 0, structure = 0, cells = 0;

  using Cells = std::span<const IntrusivePtr<Cell>>;
  bool fits(const CallDescriptor& call, Cells cells) const;
  /// For calls that fit.
  bool holds(const Instruction& i, const CallDescriptor& call, Cells cells, uint64_t module_epoch) const;

 private:
  static bool any(const Instruction& i, const CallDescriptor& call, Cells cells);
};
Program compile_program(std::span<const Guard> guards);

}  // namespace tailor::guards
