// Memory that belongs to user code: a tensor made by from_blob inside the call may be read only as long as user code keeps the memory,
// which can be shorter than the segment. Ops on it run at once, outside of the recorded steps; what they give is to the others a tensor
// that host code has made.

#include <algorithm>

#include "frontend/follow/invocation.h"

namespace tailor {

void Invocation::lends(const IntrusivePtr<Storage>& storage) {
  lent_.push_back(storage);
  aim();
}

bool Invocation::is_on_lent(const OpCall& call) const {
  return std::any_of(call.operands.begin(), call.operands.end(), [&](const Operand& o) {
    return o.is_tensor() && o.tensor->storage &&
           std::any_of(lent_.begin(), lent_.end(), [&](const auto& storage) { return storage == o.tensor->storage; });
  });
}

std::vector<Tensor> Invocation::run_at_once(const OpCall& call) {
  // What is pending comes first: it may be an operand, and it may read or write what this op writes.
  const auto waits = [this](const Operand& o) {
    if (!o.is_tensor()) return false;
    return o.tensor->is_lazy() || (o.tensor->storage && o.tensor->storage->pending.load(std::memory_order_relaxed) == this);
  };
  if (call.inplace || std::any_of(call.operands.begin(), call.operands.end(), waits))
    host_access(*call.operands[0].tensor, call.inplace, call.where);
  if (size_reads_) size_reads_->give_up();  // no step says what it does in other sizes
  return run_eager_many(call);
}

}  // namespace tailor
