#include "frontend/size_reads.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "frontend/dispatch.h"
#include "ir/graph.h"

namespace tailor {

constinit thread_local SizeReads* current_size_reads = nullptr;

namespace {

using detail::SymCode;
using detail::SymComparison;
using Node = SizeFacts::Node;

/// Beyond these an expression's sizes are facts by value: a loop over a size has told all there is to know about it.
constexpr size_t kMostNodes = 4096, kMostPredicates = 256, kHeaviest = 64;

std::string place(std::source_location where) {
  return where.line() == 0 ? "" : ir::SourceLocation{where.file_name(), static_cast<int>(where.line())}.str();
}

SymComparison opposite(SymComparison comparison) {
  switch (comparison) {
    case SymComparison::Equal: return SymComparison::NotEqual;
    case SymComparison::NotEqual: return SymComparison::Equal;
    case SymComparison::Less: return SymComparison::GreaterEqual;
    case SymComparison::LessEqual: return SymComparison::Greater;
    case SymComparison::Greater: return SymComparison::LessEqual;
    case SymComparison::GreaterEqual: return SymComparison::Less;
  }
  detail::raise<InternalError>("internal error, please report: unknown comparison");
}

/// Records by serial number, for SymInts that come to another thread.
struct Registry {
  std::mutex mutex;
  std::unordered_map<uint64_t, SizeReads*> all;
  uint64_t next = 1;
};
Registry& registry() {
  static auto* records = new Registry;  // outlives every thread
  return *records;
}

uint64_t take_serial(SizeReads* reads) {
  Registry& records = registry();
  std::lock_guard lock(records.mutex);
  const uint64_t serial = records.next++ & 0xffffffff;
  records.all[serial] = reads;
  return serial;
}

}  // namespace

SizeReads::SizeReads(const TensorDirectory& tensors) : tensors_(tensors), serial_(take_serial(this)) {}
SizeReads::~SizeReads() {
  Registry& records = registry();
  std::lock_guard lock(records.mutex);
  records.all.erase(serial_);
}

void SizeReads::give_up_of(const SymInt& value) {
  if (value.symbol() == 0) return;
  Registry& records = registry();
  std::lock_guard lock(records.mutex);
  const auto it = records.all.find(value.symbol() >> 32);
  if (it != records.all.end()) it->second->give_up();
}

// ---- expressions -----------------------------------------------------------------------------------------------------

int SizeReads::node(const Node& node, size_t weight) {
  const auto [it, fresh] = known_.emplace(node, static_cast<int>(facts_.nodes.size()));
  if (fresh) {
    facts_.nodes.push_back(node);
    weights_.push_back(weight);
    values_.push_back(0);
  }
  return it->second;
}

int SizeReads::node_of(const SymInt& value) {
  if (value.symbol() != 0) return static_cast<int>((value.symbol() & 0xffffffff) - 1);
  const int constant = node({SymCode::Constant, value.unguarded(), 0, {}}, 1);
  values_[static_cast<size_t>(constant)] = value.unguarded();
  return constant;
}

SymInt SizeReads::symbol(int node, int64_t value) const { return SymInt::of(value, serial_ << 32 | static_cast<uint64_t>(node + 1)); }

SymInt SizeReads::size_of(const TensorImpl& tensor, size_t dim) {
  const int64_t value = tensor.spec.sizes[dim];
  const auto who = tensors_.find(tensor);
  if (!who) return value;
  const int leaf = node({SymCode::Size, 0, static_cast<int64_t>(dim), *who}, 1);
  values_[static_cast<size_t>(leaf)] = value;
  return symbol(leaf, value);
}

SymInt SizeReads::expression(SymCode code, const SymInt& a, const SymInt& b) {
  const int64_t value = detail::sym_value(code, a.unguarded(), b.unguarded());
  const int left = node_of(a), right = node_of(b);
  const size_t weight = 1 + weights_[static_cast<size_t>(left)] + weights_[static_cast<size_t>(right)];
  if (weight > kHeaviest || facts_.nodes.size() >= kMostNodes) {
    fix_leaves(left, "");
    fix_leaves(right, "");
    return value;
  }
  const int made = node({code, left, right, {}}, weight);
  values_[static_cast<size_t>(made)] = value;
  return symbol(made, value);
}

void SizeReads::require(SymComparison comparison, int left, int right, std::string source) {
  const auto same = [&](const SizeFacts::Predicate& p) { return p.comparison == comparison && p.left == left && p.right == right; };
  if (std::any_of(facts_.predicates.begin(), facts_.predicates.end(), same)) return;
  facts_.predicates.push_back({comparison, left, right, std::move(source)});
}

/// Every size that the expression is made of is what it is now.
void SizeReads::fix_leaves(int which, const std::string& source) {
  const Node n = facts_.nodes[static_cast<size_t>(which)];
  switch (n.code) {
    case SymCode::Constant: return;
    case SymCode::Size: require(SymComparison::Equal, which, node_of(values_[static_cast<size_t>(which)]), source); return;
    default: break;
  }
  fix_leaves(static_cast<int>(n.a), source);
  fix_leaves(static_cast<int>(n.b), source);
}

bool SizeReads::predicate(SymComparison comparison, const SymInt& a, const SymInt& b, std::source_location where) {
  const bool outcome = detail::sym_value(comparison, a.unguarded(), b.unguarded());
  const int left = node_of(a), right = node_of(b);
  if (facts_.predicates.size() >= kMostPredicates) {
    fix_leaves(left, place(where));
    fix_leaves(right, place(where));
  } else {
    require(outcome ? comparison : opposite(comparison), left, right, place(where));
  }
  return outcome;
}

void SizeReads::fix_value(const SymInt& value, const char* file, int64_t line) {
  require(SymComparison::Equal, node_of(value), node_of(value.unguarded()), ir::SourceLocation{file, static_cast<int>(line)}.str());
}

// ---- plain reads -----------------------------------------------------------------------------------------------------

void SizeReads::size_read(const TensorImpl& tensor, size_t dim, std::source_location where) {
  const SymInt size = size_of(tensor, dim);
  if (size.is_symbolic()) require(SymComparison::Equal, node_of(size), node_of(size.unguarded()), place(where));
}

void SizeReads::sizes_read(const TensorImpl& tensor, std::source_location where) {
  for (size_t d = 0; d < tensor.spec.sizes.size(); ++d) size_read(tensor, d, where);
}

void SizeReads::strides_read(const TensorImpl& tensor) {
  sizes_read(tensor);
  if (const auto who = tensors_.find(tensor)) facts_.strides.push_back({*who, tensor.spec.strides});
}

void SizeReads::count_read(const TensorImpl& tensor, std::source_location where) {
  SymInt count = 1;
  for (size_t d = 0; d < tensor.spec.sizes.size(); ++d) count *= size_of(tensor, d);
  if (count.is_symbolic()) require(SymComparison::Equal, node_of(count), node_of(count.unguarded()), place(where));
}

void SizeReads::contiguity_read(const TensorImpl& tensor) {
  const auto who = tensors_.find(tensor);
  if (!who) return;
  const auto same = [&](const SizeFacts::Layout& l) { return l.tensor == *who && !l.shape; };
  if (std::none_of(facts_.layouts.begin(), facts_.layouts.end(), same))
    facts_.layouts.push_back({*who, std::nullopt, tensor.spec.is_contiguous(), ""});
}

void SizeReads::viewability_read(const TensorImpl& tensor, const SymIntArrayRef& shape, bool outcome, std::source_location where) {
  const auto who = tensors_.find(tensor);
  if (!who) {
    for (size_t i = 0; i < shape.size(); ++i) fix_leaves(node_of(shape[i]), place(where));
    return;
  }
  std::vector<int> nodes;
  for (size_t i = 0; i < shape.size(); ++i) nodes.push_back(node_of(shape[i]));
  facts_.layouts.push_back({*who, std::move(nodes), outcome, place(where)});
}

// ---- ops -------------------------------------------------------------------------------------------------------------

void SizeReads::operand_noted(const SymInt& value) { pending_.emplace_back(node_of(value), value.unguarded()); }

void SizeReads::dispatched(const OpCall& call, std::span<const SymUse> uses, size_t step) {
  for (const SymUse& use : uses) {
    if (!owns(SymInt::of(0, use.symbol))) continue;  // of another call: a plain number
    facts_.uses.push_back({step, -1, use.attribute, use.element, node_of(SymInt::of(0, use.symbol))});
  }
  // Scalar operands come by value. Where that does not say which is meant, the sizes are facts by value.
  for (const auto& [node, value] : std::exchange(pending_, {})) {
    std::optional<int> place;
    int alike = 0;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const Operand& o = call.operands[i];
      if (!o.is_scalar() || !(o.scalar == Scalar(value))) continue;
      place = static_cast<int>(i);
      ++alike;
    }
    if (alike == 1)
      facts_.uses.push_back({step, *place, -1, -1, node});
    else
      fix_leaves(node, "");
  }
}

}  // namespace tailor
