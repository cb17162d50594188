#include "conform/bindings.h"

#include <unordered_map>

namespace tailor::conform {

Args::Args(const Arguments& arguments, std::string_view parameters) {
  for (const Value& value : arguments.positional) values_.push_back(&value);
  std::vector<std::string_view> names;
  while (!parameters.empty()) {
    const size_t end = std::min(parameters.find(' '), parameters.size());
    names.push_back(parameters.substr(0, end));
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
  for (const auto& [name, value] : arguments.named) {
    const auto place = std::find(names.begin(), names.end(), name);
    if (place == names.end()) throw Unsupported("no parameter " + name);
    const size_t i = static_cast<size_t>(place - names.begin());
    if (values_.size() <= i) values_.resize(i + 1);
    values_[i] = &value;
  }
}

const Value& Args::at(size_t i) const {
  if (!has(i)) throw Unsupported("argument " + std::to_string(i) + " is missing");
  return *values_[i];
}

const Tensor& Args::tensor(size_t i) const {
  if (!at(i).is_tensor()) throw Unsupported("argument " + std::to_string(i) + " is no tensor");
  return at(i).tensor;
}

std::vector<Tensor> Args::tensors(size_t i) const {
  std::vector<Tensor> result;
  for (const Value& value : at(i).list) result.push_back(value.tensor);
  return result;
}

TensorOrScalar Args::operand(size_t i) const {
  if (!has(i)) return std::nullopt;
  if (at(i).is_tensor()) return at(i).tensor;
  return at(i).scalar();
}

std::string Args::text(size_t i, std::string otherwise) const { return has(i) ? at(i).text : otherwise; }

std::optional<ScalarType> Args::dtype(size_t i) const { return has(i) ? std::optional(at(i).dtype) : std::nullopt; }

const std::vector<int64_t>& Args::ints(size_t i) {
  auto& list = lists_.emplace_back();
  if (!has(i)) return list;
  if (at(i).is_number()) {
    list.push_back(integer(i));
  } else {
    for (const Value& value : at(i).list) list.push_back(value.scalar().to<int64_t>());
  }
  return list;
}

const std::vector<int64_t>& Args::ints_or(size_t i, int64_t otherwise) {
  if (has(i)) return ints(i);
  return lists_.emplace_back(1, otherwise);
}

OptionalIntArrayRef Args::optional_ints(size_t i) {
  if (!has(i)) return {};
  return ints(i);
}

const Binding* find_binding(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const Binding*> result;
    for (const auto family : {pointwise_bindings(), reduction_bindings(), view_bindings(), creation_bindings(), contraction_bindings(),
                              functional_bindings(), loss_bindings()}) {
      for (const Binding& binding : family) result.emplace(binding.name, &binding);
    }
    return result;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace tailor::conform
