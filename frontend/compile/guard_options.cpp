#include "frontend/compile/guard_options.h"

#include "guards/definition.h"

namespace tailor::detail {
namespace {

using guards::GuardKind;

/// Where user code runs, every op compares what it is given: only what the look-up itself goes by has to hold.
bool look_up_needs(GuardKind kind) {
  return kind <= GuardKind::Keys || kind == GuardKind::Defined || kind == GuardKind::Rank || kind == GuardKind::SizeRange;
}

Guard shown(const guards::Guard& g, bool skipping) {
  Guard plain;
  plain.kind = to_string(g.kind);
  plain.path = g.path;
  plain.condition = g.condition();
  plain.source = g.source;
  plain.dim = g.dim;
  plain.expected = g.expected;
  plain.skipping = skipping;
  plain.keeps = skipping ? guards::definition(g.kind).protects_memory : look_up_needs(g.kind);
  return plain;
}

/// The guard with the range that the user gave it.
guards::Guard relaxed(const guards::Guard& g, const Guard& plain, GuardChanges& changes) {
  const bool size = g.kind == GuardKind::Size || g.kind == GuardKind::SizeRange;  // entries: seen to by relaxed_size
  if (size && !plain.skipping) return g;
  try {
    check(!size, "a plan for skipping follows the sizes of its entry");
    guards::Guard wide = relax(g, plain.relaxed->min, plain.relaxed->max);
    ++changes.relaxed;
    changes.told.push_back("guard_relax: `" + plain.condition + "` becomes `" + wide.condition() + "`");
    return wide;
  } catch (const Error& e) {
    changes.told.push_back("guard_relax: `" + plain.condition + "` stays: " + e.what());
    return g;
  }
}

guards::Order order_of(GuardOrder order) {
  switch (order) {
    case GuardOrder::Expected: return guards::Order::Expected;
    case GuardOrder::Product: return guards::Order::Product;
    case GuardOrder::Insertion: return guards::Order::Insertion;
  }
  raise<InternalError>("internal error, please report: unknown order of guards");
}

}  // namespace

GuardChanges seal_as_asked(guards::GuardSet& set, const CompileOptions& options, bool skipping) {
  GuardChanges changes;
  if (options.guard_filter || options.guard_relax) {
    set.review([&](const guards::Guard& g) -> std::optional<guards::Guard> {
      Guard plain = shown(g, skipping);
      if (options.guard_relax) options.guard_relax(plain);
      const guards::Guard kept = plain.relaxed ? relaxed(g, plain, changes) : g;
      if (!options.guard_filter || options.guard_filter(shown(kept, skipping))) return kept;
      if (plain.keeps) {
        changes.told.push_back("guard_filter: `" + plain.condition + "` stays: it protects memory");
        return kept;
      }
      ++changes.dropped;
      changes.told.push_back("guard_filter: `" + plain.condition + "` is dropped");
      return std::nullopt;
    });
  }
  set.seal(order_of(options.guard_order));
  return changes;
}

std::optional<guards::DimRange> relaxed_size(const CompileOptions& options, int dim, int64_t size, const std::string& path,
                                             const std::string& source, GuardChanges* changes) {
  if (!options.guard_relax) return std::nullopt;
  const guards::Guard g{GuardKind::Size, 0, dim, size, 0, {}, path, source};
  Guard plain = shown(g, false);
  options.guard_relax(plain);
  if (!plain.relaxed) return std::nullopt;
  try {
    check(size >= 2, "sizes 0 and 1 are special");
    const guards::Guard wide = relax(g, std::max<int64_t>(plain.relaxed->min, 2), plain.relaxed->max);
    ++changes->relaxed;
    changes->told.push_back("guard_relax: `" + plain.condition + "` becomes `" + wide.condition() + "`");
    return guards::DimRange{dim, wide.expected, wide.most};
  } catch (const Error& e) {
    changes->told.push_back("guard_relax: `" + plain.condition + "` stays: " + e.what());
    return std::nullopt;
  }
}

}  // namespace tailor::detail
