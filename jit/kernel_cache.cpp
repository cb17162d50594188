#include "jit/kernel_cache.h"

#include <algorithm>
#include <boost/pfr/tuple_size.hpp>
#include <mutex>
#include <unordered_map>

#include "jit/artifact_cache.h"
#include "jit/cached_module.h"
#include "runtime/error.h"
#include "runtime/log.h"

namespace tailor::jit {
namespace {

// A key says all of a nest. A member that is new in one of these belongs into it, too.
template <class T, size_t n>
constexpr bool kMembers = boost::pfr::tuple_size_v<T> == n;
static_assert(kMembers<LoopNest, 10> && kMembers<LoopDim, 3> && kMembers<Buffer, 3> && kMembers<Expr, 10> && kMembers<Reduction, 4> &&
              kMembers<Stage, 4> && kMembers<Store, 2> && kMembers<Access, 3> && kMembers<Bound, 3> && kMembers<IndexMap, 2> &&
              kMembers<EmitOptions, 3>);

class Key {
 public:
  void word(int64_t v) { text_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  template <class E>
  requires std::is_enum_v<E>
  void word(E e) { word(static_cast<int64_t>(e)); }
  void text(std::string_view t) { word(static_cast<int64_t>(t.size())), text_ += t; }
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
    word(e.kind), word(e.type), word(e.compute), text(e.op == nullptr ? std::string_view() : e.op->name);
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

namespace {

/// Nests that have to be made, each once.
struct Wanted {
  std::vector<LoopNest> nests;
  std::vector<std::string_view> keys;
};
using Made = std::vector<Entry>;  // in their order

/// Fills in what the artifact cache has.
void load(const Wanted& wanted, const EmitOptions& options, ArtifactCache& artifacts, Made& made, Kernels& result) {
  std::vector<KernelImage> images;
  std::vector<LoopNest> nests;
  std::vector<size_t> found;
  for (size_t i = 0; i < wanted.nests.size(); ++i) {
    auto image = artifacts.find(artifact_identity() + std::string(wanted.keys[i]), result.artifacts);
    if (!image) continue;
    images.push_back(std::move(*image));
    nests.push_back(wanted.nests[i]);
    found.push_back(i);
  }
  if (found.empty()) return;
  try {
    const auto module = load_module(std::move(nests), images, options);
    for (size_t i = 0; i < found.size(); ++i) made[found[i]] = {module, i};
    result.modules.push_back(module);
    result.times.link_ms += module->times().link_ms;
    result.code_bytes += module->code_bytes();
  } catch (const InternalError& error) {  // they are compiled instead
    log_warning("artifacts", error.what());
  }
}

void keep(ArtifactCache& artifacts, std::string_view key, std::string_view object, std::string_view symbol, ArtifactCounts& counts) {
  KernelImage image;
  try {
    image = cut_image(object, symbol);
  } catch (const InternalError& error) {
    if (log_enabled(LogChannel::Cache)) log(LogChannel::Cache, "artifacts", std::string("a kernel is not kept: ") + error.what());
    return;
  }
  artifacts.store(artifact_identity() + std::string(key), image, counts);
}

/// Compiles the rest.
void compile(const Wanted& wanted, EmitOptions options, ArtifactCache* artifacts, Made& made, Kernels& result) {
  std::vector<LoopNest> nests;
  std::vector<size_t> missing;
  for (size_t i = 0; i < wanted.nests.size(); ++i) {
    if (!made[i].module.expired()) continue;
    nests.push_back(wanted.nests[i]);
    missing.push_back(i);
  }
  if (missing.empty()) return;
  std::mutex mutex;
  if (artifacts != nullptr) {
    options.on_object = [&](size_t nest, std::string_view object, std::string_view symbol) {
      ArtifactCounts counts;
      keep(*artifacts, wanted.keys[missing[nest]], object, symbol, counts);
      std::lock_guard lock(mutex);
      result.artifacts += counts;
    };
  }
  const auto module = compile_nests(nests, options);
  for (size_t i = 0; i < missing.size(); ++i) made[missing[i]] = {module, i};
  result.modules.push_back(module);
  result.times.emit_ms = module->times().emit_ms;
  result.times.llvm_ms = module->times().llvm_ms;
  result.times.link_ms += module->times().link_ms;
  result.code_bytes += module->code_bytes();
}

}  // namespace

Kernels find_or_compile(std::span<const LoopNest* const> nests, const EmitOptions& options) {
  Kernels result;
  result.functions.resize(nests.size(), nullptr);
  std::vector<std::string> keys;
  keys.reserve(nests.size());
  for (const LoopNest* n : nests) keys.push_back(content_key(*n, options));

  Wanted wanted;
  std::unordered_map<std::string_view, size_t> index;
  {
    std::lock_guard lock(cache().mutex);
    for (size_t i = 0; i < nests.size(); ++i) {
      const auto it = cache().entries.find(keys[i]);
      if (const auto module = it == cache().entries.end() ? nullptr : it->second.module.lock()) {
        result.functions[i] = module->kernel(it->second.index);
        if (std::find(result.modules.begin(), result.modules.end(), module) == result.modules.end()) result.modules.push_back(module);
      } else if (index.try_emplace(keys[i], wanted.nests.size()).second) {
        wanted.nests.push_back(*nests[i]);
        wanted.keys.push_back(keys[i]);
      }
    }
  }
  if (wanted.nests.empty()) return result;
  // Outside of the lock: two threads may compile the same nest, both are right.
  Made made(wanted.nests.size());
  const std::shared_ptr<ArtifactCache> artifacts = artifact_cache();
  if (artifacts != nullptr) load(wanted, options, *artifacts, made, result);
  compile(wanted, options, artifacts.get(), made, result);

  std::lock_guard lock(cache().mutex);
  for (size_t i = 0; i < nests.size(); ++i) {
    if (result.functions[i] != nullptr) continue;
    const Entry& entry = made[index.at(keys[i])];
    result.functions[i] = entry.module.lock()->kernel(entry.index);
    cache().entries[keys[i]] = entry;
  }
  if (cache().entries.size() > cache().sweep_at) {
    std::erase_if(cache().entries, [](const auto& e) { return e.second.module.expired(); });
    cache().sweep_at = 2 * cache().entries.size() + 256;
  }
  return result;
}

}  // namespace tailor::jit
