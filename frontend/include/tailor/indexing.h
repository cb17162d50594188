#pragma once
// What goes between the braces of x.index({...}): integers, Slice, None, Ellipsis ("..."), booleans and tensors.
//
//   x.index({Slice(1, None), 0});            // x[1:, 0]
//   x.index({Ellipsis, Slice(None, None, 2)});
//   x.index_put_({mask}, 0);

#include <optional>

#include "tailor/array_ref.h"
#include "tailor/tensor.h"

namespace tailor {
namespace indexing {

/// A new dimension of size 1; in a Slice: "as far as it goes".
inline constexpr std::nullopt_t None = std::nullopt;

struct EllipsisType {};
/// As many full slices as there are dimensions left.
inline constexpr EllipsisType Ellipsis{};

/// start:stop:step, as in Python; a step must be positive.
class Slice {
 public:
  constexpr Slice(std::optional<SymInt> start = std::nullopt, std::optional<SymInt> stop = std::nullopt,
                  std::optional<SymInt> step = std::nullopt)
      : start_(start), stop_(stop), step_(step.value_or(1)) {}
  constexpr const std::optional<SymInt>& start() const { return start_; }
  constexpr const std::optional<SymInt>& stop() const { return stop_; }
  constexpr const SymInt& step() const { return step_; }

 private:
  std::optional<SymInt> start_, stop_;
  SymInt step_;
};

class TensorIndex {
 public:
  enum class Kind { None, Ellipsis, Integer, Boolean, Slice, Tensor };
  TensorIndex(std::nullopt_t) : kind_(Kind::None) {}
  TensorIndex(EllipsisType) : kind_(Kind::Ellipsis) {}
  /// Only "..." is an index.
  TensorIndex(const char* text) : kind_(Kind::Ellipsis) {
    check(std::string_view(text) == "...", "Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
  }
  template <std::integral T>
  TensorIndex(T i) : kind_(std::same_as<T, bool> ? Kind::Boolean : Kind::Integer), integer_(static_cast<int64_t>(i)) {}
  TensorIndex(const SymInt& i) : kind_(Kind::Integer), integer_(i) {}
  TensorIndex(Slice slice) : kind_(Kind::Slice), slice_(slice) {}
  TensorIndex(const Tensor& tensor) : kind_(Kind::Tensor), tensor_(tensor) {}
  Kind kind() const { return kind_; }
  const SymInt& integer() const { return integer_; }
  const indexing::Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  SymInt integer_;
  indexing::Slice slice_;
  Tensor tensor_;
};

}  // namespace indexing
using indexing::TensorIndex;
}  // namespace tailor
