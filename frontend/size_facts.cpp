// A record of reads, looked at in another call.

#include <sstream>

#include "frontend/size_reads.h"
#include "ir/ops/view.h"

namespace tailor {

using detail::SymCode;
using detail::SymComparison;

namespace {

const char* sign_of(SymComparison comparison) {
  switch (comparison) {
    case SymComparison::Equal: return "==";
    case SymComparison::NotEqual: return "!=";
    case SymComparison::Less: return "<";
    case SymComparison::LessEqual: return "<=";
    case SymComparison::Greater: return ">";
    case SymComparison::GreaterEqual: return ">=";
  }
  return "";
}

std::string name_of(SizedTensor tensor, const std::vector<std::string>& names) {
  const auto index = static_cast<size_t>(tensor.index);
  if (tensor.kind == SizedTensor::Kind::Slot) return "value " + std::to_string(index);
  return index < names.size() ? names[index] : "args tensor " + std::to_string(index);
}

std::string bare(const std::string& s) {
  // Of "(a + b)"; "(a) + (b)" has no parentheses of its own around it.
  if (!s.starts_with('(') || !s.ends_with(')')) return s;
  int depth = 0;
  for (size_t i = 0; i + 1 < s.size(); ++i) {
    depth += s[i] == '(' ? 1 : s[i] == ')' ? -1 : 0;
    if (depth == 0) return s;
  }
  return s.substr(1, s.size() - 2);
}

}  // namespace

std::string text_of(const SizeFacts& facts, int node, const std::vector<std::string>& names) {
  const SizeFacts::Node& n = facts.nodes[static_cast<size_t>(node)];
  const auto both = [&](const char* sign) {
    return "(" + text_of(facts, static_cast<int>(n.a), names) + sign + text_of(facts, static_cast<int>(n.b), names) + ")";
  };
  switch (n.code) {
    case SymCode::Constant: return std::to_string(n.a);
    case SymCode::Size: return name_of(n.tensor, names) + ".size(" + std::to_string(n.b) + ")";
    case SymCode::Add: return both(" + ");
    case SymCode::Subtract: return both(" - ");
    case SymCode::Multiply: return both(" * ");
    case SymCode::FloorDivide: return both(" / ");
    case SymCode::Modulo: return both(" % ");
    case SymCode::Max: return "max" + both(", ");
    case SymCode::Min: return "min" + both(", ");
  }
  return "";
}

std::optional<int64_t> SizeValues::operator()(int node) {
  std::optional<int64_t>& known = known_[static_cast<size_t>(node)];
  if (known) return known;
  const SizeFacts::Node& n = facts_.nodes[static_cast<size_t>(node)];
  if (n.code == SymCode::Constant) return known = n.a;
  if (n.code == SymCode::Size) {
    const ir::TensorSpec* spec = spec_of_(context_, n.tensor);
    if (spec && n.b < static_cast<int64_t>(spec->rank())) known = spec->sizes[static_cast<size_t>(n.b)];
    return known;
  }
  const auto a = (*this)(static_cast<int>(n.a)), b = (*this)(static_cast<int>(n.b));
  const bool divides = n.code == SymCode::FloorDivide || n.code == SymCode::Modulo;
  if (!a || !b || (divides && *b == 0)) return std::nullopt;
  return known_[static_cast<size_t>(node)] = detail::sym_value(n.code, *a, *b);
}

namespace {

std::string text_of(const SizeFacts& facts, const SizeFacts::Predicate& p, const std::vector<std::string>& names) {
  return bare(text_of(facts, p.left, names)) + " " + sign_of(p.comparison) + " " + bare(text_of(facts, p.right, names));
}
std::string text_of(const SizeFacts& facts, const SizeFacts::Layout& l, const std::vector<std::string>& names) {
  std::string what = name_of(l.tensor, names) + (l.shape ? " can be viewed as [" : ".is_contiguous()");
  for (size_t i = 0; l.shape && i < l.shape->size(); ++i) what += (i ? ", " : "") + bare(text_of(facts, (*l.shape)[i], names));
  return what + (l.shape ? "]" : "") + (l.outcome ? "" : " is false");
}
std::string text_of(const SizeFacts::Strides& s, const std::vector<std::string>& names) {
  std::ostringstream fact;
  fact << name_of(s.tensor, names) << ".strides() == " << s.strides;
  return fact.str();
}

bool is_computed(const SizeFacts& facts, int node) {
  const SizeFacts::Node& n = facts.nodes[static_cast<size_t>(node)];
  if (n.code == SymCode::Constant) return false;
  if (n.code == SymCode::Size) return n.tensor.kind == SizedTensor::Kind::Slot;
  return is_computed(facts, static_cast<int>(n.a)) || is_computed(facts, static_cast<int>(n.b));
}

}  // namespace

std::vector<SizeFactText> texts_of_computed(const SizeFacts& facts, const std::vector<std::string>& names) {
  std::vector<SizeFactText> all;
  for (const SizeFacts::Predicate& p : facts.predicates) {
    if (is_computed(facts, p.left) || is_computed(facts, p.right)) all.push_back({text_of(facts, p, names), p.source});
  }
  for (const SizeFacts::Layout& l : facts.layouts) all.push_back({text_of(facts, l, names), l.source});
  for (const SizeFacts::Strides& s : facts.strides) {
    if (s.tensor.kind == SizedTensor::Kind::Slot) all.push_back({text_of(s, names), ""});
  }
  return all;
}

/// Whether a fact about a layout would come out as it did.
std::optional<bool> SizeValues::outcome(const SizeFacts::Layout& layout) {
  const ir::TensorSpec* spec = spec_of_(context_, layout.tensor);
  if (!spec) return std::nullopt;
  if (!layout.shape) return spec->is_contiguous();
  Dims shape;
  for (const int node : *layout.shape) {
    const auto size = (*this)(node);
    if (!size) return std::nullopt;
    shape.push_back(*size);
  }
  try {
    return ir::compute_view_strides(spec->sizes, spec->strides, ir::infer_view_sizes(shape, spec->numel())).has_value();
  } catch (const Error&) { return std::nullopt; }  // no such view at all
}

std::optional<SizeValues::Difference> SizeValues::difference(const std::vector<std::string>& names) {
  for (const SizeFacts::Predicate& p : facts_.predicates) {
    const auto left = (*this)(p.left), right = (*this)(p.right);
    if (left && right && detail::sym_value(p.comparison, *left, *right)) continue;
    const bool plain = facts_.nodes[static_cast<size_t>(p.right)].code == SymCode::Constant;
    std::string actual = !left || !right ? "nothing that can be compared" : std::to_string(*left);
    if (left && right && !plain) actual += std::string(" ") + sign_of(p.comparison) + " " + std::to_string(*right);
    return Difference{text_of(facts_, p, names), actual, p.source};
  }
  for (const SizeFacts::Layout& l : facts_.layouts) {
    const std::optional<bool> now = outcome(l);
    if (now != l.outcome) return Difference{text_of(facts_, l, names), !now ? "no such sizes" : *now ? "true" : "false", l.source};
  }
  for (const SizeFacts::Strides& s : facts_.strides) {
    const ir::TensorSpec* spec = spec_of_(context_, s.tensor);
    if (spec && spec->strides == s.strides) continue;
    std::ostringstream actual;
    if (spec) actual << spec->strides;
    return Difference{text_of(s, names), actual.str(), ""};
  }
  return std::nullopt;
}

}  // namespace tailor
