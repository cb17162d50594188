#pragma once
// Weights of a compiled segment that are laid out ahead, and the check that they are still what they were.
//
// A weight counts as lasting when two calls in a row see the same tensor with the same version of its memory; whoever writes a tensor
// bumps the version. Memory whose mutable pointer was ever handed out, or that came from outside, may change unseen: it is never laid out.
// A weight that keeps changing is looked at again only now and then.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "jit/executable.h"
#include "runtime/thread_slot.h"

namespace tailor {
struct TensorImpl;
}

namespace tailor::follow {

class Weights {
 public:
  /// `before`: of the same program in the size that came before. What was seen there counts as one call.
  explicit Weights(std::shared_ptr<const jit::Executable> executable, std::shared_ptr<const Weights> before = nullptr);
  /// What was computed ahead for the values that `inputs` have now; null when nothing was. It stays while the lease does. Thread-safe; a
  /// few nanoseconds a weight, and nothing is written that threads share.
  class Lease {
   public:
    Lease(Weights& weights, std::span<TensorImpl* const> inputs);
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    const jit::Prepared* prepared() const { return prepared_; }

   private:
    Weights& weights_;
    void* cell_ = nullptr;
    std::shared_ptr<const jit::Prepared> own_;  // where the thread's cell is not used
    const jit::Prepared* prepared_ = nullptr;
  };
  /// Lets go of everything, for good.
  void close();

 private:
  struct Known {
    std::vector<jit::ValueIdentity> identities;  // one per weight; not known: exposed, or not looked at
    std::vector<uint8_t> changes;                // how often each was another than before
    std::vector<bool> restless;                  // not looked at
    bool any_restless = false, complete = false;
    std::shared_ptr<const jit::Prepared> prepared;  // of these identities when complete, else of earlier ones
  };
  /// What one thread knows.
  struct alignas(kSlotAlignment) Cell {
    std::atomic<bool> busy{false};  // its thread uses it, or another one empties it
    uint64_t generation = 0;
    std::shared_ptr<const Known> known;
  };
  std::shared_ptr<const jit::Prepared> look(std::span<TensorImpl* const> inputs);
  static void empty(Cell& cell);
  static jit::ValueIdentity identity(const TensorImpl& tensor);
  bool same(const Known& known, std::span<TensorImpl* const> inputs) const;
  std::shared_ptr<const Known> load() const;
  void store(std::shared_ptr<const Known> known);
  std::shared_ptr<const Known> as_before(std::span<TensorImpl* const> inputs);
  std::shared_ptr<const Known> complete(const Known& known, std::span<TensorImpl* const> inputs) const;
  std::shared_ptr<const Known> look_again(const Known* before, std::span<TensorImpl* const> inputs) const;

  const std::shared_ptr<const jit::Executable> executable_;
  std::mutex preparing_;
  std::shared_ptr<const Weights> before_;             // under preparing_; let go of at the first look
  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;  // held for the copy of one pointer
  std::shared_ptr<const Known> known_;
  std::atomic<bool> closed_{false};
  std::atomic<uint64_t> generation_{1};  // grows whenever known_ changes
  std::array<Cell, kThreadSlots> cells_;
  std::atomic<uint32_t> patience_{0};  // calls since restless weights were looked at
};

}  // namespace tailor::follow
