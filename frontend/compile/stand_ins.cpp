#include "frontend/compile/stand_ins.h"

#include <algorithm>

#include "frontend/dispatch.h"

namespace tailor::detail {
namespace {

constexpr uint32_t kDescribed = TensorHead::kNonLeaf | TensorHead::kLeafView;

}  // namespace

StandIns::StandIns(std::span<TensorHead* const> arguments) {
  heads_.reserve(arguments.size());
  for (TensorHead* head : arguments) {
    IntrusivePtr<TensorHead>* made = head ? &forth_[head] : nullptr;
    if (made && !*made) {
      TensorImpl& argument = impl_of(*head);
      *made = make_tensor(argument.spec, argument.storage, argument.offset);
      TensorImpl& impl = impl_of(**made);
      impl.id = argument.id;  // what is known of the argument's values and description holds for this one
      impl.size_marks = argument.size_marks;
      impl.autograd = std::make_unique<StandsFor>(IntrusivePtr<TensorHead>(head));
      impl.flags.store(TensorHead::kStandIn | (argument.flags.load(std::memory_order_relaxed) & kDescribed), std::memory_order_relaxed);
      back_.emplace(&impl, head);
    }
    heads_.push_back(made ? made->get() : nullptr);
  }
}

void StandIns::settle() const {
  for (const auto& [head, stand_in] : forth_) {
    TensorImpl &argument = impl_of(*head), &described = impl_of(*stand_in);
    if (described.size_marks != argument.size_marks) argument.size_marks = described.size_marks;
    if (described.id == argument.id) continue;
    argument.spec = described.spec;
    argument.storage = described.storage;
    argument.offset = described.offset;
    argument.flags.fetch_and(~kDescribed, std::memory_order_relaxed);
    argument.flags.fetch_or(described.flags.load(std::memory_order_relaxed) & kDescribed, std::memory_order_relaxed);
    argument.description_changed();
  }
}

bool StandIns::any_kept() const {
  return std::any_of(forth_.begin(), forth_.end(), [](const auto& pair) { return pair.second->use_count() > 1; });
}

// That an argument is, or is not, a tensor that the body has from elsewhere is nothing that skipped calls compare.
bool same_but_for_stand_ins(const TensorHead* a, const TensorHead* b) noexcept {
  if (a == nullptr || b == nullptr) return false;
  const TensorImpl &first = impl_of(*a), &second = impl_of(*b);
  const auto is_stand_in = [](const TensorImpl& t) { return (t.flags.load(std::memory_order_relaxed) & TensorHead::kStandIn) != 0; };
  if (is_stand_in(first) && is_stand_in(second)) return false;
  if (OpInterceptor* const call = current_interceptor()) {
    if (call->computes(first) || call->computes(second)) return false;
    call->host_read({HostRead::What::Identity});
  }
  return &original_of(first) == &original_of(second);
}

}  // namespace tailor::detail
