// A call from its begin to its end, and what can be asked about it.

#include "frontend/follow/invocation.h"

#include <algorithm>

#include "frontend/follow/pending.h"

namespace tailor {

using follow::Step;

Invocation::Invocation(follow::TraceTree& tree, follow::EntryHost& host) : tree_(tree), host_(host) { follow::register_invocation(this); }

Invocation::~Invocation() {
  follow::unregister_invocation(this);
  end();
  for (int i = 0; i < values_.slots(); ++i) let_go(i);
}

void Invocation::begin(std::span<TensorHead* const> arguments, std::span<const int64_t> sizes) {
  arguments_ = arguments;
  if (bindings_.empty() || !std::ranges::equal(sizes, sizes_)) {
    sizes_.assign(sizes.begin(), sizes.end());
    bindings_.assign(1, tree_.binding(sizes));
  } else if (bindings_.size() > 1) {
    bindings_.resize(1);
  }
  mode_ = Mode::Following;
  recorded_ = false;
  all_compiled_ = true;
  hit_return_ = nullptr;
  last_variant_ = nullptr;
  first_new_step_ = nullptr;
  cursor_ = binding().first();
  path_.cut(0);
  executed_ = segment_begin_ = 0;
  segment_first_slot_ = 0;
  numbered_ = {};
  live_slots_.clear();
  reads_.clear();
  size_reads_ = nullptr;
  outputs_of_segments_.clear();
  values_held = 0;
  if (known_steps_ != tree_.steps()) make_room_for_known_steps();
  if (borrows_) borrowing_.emplace();
  aim();
  if (tree_.is_in_parts()) [[unlikely]]
    begin_in_parts();
}

// Room for a whole call, so that no step need look.
void Invocation::make_room_for_known_steps() {
  follow::Room room;
  known_steps_ = tree_.steps(&room);
  make_room(room);
}

void Invocation::make_room(const follow::Room& room) {
  std::lock_guard lock(mutex_);  // another thread may be reading the lists
  scalars_.resize(std::max(scalars_.size(), room.scalars));
  values_.make_room(static_cast<int>(room.slots), static_cast<int>(room.externals));
  while (path_.capacity() < known_steps_) path_.make_room();
}

std::vector<int64_t> Invocation::scalars_of(const follow::Variant& variant) const {
  std::vector<int64_t> values;
  for (int number : variant.scalars) values.push_back(scalars_[static_cast<size_t>(number)]);
  return values;
}

follow::InputRef Invocation::describe(const TensorImpl& tensor) const {
  for (int i = 0; i < numbered_.slots; ++i) {
    if (values_.slot(i).tensor == &tensor) return {true, i};
  }
  for (int i = 0; i < numbered_.externals; ++i) {
    if (&external(i) == &tensor) return {false, i};
  }
  return {};
}

// A value that was published for good is the user's, and may have gone since.
bool Invocation::keeps_only(std::span<const int> slots) const {
  for (int i = 0; i < numbered_.slots; ++i) {
    const follow::Value& value = values_.slot(i);
    if (value.tensor == nullptr || (value.id != 0 && !has_handles(*value.tensor))) continue;
    if (std::find(slots.begin(), slots.end(), i) == slots.end()) return false;
  }
  return true;
}

bool Invocation::is_held_elsewhere(const TensorImpl& external) const {
  const auto counted = std::count_if(held_.begin(), held_.end(), [&](const auto& h) { return h.get() == &external; });
  if (counted > 0) return external.use_count() > static_cast<uint32_t>(counted);
  return !(external.flags.load(std::memory_order_acquire) & TensorHead::kDropped);
}

// Lets go of what this call touched. Slots that user code holds become ordinary tensors; the others are kept for the next call.
void Invocation::end() noexcept {
  if (all_compiled_ && !recorded_) {  // the other slots had neither handles nor memory when their segment had run
    for (int i : outputs_of_segments_) end_slot(i);
  } else {
    for (int i = 0; i < numbered_.slots; ++i) end_slot(i);
  }
  numbered_ = {};
  arguments_ = {};
  reads_.clear();
  lent_.clear();
  held_.clear();
  borrowing_.reset();
}

void Invocation::end_slot(int slot) noexcept {
  constexpr uint32_t kKnownElsewhere = TensorHead::kCaptured | TensorHead::kBorrowed | TensorHead::kRegistered;
  follow::Value& value = values_.slot(slot);
  if (value.id == 0) value.tensor = nullptr;  // published for good
  TensorImpl* const tensor = value.tensor;
  if (tensor == nullptr) return;
  if (has_handles(*tensor) || (tensor->flags.load(std::memory_order_relaxed) & kKnownElsewhere) != 0)
    let_go(slot);
  else
    tensor->storage.reset();
}

}  // namespace tailor
