#pragma once
// Weak references to tensors that skipped calls reach again: nothing keeps them alive, and yet none goes away under a call that uses it.
//
// A captured tensor that dies moves the module epoch on. A call publishes the epoch that it saw before it touches what it captured and
// withdraws it afterwards; a tensor that dies meanwhile is put aside until no call is left that began before its death. Neither the
// destructor nor the call takes a lock, and neither costs anything per captured tensor.

#include <cstdint>

#include "runtime/cell.h"

namespace tailor {

struct TensorImpl;

namespace detail {

/// While one exists, tensors that were alive in its epoch stay what they are. One at a time per thread; user code does not run inside.
class CapturedRegion {
 public:
  CapturedRegion() noexcept;
  CapturedRegion(const CapturedRegion&) = delete;
  CapturedRegion& operator=(const CapturedRegion&) = delete;
  ~CapturedRegion();
  uint64_t epoch() const { return epoch_; }

 private:
  uint64_t epoch_;
};

/// The word that tells whether a tensor is alive: its id, 0 once it is gone. From now on its death moves the epoch on.
IntrusivePtr<Cell> watch_life(TensorImpl& tensor);
/// The last handle to a watched tensor has gone: `free` is called now or when no region needs it.
void retire_captured(TensorImpl& tensor, void (*free)(TensorImpl*) noexcept) noexcept;

}  // namespace detail
}  // namespace tailor
