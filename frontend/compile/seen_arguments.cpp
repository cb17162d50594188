// Which arguments of a pure function come to its body as arguments only.

#include <algorithm>

#include "frontend/captured.h"
#include "frontend/compile/entry.h"

namespace tailor::detail {

std::vector<bool> Entry::SeenArguments::proven() const {
  std::vector<bool> all;
  for (const Argument& a : arguments) all.push_back(a.proven);
  return all;
}

Entry::SeenArguments* Entry::look_at_arguments(const PureCall& call, std::span<TensorHead* const> arguments, const ArgumentHandles& handles,
                                               uint64_t epoch, bool body_ran) {  // mutex_ is held
  constexpr int kMostWatched = 8;
  const auto alike = [&](const SeenArguments& s) {
    return s.end == call.end->step && s.externals == call.externals && s.results == call.results;
  };
  auto seen = std::find_if(seen_.begin(), seen_.end(), alike);
  if (seen == seen_.end()) {
    if (!body_ran) return nullptr;
    seen_.push_back({call.end->step, call.externals, call.results, std::vector<SeenArguments::Argument>(arguments.size())});
    seen = seen_.end() - 1;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i]) seen->arguments[i].birth = impl_of(*arguments[i]).birth;
      seen->arguments[i].handle = handles.handles[i];
    }
  }
  for (size_t i = 0; body_ran && i < arguments.size(); ++i) {
    SeenArguments::Argument& a = seen->arguments[i];
    if (a.proven || !arguments[i]) continue;
    TensorImpl& now = impl_of(*arguments[i]);
    if (a.earlier && now.birth != a.earlier_birth && a.epoch == epoch && a.earlier->word.load(std::memory_order_acquire) == a.earlier_id) {
      a.proven = true;
      a.earlier = {};
      continue;
    }
    const bool same_variable = handles.alone[i] && handles.handles[i] == a.handle;
    a.handle = handles.handles[i];
    if (now.birth == a.birth && !a.varies) continue;
    a.varies = true;
    // Watching costs those who assign over a handle to it: not where the variable tells.
    if (same_variable || a.watched == kMostWatched) continue;
    ++a.watched;
    a.earlier = watch_life(now);
    a.earlier_id = now.id;
    a.earlier_birth = now.birth;
    a.epoch = epoch;
  }
  return &*seen;
}

}  // namespace tailor::detail
