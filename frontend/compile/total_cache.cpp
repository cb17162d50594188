#include "frontend/compile/total_cache.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "frontend/compile/compiled_function.h"
#include "runtime/log.h"

namespace tailor::detail {

constinit std::atomic<uint64_t> cache_clock{1};
constinit thread_local uint64_t thread_uses = 0;

namespace {

struct Registry {
  std::mutex mutex;  // taken before any function's own
  std::vector<CompiledFunction*> functions;
  TotalCacheLimit limit;
  std::atomic<bool> bounded{false};  // whether there is any bound
  std::atomic<int64_t> entries{0}, code_bytes{0};
  std::atomic<uint64_t> evictions{0};

  bool over(const TotalCacheLimit& l, int64_t slack) const {
    const auto past = [slack](const std::atomic<int64_t>& held, size_t most) {
      return most != 0 && held.load(std::memory_order_relaxed) + slack > static_cast<int64_t>(most);
    };
    return past(entries, l.entries) || past(code_bytes, l.code_bytes);
  }
};
Registry& registry() {
  static auto* const all = new Registry;  // functions may be statics that end later
  return *all;
}

}  // namespace

void enter_total_cache(CompiledFunction* function) {
  std::lock_guard lock(registry().mutex);
  registry().functions.push_back(function);
}

void leave_total_cache(CompiledFunction* function) noexcept {
  std::lock_guard lock(registry().mutex);
  std::erase(registry().functions, function);
}

void count_in_total_cache(int64_t entries, int64_t code_bytes) noexcept {
  registry().entries.fetch_add(entries, std::memory_order_relaxed);
  registry().code_bytes.fetch_add(code_bytes, std::memory_order_relaxed);
}

bool total_cache_is_full(const std::string& function) {
  Registry& all = registry();
  if (!all.bounded.load(std::memory_order_relaxed)) return false;
  const TotalCacheLimit limit = total_cache_limit();
  if (limit.at_limit == CacheLimitPolicy::EvictLeastRecentlyUsed || !all.over(limit, 1)) return false;
  check(limit.at_limit != CacheLimitPolicy::Throw, function, ": the limit over all compiled functions is reached (", all.entries.load(),
        " of ", limit.entries, " entries, ", all.code_bytes.load(), " of ", limit.code_bytes, " bytes of code; 0: no bound)");
  return true;
}

void keep_total_cache_limit(const Entry* keep) {
  Registry& all = registry();
  if (!all.bounded.load(std::memory_order_relaxed)) return;
  std::vector<std::shared_ptr<Entry>> evicted;  // they go after the lock: what they hold may run anything when it goes
  std::lock_guard lock(all.mutex);
  if (all.limit.at_limit != CacheLimitPolicy::EvictLeastRecentlyUsed) return;
  while (all.over(all.limit, 0)) {
    CompiledFunction* owner = nullptr;
    std::shared_ptr<Entry> oldest;
    for (CompiledFunction* function : all.functions) {
      std::shared_ptr<Entry> candidate = function->least_recently_used(keep);
      if (candidate && (!oldest || candidate->last_used() < oldest->last_used())) oldest = std::move(candidate), owner = function;
    }
    if (!oldest) return;  // what is kept is more than the bound allows
    if (owner->evict(*oldest, "the limit over all functions is reached")) all.evictions.fetch_add(1, std::memory_order_relaxed);
    evicted.push_back(std::move(oldest));
  }
}

}  // namespace tailor::detail

namespace tailor {

void set_total_cache_limit(const TotalCacheLimit& limit) {
  auto& all = detail::registry();
  {
    std::lock_guard lock(all.mutex);
    all.limit = limit;
    all.bounded.store(limit.entries != 0 || limit.code_bytes != 0, std::memory_order_relaxed);
  }
  detail::keep_total_cache_limit(nullptr);
}

TotalCacheLimit total_cache_limit() {
  std::lock_guard lock(detail::registry().mutex);
  return detail::registry().limit;
}

TotalCache total_cache() {
  auto& all = detail::registry();
  std::lock_guard lock(all.mutex);
  const auto size = [](const std::atomic<int64_t>& n) { return static_cast<size_t>(std::max<int64_t>(n.load(), 0)); };
  return {all.functions.size(), size(all.entries), size(all.code_bytes), all.evictions.load()};
}

void reset_all() {
  std::vector<std::shared_ptr<const std::vector<std::shared_ptr<detail::Entry>>>> dropped;
  auto& all = detail::registry();
  std::lock_guard lock(all.mutex);
  for (detail::CompiledFunction* function : all.functions) dropped.push_back(function->drop_entries());
}

}  // namespace tailor
