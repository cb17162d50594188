#include "frontend/follow/pending.h"

#include <mutex>
#include <unordered_set>

#include "frontend/follow/invocation.h"

namespace tailor::follow {
namespace {

struct Registry {
  std::recursive_mutex mutex;  // computing one promise may need another
  std::unordered_set<const void*> invocations;
};
Registry& registry() {
  static auto* all = new Registry;  // outlives every thread
  return *all;
}

void redeem(TensorImpl& impl, bool, std::source_location where) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  if (impl.is_lazy()) {
    if (impl.invocation != nullptr && all.invocations.contains(impl.invocation)) impl.invocation->compute_for_other_thread();
    check(!impl.is_lazy(), "this tensor was never computed: the compiled call that it belongs to ended with an error, at ",
          ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str());
    return;
  }
  if (!impl.storage) return;
  void* pending = impl.storage->pending.load(std::memory_order_acquire);
  if (pending == nullptr || pending == executing_invocation()) return;
  if (all.invocations.contains(pending)) static_cast<Invocation*>(pending)->compute_for_other_thread();
}

[[maybe_unused]] const bool installed = (pending_hook = redeem, true);

}  // namespace

void register_invocation(Invocation* invocation) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.invocations.insert(invocation);
}

void unregister_invocation(Invocation* invocation) noexcept {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.invocations.erase(invocation);
}

Invocation*& executing_invocation() noexcept {
  static constinit thread_local Invocation* executing = nullptr;
  return executing;
}

}  // namespace tailor::follow
