#include "jit/prepared.h"

#include <mutex>
#include <unordered_map>

#include "kernels/epilogue.h"

namespace tailor::jit {
namespace {

struct Packs {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<const kernels::Prepacked>> by_key;
  size_t sweep_at = 64;
};
Packs& packs() {
  static auto* const p = new Packs;  // entries may die after static objects
  return *p;
}

}  // namespace

int64_t Prepared::bytes() const {
  int64_t sum = 0;
  for (const auto* list : {&computed, &packs})
    for (const auto& pack : *list) sum += pack ? pack->bytes() : 0;
  return sum;
}

std::shared_ptr<const kernels::Prepacked> shared_pack(const std::string& key,
                                                      const std::function<std::shared_ptr<const kernels::Prepacked>()>& make) {
  Packs& all = packs();
  {
    std::lock_guard lock(all.mutex);
    const auto found = all.by_key.find(key);
    if (found != all.by_key.end())
      if (auto held = found->second.lock()) return held;
  }
  std::shared_ptr<const kernels::Prepacked> made = make();
  if (!made) return made;
  std::lock_guard lock(all.mutex);
  if (all.by_key.size() >= all.sweep_at) {
    std::erase_if(all.by_key, [](const auto& item) { return item.second.expired(); });
    all.sweep_at = 64 + 2 * all.by_key.size();
  }
  std::weak_ptr<const kernels::Prepacked>& slot = all.by_key[key];
  if (auto held = slot.lock()) return held;  // another thread was faster
  slot = made;
  return made;
}

SharedPacks shared_packs() {
  Packs& all = packs();
  std::lock_guard lock(all.mutex);
  SharedPacks result;
  for (const auto& [key, pack] : all.by_key)
    if (const auto held = pack.lock()) {
      ++result.count;
      result.bytes += held->bytes();
    }
  return result;
}

}  // namespace tailor::jit
