#include "ir/ops/view_at.h"

namespace tailor::ir {
namespace {

ViewResult view(const TensorSpec&, std::span<const AttrRef> attrs) { return {Dims(attrs[0].as_ints()), Dims(attrs[1].as_ints()), 0}; }

std::vector<TensorSpec> infer(const OpDef&, const SpecCall& call) {
  const TensorSpec& self = call.tensor(0);
  return {TensorSpec(self.dtype, call.attrs[0].as_ints(), call.attrs[1].as_ints(), self.device)};
}

const OpDef* const registered = register_op({
    .name = "view_at",
    .kind = OpKind::View,
    .operand_names = {"self", "offset"},
    .attr_names = {"size", "stride"},
    .infer = infer,
    .view = view,
});

}  // namespace

const OpDef& view_at() { return *registered; }

}  // namespace tailor::ir
