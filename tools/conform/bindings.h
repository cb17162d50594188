#pragma once
// From op names to calls of the public API. One row an op, in bindings_*.cpp; the rest of `tailor conform` knows no op.
//
//   {"sum", "self dim keepdim dtype", [](Args& a) -> Results { ... a.tensor(0) ... }}
//
// The parameter names give keyword arguments their places.

#include <deque>
#include <span>
#include <string_view>
#include <tuple>

#include "conform/value.h"

namespace tailor::conform {

/// The arguments of a call by parameter; absent ones take defaults. Lists handed out live as long as this does.
class Args {
 public:
  /// Throws Unsupported for a keyword that is no parameter.
  Args(const Arguments& arguments, std::string_view parameters);
  /// Given, and not None.
  bool has(size_t i) const { return i < values_.size() && values_[i] != nullptr && !values_[i]->is_none(); }
  /// Given, be it None.
  bool given(size_t i) const { return i < values_.size() && values_[i] != nullptr; }
  const Value& at(size_t i) const;
  bool is_tensor(size_t i) const { return has(i) && at(i).is_tensor(); }
  bool is_list(size_t i) const { return has(i) && at(i).is_list(); }
  bool is_bool(size_t i) const { return has(i) && at(i).kind == Value::Kind::Bool; }

  const Tensor& tensor(size_t i) const;
  /// Undefined when absent.
  Tensor tensor_or_none(size_t i) const { return has(i) ? tensor(i) : Tensor(); }
  std::optional<Tensor> optional_tensor(size_t i) const { return has(i) ? std::optional(tensor(i)) : std::nullopt; }
  std::vector<Tensor> tensors(size_t i) const;
  TensorOrScalar operand(size_t i) const;
  Scalar scalar(size_t i) const { return at(i).scalar(); }
  Scalar scalar(size_t i, Scalar otherwise) const { return has(i) ? scalar(i) : otherwise; }
  int64_t integer(size_t i) const { return scalar(i).to<int64_t>(); }
  int64_t integer(size_t i, int64_t otherwise) const { return has(i) ? integer(i) : otherwise; }
  std::optional<int64_t> optional_integer(size_t i) const { return has(i) ? std::optional(integer(i)) : std::nullopt; }
  bool flag(size_t i, bool otherwise) const { return has(i) ? scalar(i).to<bool>() : otherwise; }
  /// A list of integers, or what stands for an absent one.
  const std::vector<int64_t>& ints_or(size_t i, int64_t otherwise);
  std::optional<bool> optional_flag(size_t i) const { return has(i) ? std::optional(flag(i, false)) : std::nullopt; }
  double number(size_t i, double otherwise) const { return has(i) ? scalar(i).to<double>() : otherwise; }
  std::optional<double> optional_number(size_t i) const { return has(i) ? std::optional(number(i, 0)) : std::nullopt; }
  std::string text(size_t i, std::string otherwise) const;
  std::optional<std::string> optional_text(size_t i) const { return has(i) ? std::optional(text(i, "")) : std::nullopt; }
  std::optional<ScalarType> dtype(size_t i) const;
  TensorOptions options(size_t i) const { return TensorOptions().dtype(dtype(i)); }
  /// A list of integers, or one.
  const std::vector<int64_t>& ints(size_t i);
  OptionalIntArrayRef optional_ints(size_t i);

 private:
  std::vector<const Value*> values_;
  std::deque<std::vector<int64_t>> lists_;
};

/// What a call returned, output by output.
struct Results {
  std::vector<Value> values;
  Results() = default;
  Results(Tensor t) : values{Value(std::move(t))} {}
  Results(Scalar s) : values{Value(s)} {}
  Results(bool b) : values{Value(Scalar(b))} {}
  Results(const std::vector<Tensor>& tensors) : values(tensors.begin(), tensors.end()) {}
  template <class... T>
  Results(const std::tuple<T...>& tensors) {
    std::apply([&](const auto&... t) { (values.emplace_back(t), ...); }, tensors);
  }
};

struct Binding {
  std::string_view name, parameters;
  Results (*call)(Args&);
};

/// Null when the table has no such op.
const Binding* find_binding(std::string_view name);

std::span<const Binding> pointwise_bindings();
std::span<const Binding> reduction_bindings();
std::span<const Binding> view_bindings();
std::span<const Binding> creation_bindings();
std::span<const Binding> contraction_bindings();
std::span<const Binding> functional_bindings();
std::span<const Binding> loss_bindings();

}  // namespace tailor::conform
