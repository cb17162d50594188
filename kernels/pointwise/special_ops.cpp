// Kernels of elementwise ops that are not one inner loop: to, masked_fill.

#include <memory>

#include "ir/ops/rounding.h"
#include "kernels/copy.h"
#include "kernels/pointwise/driver.h"
#include "kernels/pointwise/strided.h"

namespace tailor::kernels {
namespace {

void to_kernel(const Call& call) {
  const TensorArg& out = call.outputs[0];
  if (call.has_tensor(0)) {
    const TensorArg& self = call.tensor(0);
    const ScalarType dtype = call.attrs[0].as_dtype();
    if (dtype == out.spec->dtype || dtype == self.spec->dtype) return copy(out, self);
    // Into memory of a third dtype, in place: the value takes the asked dtype on its way.
    const auto bytes = static_cast<size_t>(out.spec->numel() * element_size(dtype));
    const auto buffer = std::make_unique<std::byte[]>(bytes);
    const ir::TensorSpec spec(dtype, out.spec->sizes);
    copy({buffer.get(), &spec}, self);
    return copy(out, {buffer.get(), &spec});
  }
  fill(out, call.operands[0].scalar);
}

// where(mask, value, self) in the dtype of self.
void masked_fill_kernel(const Call& call) {
  static const ir::OpDef& where = ir::op_def<ir::Where>();
  static const Kernel kernel = find_kernel(where);
  const TensorArg& self = call.tensor(0);
  const ScalarType dtype = self.spec->dtype;
  uint64_t element = 0;
  const ir::TensorSpec spec(dtype, {});
  if (call.operands[2].is_tensor())
    copy({&element, &spec}, call.operands[2].tensor);
  else
    element = scalar_bits(call.operands[2].scalar, dtype);
  const Operand operands[] = {Operand(call.operands[1]), Operand(TensorArg{&element, &spec}), Operand(self)};
  kernel({where, operands, {}, call.outputs});
}

const bool registered = [] {
  register_kernel(ir::To::name, to_kernel);
  register_kernel("masked_fill", masked_fill_kernel);
  return true;
}();

}  // namespace
}  // namespace tailor::kernels
