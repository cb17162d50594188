#pragma once
// The usual step of a followed call, without detours: it makes one value, from the values and the tensors that it is expected to. Each op's
// public function has this code inside of it, with its number of operands known; whatever is not usual goes on to Invocation::op.

#include <atomic>
#include <optional>
#include <span>
#include <utility>

#include "frontend/captured.h"
#include "frontend/follow/path.h"
#include "frontend/follow/values.h"
#include "frontend/tensor_impl.h"
#include "runtime/ambient.h"

namespace tailor::follow {

class Follower {
 public:
  /// The value of the op, without a handle to it, where the op is the usual next step; null, and nothing has happened, where it is not.
  /// Operands, Attrs: arrays or spans. The op is not in place.
  template <class Operands, class Attrs>
  [[gnu::always_inline]] TensorImpl* follow(const ir::OpDef* op, const Operands& operands, const Attrs& attrs);

  /// Values of this call that have handles, as far as its own thread lets go of them.
  int64_t values_held = 0;

 protected:
  Follower() = default;
  ~Follower() = default;
  /// Nothing is usual until the next one of these.
  void follow_nothing() noexcept { next_ = &kNothing; }
  /// The next op comes after `cursor_`.
  void follow_from_here() noexcept { next_ = &cursor_->hot; }
  /// The value that was kept for this slot does not serve any more.
  virtual void fresh_slot(const Instance& instance, int output) = 0;

 private:
  static constexpr std::atomic<Instance*> kNothing{nullptr};
  const std::atomic<Instance*>* next_ = &kNothing;

 protected:
  Instance* cursor_ = nullptr;
  Values values_;      // a slot's tensor outlives its last handle (TensorHead::kSlot), so that the next call can hand it out again without
                       // allocating or counting; externals that are the same as in the call before are borrowed, the others held
  Numbered numbered_;  // as far as the path goes
  uint32_t known_steps_ = 0;    // while following: there is room for all numbers of steps below
  Path path_;                   // every step since the root, ends included
  OwnVector<int64_t> scalars_;  // values of this call by number along the path
  std::optional<detail::Region> borrowing_;

  /// Whether nothing need be done to bind the tensor, which is that of the call before.
  bool is_bound_as_before(const TensorImpl& tensor, const Value& known, const Instance& instance) const noexcept {
    return known.like == instance.serial && borrowing_ && tensor.storage &&
           tensor.storage->pending.load(std::memory_order_acquire) == nullptr &&
           (tensor.flags.load(std::memory_order_acquire) & (TensorHead::kBorrowed | TensorHead::kLazy)) == TensorHead::kBorrowed;
  }

 private:
  template <class T>
  bool compare(const Instance& instance, size_t i, const ir::OperandOf<T>& got, uint64_t& difference) noexcept;
  template <class T, size_t N>
  bool compare_all(const Instance& instance, const std::array<ir::OperandOf<T>, N>& operands, uint64_t& difference) noexcept;
  template <class T, size_t N, size_t... I>
  bool compare_each(const Instance& instance, const std::array<ir::OperandOf<T>, N>& operands, uint64_t& difference,
                    std::index_sequence<I...>) noexcept;
  template <class T>
  bool compare_all(const Instance& instance, std::span<const ir::OperandOf<T>> operands, uint64_t& difference) noexcept;
  static bool same_attrs(const Instance& instance, const ir::AttrRef* attrs, size_t count) noexcept;
  TensorImpl* take(Instance& instance) noexcept;
  [[gnu::returns_nonnull]] TensorImpl* take_fresh(Instance& instance);
};

// The signature has told what kind of operand it is.
template <class T>
[[gnu::always_inline]] inline bool Follower::compare(const Instance& instance, size_t i, const ir::OperandOf<T>& got,
                                                     uint64_t& difference) noexcept {
  const UsualStep& step = instance.usual;
  if (got.is_tensor()) {
    const Value& known = values_.at(step.place[i]);
    if (got.tensor != known.tensor || got.tensor->id != known.id) return false;
    return (step.binds >> i & 1) == 0 || is_bound_as_before(*got.tensor, known, instance);
  }
  if (got.is_scalar()) {
    scalars_.data()[step.place[i]] = got.scalar.bits();
    difference |= static_cast<uint64_t>(got.scalar.bits() ^ step.bits[i]);
  }
  return true;
}

template <class T, size_t N>
[[gnu::always_inline]] inline bool Follower::compare_all(const Instance& instance, const std::array<ir::OperandOf<T>, N>& operands,
                                                         uint64_t& difference) noexcept {
  return compare_each(instance, operands, difference, std::make_index_sequence<N>());
}

template <class T, size_t N, size_t... I>
[[gnu::always_inline]] inline bool Follower::compare_each(const Instance& instance, const std::array<ir::OperandOf<T>, N>& operands,
                                                          uint64_t& difference, std::index_sequence<I...>) noexcept {
  return (compare(instance, I, operands[I], difference) && ...);
}

template <class T>
inline bool Follower::compare_all(const Instance& instance, std::span<const ir::OperandOf<T>> operands, uint64_t& difference) noexcept {
  for (size_t i = 0; i < operands.size(); ++i)
    if (!compare(instance, i, operands[i], difference)) return false;
  return true;
}

template <class Operands, class Attrs>
[[gnu::always_inline]] inline TensorImpl* Follower::follow(const ir::OpDef* op, const Operands& operands, const Attrs& attrs) {
  Instance* const instance = next_->load(std::memory_order_acquire);
  if (instance == nullptr) return nullptr;
  const UsualStep& step = instance->usual;
  if (step.op != op || step.signature != UsualStep::signature_of(operands, attrs.size()) || step.number >= known_steps_) return nullptr;
  if (((step.ambient ^ static_cast<uint32_t>(ambient_word())) & step.ambient_mask) != 0) return nullptr;
  uint64_t difference = 0;
  if (!compare_all(*instance, operands, difference)) return nullptr;
  if (!attrs.empty() && !same_attrs(*instance, attrs.data(), attrs.size())) return nullptr;
  if (difference != 0 && (step.lifted->load(std::memory_order_acquire) & step.all_lifted) != step.all_lifted) [[unlikely]]
    return nullptr;
  const Value& value = values_.at(step.result);
  if (value.like != instance->serial || value.tensor->id != value.id) [[unlikely]]
    return take_fresh(*instance);
  return take(*instance);
}

[[gnu::always_inline]] inline TensorImpl* Follower::take(Instance& instance) noexcept {
  const UsualStep& step = instance.usual;
  TensorImpl* const lazy = values_.at(step.result).tensor;
  lazy->slot = step.result;
  lazy->flags.store(step.flags, std::memory_order_release);
  ++values_held;
  numbered_ = step.after;
  path_.push_back(&instance);
  cursor_ = &instance;
  next_ = &instance.hot;
  return lazy;
}

}  // namespace tailor::follow
