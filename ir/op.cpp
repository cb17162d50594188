#include "ir/op.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace tailor::ir {
namespace {

// Filled by static initialisers, whose order across files is unknown: hence a function-local static.
struct Registry {
  std::deque<OpDef> ops;  // stable addresses
  std::vector<const OpDef*> list;
  std::unordered_map<std::string_view, const OpDef*> by_name;
  std::shared_mutex mutex;            // tests register ops at run time
  Registry() { list.reserve(4096); }  // spans handed out stay valid
};

Registry& registry() {
  static auto* instance = new Registry;  // never destroyed: other statics may look ops up at exit
  return *instance;
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  std::shared_lock lock(registry().mutex);
  return registry().list;
}

const OpDef* find_op(std::string_view name) {
  Registry& r = registry();
  std::shared_lock lock(r.mutex);
  const auto it = r.by_name.find(name);
  return it == r.by_name.end() ? nullptr : it->second;
}

const OpDef* register_op(OpDef def) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  internal_check(!r.by_name.contains(def.name), "op ", def.name, " is registered twice");
  internal_check(def.infer != nullptr || def.kind == OpKind::View, "op ", def.name, " has no shape rule");
  const OpDef* op = &r.ops.emplace_back(std::move(def));
  r.list.push_back(op);
  r.by_name.emplace(op->name, op);
  return op;
}

}  // namespace tailor::ir
