#include "ir/formula.h"

#include <array>
#include <mutex>
#include <unordered_map>

#include "ir/formula_table.h"

namespace tailor::ir {
namespace {
using Row = std::array<Formula, kScalarTypeCount>;
std::unordered_map<std::string_view, Row>& table() {
  static auto* instance = new std::unordered_map<std::string_view, Row>;
  return *instance;
}
}  // namespace

void register_formula(std::string_view op, ScalarType compute, Formula formula) {
  table().try_emplace(op, Row{}).first->second[static_cast<size_t>(compute)] = formula;
}

Formula find_formula(const OpDef& op, ScalarType compute) {
  const auto it = table().find(op.name);
  return it == table().end() ? nullptr : it->second[static_cast<size_t>(compute)];
}

bool gives_truth(const OpDef& op) {
  switch (op.pointwise.rule) {
    case DTypeRule::Compare:
    case DTypeRule::FloatCompare:
    case DTypeRule::Logical: return true;
    case DTypeRule::Promote:
    case DTypeRule::Float:
    case DTypeRule::Integral:
    case DTypeRule::Cast: return false;
  }
  return false;
}

bool takes_truth(const OpDef& op, size_t index) {
  return op.pointwise.rule == DTypeRule::Logical || (op.pointwise.first_is_mask && index == 0);
}

tailor::Scalar to_scalar(Bits value, ScalarType type) {
  return visit_dtype(type, [&]<class T>() { return tailor::Scalar(detail::from_word<T>(value)); });
}

Bits convert(const tailor::Scalar& value, ScalarType to) {
  return visit_dtype(to, [&]<class T>() { return detail::to_word(value.to<T>()); });
}

Bits convert(Bits value, ScalarType from, ScalarType to) { return from == to ? value : convert(to_scalar(value, from), to); }

Bits load_bits(const void* element, ScalarType type) {
  Bits word = 0;
  std::memcpy(&word, element, static_cast<size_t>(element_size(type)));
  return word;
}

void store_bits(void* element, Bits value, ScalarType type) { std::memcpy(element, &value, static_cast<size_t>(element_size(type))); }

}  // namespace tailor::ir
