#pragma once
// A call as guards see it: the tensors, numbers and structure of its arguments in order of traversal, and the state around it.

#include <cstdint>
#include <span>
#include <string>

#include "ir/spec.h"
#include "runtime/cell.h"
#include "runtime/scalar.h"

namespace tailor::guards {

/// What a guard may read of one tensor argument.
struct TensorFact {
  const ir::TensorSpec* spec = nullptr;  // null: an undefined tensor
  uint64_t id = 0;                       // never reused; a new one whenever the description changes
  const void* storage = nullptr;         // a Storage
  int64_t offset = 0;
};

struct CallDescriptor {
  std::span<const TensorFact> tensors;
  std::span<const Scalar> scalars;
  /// Lengths of containers, presence of optionals, keys of maps, indices of variant alternatives.
  std::span<const int64_t> structure;
  uint64_t ambient = 0;  // modes, and the number of threads from bit 16 on
  uint64_t module_epoch = 0;
  /// State that the guards of one set name by number; a GuardSet fills in its own.
  std::span<const IntrusivePtr<Cell>> cells = {};
};

}  // namespace tailor::guards
