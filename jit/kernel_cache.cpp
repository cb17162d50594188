#include "jit/kernel_cache.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace tailor::jit {
namespace {

class Key {
 public:
  void word(int64_t v) { text_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  template <class E>
  requires std::is_enum_v<E>
  void word(E e) { word(static_cast<int64_t>(e)); }
  void size(const Size& s) { word(s.value), word(s.param); }
  void scalar(const tailor::Scalar& s) { word(s.kind()), word(s.bits()); }
  void map(const IndexMap& m) {
    size(m.offset);
    word(static_cast<int64_t>(m.strides.size()));
    for (const Size& s : m.strides) size(s);
  }
  void access(const Access& a) {
    word(a.buffer);
    map(a.index);
    word(static_cast<int64_t>(a.bounds.size()));
    for (const Bound& b : a.bounds) map(b.coordinate), size(b.low), size(b.high);
  }
  void list(const std::vector<int>& v) {
    word(static_cast<int64_t>(v.size()));
    for (int i : v) word(int64_t{i});
  }
  void expr(const Expr& e) {
    word(e.kind), word(e.type), word(e.compute), word(reinterpret_cast<int64_t>(e.op));
    list(e.args);
    access(e.access);
    e.kind == ExprKind::Param ? word(e.literal.kind()) : scalar(e.literal);  // a parameter's value varies
    scalar(e.otherwise);
    map(e.index);
    word(int64_t{e.param});
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

struct Entry {
  std::weak_ptr<const CompiledModule> module;
  size_t index = 0;
};

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::string, Entry> entries;
  size_t sweep_at = 256;
};
Cache& cache() {
  static auto* instance = new Cache;
  return *instance;
}

}  // namespace

std::string content_key(const LoopNest& nest, const EmitOptions& options) {
  Key k;
  k.word(static_cast<int64_t>(nest.dims.size()));
  for (const LoopDim& d : nest.dims) k.size(d.extent), k.word(int64_t{d.inner}), k.word(int64_t{d.unrolled});
  k.word(int64_t{nest.vector_dim});
  k.word(static_cast<int64_t>(nest.buffers.size()));
  for (const Buffer& b : nest.buffers) k.word(b.kind), k.word(b.dtype), k.size(b.elements);
  k.word(static_cast<int64_t>(nest.exprs.size()));
  for (const Expr& e : nest.exprs) k.expr(e);
  k.word(static_cast<int64_t>(nest.reductions.size()));
  for (const Reduction& r : nest.reductions) k.word(r.op), k.word(int64_t{r.value}), k.word(int64_t{r.index}), k.word(r.accumulate);
  k.word(static_cast<int64_t>(nest.stages.size()));
  for (const Stage& s : nest.stages) {
    k.list(s.dims), k.list(s.exprs), k.list(s.reductions);
    k.word(static_cast<int64_t>(s.stores.size()));
    for (const Store& store : s.stores) k.access(store.access), k.word(int64_t{store.value});
  }
  k.word(nest.size_params), k.word(nest.scalar_params), k.word(int64_t{nest.nontemporal});
  k.word(options.isa.value_or(kernels::isa())), k.word(int64_t{options.fast_math});
  return k.take();
}

Kernels find_or_compile(std::span<const LoopNest* const> nests, const EmitOptions& options) {
  Kernels result;
  result.functions.resize(nests.size(), nullptr);
  std::vector<std::string> keys;
  keys.reserve(nests.size());
  for (const LoopNest* n : nests) keys.push_back(content_key(*n, options));
  const auto own = [&](const std::shared_ptr<const CompiledModule>& module) {
    if (std::find(result.modules.begin(), result.modules.end(), module) == result.modules.end()) result.modules.push_back(module);
  };

  std::vector<LoopNest> missing;
  std::unordered_map<std::string_view, size_t> missing_index;
  {
    std::lock_guard lock(cache().mutex);
    for (size_t i = 0; i < nests.size(); ++i) {
      const auto it = cache().entries.find(keys[i]);
      if (const auto module = it == cache().entries.end() ? nullptr : it->second.module.lock()) {
        result.functions[i] = module->kernel(it->second.index);
        own(module);
      } else if (missing_index.try_emplace(keys[i], missing.size()).second) {
        missing.push_back(*nests[i]);
      }
    }
  }
  if (missing.empty()) return result;
  result.fresh = compile_nests(missing, options);  // outside of the lock: two threads may compile the same nest, both are right
  own(result.fresh);
  std::lock_guard lock(cache().mutex);
  for (size_t i = 0; i < nests.size(); ++i) {
    if (result.functions[i] != nullptr) continue;
    const size_t index = missing_index.at(keys[i]);
    result.functions[i] = result.fresh->kernel(index);
    cache().entries[keys[i]] = {result.fresh, index};
  }
  if (cache().entries.size() > cache().sweep_at) {
    std::erase_if(cache().entries, [](const auto& e) { return e.second.module.expired(); });
    cache().sweep_at = 2 * cache().entries.size() + 256;
  }
  return result;
}

}  // namespace tailor::jit
