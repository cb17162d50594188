#pragma once
// Every op of the public API goes through here: `x + y` is dispatch(add, {x, y, 1}). Outside compiled calls the op runs at once
// (eager.h); inside one it goes to the thread's follower (follow/), which compares it with the recorded step or records it.

#include <initializer_list>
#include <source_location>
#include <span>
#include <vector>

#include "frontend/follow/follower.h"
#include "frontend/tensor_impl.h"
#include "ir/op.h"
#include "tailor/tensor.h"

namespace tailor {

using Operand = ir::OperandOf<TensorImpl*>;

/// An attribute, or an element of one that is a list, that comes from a SymInt.
struct SymUse {
  int attribute = -1, element = -1;
  uint64_t symbol = 0;
};

struct OpCall {
  const ir::OpDef& op;
  std::span<const Operand> operands;
  std::span<const ir::AttrRef> attrs;
  bool inplace = false;  // operand 0 is overwritten; the result is operand 0
  std::source_location where{};
  std::span<const SymUse> symbols = {};
};

/// Runs an op now, whatever mode the thread is in (eager.cpp).
Tensor run_eager(const OpCall& call);
std::vector<Tensor> run_eager_many(const OpCall& call);

/// What host code reads besides the descriptions of tensors and the data in them.
struct HostRead {
  enum class What : uint8_t { StorageOffset, StorageReach, Aliasing, Watched, Identity, Random, Unseen, Version } what;
  const TensorImpl* tensor = nullptr;  // StorageOffset, StorageReach, Unseen (its gradient, or whether it is a leaf)
  IntrusivePtr<Cell> cell = {};        // Watched: its version, and the one that was read
  uint64_t version = 0;
  std::string name = {};
  int64_t after = 0, before = 0;  // StorageReach: bytes of the storage from the first element on, and before it
};

/// What a compiled call under way does with the ops of its thread.
class OpInterceptor : public follow::Follower {
 public:
  virtual ~OpInterceptor() = default;
  virtual Tensor op(const OpCall& call) = 0;
  virtual std::vector<Tensor> op_many(const OpCall& call) = 0;
  /// Host code is about to read (or, `write`, get a mutable pointer to) the data of `tensor`.
  virtual void host_access(TensorImpl& tensor, bool write, std::source_location where) = 0;
  /// A tensor was made on memory that belongs to user code, which may free it before the call ends.
  virtual void lends(const IntrusivePtr<Storage>& storage) = 0;
  /// Host code reads something that a call without user code would have to compare.
  virtual void host_read(HostRead read) = 0;
  /// Whether `tensor` is a value of this call. Where one lies in its storage is known once it is computed, recorded or followed.
  virtual bool computes(const TensorImpl& tensor) const = 0;
};
namespace detail {
extern constinit thread_local OpInterceptor* thread_interceptor;
}
/// The interceptor of this thread; null outside compiled calls.
inline OpInterceptor*& current_interceptor() { return detail::thread_interceptor; }

/// One output.
inline Tensor dispatch(const OpCall& call) {
  if (OpInterceptor* const interceptor = current_interceptor()) return interceptor->op(call);
  return run_eager(call);
}
/// All outputs.
inline std::vector<Tensor> dispatch_many(const OpCall& call) {
  if (OpInterceptor* const interceptor = current_interceptor()) return interceptor->op_many(call);
  return run_eager_many(call);
}

/// What to do about memory that a compiled call of whatever thread has yet to write or read (Storage::pending), and about lazy
/// values that reach an op or the host outside of their call: set once by follow/. Afterwards `impl.storage` is valid and up to date.
extern void (*pending_hook)(TensorImpl& impl, bool write, std::source_location where);
/// Calls the hook when it is needed; two loads otherwise.
inline void await_pending(TensorImpl& impl, bool write, std::source_location where) {
  if (!impl.storage || impl.storage->pending.load(std::memory_order_acquire) != nullptr) [[unlikely]]
    if (pending_hook != nullptr) pending_hook(impl, write, where);
}

/// Before any host access to a tensor's memory (item, data_ptr, printing, copying to the host): ends a segment, waits for pending
/// writes, computes lazy values. After it `impl.storage` is valid and up to date.
void prepare_host_access(TensorImpl& impl, bool write, std::source_location where = std::source_location::current());

/// Before host code asks where in which storage a tensor lies: a value of a compiled call ends a segment, so that no call that asks for
/// more than where its arguments and what it captures lie is skipped.
void prepare_place(TensorImpl& impl, std::source_location where = std::source_location::current());

}  // namespace tailor
