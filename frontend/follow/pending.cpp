#include "frontend/follow/pending.h"

#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "frontend/follow/invocation.h"
#include "runtime/ambient_hook.h"

namespace tailor::follow {
namespace {

struct Registry {
  std::mutex mutex;  // never held while something is computed
  std::condition_variable unpinned;
  std::unordered_map<const void*, int> invocations;  // how many threads are using each
};
Registry& registry() {
  static auto* all = new Registry;  // outlives every thread
  return *all;
}

/// Keeps an invocation from going away; null where it has gone already.
class Pin {
 public:
  explicit Pin(void* invocation) {
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    const auto it = all.invocations.find(invocation);
    if (it == all.invocations.end()) return;
    ++it->second;
    invocation_ = static_cast<Invocation*>(invocation);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() {
    if (invocation_ == nullptr) return;
    Registry& all = registry();
    std::lock_guard lock(all.mutex);
    if (--all.invocations.at(invocation_) == 0) all.unpinned.notify_all();
  }
  Invocation* get() const { return invocation_; }

 private:
  Invocation* invocation_ = nullptr;
};

void redeem(TensorImpl& impl, bool, std::source_location where) {
  if (impl.is_lazy()) {
    {
      const Pin pin(static_cast<Invocation*>(impl.invocation.load(std::memory_order_relaxed)));
      if (pin.get()) pin.get()->compute_for_other_thread(impl);
    }
    check(!impl.is_lazy(), "this tensor was never computed: the compiled call that it belongs to ended with an error, at ",
          ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str());
    return;
  }
  if (!impl.storage) return;
  void* pending = impl.storage->pending.load(std::memory_order_acquire);
  if (pending == nullptr || pending == executing_invocation()) return;
  const Pin pin(pending);
  if (pin.get()) pin.get()->compute_for_other_thread(impl);
}

void compute_before_mode_change() {
  if (auto* invocation = dynamic_cast<Invocation*>(current_interceptor())) invocation->mode_change();
}

[[maybe_unused]] const bool installed = (pending_hook = redeem, before_process_mode_change = compute_before_mode_change, true);

}  // namespace

void register_invocation(Invocation* invocation) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.invocations.emplace(invocation, 0);
}

void unregister_invocation(Invocation* invocation) noexcept {
  Registry& all = registry();
  std::unique_lock lock(all.mutex);
  all.unpinned.wait(lock, [&] { return all.invocations.at(invocation) == 0; });
  all.invocations.erase(invocation);
}

Invocation*& executing_invocation() noexcept {
  static constinit thread_local Invocation* executing = nullptr;
  return executing;
}

}  // namespace tailor::follow
