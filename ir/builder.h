#pragma once
// Decompositions and gradients are written once, over this interface. A graph under construction, the eager dispatcher and the
// interpreter implement it. Values are small handles of the implementation.
//
//   int softmax(Builder& b, int x, int64_t dim) {
//     int e = b.call("exp", {b.call("sub", {x, b.call("amax", {x}, {IntArrayRef{dim}, true})})});
//     return b.call("div", {e, b.call("sum", {e}, {IntArrayRef{dim}, true, std::nullopt})});
//   }

#include <initializer_list>
#include <span>
#include <vector>

#include "ir/op.h"

namespace tailor::ir {

using Value = OperandOf<int>;

class Builder {
 public:
  virtual ~Builder() = default;
  /// Performs or records one call; one handle per output.
  virtual std::vector<int> call_many(const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs) = 0;
  virtual const TensorSpec& spec(int value) const = 0;

  int call(std::string_view op, std::initializer_list<Value> operands, std::initializer_list<AttrRef> attrs = {}) {
    const OpDef* def = find_op(op);
    internal_check(def != nullptr, "decomposition uses unknown op ", op);
    return call_many(*def, {operands.begin(), operands.size()}, {attrs.begin(), attrs.size()}).at(0);
  }
};

}  // namespace tailor::ir
