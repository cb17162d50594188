#include "frontend/call.h"

namespace tailor {

const ir::OpDef& require_op(std::string_view name) {
  const ir::OpDef* op = ir::find_op(name);
  check<NotImplementedError>(op != nullptr, name, ": this build has no such op");
  return *op;
}

void raise_undefined() { detail::raise("expected a defined tensor, got one that holds nothing (a default-constructed Tensor)"); }

std::vector<Operand> operand_list(TensorList tensors) {
  std::vector<Operand> list;
  list.reserve(tensors.size());
  for (const Tensor& t : tensors) list.push_back(operand(t));
  return list;
}

}  // namespace tailor
