// Elementwise ops that are made of pointwise ones:
//   masked_fill (self, mask, value)                                       the dtype of self
//   isclose (self, other; rtol: Double, atol: Double, equal_nan: Bool)    bool

#include "ir/builder.h"
#include "ir/promotion.h"

namespace tailor::ir {
namespace {

std::vector<TensorSpec> infer_masked_fill(const OpDef&, const SpecCall& call) {
  check(call.has_tensor(0) && call.has_tensor(1) && call.operands.size() == 3 && !call.operands[2].is_none(),
        "masked_fill: expected a tensor, a mask and a value");
  const TensorSpec &self = call.tensor(0), &mask = call.tensor(1);
  check(mask.dtype == kBool, "masked_fill: masked_fill only supports boolean masks, but got mask with dtype ", mask.dtype);
  if (call.has_tensor(2))
    check(call.tensor(2).sizes.empty(), "masked_fill: masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
          call.tensor(2).rank(), " dimension(s).");
  const TensorSpec* tensors[] = {&self, &mask};
  Dims sizes;
  try {
    sizes = broadcast_shapes(self.sizes, mask.sizes);
  } catch (const Error& e) { throw Error(std::string("masked_fill: ") + e.what()); }
  TensorSpec result(self.dtype, sizes, pointwise_output_strides(sizes, tensors), self.device);
  result.requires_grad = self.requires_grad || (call.has_tensor(2) && call.tensor(2).requires_grad);
  return {result};
}

std::vector<int> decompose_masked_fill(Builder& b, std::span<const Value> operands, std::span<const AttrRef>) {
  const int self = operands[0].tensor, mask = operands[1].tensor;
  const ScalarType dtype = b.spec(self).dtype;
  Value value = operands[2];
  if (value.is_scalar()) {
    // The scalar takes the dtype of self before it meets it, so that nothing is promoted.
    if (is_integral(dtype) && !value.scalar.is_integral()) value = tailor::Scalar(value.scalar.to_int());
    if (dtype == kBool && !value.scalar.is_boolean()) value = tailor::Scalar(value.scalar.to_bool());
  } else if (b.spec(value.tensor).dtype != dtype) {
    value = b.call("to", {value}, {dtype});
  }
  const int result = b.call("where", {mask, value, self});
  return {b.spec(result).dtype == dtype ? result : b.call("to", {result}, {dtype})};
}

std::vector<TensorSpec> infer_isclose(const OpDef&, const SpecCall& call) {
  const TensorSpec &self = call.tensor(0), &other = call.tensor(1);
  check(self.dtype == other.dtype, "isclose: ", self.dtype, " did not match ", other.dtype);
  check(call.attrs.size() == 3, "isclose: expected rtol, atol and equal_nan");
  check(call.attrs[0].as_double() >= 0, "isclose: rtol must be greater than or equal to zero, but got ", call.attrs[0].as_double());
  check(call.attrs[1].as_double() >= 0, "isclose: atol must be greater than or equal to zero, but got ", call.attrs[1].as_double());
  const TensorSpec* tensors[] = {&self, &other};
  Dims sizes;
  try {
    sizes = broadcast_shapes(self.sizes, other.sizes);
  } catch (const Error& e) { throw Error(std::string("isclose: ") + e.what()); }
  return {TensorSpec(kBool, sizes, pointwise_output_strides(sizes, tensors), self.device)};
}

// equal, or both NaN where asked for, or |self - other| finite and at most atol + |rtol * other|
std::vector<int> decompose_isclose(Builder& b, std::span<const Value> operands, std::span<const AttrRef> attrs) {
  const int self = operands[0].tensor;
  int other = operands[1].tensor;
  const double rtol = attrs[0].as_double(), atol = attrs[1].as_double();
  int close = b.call("eq", {self, other});
  if (attrs[2].as_bool() && is_floating_point(b.spec(self).dtype))
    close = b.call("logical_or", {close, b.call("logical_and", {b.call("isnan", {self}), b.call("isnan", {other})})});
  if (rtol == 0 && atol == 0) return {close};
  if (!is_floating_point(b.spec(other).dtype)) other = b.call("to", {other}, {get_default_dtype()});
  const int allowed = b.call("add", {b.call("abs", {b.call("mul", {other, tailor::Scalar(rtol)})}), tailor::Scalar(atol)});
  const int actual = b.call("abs", {b.call("sub", {self, other})});
  const int within = b.call("logical_and", {b.call("isfinite", {actual}), b.call("le", {actual, allowed})});
  return {b.call("logical_or", {close, within})};
}

const bool registered = [] {
  OpDef masked_fill;
  masked_fill.name = "masked_fill";
  masked_fill.kind = OpKind::Composite;
  masked_fill.operand_names = {"self", "mask", "value"};
  masked_fill.infer = infer_masked_fill;
  masked_fill.decompose = decompose_masked_fill;
  register_op(std::move(masked_fill));

  OpDef isclose;
  isclose.name = "isclose";
  isclose.kind = OpKind::Composite;
  isclose.operand_names = {"self", "other"};
  isclose.attr_names = {"rtol", "atol", "equal_nan"};
  isclose.infer = infer_isclose;
  isclose.decompose = decompose_isclose;
  register_op(std::move(isclose));
  return true;
}();

}  // namespace
}  // namespace tailor::ir
