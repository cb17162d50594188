#pragma once
// What a recorded step was in calls of certain sizes (trace.h), and the form of it that comparing an op takes a few nanoseconds with.

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "frontend/follow/variant_list.h"
#include "ir/op.h"

namespace tailor::follow {

struct Step;
class Binding;

/// How many tensors of a path have numbers.
struct Numbered {
  int slots = 0, externals = 0;
};

/// Slots and externals in one row (Values): externals have the negative places.
constexpr int place_of_slot(int slot) { return slot; }
constexpr int place_of_external(int external) { return ~external; }

/// What an operand is, in a byte.
template <class T>
constexpr uint64_t tag_of(const ir::OperandOf<T>& operand) {
  using Kind = typename ir::OperandOf<T>::Kind;
  return operand.kind == Kind::Tensor ? 1 : operand.kind == Kind::Scalar ? 2 + static_cast<uint64_t>(operand.scalar.kind()) : 5;
}

/// A step that makes one value and does nothing else, of at most four operands: all that an op is compared with, side by side.
struct UsualStep {
  static constexpr size_t kOperands = 4;
  static constexpr uint64_t kUnlikeAny = ~uint64_t{0};
  static constexpr int kAttrShift = 8 * kOperands;

  const ir::OpDef* op = nullptr;
  uint64_t signature = kUnlikeAny;  // the operands' tags, and the number of attributes; of any other step: what no op has
  uint32_t ambient = 0, ambient_mask = 0;
  uint32_t number = 0;  // Step::number
  uint32_t flags = 0;   // TensorHead flags that its value begins with
  Numbered after;
  int result = 0;                                 // place of its value
  uint32_t binds = 0;                             // operands that are touched here for the first time, a bit each
  std::array<int, kOperands> place{};             // tensors: in the row. Scalars: their number along the path
  std::array<int64_t, kOperands> bits{};          // scalars: those recorded
  const std::atomic<uint64_t>* lifted = nullptr;  // Step::lifted
  uint64_t all_lifted = 0;                        // what it is when every scalar may vary

  template <class Operands>
  static constexpr uint64_t signature_of(const Operands& operands, size_t attrs) {
    if (operands.size() > kOperands) return kUnlikeAny - 1;
    uint64_t signature = static_cast<uint64_t>(attrs) << kAttrShift;
    for (size_t i = 0; i < operands.size(); ++i) signature |= tag_of(operands[i]) << (8 * i);
    return signature;
  }
};

struct alignas(64) Instance {
  std::atomic<Instance*> hot{nullptr};    // the child taken last
  const uint64_t serial = next_serial();  // of no other one: those of sizes seen long ago go, and others take their memory
  UsualStep usual;
  Step* step = nullptr;
  Instance* parent = nullptr;
  std::vector<ir::Attr> attrs;
  std::vector<ir::TensorSpec> outputs;    // of the slots it makes
  std::vector<ir::TensorSpec> externals;  // of those touched here for the first time
  std::optional<ir::ViewResult> view;     // what the view was

  /// Escape, Return: the compiled forms of the segment that ends here.
  VariantList variants;

  std::atomic<Instance*> first_child{nullptr}, next_sibling{nullptr};
  std::vector<std::shared_ptr<Binding>> forks;  // children with other sizes of captured tensors; under the tree's mutex

  /// Fills `usual`; `step` has joined the tree, and nobody else knows this instance yet.
  void prepare();

 private:
  static uint64_t next_serial() noexcept;
};

}  // namespace tailor::follow
