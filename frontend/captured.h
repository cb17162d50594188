#pragma once
// Tensors that calls use without counting: nothing keeps them alive, and yet none goes away under a call that uses it.
//
// A call publishes how many of them have died before it touches one and withdraws that afterwards; a tensor that dies meanwhile is put
// aside until no call is left that began before its death. Neither the destructor nor the call takes a lock, and neither costs anything
// per tensor, so that threads that use one tensor do not wait for each other.
//
// Skipped calls reach captured tensors again by weak references: the death of one also moves the module epoch on. Followed calls borrow
// what user code hands to an op, and is therefore alive, when it is the tensor of the call before.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_set>

#include "runtime/cell.h"
#include "tailor/tensor_handle.h"

namespace tailor {

struct TensorImpl;

namespace detail {

/// While one exists, borrowed and captured tensors that were alive when it began stay what they are. It ends on the thread it began on.
class Region {
 public:
  Region() noexcept;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

 private:
  std::atomic<uint64_t>* since_;  // where it says when it began; null inside of another one, which does
};

/// A region for captured tensors: those that had died before have moved the module epoch past its own.
class CapturedRegion : Region {
 public:
  CapturedRegion() noexcept;
  uint64_t epoch() const { return epoch_; }

 private:
  uint64_t epoch_;
};

/// The tensor, which is alive, may be used without being counted inside of the region that the thread is in.
void borrow(TensorImpl& tensor) noexcept;

/// The word that tells whether a tensor is alive: its id, 0 once it is gone. From now on its death moves the epoch on.
IntrusivePtr<Cell> watch_life(TensorImpl& tensor);
/// The tensors that the calls of a pure function were seen to take, or to look at, from elsewhere than their arguments.
class CapturedTensors {
 public:
  void add(TensorImpl& tensor);
  bool any_of(std::span<TensorHead* const> arguments) const {
    return std::any_of(arguments.begin(), arguments.end(), [this](const TensorHead* head) {
      return head && (head->flags.load(std::memory_order_relaxed) & TensorHead::kCaptured) != 0 && has(*head);
    });
  }
  void clear();

 private:
  static constexpr size_t kMost = 1 << 16;
  bool has(const TensorHead& head) const;
  mutable std::mutex mutex_;
  std::unordered_set<uint64_t> births_;
};

/// While the body of a pure function runs on this thread: handles that it destroys are its own.
class PureBody {
 public:
  /// `captured`: what it looks at is noted there; it is given stand-ins for its arguments then. None of it where `pure` is false.
  PureBody(bool pure, CapturedTensors* captured) noexcept;
  PureBody(const PureBody&) = delete;
  PureBody& operator=(const PureBody&) = delete;
  ~PureBody();
  CapturedTensors* captured() const { return captured_; }

 private:
  const PureBody* before_;
  CapturedTensors* captured_;
};
extern constinit thread_local const PureBody* current_pure_body;
/// Host code reads the description of a tensor in one: a tensor from elsewhere is watched as if an op had taken it.
void note_described(TensorImpl& tensor);

/// The last handle to a captured or borrowed tensor has gone: `free` is called now or when no region needs it.
void retire(TensorImpl& tensor, void (*free)(TensorImpl*) noexcept) noexcept;

}  // namespace detail
}  // namespace tailor
