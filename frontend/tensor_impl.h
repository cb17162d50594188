#pragma once
// What a Tensor points to.

#include <array>
#include <memory>

#include "ir/spec.h"
#include "runtime/cell.h"
#include "runtime/storage.h"
#include "tailor/tensor_handle.h"

namespace tailor {

class OpInterceptor;
struct SizeMarks;
namespace ir {
struct ViewResult;
}

/// The seam where autograd attaches.
struct AutogradMeta {
  virtual ~AutogradMeta() = default;
};

/// element_size() as a table: a call of it makes its own each time.
inline constexpr auto kElementSizes = [] {
  std::array<int64_t, kScalarTypeCount + 1> sizes{};
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = element_size(static_cast<ScalarType>(i));
  return sizes;
}();

struct TensorImpl final : TensorHead {
  // What following reads and writes is one cache line with the counts.
  uint64_t id;                                       // issued monotonically; a new one whenever the description changes
  IntrusivePtr<Storage> storage;                     // null while lazy
  int64_t offset = 0;                                // elements from the start of the storage
  std::atomic<OpInterceptor*> invocation = nullptr;  // lazy: whose value it is
  int slot = -1;                                     // lazy: which one
  const uint64_t birth;                              // the first id
  ir::TensorSpec spec;
  std::unique_ptr<AutogradMeta> autograd;
  std::shared_ptr<const SizeMarks> size_marks;  // what the user has said of its sizes; null: nothing
  std::atomic<Cell*> life{nullptr};             // of a captured tensor, owned: its id, 0 once it is gone

  TensorImpl();
  ~TensorImpl();
  bool is_lazy() const { return flags.load(std::memory_order_acquire) & kLazy; }
  std::byte* data() const { return static_cast<std::byte*>(storage->data()) + offset * kElementSizes[static_cast<size_t>(spec.dtype)]; }
  /// Call after changing `spec` in place.
  void description_changed();
  static uint64_t next_id();
};

/// A call that kept a value beyond its last handle (TensorHead::kSlot) keeps it no longer: it goes with that handle, or now.
void give_up_slot(TensorImpl& tensor) noexcept;
/// Whether a handle to such a value is left. Asked by the thread of the call.
inline bool has_handles(const TensorImpl& tensor) {
  return tensor.slot >= 0 && !(tensor.flags.load(std::memory_order_acquire) & TensorHead::kDropped);
}

/// How gradients flow to a tensor: what decides whether it may be written.
inline uint32_t leaf_flags(const TensorImpl& tensor) {
  return tensor.flags.load(std::memory_order_relaxed) & (TensorHead::kNonLeaf | TensorHead::kLeafView);
}

inline TensorImpl& impl_of(const TensorHead& head) { return const_cast<TensorImpl&>(static_cast<const TensorImpl&>(head)); }

/// Of a stand-in (TensorHead::kStandIn): in whose place it is.
struct StandsFor final : AutogradMeta {
  explicit StandsFor(IntrusivePtr<TensorHead> tensor) : tensor(std::move(tensor)) {}
  const IntrusivePtr<TensorHead> tensor;
};
/// The tensor that user code outside of the call knows this one as.
inline TensorImpl& original_of(const TensorImpl& tensor) {
  if (!(tensor.flags.load(std::memory_order_relaxed) & TensorHead::kStandIn)) [[likely]]
    return const_cast<TensorImpl&>(tensor);
  return impl_of(*static_cast<const StandsFor&>(*tensor.autograd).tensor);
}

/// Throws Error when the number of elements does not fit 64 bits.
void check_countable(IntArrayRef sizes);

/// A new tensor with memory of its own for `spec` (dense; strides as in `spec`), not initialised.
IntrusivePtr<TensorHead> make_tensor(const ir::TensorSpec& spec);
/// A tensor over existing memory.
IntrusivePtr<TensorHead> make_tensor(const ir::TensorSpec& spec, IntrusivePtr<Storage> storage, int64_t offset);
/// A tensor that shows what `view` says of the memory of `base`. Throws as check_countable.
IntrusivePtr<TensorHead> make_view(const TensorImpl& base, const ir::ViewResult& view, bool requires_grad);

}  // namespace tailor
