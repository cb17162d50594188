#include "frontend/follow/weights.h"

#include <algorithm>

#include "frontend/tensor_impl.h"

namespace tailor::follow {
namespace {

constexpr uint8_t kMostChanges = 8;
constexpr uint32_t kCallsBetweenLooks = 256;

}  // namespace

Weights::Weights(std::shared_ptr<const jit::Executable> executable, std::shared_ptr<const Weights> before)
    : executable_(std::move(executable)), before_(std::move(before)) {}

jit::ValueIdentity Weights::identity(const TensorImpl& tensor) {
  const Storage& storage = *tensor.storage;
  if (storage.exposed()) return {};
  return {tensor.id, storage.version()};
}

std::shared_ptr<const Weights::Known> Weights::load() const {
  while (busy_.test_and_set(std::memory_order_acquire)) {}
  std::shared_ptr<const Known> known = known_;
  busy_.clear(std::memory_order_release);
  return known;
}

void Weights::store(std::shared_ptr<const Known> known) {
  while (busy_.test_and_set(std::memory_order_acquire)) {}
  if (!closed_) known_.swap(known);
  busy_.clear(std::memory_order_release);
  generation_.fetch_add(1);
  for (Cell& cell : cells_) empty(cell);
}

void Weights::close() {
  while (busy_.test_and_set(std::memory_order_acquire)) {}
  const std::shared_ptr<const Known> last = std::move(known_);
  closed_ = true;
  busy_.clear(std::memory_order_release);
  generation_.fetch_add(1);
  for (Cell& cell : cells_) empty(cell);
}

// A cell in use is left alone: its thread looks at the generation next time, and at `closed_` when it has done.
void Weights::empty(Cell& cell) {
  if (cell.busy.exchange(true)) return;
  const std::shared_ptr<const Known> last = std::move(cell.known);
  cell.generation = 0;
  cell.busy.store(false);
}

Weights::Lease::Lease(Weights& weights, std::span<TensorImpl* const> inputs) : weights_(weights) {
  const int slot = thread_slot();
  Cell& cell = weights.cells_[static_cast<size_t>(slot)];
  if (slot != kSharedSlot && !cell.busy.exchange(true, std::memory_order_acquire)) {
    cell_ = &cell;
    const uint64_t generation = weights.generation_.load(std::memory_order_acquire);
    if (cell.generation != generation) {
      cell.known = weights.load();
      cell.generation = generation;
    }
    const Known* known = cell.known.get();
    if (known != nullptr && known->complete && !known->any_restless && weights.same(*known, inputs)) {
      prepared_ = known->prepared.get();
      return;
    }
  }
  own_ = weights.look(inputs);
  prepared_ = own_.get();
}

Weights::Lease::~Lease() {
  if (cell_ == nullptr) return;
  Cell& cell = *static_cast<Cell*>(cell_);
  cell.busy.store(false);
  if (weights_.closed_) [[unlikely]]
    empty(cell);
}

bool Weights::same(const Known& known, std::span<TensorImpl* const> inputs) const {
  const std::span<const int> weights = executable_->weights();
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!known.restless[i] && identity(*inputs[static_cast<size_t>(weights[i])]) != known.identities[i]) return false;
  }
  return true;
}

// Nothing is computed yet: a weight that was written once may be written again on the next call.
std::shared_ptr<const Weights::Known> Weights::look_again(const Known* before, std::span<TensorImpl* const> inputs) const {
  const std::span<const int> weights = executable_->weights();
  auto known = before != nullptr ? std::make_shared<Known>(*before) : std::make_shared<Known>();
  known->changes.resize(weights.size());
  known->restless.assign(weights.size(), false);
  known->identities.resize(weights.size());
  known->any_restless = known->complete = false;
  for (size_t i = 0; i < weights.size(); ++i) {
    const jit::ValueIdentity now = identity(*inputs[static_cast<size_t>(weights[i])]);
    if (before != nullptr && known->identities[i].known() && now != known->identities[i])
      known->changes[i] = static_cast<uint8_t>(std::min<int>(known->changes[i] + 1, kMostChanges));
    known->identities[i] = now;
    if (known->changes[i] < kMostChanges) continue;
    known->restless[i] = known->any_restless = true;
    known->identities[i] = {};
    known->changes[i] = kMostChanges - 1;  // one more change after the next look, and it is restless again
  }
  return known;
}

std::shared_ptr<const Weights::Known> Weights::complete(const Known& known, std::span<TensorImpl* const> inputs) const {
  std::vector<void*> data;
  for (const TensorImpl* tensor : inputs) data.push_back(tensor->data());
  auto all = std::make_shared<Known>(known);
  all->prepared = executable_->prepare(data, known.identities);
  all->complete = true;
  return all;
}

// The program has run in another size with these very values: that is two calls in a row, and copies that are there are shared.
std::shared_ptr<const Weights::Known> Weights::as_before(std::span<TensorImpl* const> inputs) {
  std::shared_ptr<const Weights> before;
  {
    const std::unique_lock alone(preparing_, std::try_to_lock);
    if (!alone) return nullptr;
    before = std::move(before_);
  }
  if (!before || !std::ranges::equal(before->executable_->weights(), executable_->weights())) return nullptr;
  const std::shared_ptr<const Known> known = before->load();
  return known && before->same(*known, inputs) ? complete(*known, inputs) : nullptr;
}

std::shared_ptr<const jit::Prepared> Weights::look(std::span<TensorImpl* const> inputs) {
  const std::shared_ptr<const Known> known = load();
  if (known && same(*known, inputs)) {
    if (known->complete) [[likely]] {
      if (known->any_restless && patience_.fetch_add(1, std::memory_order_relaxed) >= kCallsBetweenLooks) {
        patience_.store(0, std::memory_order_relaxed);
        store(look_again(known.get(), inputs));
      }
      return known->prepared;
    }
    const std::unique_lock alone(preparing_, std::try_to_lock);
    if (!alone) return nullptr;
    const std::shared_ptr<const Known> now = complete(*known, inputs);
    store(now);
    return now->prepared;
  }
  if (!known) {
    if (const std::shared_ptr<const Known> now = as_before(inputs)) {
      store(now);
      return now->prepared;
    }
  }
  store(look_again(known.get(), inputs));
  return nullptr;
}

}  // namespace tailor::follow
