#include "frontend/captured.h"

#include <algorithm>
#include <atomic>

#include "frontend/dispatch.h"
#include "frontend/nn/epoch.h"
#include "frontend/tensor_impl.h"

namespace tailor::detail {

constinit thread_local const PureBody* current_pure_body = nullptr;

namespace {

/// Counts the deaths that regions may have to wait for.
std::atomic<uint64_t> deaths{1};

/// One per thread that ever was in a region; never freed, taken over by a later thread.
struct alignas(64) Reader {
  std::atomic<uint64_t> since{0};  // the deaths when its region began; 0: outside of every region
  std::atomic<bool> taken{true};
  Reader* next = nullptr;
};
std::atomic<Reader*> readers{nullptr};

Reader* take_reader() {
  for (Reader* r = readers.load(std::memory_order_acquire); r; r = r->next) {
    bool free = false;
    if (r->taken.compare_exchange_strong(free, true)) return r;
  }
  auto* r = new Reader;
  r->next = readers.load(std::memory_order_relaxed);
  while (!readers.compare_exchange_weak(r->next, r, std::memory_order_release)) {}
  return r;
}

struct ThreadReader {
  Reader* reader = take_reader();
  ~ThreadReader() { reader->taken.store(false); }
};
Reader& this_reader() {
  static thread_local ThreadReader mine;
  return *mine.reader;
}

/// When the oldest region began.
uint64_t oldest_region() {
  uint64_t oldest = UINT64_MAX;
  for (const Reader* r = readers.load(std::memory_order_acquire); r; r = r->next) {
    const uint64_t since = r->since.load(std::memory_order_seq_cst);
    if (since != 0) oldest = std::min(oldest, since);
  }
  return oldest;
}

/// Tensors that wait: a stack that is only pushed to and taken as a whole.
struct Waiting {
  TensorImpl* tensor;
  void (*free)(TensorImpl*) noexcept;
  uint64_t death;  // its number
  Waiting* next;
};
std::atomic<Waiting*> waiting{nullptr};

void push(Waiting* first, Waiting* last) noexcept {
  last->next = waiting.load(std::memory_order_relaxed);
  while (!waiting.compare_exchange_weak(last->next, first, std::memory_order_acq_rel)) {}
}

void free_what_can_be() noexcept {
  Waiting* all = waiting.exchange(nullptr, std::memory_order_acq_rel);
  const uint64_t oldest = oldest_region();
  while (all) {
    Waiting* const next = all->next;
    if (all->death <= oldest) {
      all->free(all->tensor);
      delete all;
    } else {
      push(all, all);
    }
    all = next;
  }
}

}  // namespace

Region::Region() noexcept {
  std::atomic<uint64_t>& mine = this_reader().since;
  since_ = mine.load(std::memory_order_relaxed) == 0 ? &mine : nullptr;
  // Whoever dies after this sees the region.
  if (since_ != nullptr) mine.store(deaths.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
}

Region::~Region() {
  if (since_ == nullptr) return;
  since_->store(0, std::memory_order_release);
  if (waiting.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    free_what_can_be();
}

CapturedRegion::CapturedRegion() noexcept : epoch_(module_epoch_counter.load(std::memory_order_seq_cst)) {}

void borrow(TensorImpl& tensor) noexcept {
  if (!(tensor.flags.load(std::memory_order_relaxed) & TensorHead::kBorrowed))
    tensor.flags.fetch_or(TensorHead::kBorrowed, std::memory_order_relaxed);
}

IntrusivePtr<Cell> watch_life(TensorImpl& tensor) {
  Cell* cell = tensor.life.load(std::memory_order_acquire);
  if (!cell) {
    IntrusivePtr<Cell> fresh(new Cell(tensor.id));
    if (tensor.life.compare_exchange_strong(cell, fresh.get(), std::memory_order_acq_rel)) {
      cell = fresh.get();
      cell->retain();  // by the tensor
    }
    const uint32_t before = tensor.flags.fetch_or(TensorHead::kRegistered | TensorHead::kCaptured, std::memory_order_relaxed);
    // A module's parameter goes with the module, or is exchanged by way of it.
    if (!(before & TensorHead::kRegistered)) tensor.flags.fetch_or(TensorHead::kLoose, std::memory_order_relaxed);
    return IntrusivePtr<Cell>(cell);  // while `fresh` lives
  }
  return IntrusivePtr<Cell>(cell);
}

void CapturedTensors::add(TensorImpl& tensor) {
  std::lock_guard lock(mutex_);
  if (births_.size() < kMost) births_.insert(tensor.birth);
  watch_life(tensor);
}

// Where there have been too many, any might be one.
bool CapturedTensors::has(const TensorHead& head) const {
  std::lock_guard lock(mutex_);
  return births_.size() >= kMost || births_.contains(impl_of(head).birth);
}

void CapturedTensors::clear() {
  std::lock_guard lock(mutex_);
  births_.clear();
}

PureBody::PureBody(bool pure, CapturedTensors* captured) noexcept : before_(current_pure_body), captured_(captured) {
  if (pure) current_pure_body = this;
}
PureBody::~PureBody() { current_pure_body = before_; }

void note_described(TensorImpl& tensor) {
  CapturedTensors* const captured = current_pure_body->captured();
  if (captured == nullptr) return;
  if (tensor.flags.load(std::memory_order_relaxed) & TensorHead::kStandIn) return;
  if (OpInterceptor* const call = current_interceptor(); call != nullptr && call->computes(tensor)) return;
  captured->add(tensor);
}

void loose_handle_gone() noexcept {
  if (current_pure_body == nullptr) bump_module_epoch();
}

void retire(TensorImpl& tensor, void (*free)(TensorImpl*) noexcept) noexcept {
  const uint32_t flags = tensor.flags.fetch_or(TensorHead::kDropped, std::memory_order_relaxed);
  if (flags & TensorHead::kCaptured) {
    tensor.life.load(std::memory_order_acquire)->word.store(0, std::memory_order_release);
    module_epoch_counter.fetch_add(1, std::memory_order_seq_cst);
  }
  const uint64_t death = deaths.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (oldest_region() >= death) {
    free(&tensor);
    return;
  }
  auto* wait = new Waiting{&tensor, free, death, nullptr};
  push(wait, wait);
}

}  // namespace tailor::detail
