#pragma once
// The part of Tensor that everything else stands on: one owning pointer to a TensorImpl, with the count inline.

#include "runtime/intrusive.h"

namespace tailor {

struct TensorImpl;
/// What the inline code may see of a TensorImpl (its base class).
struct TensorHead : RefCounted {
  enum Flag : uint32_t {
    kRegistered = 1,  // a module's parameter or buffer: assigning over a handle to it bumps the global epoch
    kLazy = 2,        // a value of a compiled call under way that has not been computed
    kNonLeaf = 4,     // made by an op from something that requires gradients
    kLeafView = 8,    // a view of a leaf that requires gradients: may not be written in grad mode
    kCaptured = 16,   // skipped calls reach it: its death bumps the global epoch
    kBorrowed = 32,   // calls use it without counting: once dead it is freed when no call is left that may
    kSlot = 64,       // a value of a compiled call, which keeps it when its last handle goes
    kDropped = 128,   // its last handle has gone
    kLoose = 256,     // captured, and no module's: destroying a handle to it bumps the global epoch, what held it may be gone
    kStandIn = 512,   // what the body of a pure function is given for an argument
  };
  std::atomic<uint32_t> flags{0};
};
void destroy(TensorHead* head) noexcept;

namespace detail {
/// A handle to a registered parameter was assigned over, moved from or swapped.
void registered_handle_changed() noexcept;
/// A handle to a captured tensor was destroyed. Where the body of a pure function runs, it was the body's own.
void loose_handle_gone() noexcept;
/// Whether two tensors of which one is a stand-in are one to user code.
bool same_but_for_stand_ins(const TensorHead* a, const TensorHead* b) noexcept;
}  // namespace detail

}  // namespace tailor
