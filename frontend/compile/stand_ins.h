#pragma once
// What the body of a pure function is given for its arguments. The body may hold by reference, or reach by a pointer, the very tensor that
// it is also given; only that what it was given is another object tells which of the two it takes.

#include <span>
#include <vector>

#include "frontend/tensor_impl.h"
#include "tailor/arguments.h"

namespace tailor::detail {

/// Other tensors over the same memory, one for each tensor among the arguments of a call.
class StandIns {
 public:
  explicit StandIns(std::span<TensorHead* const> arguments);
  /// In the order of the arguments; null for undefined ones.
  std::span<TensorHead* const> heads() const { return heads_; }
  /// From arguments to stand-ins, and back.
  const Substitution& forth() const { return forth_; }
  const Substitution& back() const { return back_; }
  /// The arguments are described as the body has described them (`x.t_()`).
  void settle() const;
  /// Whether somebody has kept one; asked when the call has let go of all.
  bool any_kept() const;

 private:
  std::vector<TensorHead*> heads_;
  Substitution forth_, back_;
};

}  // namespace tailor::detail
