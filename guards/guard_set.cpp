#include "guards/guard_set.h"

#include <algorithm>

namespace tailor::guards {

void GuardSet::require_spec(int index, const ir::TensorSpec* spec, std::string path, std::string source,
                            std::span<const DimRange> dynamic) {
  const auto same = [&](const SpecGuard& g) { return g.index == index; };
  if (std::any_of(specs_.begin(), specs_.end(), same)) return;
  for (const DimRange& range : dynamic) {
    tailor::check(spec && range.dim >= 0 && range.dim < spec->rank(), path, ": a range of sizes names dimension ", range.dim,
                  ", which is not there");
    tailor::check(range.min <= range.max, path, ": the range of sizes of dimension ", range.dim, " is empty: ", range.min, " to ",
                  range.max);
  }
  SpecGuard& guard = specs_.emplace_back(index, spec != nullptr, spec ? *spec : ir::TensorSpec(), std::move(path), std::move(source));
  guard.dynamic.assign(dynamic.begin(), dynamic.end());
  if (spec && !dynamic.empty()) guard.order = ir::dense_order(spec->sizes, spec->strides);
}

const DimRange* GuardSet::SpecGuard::range(int dim) const {
  const auto it = std::find_if(dynamic.begin(), dynamic.end(), [&](const DimRange& r) { return r.dim == dim; });
  return it == dynamic.end() ? nullptr : &*it;
}

bool GuardSet::SpecGuard::holds(const ir::TensorSpec& got) const {
  if (dynamic.empty()) return got == spec;
  if (got.dtype != spec.dtype || got.device != spec.device || got.requires_grad != spec.requires_grad) return false;
  if (got.rank() != spec.rank()) return false;
  for (size_t d = 0; d < spec.sizes.size(); ++d) {
    if (got.sizes[d] == spec.sizes[d]) continue;
    const DimRange* r = range(static_cast<int>(d));
    if (!r || got.sizes[d] < r->min || got.sizes[d] > r->max) return false;
  }
  return got.strides == (order ? ir::dense_strides(got.sizes, *order) : spec.strides);
}

void GuardSet::require_scalar(int index, Scalar value, std::string path, std::string source) {
  scalars_.push_back({index, value, std::move(path), std::move(source)});
}
void GuardSet::require_structure(std::span<const int64_t> words) { structure_.assign(words.begin(), words.end()); }
void GuardSet::require_ambient(uint64_t word) { ambient_ = word; }
void GuardSet::require_module_epoch(uint64_t epoch) { module_epoch_ = epoch; }
void GuardSet::require_aliasing(std::vector<int64_t> pattern) { aliasing_ = std::move(pattern); }

bool GuardSet::check(const CallDescriptor& call) const {
  if (ambient_ && *ambient_ != call.ambient) return false;
  if (module_epoch_ && *module_epoch_ != call.module_epoch) return false;
  if (!std::equal(structure_.begin(), structure_.end(), call.structure.begin(), call.structure.end())) return false;
  for (const ScalarGuard& g : scalars_) {
    if (static_cast<size_t>(g.index) >= call.scalars.size() || !(call.scalars[static_cast<size_t>(g.index)] == g.value)) return false;
  }
  for (const SpecGuard& g : specs_) {
    if (static_cast<size_t>(g.index) >= call.tensors.size()) return false;
    const TensorFact& fact = call.tensors[static_cast<size_t>(g.index)];
    if ((fact.spec != nullptr) != g.defined) return false;
    if (!fact.spec || fact.id == g.passed.load(std::memory_order_relaxed)) continue;
    if (!g.holds(*fact.spec)) return false;
    g.passed.store(fact.id, std::memory_order_relaxed);
  }
  return !aliasing_ || has_alias_pattern(call.tensors, *aliasing_);
}

std::vector<Guard> GuardSet::guards() const {
  std::vector<Guard> all;
  const auto add = [&](GuardKind kind, int index, int dim, int64_t expected, std::string path, const std::string& source) {
    all.push_back(Guard{kind, index, dim, expected, 0, std::move(path), source, {}});
  };
  if (ambient_) add(GuardKind::Ambient, 0, -1, static_cast<int64_t>(*ambient_), "ambient", "");
  if (module_epoch_) add(GuardKind::ModuleEpoch, 0, -1, static_cast<int64_t>(*module_epoch_), "module epoch", "");
  add(GuardKind::Structure, 0, -1, static_cast<int64_t>(structure_.size()), "args.structure.length", "");
  for (size_t i = 0; i < structure_.size(); ++i) {
    add(GuardKind::Structure, 0, static_cast<int>(i), structure_[i], "args.structure[" + std::to_string(i) + "]", "");
  }
  for (const ScalarGuard& g : scalars_)
    add(GuardKind::ScalarValue, g.index, static_cast<int>(g.value.kind()), g.value.bits(), g.path, g.source);
  for (const SpecGuard& g : specs_) {
    add(GuardKind::Defined, g.index, -1, g.defined, g.path + ".defined()", g.source);
    if (!g.defined) continue;
    const ir::TensorSpec& s = g.spec;
    add(GuardKind::Dtype, g.index, -1, static_cast<int64_t>(s.dtype), g.path + ".dtype()", g.source);
    add(GuardKind::Device, g.index, -1, (static_cast<int64_t>(s.device.type()) << 8) | (s.device.index() & 0xff), g.path + ".device()",
        g.source);
    add(GuardKind::Rank, g.index, -1, s.rank(), g.path + ".dim()", g.source);
    for (int d = 0; d < s.rank(); ++d) {
      const std::string path = g.path + ".size(" + std::to_string(d) + ")";
      if (const DimRange* r = g.range(d))
        all.push_back(Guard{GuardKind::SizeRange, g.index, d, r->min, r->max, path, g.source, {}});
      else
        add(GuardKind::Size, g.index, d, s.sizes[static_cast<size_t>(d)], path, g.source);
    }
    if (g.order) {
      Guard layout{GuardKind::Layout, g.index, -1, 0, 0, g.path, g.source, {}};
      layout.pattern.assign(g.order->dims.begin(), g.order->dims.begin() + g.order->rank);
      all.push_back(std::move(layout));
    }
    for (int d = 0; !g.order && d < s.rank(); ++d) {
      add(GuardKind::Stride, g.index, d, s.strides[static_cast<size_t>(d)], g.path + ".stride(" + std::to_string(d) + ")", g.source);
    }
    add(GuardKind::RequiresGrad, g.index, -1, s.requires_grad, g.path + ".requires_grad()", g.source);
  }
  if (aliasing_) { all.push_back(Guard{GuardKind::Aliasing, 0, -1, 0, 0, "args", "", *aliasing_}); }
  return all;
}

std::optional<Miss> GuardSet::explain(const CallDescriptor& call) const {
  for (const Guard& g : guards()) {
    if (!g.holds(call)) return Miss{0, g.condition(), g.actual(call), g.source, g.suggestion(), g.path};
  }
  return std::nullopt;
}

}  // namespace tailor::guards
