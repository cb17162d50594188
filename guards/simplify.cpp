#include "guards/simplify.h"

#include <algorithm>
#include <map>
#include <set>

#include "guards/predicate.h"
#include "ir/layout.h"

namespace tailor::guards {
namespace {

using Kind = GuardKind;

bool about_one_tensor(Kind kind) { return kind >= Kind::Defined && kind <= Kind::StorageReach; }

/// The guards of one tensor, by kind and dimension.
struct TensorFacts {
  std::map<std::pair<Kind, int>, Guard*> facts;
  Guard* find(Kind kind, int dim = -1) const {
    const auto it = facts.find({kind, dim});
    return it == facts.end() ? nullptr : it->second;
  }
};

/// Static sizes and dense strides: one layout in place of the strides. With symbolic sizes strides are left as they are.
bool strides_are_a_layout(const TensorFacts& t, ir::DimOrder* order) {
  const Guard* rank = t.find(Kind::Rank);
  if (!rank || rank->expected == 0 || rank->expected > static_cast<int64_t>(Dims::kMaxDims)) return false;
  Dims sizes, strides;
  for (int d = 0; d < rank->expected; ++d) {
    const Guard *size = t.find(Kind::Size, d), *stride = t.find(Kind::Stride, d);
    if (!size || !stride) return false;
    sizes.push_back(size->expected);
    strides.push_back(stride->expected);
  }
  const auto found = ir::dense_order(sizes, strides);
  if (!found) return false;
  *order = *found;
  return true;
}

/// Whether every size that a predicate reads is guarded by value, or something about it is malformed.
bool reads_only_fixed_sizes(const Guard& predicate, const std::map<int, TensorFacts>& tensors) {
  const std::vector<int64_t>& w = predicate.words;
  for (size_t i = 0; i < w.size(); ++i) {
    if (w[i] == SizeExpr::kConstant) {
      ++i;
    } else if (w[i] == SizeExpr::kSize) {
      if (i + 2 >= w.size()) return false;
      const auto tensor = tensors.find(static_cast<int>(w[i + 1]));
      if (tensor == tensors.end() || !tensor->second.find(Kind::Size, static_cast<int>(w[i + 2]))) return false;
      i += 2;
    }
  }
  return true;
}

bool same_fact(const Guard& a, const Guard& b) {
  return a.kind == b.kind && a.index == b.index && a.dim == b.dim && a.expected == b.expected && a.most == b.most && a.words == b.words;
}

}  // namespace

std::vector<Guard> simplified(std::vector<Guard> guards) {
  std::vector<Guard> kept;
  for (Guard& g : guards) {
    if (std::none_of(kept.begin(), kept.end(), [&](const Guard& k) { return same_fact(k, g); })) kept.push_back(std::move(g));
  }
  std::map<int, TensorFacts> tensors;
  std::map<int, const Guard*> values;
  const Guard* epoch = nullptr;
  for (Guard& g : kept) {
    if (about_one_tensor(g.kind)) tensors[g.index].facts.emplace(std::pair(g.kind, g.dim), &g);
    if (g.kind == Kind::ScalarValue) values[g.index] = &g;
    if (g.kind == Kind::ModuleEpoch) epoch = &g;
  }

  std::set<const Guard*> implied;
  for (auto& [index, t] : tensors) {
    if (ir::DimOrder order; strides_are_a_layout(t, &order)) {
      for (int d = 0; d < order.rank; ++d) implied.insert(t.find(Kind::Stride, d));
      if (Guard* layout = t.find(Kind::Layout)) implied.insert(layout);
      Guard& first = *t.find(Kind::Stride, 0);
      implied.erase(&first);
      first.kind = Kind::Layout;
      first.dim = -1;
      first.expected = 0;
      first.words.assign(order.dims.begin(), order.dims.begin() + order.rank);
      t.facts.emplace(std::pair(Kind::Layout, -1), &first);
    }
    const Guard* defined = t.find(Kind::Defined);
    if (defined && defined->expected && t.facts.size() > 1) implied.insert(defined);
    if (t.find(Kind::Rank) && t.find(Kind::Layout)) implied.insert(t.find(Kind::Rank));
    for (auto& [key, g] : t.facts) {
      if (key.first == Kind::SizeRange && t.find(Kind::Size, key.second)) implied.insert(g);
    }
  }
  for (const Guard& g : kept) {
    switch (g.kind) {
      case Kind::ScalarRange:
        if (values.contains(g.index)) implied.insert(&g);
        break;
      case Kind::Identity:
        if (g.words.size() < 2) implied.insert(&g);
        break;
      case Kind::Aliasing:
        if (g.words.size() < 4) implied.insert(&g);
        break;
      case Kind::Predicate:
        if (reads_only_fixed_sizes(g, tensors)) implied.insert(&g);
        break;
      case Kind::Liveness:
        if (epoch) implied.insert(&g);
        break;
      default: break;
    }
  }
  std::vector<Guard> rest;
  for (Guard& g : kept) {
    if (!implied.contains(&g)) rest.push_back(std::move(g));
  }
  return rest;
}

}  // namespace tailor::guards
