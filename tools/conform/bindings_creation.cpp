#include "conform/bindings.h"
#include "tailor/ops/creation.h"
#include "tailor/ops/indexing.h"

namespace tailor::conform {
namespace {

/// A list of integers, which Python takes for an index tensor.
Tensor places_of(const Value& list) {
  std::vector<int64_t> places;
  for (const Value& item : list.list) places.push_back(item.scalar().to<int64_t>());
  return tensor(places);
}

std::vector<TensorIndex> indices_of(const Value& list) {
  std::vector<TensorIndex> indices;
  for (const Value& value : list.list) {
    switch (value.kind) {
      case Value::Kind::None: indices.emplace_back(std::nullopt); break;
      case Value::Kind::Ellipsis: indices.emplace_back(indexing::Ellipsis); break;
      case Value::Kind::Int: indices.emplace_back(value.integer); break;
      case Value::Kind::Bool: indices.emplace_back(value.integer != 0); break;
      case Value::Kind::Slice: indices.emplace_back(indexing::Slice(value.parts[0], value.parts[1], value.parts[2])); break;
      case Value::Kind::Tensor: indices.emplace_back(value.tensor); break;
      case Value::Kind::List: indices.emplace_back(places_of(value)); break;
      default: throw Unsupported("an index of another kind");
    }
  }
  return indices;
}

/// Nested lists as in torch.tensor.
TensorData data_of(const Value& value) {
  if (!value.is_list()) {
    switch (value.kind) {
      case Value::Kind::Bool: return value.integer != 0;
      case Value::Kind::Int: return value.integer;
      default: return value.number;
    }
  }
  if (value.list.empty()) return std::vector<double>{};
  switch (value.list.front().kind) {
    case Value::Kind::List: throw Unsupported("tensor of nested lists");
    case Value::Kind::Double: {
      std::vector<double> numbers;
      for (const Value& item : value.list) numbers.push_back(item.scalar().to<double>());
      return numbers;
    }
    default: {
      std::vector<int64_t> numbers;
      for (const Value& item : value.list) numbers.push_back(item.scalar().to<int64_t>());
      return numbers;
    }
  }
}

Results arange_binding(Args& a) {
  if (a.has(2)) return arange(a.scalar(0), a.scalar(1), a.scalar(2), a.options(3));
  if (a.has(1)) return arange(a.scalar(0), a.scalar(1), a.options(3));
  return arange(a.scalar(0), a.options(3));
}

Results normal_binding(Args& a) {
  if (a.has(2)) return normal(a.number(0, 0), a.number(1, 1), a.ints(2), a.options(3));
  if (a.has(1)) return normal(a.operand(0), a.operand(1));
  return normal(a.operand(0));
}

/// randint(high, size) and randint(low, high, size).
Results randint_binding(Args& a) {
  if (a.is_list(1)) return randint(a.integer(0), a.ints(1), a.options(3));
  return randint(a.integer(0), a.integer(1), a.ints(2), a.options(3));
}

Results scatter_binding(Args& a) {
  if (a.has(4)) return scatter(a.tensor(0), a.integer(1), a.tensor(2), a.operand(3), a.text(4, ""));
  return scatter(a.tensor(0), a.integer(1), a.tensor(2), a.operand(3));
}
Results scatter_inplace_binding(Args& a) {
  if (a.has(4)) return a.tensor(0).scatter_(a.integer(1), a.tensor(2), a.operand(3), a.text(4, ""));
  return a.tensor(0).scatter_(a.integer(1), a.tensor(2), a.operand(3));
}

Results linspace_binding(Args& a) {
  if (a.is_tensor(0) || a.is_tensor(1)) return linspace(a.operand(0), a.operand(1), a.integer(2), a.options(3));
  return linspace(a.scalar(0), a.scalar(1), a.integer(2), a.options(3));
}

const Binding table[] = {
    {"empty", "size dtype", [](Args& a) -> Results { return empty(a.ints(0), a.options(1)); }},
    {"zeros", "size dtype", [](Args& a) -> Results { return zeros(a.ints(0), a.options(1)); }},
    {"ones", "size dtype", [](Args& a) -> Results { return ones(a.ints(0), a.options(1)); }},
    {"rand", "size dtype", [](Args& a) -> Results { return rand(a.ints(0), a.options(1)); }},
    {"randn", "size dtype", [](Args& a) -> Results { return randn(a.ints(0), a.options(1)); }},
    {"full", "size fill_value dtype", [](Args& a) -> Results { return full(a.ints(0), a.scalar(1), a.options(2)); }},
    {"empty_like", "self dtype", [](Args& a) -> Results { return empty_like(a.tensor(0), a.options(1)); }},
    {"zeros_like", "self dtype", [](Args& a) -> Results { return zeros_like(a.tensor(0), a.options(1)); }},
    {"ones_like", "self dtype", [](Args& a) -> Results { return ones_like(a.tensor(0), a.options(1)); }},
    {"rand_like", "self dtype", [](Args& a) -> Results { return rand_like(a.tensor(0), a.options(1)); }},
    {"randn_like", "self dtype", [](Args& a) -> Results { return randn_like(a.tensor(0), a.options(1)); }},
    {"full_like", "self fill_value dtype", [](Args& a) -> Results { return full_like(a.tensor(0), a.scalar(1), a.options(2)); }},
    {"new_empty", "self size dtype", [](Args& a) -> Results { return a.tensor(0).new_empty(a.ints(1), a.options(2)); }},
    {"new_zeros", "self size dtype", [](Args& a) -> Results { return a.tensor(0).new_zeros(a.ints(1), a.options(2)); }},
    {"new_ones", "self size dtype", [](Args& a) -> Results { return a.tensor(0).new_ones(a.ints(1), a.options(2)); }},
    {"new_full", "self size fill_value dtype",
     [](Args& a) -> Results { return a.tensor(0).new_full(a.ints(1), a.scalar(2), a.options(3)); }},
    {"arange", "start end step dtype", arange_binding},
    {"linspace", "start end steps dtype", linspace_binding},
    {"eye", "n m dtype",
     [](Args& a) -> Results { return a.has(1) ? eye(a.integer(0), a.integer(1), a.options(2)) : eye(a.integer(0), a.options(2)); }},
    {"tril_indices", "row col offset dtype",
     [](Args& a) -> Results { return tril_indices(a.integer(0), a.integer(1), a.integer(2, 0), a.options(3)); }},
    {"triu_indices", "row col offset dtype",
     [](Args& a) -> Results { return triu_indices(a.integer(0), a.integer(1), a.integer(2, 0), a.options(3)); }},
    {"meshgrid", "tensors indexing", [](Args& a) -> Results { return meshgrid(a.tensors(0), a.text(1, "ij")); }},
    {"one_hot", "self num_classes", [](Args& a) -> Results { return one_hot(a.tensor(0), a.integer(1, -1)); }},
    {"randint", "low high size dtype", randint_binding},
    {"randint_like", "self low high dtype",
     [](Args& a) -> Results {
       if (a.has(2)) return randint_like(a.tensor(0), a.integer(1), a.integer(2), a.options(3));
       return randint_like(a.tensor(0), a.integer(1), a.options(3));
     }},
    {"randperm", "n dtype", [](Args& a) -> Results { return randperm(a.integer(0), a.options(1)); }},
    {"bernoulli", "self", [](Args& a) -> Results { return bernoulli(a.tensor(0)); }},
    {"normal", "mean std size dtype", normal_binding},
    {"multinomial", "self num_samples replacement",
     [](Args& a) -> Results { return multinomial(a.tensor(0), a.integer(1), a.flag(2, false)); }},
    {"tensor", "data dtype", [](Args& a) -> Results { return tensor(data_of(a.at(0)), a.options(1)); }},

    {"index", "self indices", [](Args& a) -> Results { return index(a.tensor(0), indices_of(a.at(1))); }},
    {"index_put", "self indices values accumulate",
     [](Args& a) -> Results { return index_put(a.tensor(0), indices_of(a.at(1)), a.operand(2), a.flag(3, false)); }},
    {"index_put_", "self indices values accumulate",
     [](Args& a) -> Results { return a.tensor(0).index_put_(indices_of(a.at(1)), a.operand(2), a.flag(3, false)); }},
    {"index_select", "self dim index", [](Args& a) -> Results { return index_select(a.tensor(0), a.integer(1), a.tensor(2)); }},
    {"gather", "self dim index", [](Args& a) -> Results { return gather(a.tensor(0), a.integer(1), a.tensor(2)); }},
    {"scatter", "self dim index src reduce", scatter_binding},
    {"scatter_", "self dim index src reduce", scatter_inplace_binding},
    {"scatter_add", "self dim index src",
     [](Args& a) -> Results { return scatter_add(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3)); }},
    {"scatter_add_", "self dim index src",
     [](Args& a) -> Results { return a.tensor(0).scatter_add_(a.integer(1), a.tensor(2), a.tensor(3)); }},
    {"scatter_reduce", "self dim index src reduce include_self",
     [](Args& a) -> Results {
       return scatter_reduce(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.text(4, ""), a.flag(5, true));
     }},
    {"scatter_reduce_", "self dim index src reduce include_self",
     [](Args& a) -> Results {
       return a.tensor(0).scatter_reduce_(a.integer(1), a.tensor(2), a.tensor(3), a.text(4, ""), a.flag(5, true));
     }},
    {"take", "self index", [](Args& a) -> Results { return take(a.tensor(0), a.tensor(1)); }},
    {"masked_select", "self mask", [](Args& a) -> Results { return masked_select(a.tensor(0), a.tensor(1)); }},
    {"nonzero", "self", [](Args& a) -> Results { return nonzero(a.tensor(0)); }},
    // nn.functional.embedding takes the indices first.
    {"embedding", "input weight padding_idx scale_grad_by_freq",
     [](Args& a) -> Results { return embedding(a.tensor(1), a.tensor(0), a.integer(2, -1), a.flag(3, false)); }},

    {"copy_", "self src", [](Args& a) -> Results { return a.tensor(0).copy_(a.tensor(1)); }},
    {"fill_", "self value", [](Args& a) -> Results { return a.tensor(0).fill_(a.operand(1)); }},
    {"fill", "self value", [](Args& a) -> Results { return full_like(a.tensor(0), a.scalar(1)); }},
    {"zero_", "self", [](Args& a) -> Results { return a.tensor(0).zero_(); }},
    {"to", "self dtype", [](Args& a) -> Results { return a.tensor(0).to(*a.dtype(1)); }},
    {"type_as", "self other", [](Args& a) -> Results { return a.tensor(0).type_as(a.tensor(1)); }},
    {"item", "self", [](Args& a) -> Results { return a.tensor(0).item(); }},
};

}  // namespace

std::span<const Binding> creation_bindings() { return table; }

}  // namespace tailor::conform
