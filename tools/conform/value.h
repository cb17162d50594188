#pragma once
// The values of conformance cases: what stands in args, kwargs and out.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tailor/tensor.h"

namespace tailor::conform {

/// A case asks for something that the public API does not offer.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Value {
  enum class Kind { None, Bool, Int, Double, Text, Dtype, Tensor, List, Slice, Ellipsis, Reference };
  Kind kind = Kind::None;
  int64_t integer = 0;  // Int, Bool; Reference: which value of the program
  double number = 0;
  std::string text;
  ScalarType dtype = ScalarType::Undefined;
  Tensor tensor, base;  // base: the stored tensor that `tensor` is a view of
  std::vector<Value> list;
  std::optional<int64_t> parts[3];  // Slice: start, stop, step; Reference: [0] is the output of a step with several

  Value() = default;
  Value(Tensor t) : kind(Kind::Tensor), tensor(std::move(t)) {}
  Value(Scalar s);
  Value(std::vector<Value> values) : kind(Kind::List), list(std::move(values)) {}
  bool is_none() const { return kind == Kind::None; }
  bool is_tensor() const { return kind == Kind::Tensor; }
  bool is_list() const { return kind == Kind::List; }
  bool is_number() const { return kind == Kind::Bool || kind == Kind::Int || kind == Kind::Double; }
  Scalar scalar() const;
};

/// The arguments of one call; names of keyword arguments to values.
struct Arguments {
  std::vector<Value> positional;
  std::map<std::string, Value> named;
};

/// Calls `f` for every tensor value, in the order of the case.
template <class F>
void for_each_tensor(Value& value, F&& f) {
  if (value.is_tensor()) f(value);
  for (Value& item : value.list) for_each_tensor(item, f);
}
template <class F>
void for_each_tensor(Arguments& arguments, F&& f) {
  for (Value& value : arguments.positional) for_each_tensor(value, f);
  for (auto& [name, value] : arguments.named) for_each_tensor(value, f);
}

}  // namespace tailor::conform
