#include "frontend/tensor_impl.h"

#include <algorithm>
#include <new>

#include "frontend/captured.h"
#include "frontend/dispatch.h"
#include "frontend/nn/epoch.h"
#include "ir/op.h"
#include "tailor/array_ref.h"

namespace tailor {
namespace {

// A tensor is made and dropped by nearly every op: blocks of one size are kept on a short list per thread. Plain data, so that
// tensors that die after this thread's destructors ran still find it; the guard object empties it before.
struct FreeList {
  static constexpr int kMost = 64;
  struct Block {
    Block* next;
  };
  Block* head;
  int count;
  bool closed;
};
constinit thread_local FreeList free_list{nullptr, 0, false};

// Whole cache lines: a tensor's counts are written on every call, and what lies beside it may be read by other threads.
constexpr std::align_val_t kImplAlignment{64};
constexpr size_t kImplBytes = (sizeof(TensorImpl) + 63) / 64 * 64;

struct FreeListGuard {
  FreeListGuard() {}
  ~FreeListGuard() {
    free_list.closed = true;
    while (free_list.head != nullptr) {
      FreeList::Block* block = free_list.head;
      free_list.head = block->next;
      ::operator delete(block, kImplAlignment);
    }
  }
};

TensorImpl* new_impl() {
  void* memory;
  if (free_list.head != nullptr) {
    memory = free_list.head;
    free_list.head = free_list.head->next;
    --free_list.count;
  } else {
    memory = ::operator new(kImplBytes, kImplAlignment);
  }
  return new (memory) TensorImpl;
}

void delete_impl(TensorImpl* impl) noexcept {
  impl->~TensorImpl();
  if (free_list.closed || free_list.count >= FreeList::kMost) {
    ::operator delete(static_cast<void*>(impl), kImplAlignment);
    return;
  }
  if (free_list.count == 0) {
    static thread_local FreeListGuard guard;  // constructed once; its destructor runs with the thread's
    (void)guard;
  }
  auto* block = reinterpret_cast<FreeList::Block*>(impl);
  block->next = free_list.head;
  free_list.head = block;
  ++free_list.count;
}

size_t storage_bytes(const ir::TensorSpec& spec) {
  check_countable(spec.sizes);
  int64_t bytes = element_size(spec.dtype), reach;
  bool overflow = false;
  for (size_t i = 0; i < spec.sizes.size(); ++i) {
    if (spec.sizes[i] == 0) return 0;
    overflow |= __builtin_mul_overflow(spec.sizes[i] - 1, spec.strides[i], &reach);
    overflow |= __builtin_mul_overflow(reach, element_size(spec.dtype), &reach);
    overflow |= __builtin_add_overflow(bytes, reach, &bytes);
  }
  check<OutOfMemoryError>(!overflow, "Storage size calculation overflowed with sizes=", IntArrayRef(spec.sizes),
                          " and strides=", IntArrayRef(spec.strides));
  return static_cast<size_t>(bytes);
}

}  // namespace

void check_countable(IntArrayRef sizes) {
  int64_t count = 1;
  bool overflow = false, none = false;
  for (const int64_t size : sizes) {
    none |= size == 0;
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  check(none || !overflow, "numel: integer multiplication overflow with sizes=", sizes);
}

TensorImpl::TensorImpl() : id(next_id()), birth(id) {}
TensorImpl::~TensorImpl() {
  if (Cell* cell = life.load(std::memory_order_relaxed); cell && cell->release()) destroy(cell);
}

void TensorImpl::description_changed() {
  id = next_id();
  if (flags.load(std::memory_order_relaxed) & kRegistered) [[unlikely]]
    detail::bump_module_epoch();
  if (Cell* cell = life.load(std::memory_order_acquire)) cell->word.store(id, std::memory_order_release);
}

uint64_t TensorImpl::next_id() {
  // Threads take ids in blocks, so that making a tensor touches no shared memory.
  static constexpr uint64_t kBlock = 1 << 16;
  static constinit std::atomic<uint64_t> issued{1};
  static constinit thread_local uint64_t next = 0, end = 0;
  if (next == end) [[unlikely]] {
    next = issued.fetch_add(kBlock, std::memory_order_relaxed);
    end = next + kBlock;
  }
  return next++;
}

void destroy(TensorHead* head) noexcept {
  TensorImpl& tensor = impl_of(*head);
  const uint32_t flags = head->flags.load(std::memory_order_acquire);  // after what a call did before it gave the tensor up
  if (flags & TensorHead::kSlot) {
    OpInterceptor* const here = current_interceptor();
    if (here != nullptr && tensor.invocation.load(std::memory_order_relaxed) == here) [[likely]] {
      tensor.slot = -1;  // read by this thread alone
      --here->values_held;
      return;
    }
    // The call is another thread's, or past user code: whoever comes second, it or this, lets the tensor go.
    if (head->flags.fetch_or(TensorHead::kDropped, std::memory_order_acq_rel) & TensorHead::kSlot) return;
  }
  if (flags & (TensorHead::kCaptured | TensorHead::kBorrowed)) [[unlikely]]
    detail::retire(tensor, delete_impl);
  else
    delete_impl(&tensor);
}

void give_up_slot(TensorImpl& tensor) noexcept {
  const bool dropped_here = tensor.slot < 0;
  const uint32_t before = tensor.flags.fetch_and(~uint32_t{TensorHead::kSlot}, std::memory_order_acq_rel);
  if (dropped_here || (before & TensorHead::kDropped)) destroy(&tensor);
}

IntrusivePtr<TensorHead> make_tensor(const ir::TensorSpec& spec) {
  auto storage = Storage::allocate(storage_bytes(spec), spec.device);
  return make_tensor(spec, std::move(storage), 0);
}

IntrusivePtr<TensorHead> make_tensor(const ir::TensorSpec& spec, IntrusivePtr<Storage> storage, int64_t offset) {
  TensorImpl* impl = new_impl();
  auto head = IntrusivePtr<TensorHead>::first(impl);
  impl->spec = spec;
  impl->storage = std::move(storage);
  impl->offset = offset;
  return head;
}

IntrusivePtr<TensorHead> make_view(const TensorImpl& base, const ir::ViewResult& view, bool requires_grad) {
  check_countable(view.sizes);
  TensorImpl* impl = new_impl();
  auto head = IntrusivePtr<TensorHead>::first(impl);
  impl->spec.dtype = base.spec.dtype;
  impl->spec.device = base.spec.device;
  impl->spec.requires_grad = requires_grad;
  impl->spec.sizes = view.sizes;
  impl->spec.strides = view.strides;
  impl->storage = base.storage;
  impl->offset = base.offset + view.offset;
  return head;
}

}  // namespace tailor
